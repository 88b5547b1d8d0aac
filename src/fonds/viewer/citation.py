"""Cite a file, a page or a quotation, and verify that the archive still contains the cited bytes.

A quotation is found in the stored text even if line breaks, repeated blanks or the Unicode
composition of accents differ. Finding a quotation takes three passes over the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1, sha256
from itertools import accumulate
from typing import Any

from fonds.model.capture import REVISIT_MIME, Place, PlaceKind, parse_datetime14
from fonds.model.errors import PermanentError
from fonds.model.record_offset import describe_offset
from fonds.model.rows import CdxRow
from fonds.papers.bibliography.bibtex_csl import build_csl, format_bibtex
from fonds.papers.journal_names import choose_journal
from fonds.ports import Archive
from fonds.text.words import compose_text
from fonds.viewer.description import FileDescription
from fonds.viewer.pdf_pages import PAGE_SEPARATOR

QUOTE_MAX_CHARS = 2_000
MARKED_WORDS = 12
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Quotation:
    """Position of a quotation in a text.

    - `quote`: quotation with single blanks.
    - `page`: page of the PDF, from 1; None if the text has no pages.
    - `start`, `end`: first character and end (exclusive), counted from 0 in the text of the page,
      or in the whole text if `page` is None.
    - `count`: number of occurrences in the text. `start` and `end` are those of the first.
    - `search`: search query for the first 12 words of the quotation as a phrase.
    """

    quote: str
    page: int | None
    start: int
    end: int
    count: int
    search: str


def find_quotation(quote: str, text: str, page: int | None, *, has_pages: bool) -> Quotation | None:
    """Find the first occurrence of a quotation in a text. Return None if there is none.

    With `page` (from 1), only this page is searched. `has_pages` says whether the text consists of
    pages.
    """
    pages = text.split(PAGE_SEPARATOR) if has_pages else [text]
    if page is not None:
        if page > len(pages):
            return None
        match = _find_words(quote, pages[page - 1])
        return _build_quotation(match, page) if match else None
    match = _find_words(quote, text)
    if match is None or not has_pages:
        return _build_quotation(match, None) if match else None
    page_starts = list(accumulate((len(page_text) + 1 for page_text in pages), initial=0))
    number = bisect_right(page_starts, match.start)
    start = match.start - page_starts[number - 1]
    return _build_quotation(
        _QuoteMatch(match.quote, start, start + match.end - match.start, match.count), number
    )


@dataclass(frozen=True, slots=True)
class _QuoteMatch:
    quote: str
    start: int
    end: int
    count: int


def _build_quotation(match: _QuoteMatch, page: int | None) -> Quotation:
    words = match.quote.replace('"', " ").split()[:MARKED_WORDS]
    return Quotation(match.quote, page, match.start, match.end, match.count, f'"{" ".join(words)}"')


def _find_words(quote: str, text: str) -> _QuoteMatch | None:
    normalized_quote = " ".join(compose_text(quote).split())
    spans = [token.span() for token in _WORD.finditer(text)]
    words = [compose_text(text[start:end]) for start, end in spans]
    joined_words = " ".join(words)
    position = joined_words.find(normalized_quote) if normalized_quote else -1
    if position < 0:
        return None
    word_starts = list(accumulate((len(token) + 1 for token in words), initial=0))
    first = _find_text_position(position, word_starts, spans, words, is_end=False)
    last = _find_text_position(
        position + len(normalized_quote) - 1, word_starts, spans, words, is_end=True
    )
    return _QuoteMatch(normalized_quote, first, last, joined_words.count(normalized_quote))


def _find_text_position(
    position: int,
    begins: Sequence[int],
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
    *,
    is_end: bool,
) -> int:
    """Convert a position in the words of a text, joined by single blanks, to a position in the
    text.

    - `position`: index of a character in the joined words.
    - `begins`: start of each word in the joined words.
    - `places`: start and end of each word in the text.
    - `is_end`: return the position after the character.

    If the accents of the word have another Unicode form in the text, return the start or end of the
    word.
    """
    number = bisect_right(begins, position) - 1
    start, end = places[number]
    if end - start != len(words[number]):
        return end if is_end else start
    return start + position - begins[number] + is_end


PLACES_MAX, VERIFY_MAX_BYTES = 20, 512 * 2**20


@dataclass(frozen=True, slots=True)
class ArchivedPlace:
    """Location of a capture in a WARC file.

    - `url`: URL of the capture.
    - `captured`: time of the capture, 14 digits.
    - `warc_path`: name or path of the WARC file.
    - `warc_offset`: offset of the record in bytes.
    - `warc_csize`: size of the compressed record in bytes; None if unknown.
    """

    url: str
    captured: str
    warc_path: str
    warc_offset: int
    warc_csize: int | None


@dataclass(frozen=True, slots=True)
class CitationText:
    """Citation of a file, for people and for programs.

    - `sha1hex`, `sha256hex`: hashes of the file.
    - `page`: cited page, from 1; None for the whole file.
    - `words`: the citation as a text: the quotation, if any, then work, capture, SHA-1, page, WARC
      file and offset.
    - `quotation`: position of the quotation; None if nothing is quoted.
    - `extractor`: extractor that read the quoted text; None if unknown.
    - `place`: location of the file in a WARC file; None if no WARC file contains the file.
    - `bibtex`, `csl`: reference in BibTeX and CSL-JSON; None if the file is not in the search
      index.
    """

    sha1hex: str
    sha256hex: str | None
    page: int | None
    words: str
    quotation: Quotation | None
    extractor: str | None
    place: ArchivedPlace | None
    bibtex: str | None
    csl: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class VerifiedPlace:
    """Result of reading an archived record again and hashing its bytes.

    - `place`: location of the record.
    - `is_same`: whether the bytes were read and are those of the cited file.
    - `sha1hex`, `size_bytes`: SHA-1 and size of the bytes; None if they could not be read.
    - `fault`: why the bytes could not be read, as text; None if they could.
    """

    place: ArchivedPlace
    is_same: bool
    sha1hex: str | None
    size_bytes: int | None
    fault: str | None


@dataclass(frozen=True, slots=True)
class PlaceVerification:
    """Results of verifying the locations of a file in the archive.

    - `places`: result for each location that was read. At most 20 locations and about 512 MiB are
      read.
    - `total`: number of all locations.
    """

    places: Sequence[VerifiedPlace]
    total: int


def build_reference(
    description: FileDescription,
    title: str,
    page: int | None = None,
    quotation: Quotation | None = None,
) -> CitationText:
    """Build the citation of a file, or of a quotation from it.

    The citation gives the location of the file's first archived capture.
    """
    places = _list_places(description)
    place = places[0] if places else None
    document, journal = description.document, choose_journal(description.derivatives.values())
    if quotation is not None:
        page = quotation.page
    extractors = (getattr(row, "extractor", None) for row in description.derivatives.values())
    extractor = next((name for name in extractors if name), None) if quotation else None
    text = _format_quotation(quotation, extractor) + _format_reference(
        description, title, page, place
    )
    return CitationText(
        sha1hex=description.sha1hex,
        sha256hex=description.file.sha256hex if description.file else None,
        page=page,
        words=text,
        quotation=quotation,
        extractor=extractor,
        place=place,
        bibtex=format_bibtex(document, journal) if document else None,
        csl=build_csl(document, journal) if document else None,
    )


def verify_places(archive: Archive, description: FileDescription) -> PlaceVerification:
    """Verify the locations of a file: read its archived records again and hash their bytes.

    Records are read from the WARC files each time, not from a cache. `description` lists the
    locations.
    """
    places = _list_places(description)
    results: list[VerifiedPlace] = []
    read_bytes = 0
    for place in places[:PLACES_MAX]:
        if read_bytes > VERIFY_MAX_BYTES:
            break
        results.append(_verify_place(archive, description, place))
        read_bytes += results[-1].size_bytes or 0
    return PlaceVerification(results, len(places))


def _verify_place(
    archive: Archive, description: FileDescription, place: ArchivedPlace
) -> VerifiedPlace:
    location = Place(PlaceKind.WARC, place.warc_path, place.warc_offset, place.warc_csize)
    try:
        # Without a SHA-1 the archive reads from this location and uses no cached bytes.
        body = archive.read(location).body
    except PermanentError as error:
        return VerifiedPlace(place, False, None, None, str(error))
    read_sha1 = sha1(body, usedforsecurity=False).hexdigest()
    is_same = read_sha1 == description.sha1hex
    if is_same and description.file is not None:
        is_same = sha256(body).hexdigest() == description.file.sha256hex
    return VerifiedPlace(place, is_same, read_sha1, len(body), None)


def _list_places(description: FileDescription) -> list[ArchivedPlace]:
    rows = [row for row in description.captures if row.mimetype != REVISIT_MIME]
    return [build_archived_place(row) for row in rows]


def build_archived_place(row: CdxRow) -> ArchivedPlace:
    """Build the location of a capture in its WARC file."""
    return ArchivedPlace(row.url, row.datetime, row.warc_path, row.warc_offset, row.warc_csize)


def _format_quotation(quotation: Quotation | None, extractor: str | None) -> str:
    if quotation is None:
        return ""
    source = "its text" if quotation.page is None else f"the text of page {quotation.page}"
    reader = f" as extracted by {extractor.partition(' ')[0]}" if extractor else ""
    return f"“{quotation.quote}” (characters {quotation.start} to {quotation.end} of {source}{reader}): "


def _format_reference(
    description: FileDescription, title: str, page: int | None, place: ArchivedPlace | None
) -> str:
    document = description.document
    authors = ", ".join(document.authors[:20]) if document else ""
    day = document.publication_date.isoformat() if document and document.publication_date else ""
    document_details = ", ".join(
        part
        for part in (
            f"{authors}: “{title}”" if authors else f"“{title}”",
            document.canonical_domain if document else "",
            day,
        )
        if part
    )
    sentences = [f"{document_details}."]
    if place is not None:
        sentences.append(f"{place.url}, captured {_format_day(place.captured)}.")
    sentences.append(f"SHA-1 {description.sha1hex}{f', page {page}' if page else ''}.")
    if place is not None:
        sentences.append(f"In {place.warc_path} at offset {describe_offset(place.warc_offset)}.")
    return " ".join(sentences)


def _format_day(digits: str) -> str:
    try:
        return parse_datetime14(digits).date().isoformat()
    except ValueError:
        return digits
