"""Words of a text that somebody quotes: where they stand, so that anybody finds them again.

Blanks and line ends count for nothing, since a page lays them out anew; nor does how accents are composed.
Whatever the words, a text is gone through three times.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from fonds.library.reading.page_strip import PAGE_SEPARATOR
from fonds.words import composed

QUOTE_MAX_CHARS = 2_000
MARKED_WORDS = 12
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words as they stand in a text, blanks single: from character `start` to before `end` of the text of
    page `page`, both from 0, or of the whole text where `page` is None. They stand there `count` times; it
    is the first that is told. `search` finds their beginning: a phrase in the words of a search."""

    quote: str
    page: int | None
    start: int
    end: int
    count: int
    search: str


def quoted(quote: str, text: str, page: int | None, *, has_pages: bool) -> Quotation | None:
    """Where words stand in a text, or in page `page` of it, from 1; None where they do not, or are none.

    Without `page` the first place of all is told, with its page where a text `has_pages`.
    """
    pages = text.split(PAGE_SEPARATOR) if has_pages else [text]
    if page is not None:
        if page > len(pages):
            return None
        found = _within(quote, pages[page - 1])
        return _told(found, page) if found else None
    found = _within(quote, text)
    if found is None or not has_pages:
        return _told(found, None) if found else None
    begins = list(accumulate((len(one) + 1 for one in pages), initial=0))
    number = bisect_right(begins, found.start)
    start = found.start - begins[number - 1]
    return _told(_Found(found.quote, start, start + found.end - found.start, found.count), number)


@dataclass(frozen=True, slots=True)
class _Found:
    quote: str
    start: int
    end: int
    count: int


def _told(found: _Found, page: int | None) -> Quotation:
    words = found.quote.replace('"', " ").split()[:MARKED_WORDS]
    return Quotation(found.quote, page, found.start, found.end, found.count, f'"{" ".join(words)}"')


def _within(quote: str, text: str) -> _Found | None:
    wanted = " ".join(composed(quote).split())
    places = [one.span() for one in _WORD.finditer(text)]
    words = [composed(text[start:end]) for start, end in places]
    joined = " ".join(words)
    at = joined.find(wanted) if wanted else -1
    if at < 0:
        return None
    begins = list(accumulate((len(one) + 1 for one in words), initial=0))
    first = _place(at, begins, places, words, is_end=False)
    last = _place(at + len(wanted) - 1, begins, places, words, is_end=True)
    return _Found(wanted, first, last, joined.count(wanted))


def _place(
    at: int,
    begins: Sequence[int],
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
    *,
    is_end: bool,
) -> int:
    """The place in the text of a character of the joined words, or behind it; of a word whose accents were
    composed anew, where the word begins or ends."""
    number = bisect_right(begins, at) - 1
    start, end = places[number]
    if end - start != len(words[number]):
        return end if is_end else start
    return start + at - begins[number] + is_end
