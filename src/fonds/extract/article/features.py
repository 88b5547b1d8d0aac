"""What is evident of each block of a page, as numbers for the model that judges it.

Nothing here depends on a site, and little on a language: lengths, links, punctuation, the elements and names
around, where the page's prose lies, repetition, the neighbours, and what the page says of itself.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fonds.extract.article.blocks import PLACE_BITS, Block, Node
from fonds.extract.article.lexicon import CUE_GROUPS, NAME_GROUPS, find_cue_groups

# Of each block what its text is like, and where in the tree it hangs: the columns the other features use.


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
class BlockColumns:
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


def compute_text_features(blocks: list[Block], nodes: list[Node]) -> tuple[Floats, BlockColumns]:
    """The features of the texts themselves, a row a block, and the columns."""
    rows = np.array([_describe_text(block) for block in blocks], dtype=float)
    width, links, commas, ends = rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3]
    above = np.array([max(node.parent, 0) for node in nodes], dtype=np.int64)
    node = np.array([block.node for block in blocks], dtype=np.int64)
    parent = above[node]
    prose = (width >= PROSE_WIDTH_MIN) & (links < 0.4)
    columns = BlockColumns(
        width, links, prose, commas, ends, node, parent, above[parent], above[above[parent]]
    )
    logs = np.log1p(rows[:, [0, 2, 4, 5]])
    cues = rows[:, -1].astype(np.int64)
    return np.column_stack(
        [logs, rows[:, 1:2], rows[:, 3:4], prose, rows[:, 6:-1], unpack_bits(cues, len(CUE_GROUPS))]
    ), columns


def _describe_text(block: Block) -> tuple[float, ...]:
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
        find_cue_groups(text) if is_short else 0,
    )


def unpack_bits(numbers: Ints, count: int) -> Floats:
    """A column of 0 and 1 for each of the `count` lowest bits of the numbers."""
    return ((numbers[:, None] >> np.arange(count)) & 1).astype(float)


# What is around each block: how much prose and links its elements hold, what looks alike, its neighbours.


_PARAGRAPHS = frozenset({"p", "li", "h1", "h2", "h3", "h4", "td", "blockquote", "pre"})


def compute_container_features(
    columns: BlockColumns, nodes: list[Node], tags: list[str]
) -> list[Floats]:
    """How much prose and how many links the elements around hold, and which element holds the prose."""
    totals, ends = _sum_subtrees(columns, nodes)
    density = totals[:, 1] / np.maximum(totals[:, 0], 1)
    all_prose = max(totals[0, 3], 1.0)
    parts: list[Any] = []
    for around in (columns.node, columns.parent, columns.grandparent, columns.great):
        mine = totals[around]
        parts += [np.log1p(mine[:, 0]), density[around], mine[:, 3] / all_prose]
        parts += [
            np.log1p(mine[:, 2]),
            np.log1p(mine[:, 4]),
            mine[:, 3] / np.maximum(mine[:, 0], 1),
        ]
    worth = np.zeros(len(nodes))
    weight = np.where(
        columns.prose, 1 + np.minimum(columns.commas, 6) + np.minimum(columns.width / 100, 3), 0
    )
    weight *= 1 - columns.links
    is_paragraph = np.array([tag in _PARAGRAPHS for tag in tags])[columns.node]
    np.add.at(worth, np.where(is_paragraph, columns.parent, columns.node), weight)
    np.add.at(worth, np.where(is_paragraph, columns.grandparent, columns.parent), weight / 2)
    worth *= 1 - density
    best = int(worth.argmax())
    above = max(nodes[best].parent, 0)
    most = max(worth[best], 1e-9)
    depths = np.array([node.depth for node in nodes], dtype=float)
    count = len(columns.node)
    inside = (columns.node >= best) & (columns.node < ends[best])
    parts += [inside, (columns.node >= above) & (columns.node < ends[above])]
    parts += [
        worth[columns.parent] / most,
        worth[columns.grandparent] / most,
        worth[columns.node] / most,
    ]
    parts += [np.full(count, totals[best, 3] / all_prose)]
    parts += [np.abs(depths[columns.node] - depths[best]), depths[columns.node] / 10]
    parts += [np.full(count, np.log1p(all_prose)), np.full(count, all_prose / max(totals[0, 0], 1))]
    return [np.asarray(part, dtype=float) for part in parts]


def _sum_subtrees(columns: BlockColumns, nodes: list[Node]) -> tuple[Floats, Ints]:
    """Of each element with all below it: width, linked width, prose, its width, blocks; and its end."""
    totals = np.zeros((len(nodes) + 1, 5))
    width, prose = columns.width, columns.prose
    each = np.column_stack(
        [width, width * columns.links, prose, np.where(prose, width, 0), np.ones(len(width))]
    )
    np.add.at(totals[1:], columns.node, each)
    before = np.cumsum(totals, axis=0)
    ends = np.array([node.end for node in nodes], dtype=np.int64)
    return before[ends] - before[:-1], ends


def compute_repetition(columns: BlockColumns, blocks: list[Block], nodes: list[Node]) -> Floats:
    """How many blocks look alike, in text or in markup, and what those are like."""
    texts = Counter(block.text for block in blocks)
    same = np.array([min(texts[block.text] - 1, 3) for block in blocks], dtype=float)
    numbers: dict[tuple[str, str, str], int] = {}
    kinds = np.empty(len(blocks), dtype=np.int64)
    for row, block in enumerate(blocks):
        node = nodes[block.node]
        kind = (node.tag, node.names, nodes[max(node.parent, 0)].names)
        kinds[row] = numbers.setdefault(kind, len(numbers))
    sizes = np.bincount(kinds)

    def mean(values: Floats) -> Floats:
        return (np.bincount(kinds, values) / sizes)[kinds]

    return np.column_stack(
        [
            *(
                same,
                np.log1p(sizes[kinds]),
                sizes[kinds] / len(blocks),
                np.log1p(mean(columns.width)),
            ),
            *(mean(columns.links), mean(columns.prose.astype(float))),
        ]
    )


def compute_name_features(columns: BlockColumns, nodes: list[Node]) -> Floats:
    """Which groups of words the names of the elements around are of, and which places they are."""
    own = np.array([node.own_chars for node in nodes], dtype=np.int64)
    above = np.array([node.above for node in nodes], dtype=np.int64)
    places = np.array([node.places for node in nodes], dtype=np.int64)
    nearest = own[columns.node] | own[columns.parent]
    near = nearest | own[columns.grandparent]
    count = len(NAME_GROUPS)
    groups = [
        unpack_bits(nearest, count),
        unpack_bits(near, count),
        unpack_bits(above[columns.node], count),
    ]
    return np.column_stack([*groups, unpack_bits(places[columns.node], PLACE_BITS)])


def compute_neighbour_features(columns: BlockColumns, headings: Floats) -> Floats:
    """What the two blocks before and behind are like, and whether they hang at the same element."""
    each = np.column_stack(
        [np.log1p(columns.width), columns.links, columns.prose, columns.ends, headings]
    )
    number: Floats = columns.parent.astype(np.float64) + 1
    beside = [_shift(number, by) == number for by in (1, -1)]
    return np.column_stack([*(_shift(each, by) for by in (1, -1, 2, -2)), *beside])


def _shift(values: Floats, columns: int) -> Floats:
    """Each row what stands so many rows before it (behind it, if negative); zeros beyond the ends."""
    moved = np.zeros_like(values)
    if columns > 0:
        moved[columns:] = values[:-columns]
    else:
        moved[:columns] = values[-columns:]
    return moved


# Where in the page each block stands: before or behind the title, and between what prose.


_REACH = 20


@dataclass(frozen=True, slots=True)
class PageClaims:
    """What the page says of itself, in plain words; "" where it says nothing."""

    title: str = ""
    description: str = ""
    body: str = ""


def compute_position_features(
    columns: BlockColumns, blocks: list[Block], nodes: list[Node], page_claims: PageClaims
) -> Floats:
    """Where in the page each block stands, before or behind the title and between what prose."""
    count = len(blocks)
    index = np.arange(count)
    title, description, body = (
        _fold(page_claims.title),
        _fold(page_claims.description),
        _fold(page_claims.body),
    )
    in_title = np.zeros(count)
    in_said = np.zeros((count, 3))
    for row, block in enumerate(blocks):
        if title and len(block.text) < 2 * len(title) + 10:
            text = _fold(block.text)
            in_title[row] = text == title or (len(text) > 15 and (text in title or title in text))
        if body:
            in_said[row, 1] = _fold(block.text[:120]) in body
        if description and len(block.text) > 25:
            text = _fold(block.text[:60])
            in_said[row, 2] = text in description or description[:50] in text
    in_said[:, 0] = bool(body)
    headline = np.flatnonzero(in_title + [nodes[block.node].tag == "h1" for block in blocks])
    first = int(headline[0]) if len(headline) else -1
    prose_width = np.where(columns.prose, columns.width, 0)
    before = np.cumsum(columns.width) - columns.width
    prose_before = np.cumsum(prose_width) - prose_width
    behind, ahead = _compute_distances(columns.prose, index)
    return np.column_stack(
        [
            *(
                index / count,
                before / max(columns.width.sum(), 1),
                prose_before / max(prose_width.sum(), 1),
            ),
            *(
                (index - first) / 50 if first >= 0 else np.zeros(count),
                index < first,
                index == first,
            ),
            *(behind, ahead, np.full(count, np.log1p(count)), in_title, in_said),
        ]
    )


def _compute_distances(prose: NDArray[np.bool_], index: Ints) -> tuple[Floats, Floats]:
    """How many blocks it is to the last piece of prose and to the next."""
    where = np.flatnonzero(prose)
    if not len(where):
        far = np.full(len(index), float(_REACH))
        return far, far
    left = np.searchsorted(where, index, side="left")
    right = np.searchsorted(where, index, side="right")
    behind = np.where(left > 0, index - where[np.maximum(left - 1, 0)], _REACH)
    ahead = np.where(right < len(where), where[np.minimum(right, len(where) - 1)] - index, _REACH)
    return np.minimum(behind, _REACH).astype(float), np.minimum(ahead, _REACH).astype(float)


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


__all__ = ["PageClaims", "compute_features"]

_TAGS = [
    "p",
    "div",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "td",
    "th",
    "blockquote",
    "pre",
    "figcaption",
    "dt",
    "dd",
    "section",
    "article",
    "span",
    "time",
    "address",
    "label",
    "tr",
    "center",
    "figure",
    "footer",
    "header",
    "form",
    "ul",
    "main",
    "body",
    "cite",
    "summary",
]
_TAG_COLUMN = {tag: column for column, tag in enumerate(_TAGS)}
_PARENT_TAGS = [
    "p",
    "div",
    "li",
    "td",
    "blockquote",
    "section",
    "article",
    "tr",
    "figure",
    "footer",
    "header",
    "form",
    "ul",
    "main",
]
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


def compute_features(
    blocks: list[Block], nodes: list[Node], page_claims: PageClaims
) -> NDArray[np.float32]:
    """A row for each block, shape (blocks, features); `blocks` must not be empty."""
    own, columns = compute_text_features(blocks, nodes)
    tags = [node.tag for node in nodes]
    headings = np.array([tags[block.node] in _HEADINGS for block in blocks], dtype=float)
    parts = [
        own,
        *compute_container_features(columns, nodes, tags),
        compute_position_features(columns, blocks, nodes, page_claims),
        compute_repetition(columns, blocks, nodes),
        _build_tag_columns([tags[block.node] for block in blocks], _TAG_COLUMN),
        _build_tag_columns(
            [tags[k] for k in columns.parent], {t: i for i, t in enumerate(_PARENT_TAGS)}
        ),
        compute_name_features(columns, nodes),
        compute_neighbour_features(columns, headings),
    ]
    return np.column_stack(parts).astype(np.float32)


def _build_tag_columns(tags: list[str], columns_by_tag: dict[str, int]) -> Floats:
    found = np.zeros((len(tags), len(columns_by_tag) + 1))
    found[np.arange(len(tags)), [columns_by_tag.get(tag, len(columns_by_tag)) for tag in tags]] = 1
    return found
