"""Where in the pages of a text the words of a search stand, and where on their pictures.

Bound: the first 2,000,000 characters of a text are looked through, and `PAGES_MAX` pages with hits listed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fonds.model.page_view import PlacedWord
from fonds.words import SCANNED_CHARACTERS_MAX, composed

PAGES_MAX = 500
BOXES_MAX = 2_000

Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels."""


@dataclass(frozen=True, slots=True)
class PageHits:
    """A page (from 1) and how many hits it has."""

    page: int
    count: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for in a file; `marks` gives (start, end) of it in a text whose accents are composed,
    None where nothing is looked for."""

    marks: Callable[[str], list[tuple[int, int]]] | None

    def in_text(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of the hits in a text whose accents are composed."""
        return self.marks(text) if self.marks else []

    def by_page(self, pages: Sequence[str]) -> tuple[list[PageHits], bool]:
        """The pages with hits, and whether all pages were looked through."""
        found: list[PageHits] = []
        looked = 0
        for number, text in enumerate(pages if self.marks else (), start=1):
            looked += len(text)
            if looked > SCANNED_CHARACTERS_MAX or len(found) == PAGES_MAX:
                return found, False
            count = len(self.in_text(composed(text)))
            if count:
                found.append(PageHits(number, count))
        return found, True

    def boxes(self, words: Sequence[PlacedWord]) -> list[Box]:
        """The places of the hits on a picture; words of one hit that stand side by side share a box."""
        text, spans = _laid_out(words)
        found: list[Box] = []
        at = 0
        for start, end in self.in_text(text)[:BOXES_MAX]:
            while at < len(words) and spans[at][1] <= start:
                at += 1
            behind = at
            while behind < len(words) and spans[behind][0] < end:
                behind += 1
            found += _joined([one[2:] for one in words[at:behind]])
        return found[:BOXES_MAX]


def _laid_out(words: Sequence[PlacedWord]) -> tuple[str, list[tuple[int, int]]]:
    """The words as a text, and from where to where in it each stands."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    end = 0
    for word in words:
        gap, shown = "" if word.is_joined else " ", composed(word.text)
        pieces += (gap, shown)
        start, end = end + len(gap), end + len(gap) + len(shown)
        spans.append((start, end))
    return "".join(pieces), spans


def _joined(boxes: Sequence[tuple[int, ...]]) -> list[Box]:
    """Boxes of one line that follow one another become one."""
    found: list[Box] = []
    for left, top, right, bottom in boxes:
        middle = (top + bottom) / 2
        if found and found[-1][1] < middle < found[-1][3] and found[-1][0] <= left:
            before = found[-1]
            found[-1] = (
                before[0],
                min(before[1], top),
                max(before[2], right),
                max(before[3], bottom),
            )
        else:
            found.append((left, top, right, bottom))
    return found
