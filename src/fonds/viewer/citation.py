"""How a file, or a page of it, is cited so that anybody can find the very bytes again, and whether they are
still there."""

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
from fonds.model.record_offset import offset_phrase
from fonds.model.rows import CdxRow
from fonds.papers.bibliography.bibtex_csl import build_csl, format_bibtex
from fonds.papers.journal_names import choose_journal
from fonds.ports import Archive
from fonds.text.words import compose_text
from fonds.viewer.description import FileDescription
from fonds.viewer.pdf_pages import PAGE_SEPARATOR

# Words of a text that somebody quotes: where they stand, so that anybody finds them again.
#
# Blanks and line ends count for nothing, since a page lays them out anew; nor does how accents are composed.
# Whatever the words, a text is gone through three times.


QUOTE_MAX_CHARS = 2_000
MARKED_WORDS = 12
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words as they stand in a text, blanks single: from character `start` to before `end` of the text of
    page `page`, both from 0, or of the whole text where `page` is None. They stand there `count` times; it
    is the first that is told. `search` finds their beginning: a phrase in the words of a search."""

    quote: str
    page: int | None
    start: int
    end: int
    count: int
    search: str


def find_quotation(quote: str, text: str, page: int | None, *, has_pages: bool) -> Quotation | None:
    """Where words stand in a text, or in page `page` of it, from 1; None where they do not, or are none.

    Without `page` the first place of all is told, with its page where a text `has_pages`.
    """
    pages = text.split(PAGE_SEPARATOR) if has_pages else [text]
    if page is not None:
        if page > len(pages):
            return None
        found = _find_words(quote, pages[page - 1])
        return _build_quotation(found, page) if found else None
    found = _find_words(quote, text)
    if found is None or not has_pages:
        return _build_quotation(found, None) if found else None
    begins = list(accumulate((len(one) + 1 for one in pages), initial=0))
    number = bisect_right(begins, found.start)
    start = found.start - begins[number - 1]
    return _build_quotation(
        _QuoteMatch(found.quote, start, start + found.end - found.start, found.count), number
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
    wanted = " ".join(compose_text(quote).split())
    places = [one.span() for one in _WORD.finditer(text)]
    words = [compose_text(text[start:end]) for start, end in places]
    joined = " ".join(words)
    at = joined.find(wanted) if wanted else -1
    if at < 0:
        return None
    begins = list(accumulate((len(one) + 1 for one in words), initial=0))
    first = _find_text_position(at, begins, places, words, is_end=False)
    last = _find_text_position(at + len(wanted) - 1, begins, places, words, is_end=True)
    return _QuoteMatch(wanted, first, last, joined.count(wanted))


def _find_text_position(
    position: int,
    begins: Sequence[int],
    places: Sequence[tuple[int, int]],
    words: Sequence[str],
    *,
    is_end: bool,
) -> int:
    """The place in the text of a character of the joined words, or behind it; of a word whose accents were
    composed anew, where the word begins or ends."""
    number = bisect_right(begins, position) - 1
    start, end = places[number]
    if end - start != len(words[number]):
        return end if is_end else start
    return start + position - begins[number] + is_end


PLACES_MAX, VERIFY_MAX_BYTES = 20, 512 * 2**20


@dataclass(frozen=True, slots=True)
class ArchivedPlace:
    """Where the bytes lie: a WARC by its name or path, and the offset of the record in it."""

    url: str
    captured: str
    warc_path: str
    warc_offset: int
    warc_csize: int | None


@dataclass(frozen=True, slots=True)
class CitationText:
    """`words` names the work, the capture, SHA-1, page, WARC and offset in one sentence, and before it
    what is quoted, if anything is; `extractor` read the text that stands in. `bibtex` and
    `csl` are the work's for programs, None for a file that is not in the index. `place` None: in no
    WARC."""

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
    """What was read at a place just now: `sha1hex` is that of the bytes there, None where `fault` says why
    there are none. `is_same`: they are the file's."""

    place: ArchivedPlace
    is_same: bool
    sha1hex: str | None
    size_bytes: int | None
    fault: str | None


@dataclass(frozen=True, slots=True)
class PlaceVerification:
    """The places that were read, of all `total`; fewer where more than 20 hold it or much had to be read."""

    places: Sequence[VerifiedPlace]
    total: int


def build_reference(
    description: FileDescription,
    title: str,
    page: int | None = None,
    quotation: Quotation | None = None,
) -> CitationText:
    """How a file is cited, or words of it, by the first of its captures that holds it."""
    places = _list_places(description)
    place = places[0] if places else None
    document, journal = description.document, choose_journal(description.derivatives.values())
    if quotation is not None:
        page = quotation.page
    read_by = (getattr(row, "extractor", None) for row in description.derivatives.values())
    extractor = next((one for one in read_by if one), None) if quotation else None
    said = _format_quotation(quotation, extractor) + _format_reference(
        description, title, page, place
    )
    return CitationText(
        sha1hex=description.sha1hex,
        sha256hex=description.file.sha256hex if description.file else None,
        page=page,
        words=said,
        quotation=quotation,
        extractor=extractor,
        place=place,
        bibtex=format_bibtex(document, journal) if document else None,
        csl=build_csl(document, journal) if document else None,
    )


def verify_places(archive: Archive, description: FileDescription) -> PlaceVerification:
    """Read the archived records again and hash them; what is known of them from before counts for nothing."""
    places = _list_places(description)
    told: list[VerifiedPlace] = []
    read_bytes = 0
    for place in places[:PLACES_MAX]:
        if read_bytes > VERIFY_MAX_BYTES:
            break
        told.append(_verify_place(archive, description, place))
        read_bytes += told[-1].size_bytes or 0
    return PlaceVerification(told, len(places))


def _verify_place(
    archive: Archive, description: FileDescription, place: ArchivedPlace
) -> VerifiedPlace:
    at = Place(PlaceKind.WARC, place.warc_path, place.warc_offset, place.warc_csize)
    try:
        # Without a SHA-1 it is read from where it lies, whatever was read before.
        body = archive.read(at).body
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
    """Where a capture lies, for readers."""
    return ArchivedPlace(row.url, row.datetime, row.warc_path, row.warc_offset, row.warc_csize)


def _format_quotation(quotation: Quotation | None, extractor: str | None) -> str:
    if quotation is None:
        return ""
    of = "its text" if quotation.page is None else f"the text of page {quotation.page}"
    by = f" as {extractor.partition(' ')[0]} read it" if extractor else ""
    return f"“{quotation.quote}” (characters {quotation.start} to {quotation.end} of {of}{by}): "


def _format_reference(
    description: FileDescription, title: str, page: int | None, place: ArchivedPlace | None
) -> str:
    document = description.document
    authors = ", ".join(document.authors[:20]) if document else ""
    day = document.publication_date.isoformat() if document and document.publication_date else ""
    about = ", ".join(
        part
        for part in (
            f"{authors}: “{title}”" if authors else f"“{title}”",
            document.canonical_domain if document else "",
            day,
        )
        if part
    )
    told = [f"{about}."]
    if place is not None:
        told.append(f"{place.url}, captured {_format_day(place.captured)}.")
    told.append(f"SHA-1 {description.sha1hex}{f', page {page}' if page else ''}.")
    if place is not None:
        told.append(f"In {place.warc_path} at offset {offset_phrase(place.warc_offset)}.")
    return " ".join(told)


def _format_day(digits: str) -> str:
    try:
        return parse_datetime14(digits).date().isoformat()
    except ValueError:
        return digits
