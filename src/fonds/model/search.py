"""Completions of a search while it is typed, index generations, and query errors."""

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
    """Part of a search that is being typed.

    - `start`, `end`: range in characters that a completion replaces.
    - `prefix`: part before the cursor, without a quote.
    - `field`: field of a value.
    """

    kind: TypingKind
    start: int
    end: int
    prefix: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Completion of the text being typed.

    - `value`, `name`: the field or value, and its label for people.
    - `count`: number of documents with it; None for a field.
    - `text`: whole search with the completion.
    - `at`: cursor position in it, in characters.
    """

    value: str
    name: str
    count: int | None
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class CompletionList:
    """Completions of the text being typed, the best first.

    `has_more` says that there are others, or may be. `form` and `example` show how a value of the
    field is written; None if no value is being typed.
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


# Generation of an index: a short name for its contents at one time.
#
# It is a number that grows with writes, and eight digits of a hash over the names of the index's
# parts. These names are never reused, so an index that was rebuilt or restored from a copy has
# other hashes. The same generation means the same documents. Different generations may hold the
# same documents: merging parts makes a new one too.


EMPTY_GENERATION = "0"
"""Generation of an index that was never written to."""
HASH_DIGITS = 8


def compute_generation(number: int, parts: Iterable[str]) -> str:
    """Return the generation's name, such as `4711-0f3ac2d1`; the order of the parts does not count."""
    encoded_parts = "\n".join(sorted(parts)).encode("utf-8", "replace")
    return f"{number}-{sha256(encoded_parts).hexdigest()[:HASH_DIGITS]}"


class QueryError(ValueError):
    """Error in a query, with a sentence for people.

    `start` and `end` locate the bad token in the text, in characters; both are 0 if it concerns the
    whole query.
    """

    def __init__(self, message: str, start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.start = start
        self.end = end
