"""Syntax tree of a query. Every index backend translates this tree to its own query language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from fonds.text.stop_words import find_query_stop_words
from fonds.text.words import split_words


@dataclass(frozen=True, slots=True)
class Term:
    """Query tree node for documents with one word, or with several adjacent words, in a field.

    - `text`: words as typed, not case-folded.
    - `field`: attribute of documents; None for title or text.
    - `is_prefix`: whether `text` is the beginning of one word.
    - `is_exact`: whether a single word matches only as written. Otherwise it matches in any of its
      forms. Several words always match as written.
    - `in_versions`: whether earlier versions of a story match too.
    """

    text: str
    field: str | None = None
    is_prefix: bool = False
    is_exact: bool = False
    in_versions: bool = False


@dataclass(frozen=True, slots=True)
class NearWords:
    """Query tree node for documents with two to four different words near each other, in any order.

    - `words`: words, which match only as written.
    - `between`: maximum number of other words between any two of the words.
    - `field`: attribute of documents; None for title or text.
    - `in_versions`: whether earlier versions of a story match too.
    """

    words: tuple[str, ...]
    between: int
    field: str | None = None
    in_versions: bool = False


@dataclass(frozen=True, slots=True)
class ExactValue:
    """Query tree node for documents with an exact value in a field.

    - `field`: attribute of documents.
    - `value`: value as the index stores it; '' for documents without a value.
    - `is_prefix`: whether the values of documents need only begin with `value`.
    """

    field: str
    value: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Query tree node for documents whose number or date in `field` is in a range.

    - `first`, `last`: limits of the range, inclusive; None for no limit. If both are None, the node
      matches documents without a value. Dates are day numbers, as in `date.toordinal`.
    """

    field: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class IdSet:
    """Query tree node for documents with one of these ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotNode:
    """Query tree node for documents that `node` does not match."""

    node: Node


@dataclass(frozen=True, slots=True)
class AndNode:
    """Query tree node for documents that all child nodes match; all documents if it has none."""

    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class OrNode:
    """Query tree node for documents that at least one of two or more child nodes matches."""

    nodes: tuple[Node, ...]


Node: TypeAlias = Term | NearWords | ExactValue | NumberRange | IdSet | NotNode | AndNode | OrNode
NodeT = TypeVar("NodeT", bound=Node)


def set_versions(node: Node, *, in_versions: bool = True) -> Node:
    """Return a copy of a query tree that also matches earlier versions of stories, or does not.

    - `in_versions`: True to match earlier versions too. This applies to words in title and text;
      words in other fields match only the current version.
    """
    if isinstance(node, Term | NearWords):
        is_kept = node.field in (None, "article_title", "text_content")
        return replace(node, in_versions=in_versions and is_kept)
    if isinstance(node, NotNode):
        return NotNode(set_versions(node.node, in_versions=in_versions))
    if isinstance(node, AndNode | OrNode):
        return replace(
            node,
            nodes=tuple(set_versions(child, in_versions=in_versions) for child in node.nodes),
        )
    return node


def is_in_versions(node: Node) -> bool:
    """Return whether any term of a query tree matches earlier versions of stories."""
    if isinstance(node, Term | NearWords):
        return node.in_versions
    if isinstance(node, NotNode):
        return is_in_versions(node.node)
    return isinstance(node, AndNode | OrNode) and any(map(is_in_versions, node.nodes))


def relax_to_any(node: Node) -> Node:
    """Return a query tree that matches documents with any of the words in `node`.

    Words, phrases and near words become alternatives, without stop words. Values, ranges, themes
    and exclusions still apply.
    """
    if isinstance(node, OrNode):
        return _build_or(
            [
                alternative
                for child in node.nodes
                for alternative in _list_alternatives(relax_to_any(child))
            ]
        )
    if not isinstance(node, AndNode):
        return node
    parts = list(_iter_required(node))
    is_words = [_is_words(part) for part in parts]
    if not any(is_words):
        return node
    alternatives = [
        alternative
        for part, has_words in zip(parts, is_words, strict=True)
        if has_words
        for alternative in _list_alternatives(relax_to_any(part))
    ]
    other_parts = [part for part, has_words in zip(parts, is_words, strict=True) if not has_words]
    any_word = _build_or(drop_stop_words(alternatives))
    return AndNode((any_word, *other_parts)) if other_parts else any_word


def _iter_required(node: Node) -> Iterator[Node]:
    """Yield the nodes of a query tree that must all match, also those in nested groups."""
    if not isinstance(node, AndNode) or not node.nodes:
        yield node
        return
    for child in node.nodes:
        yield from _iter_required(child)


def _is_words(node: Node) -> bool:
    """Return whether a query tree node consists only of words, phrases and near words.

    It may combine them with AND and OR. It has no exclusion and no field value.
    """
    if isinstance(node, AndNode | OrNode):
        return bool(node.nodes) and all(_is_words(child) for child in node.nodes)
    return isinstance(node, Term | NearWords)


def _list_alternatives(node: Node) -> Sequence[Node]:
    return node.nodes if isinstance(node, OrNode) else (node,)


def _build_or(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else OrNode(tuple(nodes))


def drop_stop_words(nodes: Sequence[NodeT]) -> Sequence[NodeT]:
    """Return the query tree nodes that do not consist of stop words only.

    If all of them do, return all nodes.
    """
    plain_words = [_list_plain_words(node) for node in nodes]
    stop_words = find_query_stop_words(word for parts in plain_words for word in parts)
    remaining = [
        node
        for node, parts in zip(nodes, plain_words, strict=True)
        if not parts or any(part not in stop_words for part in parts)
    ]
    return remaining or nodes


def _list_plain_words(node: Node) -> Sequence[str]:
    """Return the case-folded words of a plain term of a query.

    Return an empty tuple for every other node of the query tree: a term in quotes, with an equals
    sign or with a star, and an operator.
    """
    if not isinstance(node, Term) or node.is_exact or node.is_prefix:
        return ()
    return tuple(split_words(node.text))


def list_highlighted_terms(node: Node, field: str = "text_content") -> tuple[Term, ...]:
    """Return the terms of a query tree to highlight in one field of documents.

    Excluded terms are omitted.
    """
    if isinstance(node, Term):
        return (node,) if node.field in (None, field) else ()
    if isinstance(node, NearWords) and node.field in (None, field):
        return tuple(Term(word, node.field, is_exact=True) for word in node.words)
    if isinstance(node, AndNode | OrNode):
        return tuple(term for child in node.nodes for term in list_highlighted_terms(child, field))
    return ()


def list_exact_values(node: Node) -> tuple[ExactValue, ...]:
    """Return the exact field values in a query tree that a matching document can have.

    Excluded values are omitted.
    """
    if isinstance(node, ExactValue):
        return (node,)
    if isinstance(node, AndNode | OrNode):
        return tuple(value for child in node.nodes for value in list_exact_values(child))
    return ()
