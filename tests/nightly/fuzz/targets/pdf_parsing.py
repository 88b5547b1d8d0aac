"""Parsing of PDFs outside of the PDF libraries.

The first byte of an input selects the function, the rest is its data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import msgspec

from fixtures import pdfs
from fixtures.mutations import generate_mutations
from fonds.extract.pdf.strings import (
    clean_stored_text,
    clean_text,
    convert_pdf_date,
    decode_text_string,
)
from fonds.extract.pdf.structure import read_structure
from fonds.extract.pdf.text_cleanup import normalize_page_text
from fonds.extract.pdf.trailer import looks_like_pdf, scan_trailer, strip_leading_junk
from fonds.extract.pdf.word_count import count_words
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.errors import DamagedInputError
from fonds.model.file import FileMeta
from fonds.model.message import PIPELINE, Message
from fonds.model.pdf import PdfStatus, PdfText
from fonds.model.pdf_extra import OutlineEntry, PdfExtra
from fonds.queues.messages.envelope import decode, encode
from nightly.fuzz.guarantees import require

HEX_PAIRS = re.compile(r"(?:[0-9a-f]{2})+")
VERSION = re.compile(r"\d{1,2}\.\d{1,2}", re.ASCII)
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
NOT_STORABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
XMP_MAX_BYTES = 100_000
FONDS_HEADERS = {PIPELINE: "library"}


def check_id(id_: str | None) -> None:
    require(id_ is None or HEX_PAIRS.fullmatch(id_) is not None, "an id is hex pairs", id_)


def check_version(version: str | None) -> None:
    require(version is None or VERSION.fullmatch(version) is not None, "a version is N.N", version)


def check_storable(text: str) -> None:
    require(NOT_STORABLE.search(text) is None, "a text can be stored", text)
    text.encode("utf-8")


def check_trailer(data: bytes) -> None:
    trailer = scan_trailer(data)
    check_version(trailer.pdf_version)
    check_id(trailer.permanent_id)
    check_id(trailer.update_id)
    pages = trailer.page_count
    require(pages is None or trailer.linearized, "only a linearized file has a page count", trailer)
    require(pages is None or 0 <= pages < 10**7, "a page count is valid", trailer)


def check_junk(data: bytes) -> None:
    rest = strip_leading_junk(data)
    require(data.endswith(rest), "the rest is the end of the data")
    require(
        rest == data or rest.startswith(b"%PDF-"),
        "only junk before the header is removed",
        rest[:20],
    )
    require(strip_leading_junk(rest) == rest, "no junk remains")
    require(looks_like_pdf(rest) or not looks_like_pdf(data), "a PDF is still a PDF")


def check_text_string(data: bytes) -> None:
    text = decode_text_string(data)
    check_storable(text)
    require(text == text.strip(), "a text has no blanks around it", text)
    require(clean_text(text) == text, "a text is clean", text)
    check_date(text)


def check_date(text: str) -> None:
    iso = convert_pdf_date(text)
    if iso == text:
        return
    require(ISO_DATE.fullmatch(iso) is not None, "a date is ISO 8601 in UTC", iso)
    require(datetime.fromisoformat(iso).utcoffset() is not None, "a date parses back", iso)
    require(convert_pdf_date(iso) == iso, "a converted date stays unchanged", iso)


def check_dates(data: bytes) -> None:
    check_date(data.decode("latin-1"))
    check_date(decode_utf16(data))


def check_cleaning(data: bytes) -> None:
    text = decode_utf16(data)
    stored = clean_stored_text(text)
    check_storable(stored)
    require(clean_stored_text(stored) == stored, "storable text stays unchanged", stored)
    cleaned = clean_text(text)
    check_storable(cleaned)
    require(clean_text(cleaned) == cleaned, "clean text stays unchanged", cleaned)


def check_page(data: bytes) -> None:
    page = normalize_page_text(decode_utf16(data))
    check_storable(page)
    # A hyphen at the end of a line was judged by the original line.
    if not HYPHEN_AT_END.search(page):
        require(normalize_page_text(page) == page, "a plain page stays unchanged", page)
    counts = count_words(page)
    require(counts.whitespace == len(page.split()), "runs between blanks are counted", counts)
    require(counts.words <= len(page), "each word has a character", (counts, page))
    has_word = any(char.isalnum() for char in page)
    require(counts.words > 0 or not has_word, "letters make words", (counts, page))
    if page.isascii():
        require(counts.words == counts.whitespace, "in ASCII both counts agree", (counts, page))


def check_structure(data: bytes) -> None:
    structure = read_structure(data, xmp_max_bytes=XMP_MAX_BYTES)
    check_id(structure.extra.permanent_id)
    check_id(structure.extra.update_id)
    check_version(structure.extra.pdf_version)
    for name, text in (structure.info or {}).items():
        check_storable(name)
        check_storable(text)
    if structure.meta_xml is not None:
        check_storable(structure.meta_xml)
        require(structure.meta_xml != "", "missing XMP is None")
    if structure.error is not None:
        require(structure.info is None and structure.meta_xml is None, "an error excludes metadata")
    msgspec.json.encode(structure.extra)


def check_envelope(data: bytes) -> None:
    try:
        payload = decode(Message("", data, headers=FONDS_HEADERS), PdfText)
    except DamagedInputError:
        return
    reread = decode(Message("", encode(payload), headers=FONDS_HEADERS), PdfText)
    require(reread == payload, "a message is read back unchanged", payload)


def decode_utf16(data: bytes) -> str:
    """Decode bytes to any text that a native library could return, including lone surrogates."""
    return data[: len(data) & ~1].decode("utf-16-le", "surrogatepass")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "t": check_trailer,
    "j": check_junk,
    "s": check_text_string,
    "d": check_dates,
    "c": check_cleaning,
    "p": check_page,
    "i": check_structure,
    "e": check_envelope,
}


def check(data: bytes) -> None:
    """Check the function that the first byte names; other bytes also select one."""
    if not data:
        return
    names = sorted(TARGETS)
    name = chr(data[0])
    TARGETS.get(name, TARGETS[names[data[0] % len(names)]])(data[1:])


MUTATIONS, SEED_MAX_BYTES = 150, 4_096
TRAILERS = (
    b"%PDF-1.4\n1 0 obj<</Linearized 1/L 9/H[1 2]/O 3/E 4/N 12/T 5>>endobj",
    b"%PDF-2.0 trailer<</Root 1 0 R/Encrypt 5 0 R/ID[<00FF a> <0>]>>",
    b"/ID[(a\\(b\\)\\053\\r\\\n)(\\\\\\b\\f\\t)]",
    b"junk" * 300 + b"%PDF-1.7 /Type /Page startxref %%EOF",
)
STRINGS = (
    b"plain",
    b"\xfe\xff\x00A\xd8\x3d\xde\x00\xd8\x00",
    b"\xff\xfeA\x00\x00\xd8",
    b"\xef\xbb\xbfa\x1ben-GB\x1bb",
    "Łódź".encode(),
    b"\x18\x80\x9f\xa0\xad\r\n\x00",
)
DATES = (
    b"D:20200326012657-07'00'",
    b"D:20200326012657Z00'00'",
    b"2020",
    b"D:00010101000000+23'59'",
    b"D:99991231235959-23'59'",
    b"2020-03-26T01:26:57+01:00",
    b"2020-03-26",
)
HYPHEN_AT_END = re.compile("[-\u2010\u2011\ufe63\uff0d\u058a\u1806] ?\n")
PAGES = (
    "of inter\ufffe\nnational",
    "a hyphen\ufffe ated and well-\ufffeKnown state-of\ufffethe\r\n\x00\ufeff soft\u00adhyphen \ufb01",
    "\u4e2d\u6587\u3001\u65e5\u672c\u8a9e \u0e44\u0e17\u0e22 word\f\u1000\u1780",
    "one\ud800two\udfff",
)


def seeds() -> Iterator[bytes]:
    """Yield inputs for every function; the first byte names it."""
    for trailer in TRAILERS:
        yield b"t" + trailer
        yield b"j" + trailer
    yield from (b"s" + text for text in STRINGS)
    yield from (b"d" + text for text in DATES)
    for page in PAGES:
        raw = page.encode("utf-16-le", "surrogatepass")
        yield b"c" + raw
        yield b"p" + raw
    for pdf in _pdfs():
        yield b"i" + pdf
        yield b"t" + pdf
    for mutation in generate_mutations(MUTATIONS):
        if len(mutation.data) <= SEED_MAX_BYTES:
            yield b"i" + mutation.data
    yield b"e" + encode(_message())


def _pdfs() -> Iterator[bytes]:
    yield pdfs.text_pdf(info={"Title": "A title", "CreationDate": "D:20200326012657-07'00'"})
    yield pdfs.raw_pdf(pdfs.plain_objects(), trailer=pdfs.id_trailer())
    yield pdfs.xmp_pdf(b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><a>b</a></x:xmpmeta>")
    yield from (pdfs.javascript_pdf(place) for place in ("open", "annotation", "field"))
    yield from (pdfs.tagged_pdf(), pdfs.looped_form_pdf(), pdfs.encrypted_pdf())
    yield from (pdfs.broken_xref_pdf(), pdfs.linearized_pdf(), pdfs.encrypted_pdf(user="u"))


def _message() -> PdfText:
    digest = "0" * 40
    place = Place(PlaceKind.WARC, "a.warc.gz", 7, 8)
    moment = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
    return PdfText(
        sha1hex=digest,
        status=PdfStatus.SUCCESS,
        text="words",
        page0_thumbnail=True,
        meta_xml="<x/>",
        pdf_info={"Title": "A title"},
        pdf_extra=PdfExtra(page_count=1, page0_width=612.5, outline=(OutlineEntry(0, "One", 0),)),
        file_meta=FileMeta(9, "application/pdf", "PDF", "application/pdf", digest, "", ""),
        source=Capture("c", "i", place, "http://a.example/", moment, "response", status=200),
        extractor="fonds-pdf",
    )
