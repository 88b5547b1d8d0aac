"""Find the fonts of a PDF, and whether they are embedded.

Source: ISO 32000-2:2020, 7.8.3 (resource dictionaries), 9.6 to 9.9 (fonts, font descriptors).
Limits: 300 pages, 1,000 fonts, 50 forms, 20 ancestors of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pikepdf

_PAGES_MAX, _FONTS_MAX, _PARENTS_MAX = 300, 1_000, 20
_PAGES_JUDGED, _FONTS_JUDGED_MAX = 10, 200
_FORMS_MAX, _FORMS_DEPTH_MAX = 50, 3
_FILES = ("/FontFile", "/FontFile2", "/FontFile3")


@dataclass(frozen=True, slots=True)
class PageFont:
    """A font of a PDF.

    - `page`: number of the first page (from 0) that uses the font.
    - `font`: the font's dictionary in the PDF.
    """

    page: int
    font: Any


def summarize_embedding(fonts: Iterable[PageFont]) -> str | None:
    """Return `all`, `some` or `none`: how many of the fonts on the first 10 pages are embedded in
    the PDF; None if there are no fonts.
    """
    page_fonts = (page_font.font for page_font in fonts if page_font.page < _PAGES_JUDGED)
    embedded_flags = [_is_embedded(font) for font in islice(page_fonts, _FONTS_JUDGED_MAX)]
    if not embedded_flags:
        return None
    if all(embedded_flags):
        return "all"
    return "some" if any(embedded_flags) else "none"


def iter_page_fonts(pdf: pikepdf.Pdf) -> Iterator[PageFont]:
    """Yield each font on the first 300 pages, and in forms (reusable drawings) on them, once. At
    most 1,000 fonts are yielded.
    """
    visited_numbers: set[tuple[int, int]] = set()
    count = 0
    for number in range(min(len(pdf.pages), _PAGES_MAX)):
        for resources in _iter_resources(
            _find_inherited(pdf.pages[number].obj, "/Resources"), visited_numbers
        ):
            fonts = resources.get("/Font")
            if not isinstance(fonts, pikepdf.Dictionary) or _was_seen(fonts, visited_numbers):
                continue
            for _, font in fonts.items():
                if not isinstance(font, pikepdf.Dictionary) or _was_seen(font, visited_numbers):
                    continue
                count += 1
                if count > _FONTS_MAX:
                    return
                yield PageFont(number, font)


def _iter_resources(first: Any, visited_numbers: set[tuple[int, int]]) -> Iterator[Any]:
    """Yield the resource dictionary of a page (`first`), and those of the forms (reusable drawings)
    on it.

    A form may be a whole page. Forms that are in `visited_numbers` are skipped.
    """
    pending_resources = [(first, 0)]
    for _ in range(_FORMS_MAX):
        if not pending_resources:
            return
        resources, depth = pending_resources.pop()
        if not isinstance(resources, pikepdf.Dictionary):
            continue
        yield resources
        objects = resources.get("/XObject")
        if depth >= _FORMS_DEPTH_MAX or not isinstance(objects, pikepdf.Dictionary):
            continue
        if _was_seen(objects, visited_numbers):
            continue
        for _, child in islice(objects.items(), _FORMS_MAX):
            is_form = isinstance(child, pikepdf.Stream) and child.get("/Subtype") == "/Form"
            if is_form and not _was_seen(child, visited_numbers):
                pending_resources.append((child.get("/Resources"), depth + 1))


def _was_seen(obj: Any, visited_numbers: set[tuple[int, int]]) -> bool:
    """Return whether a PDF object was visited before, and add it to `visited_numbers`.

    Objects without an object number (direct objects) cannot be recognised, so the result for them
    is False.
    """
    object_number = obj.objgen
    if object_number == (0, 0):
        return False
    if object_number in visited_numbers:
        return True
    visited_numbers.add(object_number)
    return False


def _find_inherited(page: Any, key: str) -> Any:
    """Return the value of a page's attribute `key`, or the value that the page inherits from its
    nearest ancestor in the page tree. Return None if no ancestor has the attribute.
    """
    node = page
    for _ in range(_PARENTS_MAX):
        if not isinstance(node, pikepdf.Dictionary):
            return None
        if key in node:
            return node[key]
        node = node.get("/Parent")
    return None


def _is_embedded(font: Any) -> bool:
    """Return whether a font is embedded. A Type 3 font is always embedded. A composite font is
    embedded if its descendant font is.
    """
    if font.get("/Subtype") == "/Type3":
        return True
    descendants = font.get("/DescendantFonts")
    if isinstance(descendants, pikepdf.Array) and len(descendants):
        font = descendants[0]
    descriptor = font.get("/FontDescriptor") if isinstance(font, pikepdf.Dictionary) else None
    return isinstance(descriptor, pikepdf.Dictionary) and any(name in descriptor for name in _FILES)
