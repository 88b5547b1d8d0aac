"""Read the text of a PDF, page by page in reading order."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from functools import partial

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.accents import compose_accents
from fonds.extract.pdf.annotations import NO_ANNOTATIONS, Annotations, read_annotations
from fonds.extract.pdf.characters import Box, PageCharacters
from fonds.extract.pdf.first_page import EMPTY_FRONT_MATTER, FrontMatter, read_front
from fonds.extract.pdf.garbled_text import is_garbled
from fonds.extract.pdf.hidden_text import (
    PAGES_JUDGED_MAX,
    find_hidden_characters,
    is_picture,
    iter_hidden_runs,
    judge_origin,
)
from fonds.extract.pdf.line_ends import join_lines
from fonds.extract.pdf.page_origin import PageOrigin
from fonds.extract.pdf.text_cleanup import clean_page_text
from fonds.model.pdf_extra import HiddenText

_EMPTY_LINES = re.compile("\n(?:[ \t]*\n)+")


@dataclass(frozen=True, slots=True)
class PageText:
    """Text of a PDF page.

    - `text`: visible text, then the values of form fields and notes, one per line with a prefix.
    - `is_picture`: whether one image covers most of the page. Only the first five pages are
      examined; it is False for others.
    - `is_blank`: whether the page has neither text nor other objects.
    - `is_garbled`: whether the text seems to be in no language, because characters were decoded
      wrongly.
    - `front`: title and authors; only for the first page.
    - `annotations`: form fields and notes; for the first page also links.
    - `hidden_texts`: text that a reader does not see. It is not in `text`.
    """

    text: str
    is_picture: bool
    is_blank: bool = False
    is_garbled: bool = False
    front: FrontMatter = EMPTY_FRONT_MATTER
    annotations: Annotations = NO_ANNOTATIONS
    hidden_texts: tuple[HiddenText, ...] = ()


def read_page(
    page: pypdfium2.PdfPage, number: int, *, with_front: bool = False, has_writing: bool = True
) -> PageText | None:
    """Read the text of an open page; None if its text cannot be read.

    - `number`: page number, from 0.
    - `with_front`: whether to look for title and authors on this page.
    - `has_writing`: False if it is known that the PDF's pages have no form fields or notes. They
      are then not searched.
    """
    is_scan = number < PAGES_JUDGED_MAX and is_picture(page)
    # Bypasses pypdfium2's object, which costs more than the call.
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return None
    try:
        characters = PageCharacters(text_page, page)
        text, front, hidden_texts = _read_visible(page, characters, number, with_front=with_front)
    except pypdfium2.PdfiumError:
        return None
    finally:
        pdfium.FPDFText_ClosePage(text_page)
    has_garbled_text = is_garbled(text)
    annotations = NO_ANNOTATIONS
    with_links = number == 0 and not _contains_id(text.lower())
    if has_writing or with_links:
        annotations = read_annotations(page, with_links=with_links)
    if annotations.lines:
        text = "\n".join(filter(None, (text, *annotations.lines)))
    is_blank = not text and pdfium.FPDFPage_CountObjects(page) <= 0
    return PageText(text, is_scan, is_blank, has_garbled_text, front, annotations, hidden_texts)


def _contains_id(text: str) -> bool:
    """Return whether a text in lower case mentions a DOI or arXiv. If it does, links are not
    searched for these ids.
    """
    return "doi" in text or "arxiv" in text


def _read_visible(
    page: pypdfium2.PdfPage, characters: PageCharacters, number: int, *, with_front: bool
) -> tuple[str, FrontMatter, tuple[HiddenText, ...]]:
    left, bottom, right, top = page.get_bbox()
    places = find_hidden_characters(
        characters, Box(left, bottom, right, top), lambda: is_picture(page)
    )
    units = join_lines(characters, compose_accents(characters))
    hidden_texts: tuple[HiddenText, ...] = ()
    if places:
        units = list(characters.text) if units is None else units
        hidden_texts = tuple(
            HiddenText(number, reason, clean_page_text(text))
            for reason, text in iter_hidden_runs(units, places)
        )
        for place in places:
            units[place] = ""
    visible_units = characters.text if units is None else units
    text = clean_page_text(visible_units)
    if places:
        text = _EMPTY_LINES.sub("\n", text)
    front = EMPTY_FRONT_MATTER
    if with_front and text:
        front = read_front(
            characters, visible_units, lambda begin, end: clean_page_text(visible_units[begin:end])
        )
    return text, front, hidden_texts


PAGE_SEPARATOR = "\f"
_HIDDEN_MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class PagesText:
    """Text of a PDF, and what was found while reading its pages. Page numbers are from 0.

    - `text`: texts of the pages, joined by form feeds; None if no page has a word. An unreadable
      page has an empty text.
    - `unreadable_pages`: numbers of the pages that could not be read.
    - `cut_reason`: sentence on the limit at which the text was cut; None if it is complete.
    - `origin`: how the text was made, judged by the first pages; None if they are blank.
    - `front`, `links`: title and authors, and URLs of the links, on the first page.
    - `annotation_count`: number of form field values and notes in the text.
    - `blank_pages`: numbers of the pages without text and other objects.
    - `garbled_pages`: numbers of the pages whose text seems to be in no language.
    - `hidden_texts`: text that a reader does not see, which is not in `text`; at most 20,000
      characters.
    - `read_count`: number of pages that were read.
    """

    text: str | None
    unreadable_pages: tuple[int, ...]
    cut_reason: str | None
    origin: PageOrigin | None = None
    front: FrontMatter = EMPTY_FRONT_MATTER
    links: tuple[str, ...] = ()
    annotation_count: int = 0
    blank_pages: tuple[int, ...] = ()
    garbled_pages: tuple[int, ...] = ()
    hidden_texts: tuple[HiddenText, ...] = ()
    read_count: int = 0


NO_PAGES = PagesText(None, (), None)


def read_pages(
    document: pypdfium2.PdfDocument,
    page0: pypdfium2.PdfPage | None,
    *,
    pages_max: int,
    text_max_chars: int,
    time_max_s: float,
    with_front: bool = True,
    has_writing: bool = True,
) -> PagesText:
    """Read the text of a PDF, page by page.

    - `page0`: the first page, already open; it stays open. None if it cannot be opened.
    - `pages_max`: maximum number of pages to read.
    - `text_max_chars`: maximum number of characters of the text.
    - `time_max_s`: seconds after which no further page is read.
    - `with_front`: whether to look for title and authors on the first page.
    - `has_writing`: False if it is known that the pages have no form fields or notes. Only the
      first page is then searched for them.

    An unreadable page does not affect other pages. Raises MemoryError if a page needs more memory
    than available.
    """
    page_count = len(document)
    ends_at = time.monotonic() + time_max_s
    pages: list[str] = []
    totals = _PageTotals()
    read_other = partial(_read_page, document, has_writing)
    chars_left = text_max_chars + 1
    cut_reason = (
        None if page_count <= pages_max else (f"only {pages_max} of {page_count} pages were read")
    )
    for number in range(min(page_count, pages_max)):
        if time.monotonic() > ends_at:
            cut_reason = f"only {number} of {page_count} pages were read within {time_max_s:g} s"
            break
        page = _read_first(page0, with_front) if number == 0 else read_other(number)
        totals.add_page(number, page)
        pages.append(page.text if page else "")
        chars_left -= len(pages[-1]) + 1
        if chars_left < 0:
            cut_reason = f"the text was cut at {text_max_chars} characters, on page {number + 1}"
            break
    text = PAGE_SEPARATOR.join(pages)[:text_max_chars]
    return totals.build_pages_text(text if text.strip() else None, cut_reason)


@dataclass(slots=True)
class _PageTotals:
    """Lists and counts collected while reading the pages of a PDF, such as the blank pages. The
    texts of pages are not included.
    """

    unreadable_pages: list[int] = field(default_factory=list)
    blank_pages: list[int] = field(default_factory=list)
    garbled_pages: list[int] = field(default_factory=list)
    page_flags: list[tuple[bool, int]] = field(default_factory=list)
    hidden_texts: list[HiddenText] = field(default_factory=list)
    first: PageText | None = None
    annotation_count: int = 0
    hidden_chars_left: int = _HIDDEN_MAX_CHARS
    read_count: int = 0

    def add_page(self, number: int, page: PageText | None) -> None:
        if page is None:
            self.unreadable_pages.append(number)
            return
        self.read_count += 1
        if number == 0:
            self.first = page
        if number < PAGES_JUDGED_MAX:
            self.page_flags.append((page.is_picture, len(page.text)))
        if page.is_blank:
            self.blank_pages.append(number)
        if page.is_garbled:
            self.garbled_pages.append(number)
        self.annotation_count += len(page.annotations.lines)
        for hidden_text in page.hidden_texts:
            if self.hidden_chars_left > 0:
                self.hidden_texts.append(
                    replace(hidden_text, text=hidden_text.text[: self.hidden_chars_left])
                )
                self.hidden_chars_left -= len(hidden_text.text)

    def build_pages_text(self, text: str | None, cut_reason: str | None) -> PagesText:
        return PagesText(
            text=text,
            unreadable_pages=tuple(self.unreadable_pages),
            cut_reason=cut_reason,
            origin=judge_origin(self.page_flags),
            front=self.first.front if self.first else EMPTY_FRONT_MATTER,
            links=self.first.annotations.links if self.first else (),
            annotation_count=self.annotation_count,
            blank_pages=tuple(self.blank_pages),
            garbled_pages=tuple(self.garbled_pages),
            hidden_texts=tuple(self.hidden_texts),
            read_count=self.read_count,
        )


def _read_page(document: pypdfium2.PdfDocument, has_writing: bool, number: int) -> PageText | None:
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return None
    try:
        return read_page(page, number, has_writing=has_writing)
    finally:
        page.close()


def _read_first(page: pypdfium2.PdfPage | None, with_front: bool) -> PageText | None:
    return None if page is None else read_page(page, 0, with_front=with_front)
