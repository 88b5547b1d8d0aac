"""Text that a page holds and does not show: beside the page, or drawn in no colour.

The recognised text of a scan is drawn so too; where most of a page's text is, it is the page's text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fonds.extract.pdf.pages.characters import Box, Characters

_SAMPLES = 24
_CHARS_MAX = 200_000
_MARGIN = 1.0


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


def unseen_places(page: Characters, box: Box, *, is_scan: bool) -> dict[int, Why]:
    """The characters that are not seen, by index; {} for nearly every page.

    Some characters spread over the page are looked at; all of them, where one of those is not seen.
    """
    count = len(page.text)
    sample = range(0, count, max(1, count // _SAMPLES))
    if not any(_why(page, number, box) for number in sample if page.text[number] > " "):
        return {}
    found: dict[int, Why] = {}
    for number in range(min(count, _CHARS_MAX)):
        if page.text[number] > " " and (why := _why(page, number, box)):
            found[number] = why
    invisible = sum(why is Why.INVISIBLE for why in found.values())
    shown = sum(letter > " " for letter in page.text) - len(found)
    if is_scan or invisible >= shown:
        found = {number: why for number, why in found.items() if why is Why.OFF_PAGE}
    return found


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


def _why(page: Characters, number: int, box: Box) -> Why | None:
    cell = page.cell(number)
    if (
        cell.right < box.left - _MARGIN
        or cell.left > box.right + _MARGIN
        or cell.top < box.bottom - _MARGIN
        or cell.bottom > box.top + _MARGIN
    ):
        return Why.OFF_PAGE
    return Why.INVISIBLE if page.is_invisible(number) else None
