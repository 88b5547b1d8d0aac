"""The text of a PDF, page by page in reading order, and how many words it has."""

from __future__ import annotations

import math
import re
import time
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

import pypdfium2

from fonds.extract.pdf.pages.accents import compose_accents
from fonds.extract.pdf.pages.characters import LINE_END_HYPHEN, Characters
from fonds.extract.pdf.pages.lines import join_lines
from fonds.extract.pdf.pages.scans import PAGES_JUDGED_MAX, Origin, is_picture, judge
from fonds.extract.pdf.strings import clean_text

PAGE_SEPARATOR = "\f"
_WORD_MAX_CHARS = 80
_HYPHEN_AT_END = re.compile("(?<=\\w)([-\u2010\u2011\ufe63\uff0d\u00ad\u058a\u1806]) ?\r?\n(?=\\w)")
_NEGATED = re.compile("\u0338 ?([=\u2190-\u22ff])")
# Scripts written without spaces in which people count characters: Han, kana, bopomofo.
_UNSPACED = re.compile(
    "[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Thai, Lao, Burmese and Khmer: whole words without blanks, of about five characters with their marks.
_RUN_TOGETHER = re.compile("[\u0e01-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3]+")
_RUN_TOGETHER_WORD_CHARS = 5
_WIDE_PUNCTUATION = re.compile(
    "[\u3000-\u3004\u3008-\u3020\u30fb\uff01-\uff0f\uff1a-\uff20\uff61-\uff65]"
)


@dataclass(frozen=True, slots=True)
class PagesText:
    """The pages joined with form feeds, an unreadable page being empty; None when no page has a word.

    `unreadable` lists pages (from 0) that could not be read, `cut` says in words which limit ended
    the text early, None when it is whole. `origin` judges by the first pages how they came to be.
    """

    text: str | None
    unreadable: tuple[int, ...]
    cut: str | None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class WordCount:
    """`words` counts as people do in scripts without blanks; `whitespace` counts runs between blanks.

    A character of Chinese or Japanese is a word, as is every five of Thai, Lao, Burmese or Khmer.
    """

    words: int
    whitespace: int


def read_pages(
    document: pypdfium2.PdfDocument,
    page0: pypdfium2.PdfPage | None,
    *,
    pages_max: int,
    chars_max: int,
    time_max_s: float,
) -> PagesText:
    """The text of at most `pages_max` pages and `chars_max` characters.

    `page0` is the first page, which stays open, None when it cannot be opened. No page is begun later
    than `time_max_s` seconds after the first. A page that cannot be read costs itself only. Raises
    MemoryError when a page takes more memory than there is.
    """
    page_count = len(document)
    ends_at = time.monotonic() + time_max_s
    pages: list[str] = []
    unreadable: list[int] = []
    looks: list[tuple[bool, int]] = []
    room = chars_max + 1
    cut = None if page_count <= pages_max else f"{pages_max} of {page_count} pages were read"
    for number in range(min(page_count, pages_max)):
        if time.monotonic() > ends_at:
            cut = f"{number} of {page_count} pages were read in {time_max_s:g} s"
            break
        page = _read_first(page0) if number == 0 else _read_page(document, number)
        if page is None:
            unreadable.append(number)
        elif number < PAGES_JUDGED_MAX:
            looks.append((page.is_picture, len(page.text)))
        pages.append(page.text if page else "")
        room -= len(pages[-1]) + 1
        if room < 0:
            cut = f"the text was cut at {chars_max} characters, on page {number + 1}"
            break
    text = PAGE_SEPARATOR.join(pages)[:chars_max]
    return PagesText(text if text.strip() else None, tuple(unreadable), cut, judge(looks))


def count_words(text: str) -> WordCount:
    """How many words there are, for people who put blanks between them and for those who do not."""
    whitespace = len(text.split())
    if text.isascii():
        return WordCount(whitespace, whitespace)
    spaced, unspaced = _UNSPACED.subn(" ", text)
    for run in _RUN_TOGETHER.finditer(spaced):
        unspaced += math.ceil(len(run[0]) / _RUN_TOGETHER_WORD_CHARS)
    if unspaced == 0:
        return WordCount(whitespace, whitespace)
    words = len(_RUN_TOGETHER.sub(" ", _WIDE_PUNCTUATION.sub(" ", spaced)).split())
    return WordCount(words + unspaced, whitespace)


def normalise_page(raw: str) -> str:
    """One page as pdfium gives it, made plain: words cut at a line's end whole again, blanks trimmed."""
    marked = _HYPHEN_AT_END.sub(_hyphen, raw)
    return _with_signs_whole(clean_text(_rejoin(marked))).strip()


def _hyphen(found: re.Match[str]) -> str:
    """The mark pdfium puts for the hyphens it knows, where this is one."""
    if found[1] != "-":
        return LINE_END_HYPHEN
    # That pdfium left it means that it saw another line begin; only a word cut in two goes on small.
    follows = found.string[found.end() : found.end() + 1]
    before = found.string[found.start() - 1]
    return LINE_END_HYPHEN if follows.islower() and before.isalpha() else found[0]


def _with_signs_whole(text: str) -> str:
    """Signs that TeX sets as two: a stroke before what it negates, a bar before its arrow."""
    if "\u21a6" in text:
        text = text.replace("\u21a6\u2192", "\u21a6")
    if "\u0338" in text:
        text = _NEGATED.sub(lambda found: unicodedata.normalize("NFC", found[1] + "\u0338"), text)
    return text


def _rejoin(raw: str) -> str:
    pieces = raw.split(LINE_END_HYPHEN)
    joined = [pieces[0]]
    for left, right in pairwise(pieces):
        joined += ("-" if _keeps_hyphen(left, right) else "", right)
    return "".join(joined)


def _keeps_hyphen(left: str, right: str) -> bool:
    # Only a small letter goes on with the word; `2010-2015`, `Jean-Paul` and `state-of-the-art`
    # own their hyphen.
    if not left[-1:].isalnum():
        return False
    word = left[-_WORD_MAX_CHARS:].split()[-1]
    return not right[:1].islower() or "-" in word


@dataclass(frozen=True, slots=True)
class _Page:
    text: str
    is_picture: bool


def _read_page(document: pypdfium2.PdfDocument, number: int) -> _Page | None:
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return None
    try:
        return _read_opened(page, judged=number < PAGES_JUDGED_MAX)
    finally:
        page.close()


def _read_first(page: pypdfium2.PdfPage | None) -> _Page | None:
    return None if page is None else _read_opened(page, judged=True)


def _read_opened(page: pypdfium2.PdfPage, *, judged: bool) -> _Page | None:
    try:
        text_page = page.get_textpage()
        try:
            text = normalise_page(_page_text(text_page))
        finally:
            text_page.close()
    except pypdfium2.PdfiumError:
        return None
    return _Page(text, judged and is_picture(page))


def _page_text(text_page: pypdfium2.PdfTextPage) -> str:
    page = Characters(text_page)
    units = join_lines(page, compose_accents(page))
    return _whole(page.text if units is None else "".join(units))


def _whole(text: str) -> str:
    """With pairs of surrogates as the characters they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
