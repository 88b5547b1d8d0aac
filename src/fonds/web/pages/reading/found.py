"""What a search looks for, marked in the text of a file on its own page.

Bound: the first 500 hits of a text are marked; a page says so where there may be more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from markupsafe import Markup, escape

from fonds.library.reading.hits import Wanted
from fonds.model.query_error import QueryError
from fonds.web.problems import RefusedError
from fonds.wiring.backends import marking
from fonds.words import composed

QUERY_MAX_CHARS = 1_000
HITS_MAX = 500
"""As many as are looked for at once, so that fewer are all there are."""

Find = Annotated[
    str,
    Query(
        max_length=QUERY_MAX_CHARS, description="What to mark in the text, in the words of a search"
    ),
]


@dataclass(frozen=True, slots=True)
class TextHits:
    """`marks` are (start, end) of the hits of `find` in the first `looked_chars` characters of a text whose
    accents are composed; `is_cut`: there may be more hits in these than the 500 that are told."""

    find: str
    marks: Sequence[tuple[int, int]]
    is_cut: bool
    looked_chars: int


def wanted_of(query: str, language: str | None, parameter: str) -> Wanted:
    """What is to be marked. Raises RefusedError 400 for a query that cannot be understood."""
    try:
        return Wanted(marking(query, language) if query.strip() else None)
    except QueryError as error:
        raise RefusedError(
            400, str(error), parameter=parameter, start=error.start, end=error.end
        ) from error
    except ValueError as error:
        raise RefusedError(400, str(error), parameter=parameter) from error


def text_hits(find: str, language: str | None, text: str) -> TextHits | None:
    """The hits in a text; None where nothing is looked for. Raises RefusedError 400 as above."""
    if not find.strip():
        return None
    whole = composed(text)
    marks = wanted_of(find, language, "find").in_text(whole)
    return TextHits(find, marks[:HITS_MAX], len(marks) >= HITS_MAX, len(whole))


def marked_lines(text: str, hits: TextHits | None, separator: str) -> list[Markup]:
    """The pieces of a text between separators, escaped; each hit has an address of its own, and behind it
    stand the ways to the ones before and after it."""
    whole = composed(text) if hits else text
    marks = list(hits.marks) if hits else []
    lines, at, first = list[Markup](), 0, 0
    for line in whole.split(separator):
        end = at + len(line)
        behind = first
        while behind < len(marks) and marks[behind][0] < end:
            behind += 1
        inside = [(n, max(marks[n][0], at), min(marks[n][1], end)) for n in range(first, behind)]
        lines.append(Markup("").join(_pieces(whole, at, end, inside, len(marks))))
        at, first = end + len(separator), behind
    return lines


def _pieces(
    text: str, at: int, end: int, inside: Sequence[tuple[int, int, int]], count: int
) -> Iterator[Markup]:
    for number, start, stop in inside:
        yield escape(text[at:start])
        yield Markup('<mark id="hit-{}">{}</mark>').format(number + 1, text[start:stop])
        yield _ways(number + 1, count)
        at = stop
    yield escape(text[at:end])


def _ways(number: int, count: int) -> Markup:
    before = Markup(' <a href="#hit-{}">previous</a>').format(number - 1) if number > 1 else ""
    behind = Markup(' <a href="#hit-{}">next</a>').format(number + 1) if number < count else ""
    said = (number, count, before, behind)
    return Markup('<span class="hit-ways" lang="en" dir="ltr">{} of {}{}{}</span>').format(*said)
