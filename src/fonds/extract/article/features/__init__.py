"""What is evident of each block of a page, as numbers for the model that judges it.

Nothing here depends on a site, and little on a language: lengths, links, punctuation, the elements and names
around, where the page's prose lies, repetition, the neighbours, and what the page says of itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fonds.extract.article.blocks import Block, Node
from fonds.extract.article.features.around import containers, names, neighbours, repetition
from fonds.extract.article.features.placing import Said, places
from fonds.extract.article.features.texts import Floats, texts

__all__ = ["Said", "block_features"]

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


def block_features(blocks: list[Block], nodes: list[Node], said: Said) -> NDArray[np.float32]:
    """A row for each block, shape (blocks, features); `blocks` must not be empty."""
    own, columns = texts(blocks, nodes)
    tags = [node.tag for node in nodes]
    headings = np.array([tags[block.node] in _HEADINGS for block in blocks], dtype=float)
    parts = [
        own,
        *containers(columns, nodes, tags),
        places(columns, blocks, nodes, said),
        repetition(columns, blocks, nodes),
        _tag_columns([tags[block.node] for block in blocks], _TAG_COLUMN),
        _tag_columns([tags[k] for k in columns.parent], {t: i for i, t in enumerate(_PARENT_TAGS)}),
        names(columns, nodes),
        neighbours(columns, headings),
    ]
    return np.column_stack(parts).astype(np.float32)


def _tag_columns(tags: list[str], column_of: dict[str, int]) -> Floats:
    found = np.zeros((len(tags), len(column_of) + 1))
    found[np.arange(len(tags)), [column_of.get(tag, len(column_of)) for tag in tags]] = 1
    return found
