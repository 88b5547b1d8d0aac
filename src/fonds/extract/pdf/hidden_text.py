"""Find text on a PDF page that a reader does not see: outside the page, or drawn invisibly.

The recognised text of a scan is invisible too. If most of a page's text is invisible, it counts as
the text of the page.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.characters import Box, PageCharacters
from fonds.extract.pdf.page_origin import PageOrigin
from fonds.model.pdf_extra import HiddenReason

_SAMPLES, _DRAWN_EVERY, _SHORT_CHARS = 8, 4, 1_000
_PAGE_MAX_CHARS = 200_000
_MARGIN = 1.0
_WORDS_AT_ONCE = 100
_WORD = re.compile(r"[^\x00-\x20]+")
_BLANKS = "".join(map(chr, range(0x21)))


def find_hidden_characters(
    page: PageCharacters, box: Box, is_scan: Callable[[], bool]
) -> dict[int, HiddenReason]:
    """Return the hidden characters of a page: the reason by character index; {} for almost every
    page.

    - `box`: visible area of the page.
    - `is_scan`: function that returns whether the page is a scan.

    A sample of characters is examined first, and the whole page only if one of the sample is
    hidden. Invisible text is not reported if the page is a scan, or if it is at least as much as
    the visible text. Only words outside the page are then examined further.
    """
    count = len(page.text)
    sample = range(0, count, max(1, -(-count // _SAMPLES)))
    printed_sample = [number for number in sample if page.text[number] > " "]
    outer_characters = frozenset(page.find_beside(printed_sample, box, _MARGIN))
    has_off_page = any(map(page.is_placed, outer_characters))
    if not has_off_page and not _has_invisible(page, sample, outer_characters):
        return {}
    reports_invisible = not is_scan()
    if not reports_invisible and not has_off_page:
        return {}
    words = [word.span() for word in _WORD.finditer(page.text, 0, _PAGE_MAX_CHARS)]
    outer_characters = _find_beside_ends(page, words, box)
    invisible_words = (
        _find_invisible_words(page, words, outer_characters) if reports_invisible else None
    )
    if invisible_words is None and not outer_characters:
        return {}
    if invisible_words is None:
        words = [
            (start, end)
            for start, end in words
            if start in outer_characters or end - 1 in outer_characters
        ]
    hidden_reasons = _find_hidden_words(
        page, words, outer_characters, box, frozenset(invisible_words or ())
    )
    reasons = Counter(hidden_reasons.values())
    printed_count = sum(end - start for start, end in words)
    if invisible_words is None or 2 * reasons[HiddenReason.INVISIBLE] >= (
        printed_count - reasons[HiddenReason.OFF_PAGE]
    ):
        return {
            number: reason
            for number, reason in hidden_reasons.items()
            if reason is HiddenReason.OFF_PAGE
        }
    return hidden_reasons


def _has_invisible(page: PageCharacters, sample: Sequence[int], skipped: frozenset[int]) -> bool:
    """Return whether one of the characters in `sample` (indexes) is drawn invisibly. Those in
    `skipped` are not examined.
    """
    return any(
        _is_sampled(place, len(page.text))
        and number not in skipped
        and page.text[number] > " "
        and page.is_invisible(number)
        for place, number in enumerate(sample)
    )


def _find_beside_ends(
    page: PageCharacters, words: Sequence[tuple[int, int]], box: Box
) -> frozenset[int]:
    """Return the indexes of those characters outside the box that are the first or last of a word.

    `words` has the indexes of each word's first character and after its last one. Where all words
    begin in the box and all lines end in it, the words are in it and are not examined further.
    """
    word_starts = [start for start, _ in words]
    line_ends = _list_line_ends(page.text[:_PAGE_MAX_CHARS])
    outer_characters = page.find_beside([*word_starts, *line_ends], box, _MARGIN)
    if not outer_characters:
        return frozenset()
    return frozenset(outer_characters).union(
        page.find_beside([end - 1 for _, end in words], box, _MARGIN)
    )


def _list_line_ends(text: str) -> list[int]:
    """Return the index of the last printed character of each line."""
    ends: list[int] = []
    start = 0
    for line in text.split("\n"):
        printed_length = len(line.rstrip(_BLANKS))
        if printed_length:
            ends.append(start + printed_length - 1)
        start += len(line) + 1
    return ends


def _find_invisible_words(
    page: PageCharacters, words: Sequence[tuple[int, int]], outer_characters: frozenset[int]
) -> list[tuple[int, int]] | None:
    """Return the words on the page whose ends one invisible text object draws; None as soon as they
    are half of the text, because invisible text is then not reported.

    `outer_characters` has the first and last characters of words that are outside the page.
    """
    printed_count = sum(end - start for start, end in words)
    invisible_words: list[tuple[int, int]] = []
    invisible_count = 0
    for place in range(0, len(words), _WORDS_AT_ONCE):
        some_words = words[place : place + _WORDS_AT_ONCE]
        flags = page.find_invisible(some_words)
        found_words = [
            (start, end)
            for (start, end), is_invisible in zip(some_words, flags, strict=True)
            if is_invisible
            and not (
                outer_characters and (start in outer_characters or end - 1 in outer_characters)
            )
        ]
        invisible_words += found_words
        invisible_count += sum(end - start for start, end in found_words)
        if 2 * invisible_count >= printed_count:
            return None
    return invisible_words


def _find_hidden_words(
    page: PageCharacters,
    words: Sequence[tuple[int, int]],
    outer_characters: frozenset[int],
    box: Box,
    invisible_words: frozenset[tuple[int, int]],
) -> dict[int, HiddenReason]:
    """Return the characters of those words that are hidden as a whole: the reason by index.

    A word that begins on the page, or is cut by its edge, is visible. `outer_characters` has the first and
    last characters of words that are outside the page. Words other than `invisible_words` are
    examined by character if their first one is hidden.
    """
    hidden_reasons: dict[int, HiddenReason] = {}
    for start, end in words:
        if (start, end) in invisible_words:
            hidden_reasons.update(dict.fromkeys(range(start, end), HiddenReason.INVISIBLE))
        elif page.is_placed(start) if start in outer_characters else page.is_invisible(start):
            reasons = _find_hidden_reasons(page, range(start, end), box)
            if all(reasons):
                hidden_reasons |= {
                    n: reason
                    for n, reason in zip(range(start, end), reasons, strict=True)
                    if reason
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


def _find_hidden_reasons(
    page: PageCharacters, numbers: Sequence[int], box: Box
) -> list[HiddenReason | None]:
    """Return why each of the characters `numbers` (indexes) is hidden; None for a visible one.

    `box` is the visible area of the page.
    """
    outer_characters = frozenset(page.find_beside(numbers, box, _MARGIN))
    reasons: list[HiddenReason | None] = []
    for number in numbers:
        if number in outer_characters:
            # Within nested forms pdfium reports wrong positions.
            reasons.append(HiddenReason.OFF_PAGE if page.is_placed(number) else None)
        else:
            reasons.append(HiddenReason.INVISIBLE if page.is_invisible(number) else None)
    return reasons


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
    # Passing the handle costs less than converting pypdfium2's object at each call.
    handle = page.raw
    count = min(pdfium.FPDFPage_CountObjects(handle), _OBJECTS_MAX)
    return area > 0 and any(
        _measure_image_area(pdfium.FPDFPage_GetObject(handle, number)) >= _COVERED_MIN * area
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
