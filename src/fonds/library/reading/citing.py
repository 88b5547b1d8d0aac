"""How a file, or a page of it, is cited so that anybody can find the very bytes again, and whether they are
still there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1, sha256
from typing import Any

from fonds.kinds.papers.journals import journal_of
from fonds.library.description import Description
from fonds.library.reading.quoting import Quotation
from fonds.library.searching.exported.references import bibtex, csl
from fonds.model.capture import REVISIT_MIME, Place, PlaceKind, from_datetime14
from fonds.model.errors import PermanentError
from fonds.model.record_offset import offset_phrase
from fonds.model.rows import CdxRow
from fonds.ports import Archive

PLACES_MAX, READ_MAX_BYTES = 20, 512 * 2**20


@dataclass(frozen=True, slots=True)
class ArchivedPlace:
    """Where the bytes lie: a WARC by its name or path, and the offset of the record in it."""

    url: str
    captured: str
    warc_path: str
    warc_offset: int
    warc_csize: int | None


@dataclass(frozen=True, slots=True)
class Reference:
    """`words` names the work, the capture, SHA-1, page, WARC and offset in one sentence, and before it what
    is quoted, if anything is; `extractor` read the text that stands in. `bibtex` and `csl` are the work's
    for programs, None for a file that is not in the index. `place` None: in no WARC."""

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
class Verified:
    """The places that were read, of all `total`; fewer where more than 20 hold it or much had to be read."""

    places: Sequence[VerifiedPlace]
    total: int


def reference(
    found: Description, title: str, page: int | None = None, quotation: Quotation | None = None
) -> Reference:
    """How a file is cited, or words of it, by the first of its captures that holds it."""
    places = _places(found)
    place = places[0] if places else None
    document, journal = found.document, journal_of(found.derivatives.values())
    if quotation is not None:
        page = quotation.page
    read_by = (getattr(row, "extractor", None) for row in found.derivatives.values())
    extractor = next((one for one in read_by if one), None) if quotation else None
    said = _quotes(quotation, extractor) + _words(found, title, page, place)
    return Reference(
        sha1hex=found.sha1hex,
        sha256hex=found.file.sha256hex if found.file else None,
        page=page,
        words=said,
        quotation=quotation,
        extractor=extractor,
        place=place,
        bibtex=bibtex(document, journal) if document else None,
        csl=csl(document, journal) if document else None,
    )


def verified(archive: Archive, found: Description) -> Verified:
    """Read the archived records again and hash them; what is known of them from before counts for nothing."""
    places = _places(found)
    told: list[VerifiedPlace] = []
    read_bytes = 0
    for place in places[:PLACES_MAX]:
        if read_bytes > READ_MAX_BYTES:
            break
        told.append(_verified(archive, found, place))
        read_bytes += told[-1].size_bytes or 0
    return Verified(told, len(places))


def _verified(archive: Archive, found: Description, place: ArchivedPlace) -> VerifiedPlace:
    at = Place(PlaceKind.WARC, place.warc_path, place.warc_offset, place.warc_csize)
    try:
        # Without a SHA-1 it is read from where it lies, whatever was read before.
        body = archive.read(at).body
    except PermanentError as error:
        return VerifiedPlace(place, False, None, None, str(error))
    read_sha1 = sha1(body, usedforsecurity=False).hexdigest()
    is_same = read_sha1 == found.sha1hex
    if is_same and found.file is not None:
        is_same = sha256(body).hexdigest() == found.file.sha256hex
    return VerifiedPlace(place, is_same, read_sha1, len(body), None)


def _places(found: Description) -> list[ArchivedPlace]:
    rows = [row for row in found.captures if row.mimetype != REVISIT_MIME]
    return [place_told(row) for row in rows]


def place_told(row: CdxRow) -> ArchivedPlace:
    """Where a capture lies, for readers."""
    return ArchivedPlace(row.url, row.datetime, row.warc_path, row.warc_offset, row.warc_csize)


def _quotes(quotation: Quotation | None, extractor: str | None) -> str:
    if quotation is None:
        return ""
    of = "its text" if quotation.page is None else f"the text of page {quotation.page}"
    by = f" as {extractor.partition(' ')[0]} read it" if extractor else ""
    return f"“{quotation.quote}” (characters {quotation.start} to {quotation.end} of {of}{by}): "


def _words(found: Description, title: str, page: int | None, place: ArchivedPlace | None) -> str:
    document = found.document
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
        told.append(f"{place.url}, captured {_day(place.captured)}.")
    told.append(f"SHA-1 {found.sha1hex}{f', page {page}' if page else ''}.")
    if place is not None:
        told.append(f"In {place.warc_path} at offset {offset_phrase(place.warc_offset)}.")
    return " ".join(told)


def _day(digits: str) -> str:
    try:
        return from_datetime14(digits).date().isoformat()
    except ValueError:
        return digits
