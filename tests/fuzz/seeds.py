"""Writes the inputs a fuzzer begins with, a file each: `python tests/fuzz/seeds.py FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures import pdfs
from fixtures.mutations import mutations
from fonds.formats.envelope import encode
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.file import FileMeta
from fonds.model.pdf import PdfStatus, PdfText

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
PAGES = (
    "a hyphen\ufffe ated and well-\ufffeKnown state-of\ufffethe\r\n\x00\ufeff soft\u00adhyphen \ufb01",
    "\u4e2d\u6587\u3001\u65e5\u672c\u8a9e \u0e44\u0e17\u0e22 word\f\u1000\u1780",
    "one\ud800two\udfff",
)


def seeds() -> Iterator[bytes]:
    """Inputs for every target; the first byte names it."""
    for trailer in TRAILERS:
        yield b"t" + trailer
        yield b"j" + trailer
    yield from (b"s" + text for text in STRINGS)
    yield from (b"d" + text for text in DATES)
    for page in PAGES:
        raw = page.encode("utf-16-le", "surrogatepass")
        yield b"c" + raw
        yield b"p" + raw
    for made in _pdfs():
        yield b"i" + made
        yield b"t" + made
    for mutation in mutations(MUTATIONS):
        if len(mutation.data) <= SEED_MAX_BYTES:
            yield b"i" + mutation.data
    yield b"e" + encode(_message())


def _pdfs() -> Iterator[bytes]:
    yield pdfs.text_pdf(info={"Title": "A title", "CreationDate": "D:20200326012657-07'00'"})
    yield pdfs.raw_pdf(pdfs.plain_objects(), trailer=pdfs.id_trailer())
    yield pdfs.xmp_pdf(b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><a>b</a></x:xmpmeta>")
    yield from (pdfs.javascript_pdf(where) for where in ("open", "annotation", "field"))
    yield from (pdfs.tagged_pdf(), pdfs.form_of_itself_pdf(), pdfs.encrypted_pdf())
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
        pdf_extra={"page_count": 1, "page0_width": 612.5, "encryption": None, "outline": [{}]},
        file_meta=FileMeta(9, "application/pdf", "PDF", "application/pdf", digest, "", ""),
        source=Capture("c", "i", place, "http://a.example/", moment, "response", status=200),
        extractor="fonds-pdf",
    )


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds():
        (folder / sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
