"""Where in the page each block stands: before or behind the title, and between what prose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fonds.extract.article.blocks import Block, Node
from fonds.extract.article.features.texts import Columns, Floats, Ints

_REACH = 20


@dataclass(frozen=True, slots=True)
class Said:
    """What the page says of itself, in plain words; "" where it says nothing."""

    title: str = ""
    description: str = ""
    body: str = ""


def places(columns: Columns, blocks: list[Block], nodes: list[Node], said: Said) -> Floats:
    """Where in the page each block stands, before or behind the title and between what prose."""
    count = len(blocks)
    index = np.arange(count)
    title, description, body = _folded(said.title), _folded(said.description), _folded(said.body)
    in_title = np.zeros(count)
    in_said = np.zeros((count, 3))
    for row, block in enumerate(blocks):
        if title and len(block.text) < 2 * len(title) + 10:
            text = _folded(block.text)
            in_title[row] = text == title or (len(text) > 15 and (text in title or title in text))
        if body:
            in_said[row, 1] = _folded(block.text[:120]) in body
        if description and len(block.text) > 25:
            text = _folded(block.text[:60])
            in_said[row, 2] = text in description or description[:50] in text
    in_said[:, 0] = bool(body)
    headline = np.flatnonzero(in_title + [nodes[block.node].tag == "h1" for block in blocks])
    first = int(headline[0]) if len(headline) else -1
    prose_width = np.where(columns.prose, columns.width, 0)
    before = np.cumsum(columns.width) - columns.width
    prose_before = np.cumsum(prose_width) - prose_width
    behind, ahead = _distances(columns.prose, index)
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


def _distances(prose: NDArray[np.bool_], index: Ints) -> tuple[Floats, Floats]:
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


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
