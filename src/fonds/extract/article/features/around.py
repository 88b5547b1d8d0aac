"""What is around each block: how much prose and links its elements hold, what looks alike, its neighbours."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from fonds.extract.article.blocks import PLACE_BITS, Block, Node
from fonds.extract.article.features.texts import Columns, Floats, Ints, bits
from fonds.extract.article.lexicon import NAME_GROUPS

_PARAGRAPHS = frozenset({"p", "li", "h1", "h2", "h3", "h4", "td", "blockquote", "pre"})


def containers(columns: Columns, nodes: list[Node], tags: list[str]) -> list[Floats]:
    """How much prose and how many links the elements around hold, and which element holds the prose."""
    totals, ends = _totals(columns, nodes)
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


def _totals(columns: Columns, nodes: list[Node]) -> tuple[Floats, Ints]:
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


def repetition(columns: Columns, blocks: list[Block], nodes: list[Node]) -> Floats:
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


def names(columns: Columns, nodes: list[Node]) -> Floats:
    """Which groups of words the names of the elements around are of, and which places they are."""
    own = np.array([node.own for node in nodes], dtype=np.int64)
    above = np.array([node.above for node in nodes], dtype=np.int64)
    places = np.array([node.places for node in nodes], dtype=np.int64)
    nearest = own[columns.node] | own[columns.parent]
    near = nearest | own[columns.grandparent]
    count = len(NAME_GROUPS)
    groups = [bits(nearest, count), bits(near, count), bits(above[columns.node], count)]
    return np.column_stack([*groups, bits(places[columns.node], PLACE_BITS)])


def neighbours(columns: Columns, headings: Floats) -> Floats:
    """What the two blocks before and behind are like, and whether they hang at the same element."""
    each = np.column_stack(
        [np.log1p(columns.width), columns.links, columns.prose, columns.ends, headings]
    )
    number: Floats = columns.parent.astype(np.float64) + 1
    beside = [_shifted(number, by) == number for by in (1, -1)]
    return np.column_stack([*(_shifted(each, by) for by in (1, -1, 2, -2)), *beside])


def _shifted(values: Floats, by: int) -> Floats:
    """Each row what stands so many rows before it (behind it, if negative); zeros beyond the ends."""
    moved = np.zeros_like(values)
    if by > 0:
        moved[by:] = values[:-by]
    else:
        moved[:by] = values[-by:]
    return moved
