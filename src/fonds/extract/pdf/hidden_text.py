"""Text that a page holds and does not show: beside the page, or drawn in no colour.

The recognised text of a scan is drawn so too; where most of a page's text is, it is the page's text.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.characters import Box, PageCharacters
from fonds.extract.pdf.page_origin import PageOrigin

_SAMPLES, _DRAWN_EVERY, _SHORT_CHARS = 8, 4, 1_000
_MAX_CHARS = 200_000
_MARGIN = 1.0
_WORD = re.compile(r"[^\x00-\x20]+")


class HiddenReason(StrEnum):
    """Why a reader of the page does not see a piece of its text."""

    OFF_PAGE = "off-page"
    INVISIBLE = "invisible"


@dataclass(frozen=True, slots=True)
class HiddenText:
    """A piece of text, page from 0."""

    page: int
    why: HiddenReason
    text: str


def find_hidden_characters(
    page: PageCharacters, box: Box, is_scan: Callable[[], bool]
) -> dict[int, HiddenReason]:
    """The characters that are not seen, by index; {} for nearly every page.

    Some characters spread over the page are looked at; all of them, where one of those is not seen.
    """
    count = len(page.text)
    sample = range(0, count, max(1, -(-count // _SAMPLES)))
    hits = {
        number: why
        for place, number in enumerate(sample)
        if page.text[number] > " "
        and (why := _find_hidden_reason(page, number, box, None, drawn=_is_sampled(place, count)))
    }
    if not hits:
        return {}
    placed = page.list_placed_objects()
    beside = any(
        page.get_object(number) in placed
        for number, why in hits.items()
        if why is HiddenReason.OFF_PAGE
    )
    if not beside and (HiddenReason.INVISIBLE not in hits.values() or is_scan()):
        return {}
    found: dict[int, HiddenReason] = {}
    for word in _WORD.finditer(page.text, 0, _MAX_CHARS):
        begin, end = word.span()
        # A word that begins on the page, or is cut by its edge, is seen.
        if _find_hidden_reason(page, begin, box, placed):
            whys = [_find_hidden_reason(page, number, box, placed) for number in range(begin, end)]
            if all(whys):
                found |= {n: why for n, why in zip(range(begin, end), whys, strict=True) if why}
    invisible = sum(why is HiddenReason.INVISIBLE for why in found.values())
    shown = sum(letter > " " for letter in page.text) - len(found)
    if invisible >= shown or is_scan():
        found = {number: why for number, why in found.items() if why is HiddenReason.OFF_PAGE}
    return found


def _is_sampled(place: int, count: int) -> bool:
    """Whether of this one of the characters looked at it is asked how it is drawn."""
    return count < _SHORT_CHARS or place % _DRAWN_EVERY == 0


def iter_hidden_runs(
    units: Sequence[str], places: dict[int, HiddenReason]
) -> Iterator[tuple[HiddenReason, str]]:
    """What is not seen as runs of text, blanks within them included; for each reason in turn."""
    for why in HiddenReason:
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


def _find_hidden_reason(
    page: PageCharacters,
    number: int,
    box: Box,
    object_numbers: frozenset[int] | None,
    *,
    drawn: bool = True,
) -> HiddenReason | None:
    """`object_numbers` None: the character may not stand where pdfium says; `drawn`: ask how it is drawn."""
    if page.is_beside(number, box, _MARGIN):
        # Within forms that hold forms pdfium is wrong about places.
        return (
            HiddenReason.OFF_PAGE
            if object_numbers is None or page.get_object(number) in object_numbers
            else None
        )
    return HiddenReason.INVISIBLE if drawn and page.is_invisible(number) else None


# Whether a page is the picture of a page.


PAGES_JUDGED_MAX = 5
_OBJECTS_MAX = 20
_COVERED_MIN = 0.7
_TEXT_MIN_CHARS = 50


def is_picture(page: pypdfium2.PdfPage) -> bool:
    """Whether one image covers most of the page; it stands among the first objects of a scan."""
    width, height = page.get_size()
    area = abs(width * height)
    count = min(pdfium.FPDFPage_CountObjects(page), _OBJECTS_MAX)
    return area > 0 and any(
        _measure_image_area(pdfium.FPDFPage_GetObject(page, number)) >= _COVERED_MIN * area
        for number in range(max(0, count))
    )


def judge(pages: Sequence[tuple[bool, int]]) -> PageOrigin | None:
    """By whether each page is a picture and how many characters it has; None when all are blank."""
    told = [(picture, chars) for picture, chars in pages if picture or chars]
    if not told:
        return None
    pictures = [chars for picture, chars in told if picture]
    if 2 * len(pictures) <= len(told):
        return PageOrigin.BORN_DIGITAL
    with_text = sum(chars >= _TEXT_MIN_CHARS for chars in pictures)
    return PageOrigin.SCANNED_WITH_TEXT if 2 * with_text > len(pictures) else PageOrigin.SCANNED


def _measure_image_area(obj: object) -> float:
    """In square points; 0 for whatever is no image."""
    if not obj or pdfium.FPDFPageObj_GetType(obj) != pdfium.FPDF_PAGEOBJ_IMAGE:
        return 0.0
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not pdfium.FPDFPageObj_GetBounds(obj, left, bottom, right, top):
        return 0.0
    return abs((right.value - left.value) * (top.value - bottom.value))
