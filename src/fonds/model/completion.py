"""Completions of the text that a user types into the search box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class TypingKind(StrEnum):
    """Kind of the text being typed; a closed set."""

    FIELD = "field"
    VALUE = "value"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class TypedText:
    """Text that is being typed, with its place in the search.

    `prefix` is its part before the cursor, without a quote.
    A completion replaces the text from `start` to `end`, in characters.
    `field` is the field whose value is being typed.
    """

    kind: TypingKind
    start: int
    end: int
    prefix: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Field or value that can replace the text being typed.

    `name` is its display name. `count` is the number of documents that have it; None for a field.
    `text` is the whole search with it, and `at` the position of the cursor there, in characters.
    """

    value: str
    name: str
    count: int | None
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class CompletionList:
    """Completions of the text being typed, best first.

    `has_more` means that there are or may be others. `form` and `example` describe how to write a
    value of the field; None if no value is being typed.
    """

    typed: TypedText
    completions: Sequence[Completion]
    has_more: bool
    form: str | None
    example: str | None


@dataclass(frozen=True, slots=True)
class NamedTheme:
    """Theme of a collection; `size` is its number of documents."""

    collection: str
    label: str
    size: int
