"""One page: what stands on it, what is set on it, what it holds and does not show."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.glyphs.garbled import is_garbled
from fonds.extract.pdf.pages.accents import compose_accents
from fonds.extract.pdf.pages.annotations import NO_ANNOTATIONS, Annotations, read_annotations
from fonds.extract.pdf.pages.characters import Box, Characters
from fonds.extract.pdf.pages.front import NOTHING_SHOWN, Front, read_front
from fonds.extract.pdf.pages.lines import join_lines
from fonds.extract.pdf.pages.plain import plain
from fonds.extract.pdf.pages.scans import PAGES_JUDGED_MAX, is_picture
from fonds.extract.pdf.pages.unseen import Unseen, pieces, unseen_places

_EMPTY_LINES = re.compile("\n(?:[ \t]*\n)+")


@dataclass(frozen=True, slots=True)
class Page:
    """`text` ends with the marked lines of what was filled in or set on the page.

    `is_picture` is told of the first pages, `front` and links of the first. `is_blank` says that the
    page has no objects at all, `is_garbled` that what it holds is text in no language.
    """

    text: str
    is_picture: bool
    is_blank: bool = False
    is_garbled: bool = False
    front: Front = NOTHING_SHOWN
    annotations: Annotations = NO_ANNOTATIONS
    unseen: tuple[Unseen, ...] = ()


def read_page(
    page: pypdfium2.PdfPage, number: int, *, with_front: bool = False, has_writing: bool = True
) -> Page | None:
    """An opened page; None when its text cannot be read. `with_front` looks for title and authors.

    Without `has_writing` nobody wrote on the page.
    """
    is_scan = number < PAGES_JUDGED_MAX and is_picture(page)
    # Without the wrapper's object, which costs more than the call.
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return None
    try:
        characters = Characters(text_page, page)
        text, front, unseen = _shown(page, characters, number, with_front=with_front)
    except pypdfium2.PdfiumError:
        return None
    finally:
        pdfium.FPDFText_ClosePage(text_page)
    garbled = is_garbled(text)
    annotations = NO_ANNOTATIONS
    with_links = number == 0 and not _tells_id(text.lower())
    if has_writing or with_links:
        annotations = read_annotations(page, with_links=with_links)
    if annotations.lines:
        text = "\n".join(filter(None, (text, *annotations.lines)))
    is_blank = not text and pdfium.FPDFPage_CountObjects(page) <= 0
    return Page(text, is_scan, is_blank, garbled, front, annotations, unseen)


def _tells_id(text: str) -> bool:
    """Whether links need not be asked for what the document is called."""
    return "doi" in text or "arxiv" in text


def _shown(
    page: pypdfium2.PdfPage, characters: Characters, number: int, *, with_front: bool
) -> tuple[str, Front, tuple[Unseen, ...]]:
    left, bottom, right, top = page.get_bbox()
    places = unseen_places(characters, Box(left, bottom, right, top), lambda: is_picture(page))
    units = join_lines(characters, compose_accents(characters))
    unseen: tuple[Unseen, ...] = ()
    if places:
        units = list(characters.text) if units is None else units
        unseen = tuple(Unseen(number, why, plain(text)) for why, text in pieces(units, places))
        for place in places:
            units[place] = ""
    shown = characters.text if units is None else units
    text = plain(shown)
    if places:
        text = _EMPTY_LINES.sub("\n", text)
    front = NOTHING_SHOWN
    if with_front and text:
        front = read_front(characters, shown, lambda begin, end: plain(shown[begin:end]))
    return text, front, unseen
