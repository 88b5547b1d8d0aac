"""The text of a PDF, page by page in reading order."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial

import pypdfium2

from fonds.extract.pdf.pages.front import NOTHING_SHOWN, Front
from fonds.extract.pdf.pages.page import Page, read_page
from fonds.extract.pdf.pages.scans import PAGES_JUDGED_MAX, Origin, judge
from fonds.extract.pdf.pages.unseen import Unseen

PAGE_SEPARATOR = "\f"
_UNSEEN_MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class PagesText:
    """The pages joined with form feeds, an unreadable page being empty; None when no page has a word.

    `unreadable` lists pages (from 0) that could not be read, `cut` says in words which limit ended
    the text early, None when it is whole. `origin` judges by the first pages how they came to be;
    `front` is what the first shows of itself, `links` where it leads. `written_on` counts fields and
    notes in the text, `blank` are pages without any object, `garbled` those in no language. `unseen`
    is what is not in the text because the pages do not show it, 20,000 characters of it at most.
    `read_count` is the number of pages that could be read.
    """

    text: str | None
    unreadable: tuple[int, ...]
    cut: str | None
    origin: Origin | None = None
    front: Front = NOTHING_SHOWN
    links: tuple[str, ...] = ()
    written_on: int = 0
    blank: tuple[int, ...] = ()
    garbled: tuple[int, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    read_count: int = 0


NO_PAGES = PagesText(None, (), None)


def read_pages(
    document: pypdfium2.PdfDocument,
    page0: pypdfium2.PdfPage | None,
    *,
    pages_max: int,
    chars_max: int,
    time_max_s: float,
    with_front: bool = True,
    has_writing: bool = True,
) -> PagesText:
    """The text of at most `pages_max` pages and `chars_max` characters.

    `page0` is the first page, which stays open, None when it cannot be opened. No page is begun later
    than `time_max_s` seconds after the first. A page that cannot be read costs itself only.
    `with_front` looks for title and authors, without `has_writing` nobody wrote on the pages. Raises
    MemoryError when a page takes more memory than there is.
    """
    page_count = len(document)
    ends_at = time.monotonic() + time_max_s
    pages: list[str] = []
    gathered = _Gathered()
    read_other = partial(_read_page, document, has_writing)
    room = chars_max + 1
    cut = None if page_count <= pages_max else f"{pages_max} of {page_count} pages were read"
    for number in range(min(page_count, pages_max)):
        if time.monotonic() > ends_at:
            cut = f"{number} of {page_count} pages were read in {time_max_s:g} s"
            break
        page = _read_first(page0, with_front) if number == 0 else read_other(number)
        gathered.take(number, page)
        pages.append(page.text if page else "")
        room -= len(pages[-1]) + 1
        if room < 0:
            cut = f"the text was cut at {chars_max} characters, on page {number + 1}"
            break
    text = PAGE_SEPARATOR.join(pages)[:chars_max]
    return gathered.as_text(text if text.strip() else None, cut)


@dataclass(slots=True)
class _Gathered:
    """What pages tell beside their text."""

    unreadable: list[int] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    garbled: list[int] = field(default_factory=list)
    looks: list[tuple[bool, int]] = field(default_factory=list)
    unseen: list[Unseen] = field(default_factory=list)
    first: Page | None = None
    written_on: int = 0
    unseen_room: int = _UNSEEN_MAX_CHARS
    read_count: int = 0

    def take(self, number: int, page: Page | None) -> None:
        if page is None:
            self.unreadable.append(number)
            return
        self.read_count += 1
        if number == 0:
            self.first = page
        if number < PAGES_JUDGED_MAX:
            self.looks.append((page.is_picture, len(page.text)))
        if page.is_blank:
            self.blank.append(number)
        if page.is_garbled:
            self.garbled.append(number)
        self.written_on += len(page.annotations.lines)
        for one in page.unseen:
            if self.unseen_room > 0:
                self.unseen.append(replace(one, text=one.text[: self.unseen_room]))
                self.unseen_room -= len(one.text)

    def as_text(self, text: str | None, cut: str | None) -> PagesText:
        return PagesText(
            text=text,
            unreadable=tuple(self.unreadable),
            cut=cut,
            origin=judge(self.looks),
            front=self.first.front if self.first else NOTHING_SHOWN,
            links=self.first.annotations.links if self.first else (),
            written_on=self.written_on,
            blank=tuple(self.blank),
            garbled=tuple(self.garbled),
            unseen=tuple(self.unseen),
            read_count=self.read_count,
        )


def _read_page(document: pypdfium2.PdfDocument, has_writing: bool, number: int) -> Page | None:
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return None
    try:
        return read_page(page, number, has_writing=has_writing)
    finally:
        page.close()


def _read_first(page: pypdfium2.PdfPage | None, with_front: bool) -> Page | None:
    return None if page is None else read_page(page, 0, with_front=with_front)
