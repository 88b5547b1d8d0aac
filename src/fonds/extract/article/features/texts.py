"""Of each block what its text is like, and where in the tree it hangs: the columns the other features use."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fonds.extract.article.blocks import Block, Node
from fonds.extract.article.lexicon import CUE_GROUPS, cue_groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PROSE_WIDTH_MIN = 80
"""From here on a block that is not mostly links counts as prose; a letter of Chinese or Thai is 2.5 wide."""

_CUE_WIDTH_MAX = 400
_WIDE = re.compile("[\u0e00-\u0e7f\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_ENDS = (
    *(".", "!", "?", "…", "。", "！", "？", "।", "؟", "”", '"', "»", "“", ":", ";", ")", "'", "’"),
)
_DATE = re.compile(r"\d[./-]\d{1,2}[./-]\d\d|\d[:h]\d\d\b|\b(?:19|20)\d\d\b")
_DIGIT = re.compile(r"\d")
_ARROWS = ("|", "»", "›", "→")
_COMMAS = (",", "，", "、", "،")
_SENTENCE_ENDS = (". ", "! ", "? ", "。")


@dataclass(frozen=True, slots=True)
class Columns:
    """Of each block: `width` in letters, `links` and the rest as shares or counts; `node` and those above."""

    width: Floats
    links: Floats
    prose: NDArray[np.bool_]
    commas: Floats
    ends: Floats
    node: Ints
    parent: Ints
    grandparent: Ints
    great: Ints


def texts(blocks: list[Block], nodes: list[Node]) -> tuple[Floats, Columns]:
    """The features of the texts themselves, a row a block, and the columns."""
    rows = np.array([_of_text(block) for block in blocks], dtype=float)
    width, links, commas, ends = rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3]
    above = np.array([max(node.parent, 0) for node in nodes], dtype=np.int64)
    node = np.array([block.node for block in blocks], dtype=np.int64)
    parent = above[node]
    prose = (width >= PROSE_WIDTH_MIN) & (links < 0.4)
    columns = Columns(
        width, links, prose, commas, ends, node, parent, above[parent], above[above[parent]]
    )
    logs = np.log1p(rows[:, [0, 2, 4, 5]])
    cues = rows[:, -1].astype(np.int64)
    return np.column_stack(
        [logs, rows[:, 1:2], rows[:, 3:4], prose, rows[:, 6:-1], bits(cues, len(CUE_GROUPS))]
    ), columns


def _of_text(block: Block) -> tuple[float, ...]:
    text = block.text
    chars = len(text)
    is_ascii = text.isascii()
    width = chars if is_ascii else chars + 1.5 * len(_WIDE.findall(text))
    start = text[:40]
    is_short = width < _CUE_WIDTH_MAX
    return (
        width,
        min(1.0, block.linked_chars / chars),
        text.count(",") if is_ascii else sum(map(text.count, _COMMAS)),
        float(text.endswith(_ENDS)),
        text.count(" ") + 1,
        sum(map(text.count, _SENTENCE_ENDS)),
        min(1.0, block.bold_chars / chars),
        sum(map(str.isupper, start)) / len(start),
        sum(map(str.isdigit, start)) / len(start),
        min(block.links, 5),
        min(block.breaks, 5),
        min(block.images, 3),
        float(is_short and _DIGIT.search(text) is not None and _DATE.search(text) is not None),
        float(is_short and any(arrow in text for arrow in _ARROWS)),
        cue_groups(text) if is_short else 0,
    )


def bits(numbers: Ints, count: int) -> Floats:
    """A column of 0 and 1 for each of the `count` lowest bits of the numbers."""
    return ((numbers[:, None] >> np.arange(count)) & 1).astype(float)
