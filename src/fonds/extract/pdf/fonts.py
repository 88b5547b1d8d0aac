"""Whether a PDF carries its fonts with it.

Source: ISO 32000-2:2020, 7.8.3 (resource dictionaries), 9.6 to 9.9 (fonts, font descriptors).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pikepdf

_PAGES_SEARCHED_MAX, _FONTS_MAX, _PARENTS_MAX = 10, 200, 20
_FILES = ("/FontFile", "/FontFile2", "/FontFile3")


def fonts_embedded(pdf: pikepdf.Pdf) -> str | None:
    """`all`, `some` or `none` of the fonts of the first 10 pages; None for pages without fonts."""
    embedded = [_is_embedded(font) for font in _fonts(pdf)]
    if not embedded:
        return None
    if all(embedded):
        return "all"
    return "some" if any(embedded) else "none"


def _fonts(pdf: pikepdf.Pdf) -> Iterator[Any]:
    """Each font once; those of a resource dictionary that several pages share too."""
    seen: set[tuple[int, int]] = set()
    count = 0
    for number in range(min(len(pdf.pages), _PAGES_SEARCHED_MAX)):
        resources = _inherited(pdf.pages[number].obj, "/Resources")
        fonts = resources.get("/Font") if isinstance(resources, pikepdf.Dictionary) else None
        if not isinstance(fonts, pikepdf.Dictionary) or _again(fonts, seen):
            continue
        for _, font in fonts.items():
            if not isinstance(font, pikepdf.Dictionary) or _again(font, seen):
                continue
            count += 1
            if count > _FONTS_MAX:
                return
            yield font


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
