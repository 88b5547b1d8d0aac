"""Compute features of each block of a page: numbers from which the classifier decides whether the
block belongs to the article.

The features do not depend on a site, and little on a language: lengths, links, punctuation, names
of surrounding elements, position relative to the prose, repetition, neighbouring blocks, and
agreement with what the page states about itself.
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

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PROSE_WIDTH_MIN = 80
"""Minimum width in letters of a block that counts as prose, if less than 40% of its text is linked.
A Chinese or Thai letter counts 2.5.
"""

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
    """Properties of all blocks of a page, each as an array with one value per block.

    - `width`: number of characters, in which a wide character (such as a Chinese one) counts 2.5.
    - `links`: share of the text that is linked, 0 to 1.
    - `prose`: whether the block is prose: at least 80 wide, and less than 40% linked.
    - `commas`: number of commas.
    - `ends`: 1 if the block ends like a sentence, else 0.
    - `node`, `parent`, `grandparent`, `great_grandparent`: indexes of the block's element and of
      that element's ancestors.
    """

    width: Floats
    links: Floats
    prose: NDArray[np.bool_]
    commas: Floats
    ends: Floats
    node: Ints
    parent: Ints
    grandparent: Ints
    great_grandparent: Ints


def compute_text_features(blocks: list[Block], nodes: list[Node]) -> tuple[Floats, BlockColumns]:
    """Return the features of the blocks' own texts (one row per block), and the properties of
    blocks that other features are computed from.
    """
    rows = np.array([_describe_text(block) for block in blocks], dtype=float)
    width, links, commas, ends = rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3]
    parents = np.array([max(node.parent, 0) for node in nodes], dtype=np.int64)
    node = np.array([block.node for block in blocks], dtype=np.int64)
    parent = parents[node]
    prose = (width >= PROSE_WIDTH_MIN) & (links < 0.4)
    columns = BlockColumns(
        width, links, prose, commas, ends, node, parent, parents[parent], parents[parents[parent]]
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
    """Return the `count` lowest bits of each number as columns of 0 and 1, one row per number and
    the lowest bit first.
    """
    return ((numbers[:, None] >> np.arange(count)) & 1).astype(float)


# Features of the surroundings: prose and links of the containing elements, similar blocks,
# neighbours.


_PARAGRAPHS = frozenset({"p", "li", "h1", "h2", "h3", "h4", "td", "blockquote", "pre"})


def compute_container_features(
    columns: BlockColumns, nodes: list[Node], tags: list[str]
) -> list[Floats]:
    """Return features of the elements that contain each block, up to the great-grandparent.

    The features are amounts of text, prose and links, and the relation of the block to the element
    that has most of the page's prose.
    """
    totals, ends = _sum_subtrees(columns, nodes)
    density = totals[:, 1] / np.maximum(totals[:, 0], 1)
    all_prose = max(totals[0, 3], 1.0)
    parts: list[Any] = []
    for containers in (
        columns.node,
        columns.parent,
        columns.grandparent,
        columns.great_grandparent,
    ):
        container_totals = totals[containers]
        parts += [
            np.log1p(container_totals[:, 0]),
            density[containers],
            container_totals[:, 3] / all_prose,
        ]
        parts += [
            np.log1p(container_totals[:, 2]),
            np.log1p(container_totals[:, 4]),
            container_totals[:, 3] / np.maximum(container_totals[:, 0], 1),
        ]
    scores = np.zeros(len(nodes))
    weight = np.where(
        columns.prose, 1 + np.minimum(columns.commas, 6) + np.minimum(columns.width / 100, 3), 0
    )
    weight *= 1 - columns.links
    is_paragraph = np.array([tag in _PARAGRAPHS for tag in tags])[columns.node]
    np.add.at(scores, np.where(is_paragraph, columns.parent, columns.node), weight)
    np.add.at(scores, np.where(is_paragraph, columns.grandparent, columns.parent), weight / 2)
    scores *= 1 - density
    best = int(scores.argmax())
    best_parent = max(nodes[best].parent, 0)
    best_score = max(scores[best], 1e-9)
    depths = np.array([node.depth for node in nodes], dtype=float)
    count = len(columns.node)
    inside = (columns.node >= best) & (columns.node < ends[best])
    parts += [inside, (columns.node >= best_parent) & (columns.node < ends[best_parent])]
    parts += [
        scores[columns.parent] / best_score,
        scores[columns.grandparent] / best_score,
        scores[columns.node] / best_score,
    ]
    parts += [np.full(count, totals[best, 3] / all_prose)]
    parts += [np.abs(depths[columns.node] - depths[best]), depths[columns.node] / 10]
    parts += [np.full(count, np.log1p(all_prose)), np.full(count, all_prose / max(totals[0, 0], 1))]
    return [np.asarray(part, dtype=float) for part in parts]


def _sum_subtrees(columns: BlockColumns, nodes: list[Node]) -> tuple[Floats, Ints]:
    """Return sums over the blocks in each element and its descendants (one row per element), and
    for each element the index after its last descendant.

    The sums are the width of all blocks, the width of linked text, the number and the width of
    prose blocks, and the number of all blocks.
    """
    totals = np.zeros((len(nodes) + 1, 5))
    width, prose = columns.width, columns.prose
    block_values = np.column_stack(
        [width, width * columns.links, prose, np.where(prose, width, 0), np.ones(len(width))]
    )
    np.add.at(totals[1:], columns.node, block_values)
    cumulative_totals = np.cumsum(totals, axis=0)
    ends = np.array([node.end for node in nodes], dtype=np.int64)
    return cumulative_totals[ends] - cumulative_totals[:-1], ends


def compute_repetition(columns: BlockColumns, blocks: list[Block], nodes: list[Node]) -> Floats:
    """Return features of repetition for each block: how many blocks have the same text, how many
    have the same kind of element, and averages over the blocks of this kind.

    Elements are of the same kind if their tags, their names (such as class and id) and their
    parents' names are equal.
    """
    texts = Counter(block.text for block in blocks)
    repeat_counts = np.array([min(texts[block.text] - 1, 3) for block in blocks], dtype=float)
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
                repeat_counts,
                np.log1p(sizes[kinds]),
                sizes[kinds] / len(blocks),
                np.log1p(mean(columns.width)),
            ),
            *(mean(columns.links), mean(columns.prose.astype(float))),
        ]
    )


def compute_name_features(columns: BlockColumns, nodes: list[Node]) -> Floats:
    """Return features of the elements around each block as columns of 0 and 1: word groups
    (`lexicon.py`) in their class, id and role, and tags such as `article` or `nav`.
    """
    own_groups = np.array([node.own_groups for node in nodes], dtype=np.int64)
    groups_above = np.array([node.ancestor_groups for node in nodes], dtype=np.int64)
    places = np.array([node.places for node in nodes], dtype=np.int64)
    nearest_groups = own_groups[columns.node] | own_groups[columns.parent]
    near_groups = nearest_groups | own_groups[columns.grandparent]
    count = len(NAME_GROUPS)
    groups = [
        unpack_bits(nearest_groups, count),
        unpack_bits(near_groups, count),
        unpack_bits(groups_above[columns.node], count),
    ]
    return np.column_stack([*groups, unpack_bits(places[columns.node], PLACE_BITS)])


def compute_neighbour_features(columns: BlockColumns, headings: Floats) -> Floats:
    """Return for each block the width, links, prose, sentence end and heading of the two blocks
    before it and the two after it, and whether the adjacent two have the same parent element as the
    block.

    `headings` is 1 for each block that is a heading, else 0.
    """
    block_values = np.column_stack(
        [np.log1p(columns.width), columns.links, columns.prose, columns.ends, headings]
    )
    number: Floats = columns.parent.astype(np.float64) + 1
    same_parent = [_shift(number, offset) == number for offset in (1, -1)]
    return np.column_stack(
        [*(_shift(block_values, offset) for offset in (1, -1, 2, -2)), *same_parent]
    )


def _shift(values: Floats, columns: int) -> Floats:
    """Return the rows of a table moved down by `columns` rows, or up if negative. Rows without a
    source are zeros.
    """
    shifted_values = np.zeros_like(values)
    if columns > 0:
        shifted_values[columns:] = values[:-columns]
    else:
        shifted_values[:columns] = values[-columns:]
    return shifted_values


# Position features: before or after the title, and between which prose.


_REACH = 20


@dataclass(frozen=True, slots=True)
class PageClaims:
    """What a page states about its article outside the visible text: title, description and text in
    plain text; '' if not stated.
    """

    title: str = ""
    description: str = ""
    body: str = ""


def compute_position_features(
    columns: BlockColumns, blocks: list[Block], nodes: list[Node], page_claims: PageClaims
) -> Floats:
    """Return features of each block's position in the page: relative to all text, to the title and
    to the prose.

    The features include whether the block's text occurs in the title, description and article text
    that the page states.
    """
    count = len(blocks)
    index = np.arange(count)
    title, description, body = (
        _fold(page_claims.title),
        _fold(page_claims.description),
        _fold(page_claims.body),
    )
    in_title = np.zeros(count)
    in_claims = np.zeros((count, 3))
    for row, block in enumerate(blocks):
        if title and len(block.text) < 2 * len(title) + 10:
            text = _fold(block.text)
            in_title[row] = text == title or (len(text) > 15 and (text in title or title in text))
        if body:
            in_claims[row, 1] = _fold(block.text[:120]) in body
        if description and len(block.text) > 25:
            text = _fold(block.text[:60])
            in_claims[row, 2] = text in description or description[:50] in text
    in_claims[:, 0] = bool(body)
    headline = np.flatnonzero(in_title + [nodes[block.node].tag == "h1" for block in blocks])
    headline_row = int(headline[0]) if len(headline) else -1
    prose_width = np.where(columns.prose, columns.width, 0)
    width_before = np.cumsum(columns.width) - columns.width
    prose_before = np.cumsum(prose_width) - prose_width
    prose_distance_before, prose_distance_after = _compute_distances(columns.prose, index)
    return np.column_stack(
        [
            *(
                index / count,
                width_before / max(columns.width.sum(), 1),
                prose_before / max(prose_width.sum(), 1),
            ),
            *(
                (index - headline_row) / 50 if headline_row >= 0 else np.zeros(count),
                index < headline_row,
                index == headline_row,
            ),
            *(
                prose_distance_before,
                prose_distance_after,
                np.full(count, np.log1p(count)),
                in_title,
                in_claims,
            ),
        ]
    )


def _compute_distances(prose: NDArray[np.bool_], index: Ints) -> tuple[Floats, Floats]:
    """Return for each block the number of blocks to the previous and to the next prose block, at
    most 20.

    `prose` is whether each block is prose, `index` the block numbers 0, 1, 2, ….
    """
    prose_rows = np.flatnonzero(prose)
    if not len(prose_rows):
        unreachable = np.full(len(index), float(_REACH))
        return unreachable, unreachable
    next_index = np.searchsorted(prose_rows, index, side="left")
    right = np.searchsorted(prose_rows, index, side="right")
    distance_before = np.where(
        next_index > 0, index - prose_rows[np.maximum(next_index - 1, 0)], _REACH
    )
    distance_after = np.where(
        right < len(prose_rows), prose_rows[np.minimum(right, len(prose_rows) - 1)] - index, _REACH
    )
    return np.minimum(distance_before, _REACH).astype(float), np.minimum(
        distance_after, _REACH
    ).astype(float)


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
    """Return the features of all blocks, shape (blocks, features). `blocks` must not be empty."""
    text_features, columns = compute_text_features(blocks, nodes)
    tags = [node.tag for node in nodes]
    headings = np.array([tags[block.node] in _HEADINGS for block in blocks], dtype=float)
    parts = [
        text_features,
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
    one_hot = np.zeros((len(tags), len(columns_by_tag) + 1))
    one_hot[
        np.arange(len(tags)), [columns_by_tag.get(tag, len(columns_by_tag)) for tag in tags]
    ] = 1
    return one_hot
