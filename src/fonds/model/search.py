"""What is being typed into a search, and what may take its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256


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


# The generation of an index: a short name for all it holds at one moment.
#
# A number that grows with what is written, and eight digits of a hash over the parts the index lies in, whose
# names are never given twice: an index that was made anew, or went on from a copy, has others. The same
# generation means the same documents. Another need not mean others: merging the parts makes another, too.


EMPTY_GENERATION = "0"
"""That of an index that was never written to."""
HASH_DIGITS = 8


def compute_generation(number: int, parts: Iterable[str]) -> str:
    """As it is told, `4711-0f3ac2d1`; the order of the parts does not count."""
    told = "\n".join(sorted(parts)).encode("utf-8", "replace")
    return f"{number}-{sha256(told).hexdigest()[:HASH_DIGITS]}"


# What is wrong with a query, for people, and where.


class QueryError(ValueError):
    """A sentence for people about a query. `start` and `end` say where in its text the bad token stands, in
    characters; both are 0 where it is about the whole.
    """

    def __init__(self, message: str, start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.start = start
        self.end = end
