"""The fonts of a PDF, and whether it carries them with it.

Source: ISO 32000-2:2020, 7.8.3 (resource dictionaries), 9.6 to 9.9 (fonts, font descriptors).
Bound: 300 pages, 1,000 fonts, 50 forms, 20 parents of a page.
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
    """A font dictionary and the first page (from 0) that has it."""

    page: int
    font: Any


def fonts_embedded(fonts: Iterable[PageFont]) -> str | None:
    """`all`, `some` or `none` of the fonts of the first 10 pages; None for pages without fonts."""
    first = (one.font for one in fonts if one.page < _PAGES_JUDGED)
    embedded = [_is_embedded(font) for font in islice(first, _FONTS_JUDGED_MAX)]
    if not embedded:
        return None
    if all(embedded):
        return "all"
    return "some" if any(embedded) else "none"


def fonts_of_pages(pdf: pikepdf.Pdf) -> Iterator[PageFont]:
    """The fonts of the first 300 pages and of the forms drawn on them, each once; 1,000 at most."""
    seen: set[tuple[int, int]] = set()
    count = 0
    for number in range(min(len(pdf.pages), _PAGES_MAX)):
        for resources in _resources(_inherited(pdf.pages[number].obj, "/Resources"), seen):
            fonts = resources.get("/Font")
            if not isinstance(fonts, pikepdf.Dictionary) or _again(fonts, seen):
                continue
            for _, font in fonts.items():
                if not isinstance(font, pikepdf.Dictionary) or _again(font, seen):
                    continue
                count += 1
                if count > _FONTS_MAX:
                    return
                yield PageFont(number, font)


def _resources(first: Any, seen: set[tuple[int, int]]) -> Iterator[Any]:
    """A page's resource dictionary and those of the forms in it, which may be whole pages."""
    waiting = [(first, 0)]
    for _ in range(_FORMS_MAX):
        if not waiting:
            return
        resources, depth = waiting.pop()
        if not isinstance(resources, pikepdf.Dictionary):
            continue
        yield resources
        drawn = resources.get("/XObject")
        if depth >= _FORMS_DEPTH_MAX or not isinstance(drawn, pikepdf.Dictionary):
            continue
        if _again(drawn, seen):
            continue
        for _, one in islice(drawn.items(), _FORMS_MAX):
            is_form = isinstance(one, pikepdf.Stream) and one.get("/Subtype") == "/Form"
            if is_form and not _again(one, seen):
                waiting.append((one.get("/Resources"), depth + 1))


def _again(found: Any, seen: set[tuple[int, int]]) -> bool:
    """Whether an indirect object was met before; one that stands directly has no number."""
    place = found.objgen
    if place == (0, 0):
        return False
    if place in seen:
        return True
    seen.add(place)
    return False


def _inherited(page: Any, key: str) -> Any:
    """A page's attribute, or that of the nearest node of the page tree above it."""
    node = page
    for _ in range(_PARENTS_MAX):
        if not isinstance(node, pikepdf.Dictionary):
            return None
        if key in node:
            return node[key]
        node = node.get("/Parent")
    return None


def _is_embedded(font: Any) -> bool:
    """A Type 3 font is drawn by the file itself; a composite one by its descendant."""
    if font.get("/Subtype") == "/Type3":
        return True
    descendants = font.get("/DescendantFonts")
    if isinstance(descendants, pikepdf.Array) and len(descendants):
        font = descendants[0]
    descriptor = font.get("/FontDescriptor") if isinstance(font, pikepdf.Dictionary) else None
    return isinstance(descriptor, pikepdf.Dictionary) and any(name in descriptor for name in _FILES)
