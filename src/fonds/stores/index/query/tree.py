"""A query as a small tree that every index backend translates, and that a test can hold against a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Term:
    """Words next to each other in `field`, unfolded as typed; None means title or text.

    One word is found in any of its forms unless `exact`; several stand as they are written. With `prefix`,
    `text` is the beginning of one word.
    """

    text: str
    field: str | None = None
    prefix: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Near:
    """Two to four different words, each with at most `between` others between it and each of the others,
    in any order, as they are written.
    """

    words: tuple[str, ...]
    between: int
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Exact:
    """Documents whose `field` has exactly this value; '' means those without one."""

    field: str
    value: str


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
