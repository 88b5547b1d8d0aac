"""Find text on a PDF page that a reader does not see: outside the page, or drawn invisibly.

The recognised text of a scan is invisible too. If most of a page's text is invisible, it counts as
the text of the page.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.characters import Box, PageCharacters
from fonds.extract.pdf.page_origin import PageOrigin
from fonds.model.pdf_extra import HiddenReason

_SAMPLES, _DRAWN_EVERY, _SHORT_CHARS = 8, 4, 1_000
_PAGE_MAX_CHARS = 200_000
_MARGIN = 1.0
_WORD = re.compile(r"[^\x00-\x20]+")


def find_hidden_characters(
    page: PageCharacters, box: Box, is_scan: Callable[[], bool]
) -> dict[int, HiddenReason]:
    """Return the hidden characters of a page: the reason by character index; {} for almost every
    page.

    - `box`: visible area of the page.
    - `is_scan`: function that returns whether the page is a scan.

    A sample of characters is examined first, and the whole page only if one of the sample is
    hidden. Invisible text of a scan is not reported.
    """
    count = len(page.text)
    sample = range(0, count, max(1, -(-count // _SAMPLES)))
    hits = {
        number: reason
        for place, number in enumerate(sample)
        if page.text[number] > " "
        and (
            reason := _find_hidden_reason(
                page, number, box, None, checks_drawing=_is_sampled(place, count)
            )
        )
    }
    if not hits:
        return {}
    placed_objects = page.list_placed_objects()
    has_off_page = any(
        page.get_object(number) in placed_objects
        for number, reason in hits.items()
        if reason is HiddenReason.OFF_PAGE
    )
    if not has_off_page and (HiddenReason.INVISIBLE not in hits.values() or is_scan()):
        return {}
    hidden_reasons: dict[int, HiddenReason] = {}
    for word in _WORD.finditer(page.text, 0, _PAGE_MAX_CHARS):
        begin, end = word.span()
        # A word that begins on the page, or is cut by its edge, is visible.
        if _find_hidden_reason(page, begin, box, placed_objects):
            reasons = [
                _find_hidden_reason(page, number, box, placed_objects)
                for number in range(begin, end)
            ]
            if all(reasons):
                hidden_reasons |= {
                    n: reason
                    for n, reason in zip(range(begin, end), reasons, strict=True)
                    if reason
                }
    invisible = sum(reason is HiddenReason.INVISIBLE for reason in hidden_reasons.values())
    visible_count = sum(letter > " " for letter in page.text[:_PAGE_MAX_CHARS]) - len(
        hidden_reasons
    )
    if invisible >= visible_count or is_scan():
        hidden_reasons = {
            number: reason
            for number, reason in hidden_reasons.items()
            if reason is HiddenReason.OFF_PAGE
        }
    return hidden_reasons


def _is_sampled(place: int, count: int) -> bool:
    """Return whether to check if a character of the sample is drawn invisibly.

    `place` is the position of the character in the sample, `count` the number of characters on the
    page. On pages with many characters, only every fourth of the sample is checked.
    """
    return count < _SHORT_CHARS or place % _DRAWN_EVERY == 0


def iter_hidden_runs(
    units: Sequence[str], places: dict[int, HiddenReason]
) -> Iterator[tuple[HiddenReason, str]]:
    """Yield each reason with the text that is hidden for it. Blanks separate characters that are
    not adjacent on the page.

    - `units`: characters of the page.
    - `places`: reason of each hidden character, by its index.
    """
    for hidden_reason in HiddenReason:
        hidden_units: list[str] = []
        last = None
        for number, reason in places.items():
            if reason is not hidden_reason:
                continue
            if last is not None and number > last + 1:
                hidden_units.append(" ")
            hidden_units.append(units[number])
            last = number
        if hidden_units:
            yield hidden_reason, "".join(hidden_units)


def _find_hidden_reason(
    page: PageCharacters,
    number: int,
    box: Box,
    object_numbers: frozenset[int] | None,
    *,
    checks_drawing: bool = True,
) -> HiddenReason | None:
    """Return why a character is hidden; None if it is visible.

    - `number`: index of the character.
    - `box`: visible area of the page.
    - `object_numbers`: memory addresses of the PDF objects whose positions are reliable; None if
      all are accepted.
    - `checks_drawing`: whether to check if the character is drawn invisibly.
    """
    if page.is_beside(number, box, _MARGIN):
        # Within nested forms pdfium reports wrong positions.
        return (
            HiddenReason.OFF_PAGE
            if object_numbers is None or page.get_object(number) in object_numbers
            else None
        )
    return HiddenReason.INVISIBLE if checks_drawing and page.is_invisible(number) else None


# Whether a page is a picture of a page.


PAGES_JUDGED_MAX = 5
_OBJECTS_MAX = 20
_COVERED_MIN = 0.7
_TEXT_MIN_CHARS = 50


def is_picture(page: pypdfium2.PdfPage) -> bool:
    """Return whether the page is a picture: one of its first 20 objects is an image that covers at
    least 70% of it. Pages of scans are pictures.
    """
    width, height = page.get_size()
    area = abs(width * height)
    count = min(pdfium.FPDFPage_CountObjects(page), _OBJECTS_MAX)
    return area > 0 and any(
        _measure_image_area(pdfium.FPDFPage_GetObject(page, number)) >= _COVERED_MIN * area
        for number in range(max(0, count))
    )


def judge_origin(pages: Sequence[tuple[bool, int]]) -> PageOrigin | None:
    """Return how the text of a PDF was made; None if all pages are blank.

    `pages` has for each examined page whether it is a picture, and its number of characters.
    """
    nonblank = [(picture, chars) for picture, chars in pages if picture or chars]
    if not nonblank:
        return None
    pictures = [chars for picture, chars in nonblank if picture]
    if 2 * len(pictures) <= len(nonblank):
        return PageOrigin.BORN_DIGITAL
    with_text = sum(chars >= _TEXT_MIN_CHARS for chars in pictures)
    return PageOrigin.SCANNED_WITH_TEXT if 2 * with_text > len(pictures) else PageOrigin.SCANNED


def _measure_image_area(obj: object) -> float:
    """Return the area of an image object in square points; 0 for other objects."""
    if not obj or pdfium.FPDFPageObj_GetType(obj) != pdfium.FPDF_PAGEOBJ_IMAGE:
        return 0.0
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not pdfium.FPDFPageObj_GetBounds(obj, left, bottom, right, top):
        return 0.0
    return abs((right.value - left.value) * (top.value - bottom.value))
