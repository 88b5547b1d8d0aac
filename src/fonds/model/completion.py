"""What is being typed into a search, and what may take its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class TypingKind(StrEnum):
    """What is being typed; closed."""

    FIELD = "field"
    VALUE = "value"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class TypedText:
    """What is being typed: `prefix` is so much of it as stands before the cursor, without a quote. Whatever
    completes it takes the place of the text from `start` to `end`, in characters. `field` is that of a value.
    """

    kind: TypingKind
    start: int
    end: int
    prefix: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """What may take the place of what is being typed: a field or a value, how people call it, and how many
    documents have it (None of a field). `text` is the whole search with it, the cursor at `at` then, in
    characters."""

    value: str
    name: str
    count: int | None
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class CompletionList:
    """The completions of what is being typed, the best first; `has_more`: there are others, or may be.
    `form` and `example` say how a value of the field is written; None where no value is being typed."""

    typed: TypedText
    completions: Sequence[Completion]
    has_more: bool
    form: str | None
    example: str | None


@dataclass(frozen=True, slots=True)
class NamedTheme:
    """A theme of a collection, which has so many documents."""

    collection: str
    label: str
    size: int
