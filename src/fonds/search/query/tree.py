"""A query as a small tree that every index backend translates, and that a test can hold against a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from fonds.text.stop_words import stop_words_of_query
from fonds.text.words import split_words


@dataclass(frozen=True, slots=True)
class Term:
    """Words next to each other in `field`, unfolded as typed; None means title or text.

    One word is found in any of its forms unless `is_exact`; several stand as they are written. With
    `is_prefix`, `text` is the beginning of one word. `in_versions`: earlier versions of a story match
    too."""

    text: str
    field: str | None = None
    is_prefix: bool = False
    is_exact: bool = False
    in_versions: bool = False


@dataclass(frozen=True, slots=True)
class NearWords:
    """Two to four different words, each with at most `between` others between it and each of the others,
    in any order, as they are written. `in_versions`: earlier versions of a story match too.
    """

    words: tuple[str, ...]
    between: int
    field: str | None = None
    in_versions: bool = False


@dataclass(frozen=True, slots=True)
class ExactValue:
    """Documents whose `field` has exactly this value; '' means those without one.

    With `is_prefix`, those one of whose values begins with `value`.
    """

    field: str
    value: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Documents whose number in `field` is at least `first` and at most `last`; None means no limit.

    Days are counted from year 1, as `date.toordinal` does. With neither, those that have no number.
    """

    field: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class IdSet:
    """The documents with these ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotNode:
    """Documents that `node` does not match."""

    node: Node


@dataclass(frozen=True, slots=True)
class AndNode:
    """Documents that all nodes match; with no nodes, every document."""

    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class OrNode:
    """Documents that at least one of two or more nodes matches."""

    nodes: tuple[Node, ...]


Node: TypeAlias = Term | NearWords | ExactValue | NumberRange | IdSet | NotNode | AndNode | OrNode
NodeT = TypeVar("NodeT", bound=Node)


def set_versions(node: Node, *, in_versions_wanted: bool = True) -> Node:
    """Return the tree with words of title and text matching in earlier versions too, or not in these."""
    if isinstance(node, Term | NearWords):
        is_kept = node.field in (None, "article_title", "text_content")
        return replace(node, in_versions=in_versions_wanted and is_kept)
    if isinstance(node, NotNode):
        return NotNode(set_versions(node.node, in_versions_wanted=in_versions_wanted))
    if isinstance(node, AndNode | OrNode):
        return replace(
            node,
            nodes=tuple(
                set_versions(one, in_versions_wanted=in_versions_wanted) for one in node.nodes
            ),
        )
    return node


def is_in_versions(node: Node) -> bool:
    """Whether any part of the tree matches in earlier versions."""
    if isinstance(node, Term | NearWords):
        return node.in_versions
    if isinstance(node, NotNode):
        return is_in_versions(node.node)
    return isinstance(node, AndNode | OrNode) and any(map(is_in_versions, node.nodes))


def relax_to_any(node: Node) -> Node:
    """Return the tree that any of the words in `node` is enough for.

    Words, phrases and words near each other become alternatives, and stop words among them are left out.
    Values, ranges, themes and exclusions still hold.
    """
    if isinstance(node, OrNode):
        return _build_or(
            [one for child in node.nodes for one in _list_alternatives(relax_to_any(child))]
        )
    if not isinstance(node, AndNode):
        return node
    parts = list(_iter_required(node))
    is_words = [_is_words(part) for part in parts]
    if not any(is_words):
        return node
    wanted = [
        one
        for part, is_wanted in zip(parts, is_words, strict=True)
        if is_wanted
        for one in _list_alternatives(relax_to_any(part))
    ]
    rest = [part for part, is_wanted in zip(parts, is_words, strict=True) if not is_wanted]
    any_word = _build_or(drop_stop_words(wanted))
    return AndNode((any_word, *rest)) if rest else any_word


def _iter_required(node: Node) -> Iterator[Node]:
    """The parts that must all match, those of groups in parentheses too."""
    if not isinstance(node, AndNode) or not node.nodes:
        yield node
        return
    for child in node.nodes:
        yield from _iter_required(child)


def _is_words(node: Node) -> bool:
    """Whether the node asks for words alone."""
    if isinstance(node, AndNode | OrNode):
        return bool(node.nodes) and all(_is_words(child) for child in node.nodes)
    return isinstance(node, Term | NearWords)


def _list_alternatives(node: Node) -> Sequence[Node]:
    return node.nodes if isinstance(node, OrNode) else (node,)


def _build_or(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else OrNode(tuple(nodes))


def drop_stop_words(nodes: Sequence[NodeT]) -> Sequence[NodeT]:
    """Return the nodes without plain words that are stop words, or all of them when nothing else is left."""
    plain = [_list_plain_words(node) for node in nodes]
    stop_words = stop_words_of_query(word for parts in plain for word in parts)
    kept = [
        node
        for node, parts in zip(nodes, plain, strict=True)
        if not parts or any(part not in stop_words for part in parts)
    ]
    return kept or nodes


def _list_plain_words(node: Node) -> Sequence[str]:
    """The folded words of a term without quotes, equals sign or star; empty for every other node."""
    if not isinstance(node, Term) or node.is_exact or node.is_prefix:
        return ()
    return tuple(split_words(node.text))


def list_wanted_terms(node: Node, field: str = "text_content") -> tuple[Term, ...]:
    """The terms a matching text (or title) may contain, for marking them; excluded ones are left out."""
    if isinstance(node, Term):
        return (node,) if node.field in (None, field) else ()
    if isinstance(node, NearWords) and node.field in (None, field):
        return tuple(Term(word, node.field, is_exact=True) for word in node.words)
    if isinstance(node, AndNode | OrNode):
        return tuple(term for child in node.nodes for term in list_wanted_terms(child, field))
    return ()


def list_exact_values(node: Node) -> tuple[ExactValue, ...]:
    """The exact values a matching document may have; excluded ones are left out."""
    if isinstance(node, ExactValue):
        return (node,)
    if isinstance(node, AndNode | OrNode):
        return tuple(value for child in node.nodes for value in list_exact_values(child))
    return ()
