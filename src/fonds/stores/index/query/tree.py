"""A query as a small tree that every index backend translates, and that a test can hold against a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from fonds.stop_words import stop_words_of_query
from fonds.words import words


@dataclass(frozen=True, slots=True)
class Term:
    """Words next to each other in `field`, unfolded as typed; None means title or text.

    One word is found in any of its forms unless `exact`; several stand as they are written. With `prefix`,
    `text` is the beginning of one word. `in_versions`: earlier versions of a story match too.
    """

    text: str
    field: str | None = None
    prefix: bool = False
    exact: bool = False
    in_versions: bool = False


@dataclass(frozen=True, slots=True)
class Near:
    """Two to four different words, each with at most `between` others between it and each of the others,
    in any order, as they are written. `in_versions`: earlier versions of a story match too.
    """

    words: tuple[str, ...]
    between: int
    field: str | None = None
    in_versions: bool = False


@dataclass(frozen=True, slots=True)
class Exact:
    """Documents whose `field` has exactly this value; '' means those without one.

    With `prefix`, those one of whose values begins with `value`.
    """

    field: str
    value: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """Documents whose number in `field` is at least `first` and at most `last`; None means no limit.

    Days are counted from year 1, as `date.toordinal` does. With neither, those that have no number.
    """

    field: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Among:
    """The documents with these ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Documents that `node` does not match."""

    node: Node


@dataclass(frozen=True, slots=True)
class And:
    """Documents that all nodes match; with no nodes, every document."""

    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Or:
    """Documents that at least one of two or more nodes matches."""

    nodes: tuple[Node, ...]


Node: TypeAlias = Term | Near | Exact | Range | Among | Not | And | Or
NodeT = TypeVar("NodeT", bound=Node)


def in_all_versions(node: Node, *, wanted: bool = True) -> Node:
    """Return the tree with words of title and text matching in earlier versions too, or not in these."""
    if isinstance(node, Term | Near):
        is_kept = node.field in (None, "article_title", "text_content")
        return replace(node, in_versions=wanted and is_kept)
    if isinstance(node, Not):
        return Not(in_all_versions(node.node, wanted=wanted))
    if isinstance(node, And | Or):
        return replace(node, nodes=tuple(in_all_versions(one, wanted=wanted) for one in node.nodes))
    return node


def is_in_versions(node: Node) -> bool:
    """Whether any part of the tree matches in earlier versions."""
    if isinstance(node, Term | Near):
        return node.in_versions
    if isinstance(node, Not):
        return is_in_versions(node.node)
    return isinstance(node, And | Or) and any(map(is_in_versions, node.nodes))


def best_match(node: Node) -> Node:
    """Return the tree that any of the words in `node` is enough for.

    Words, phrases and words near each other become alternatives, and stop words among them are left out.
    Values, ranges, themes and exclusions still hold.
    """
    if isinstance(node, Or):
        return _any_of([one for child in node.nodes for one in _alternatives(best_match(child))])
    if not isinstance(node, And):
        return node
    parts = list(_required(node))
    is_words = [_is_words(part) for part in parts]
    if not any(is_words):
        return node
    wanted = [
        one
        for part, is_wanted in zip(parts, is_words, strict=True)
        if is_wanted
        for one in _alternatives(best_match(part))
    ]
    rest = [part for part, is_wanted in zip(parts, is_words, strict=True) if not is_wanted]
    any_word = _any_of(without_stop_words(wanted))
    return And((any_word, *rest)) if rest else any_word


def _required(node: Node) -> Iterator[Node]:
    """The parts that must all match, those of groups in parentheses too."""
    if not isinstance(node, And) or not node.nodes:
        yield node
        return
    for child in node.nodes:
        yield from _required(child)


def _is_words(node: Node) -> bool:
    """Whether the node asks for words alone."""
    if isinstance(node, And | Or):
        return bool(node.nodes) and all(_is_words(child) for child in node.nodes)
    return isinstance(node, Term | Near)


def _alternatives(node: Node) -> Sequence[Node]:
    return node.nodes if isinstance(node, Or) else (node,)


def _any_of(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))


def without_stop_words(nodes: Sequence[NodeT]) -> Sequence[NodeT]:
    """Return the nodes without plain words that are stop words, or all of them when nothing else is left."""
    plain = [_plain_words(node) for node in nodes]
    stop_words = stop_words_of_query(word for parts in plain for word in parts)
    kept = [
        node
        for node, parts in zip(nodes, plain, strict=True)
        if not parts or any(part not in stop_words for part in parts)
    ]
    return kept or nodes


def _plain_words(node: Node) -> Sequence[str]:
    """The folded words of a term without quotes, equals sign or star; empty for every other node."""
    if not isinstance(node, Term) or node.exact or node.prefix:
        return ()
    return tuple(words(node.text))


def wanted_terms(node: Node, field: str = "text_content") -> tuple[Term, ...]:
    """The terms a matching text (or title) may contain, for marking them; excluded ones are left out."""
    if isinstance(node, Term):
        return (node,) if node.field in (None, field) else ()
    if isinstance(node, Near) and node.field in (None, field):
        return tuple(Term(word, node.field, exact=True) for word in node.words)
    if isinstance(node, And | Or):
        return tuple(term for child in node.nodes for term in wanted_terms(child, field))
    return ()


def exact_values(node: Node) -> tuple[Exact, ...]:
    """The exact values a matching document may have; excluded ones are left out."""
    if isinstance(node, Exact):
        return (node,)
    if isinstance(node, And | Or):
        return tuple(value for child in node.nodes for value in exact_values(child))
    return ()
