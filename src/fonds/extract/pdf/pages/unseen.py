"""Text that a page holds and does not show: beside the page, or drawn in no colour.

The recognised text of a scan is drawn so too; where most of a page's text is, it is the page's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fonds.extract.pdf.pages.characters import Box, Characters

_SAMPLES, _DRAWN_EVERY, _SHORT_CHARS = 8, 4, 1_000
_CHARS_MAX = 200_000
_MARGIN = 1.0
_WORD = re.compile(r"[^\x00-\x20]+")


class Why(StrEnum):
    """Why a reader of the page does not see a piece of its text."""

    OFF_PAGE = "off-page"
    INVISIBLE = "invisible"


@dataclass(frozen=True, slots=True)
class Unseen:
    """A piece of text, page from 0."""

    page: int
    why: Why
    text: str


def unseen_places(page: Characters, box: Box, is_scan: Callable[[], bool]) -> dict[int, Why]:
    """The characters that are not seen, by index; {} for nearly every page.

    Some characters spread over the page are looked at; all of them, where one of those is not seen.
    """
    count = len(page.text)
    sample = range(0, count, max(1, -(-count // _SAMPLES)))
    hits = {
        number: why
        for place, number in enumerate(sample)
        if page.text[number] > " "
        and (why := _why(page, number, box, None, drawn=_asks(place, count)))
    }
    if not hits:
        return {}
    placed = page.placed_objects()
    beside = any(
        page.object_of(number) in placed for number, why in hits.items() if why is Why.OFF_PAGE
    )
    if not beside and (Why.INVISIBLE not in hits.values() or is_scan()):
        return {}
    found: dict[int, Why] = {}
    for word in _WORD.finditer(page.text, 0, _CHARS_MAX):
        begin, end = word.span()
        # A word that begins on the page, or is cut by its edge, is seen.
        if _why(page, begin, box, placed):
            whys = [_why(page, number, box, placed) for number in range(begin, end)]
            if all(whys):
                found |= {n: why for n, why in zip(range(begin, end), whys, strict=True) if why}
    invisible = sum(why is Why.INVISIBLE for why in found.values())
    shown = sum(letter > " " for letter in page.text) - len(found)
    if invisible >= shown or is_scan():
        found = {number: why for number, why in found.items() if why is Why.OFF_PAGE}
    return found


def _asks(place: int, count: int) -> bool:
    """Whether of this one of the characters looked at it is asked how it is drawn."""
    return count < _SHORT_CHARS or place % _DRAWN_EVERY == 0


def pieces(units: Sequence[str], places: dict[int, Why]) -> Iterator[tuple[Why, str]]:
    """What is not seen as runs of text, blanks within them included; for each reason in turn."""
    for why in Why:
        run: list[str] = []
        last = None
        for number, reason in places.items():
            if reason is not why:
                continue
            if last is not None and number > last + 1:
                run.append(" ")
            run.append(units[number])
            last = number
        if run:
            yield why, "".join(run)


def _why(
    page: Characters, number: int, box: Box, placed: frozenset[int] | None, *, drawn: bool = True
) -> Why | None:
    """`placed` None: the character may not stand where pdfium says; `drawn`: ask how it is drawn."""
    if page.is_beside(number, box, _MARGIN):
        # Within forms that hold forms pdfium is wrong about places.
        return Why.OFF_PAGE if placed is None or page.object_of(number) in placed else None
    return Why.INVISIBLE if drawn and page.is_invisible(number) else None
