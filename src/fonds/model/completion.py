"""Autocompletion of the text that a user types into the search box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class TypingKind(StrEnum):
    """What a user is typing in the search box: the name of a field, the value of a field, or
    neither.
    """

    FIELD = "field"
    VALUE = "value"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class TypedText:
    """Part of a search query that the user is typing.

    - `kind`: whether the user is typing a field name, a field value or neither.
    - `start`, `end`: range of the query that a completion replaces, in characters.
    - `prefix`: text between `start` and the cursor, without an opening quote.
    - `field`: field whose value the user is typing; "" if the user is not typing a value.
    """

    kind: TypingKind
    start: int
    end: int
    prefix: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggested field name or field value that can replace the text being typed.

    - `value`: suggested field name or value.
    - `name`: display name of `value`.
    - `count`: number of documents with this value; None for a field name.
    - `text`: complete search query after the replacement.
    - `at`: position of the cursor in `text` after the replacement, in characters.
    """

    value: str
    name: str
    count: int | None
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class CompletionList:
    """Completions of the text being typed, best first.

    - `typed`: text being typed.
    - `has_more`: whether further completions exist or may exist.
    - `form`: description of how to write a value of the field; None if no value is being typed.
    - `example`: example of a value of the field; None if no value is being typed.
    """

    typed: TypedText
    completions: Sequence[Completion]
    has_more: bool
    form: str | None
    example: str | None


@dataclass(frozen=True, slots=True)
class NamedTheme:
    """Theme (labelled group of similar documents) of a collection; `size` is its number of
    documents.
    """

    collection: str
    label: str
    size: int
