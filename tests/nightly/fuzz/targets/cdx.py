"""Lines of indexes: each is a capture, refused with a reason, or passed over; what is written comes back."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.archive.cdx import (
    OFFSET_MAX,
    CdxLine,
    IndexReader,
    RejectedLine,
    format_cdxj_line,
)
from fonds.ingest.sources.container import detect_container
from fonds.model.capture import parse_datetime14
from nightly.fuzz.guarantees import holds

LINE = (
    b"com,example)/ 20200101000000 http://example.com/ text/html 200 "
    b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - - 1043 333 x.warc.gz"
)
JSON_LINE = (
    b'com,example)/ 20200101000000 {"url": "http://example.com/", "mime": "text/html", "status": "200", '
    b'"digest": "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "length": "1043", "offset": "333", "filename": "x.gz"}'
)


def check(data: bytes) -> None:
    """Read all lines with one reader, as a source does."""
    detect_container(data)
    reader = IndexReader()
    for line in data.split(b"\n"):
        found = reader.parse(line.decode("utf-8", "replace"))
        if isinstance(found, CdxLine):
            _check_line(found)
        elif isinstance(found, RejectedLine):
            holds(bool(found.detail), "what is refused has a reason", found)
        else:
            holds(found is None, "a line is a capture, refused or nothing", found)


def _check_line(found: CdxLine) -> None:
    parse_datetime14(found.datetime14)
    holds(0 <= found.offset <= OFFSET_MAX, "an offset is one", found)
    holds(found.status is None or 0 <= found.status <= 999, "a status is one", found)
    holds(found.digest is None or len(found.digest) == 32, "a digest is a SHA-1", found)
    again = IndexReader().parse(format_cdxj_line(found).decode())
    if isinstance(again, CdxLine):
        told = (found.datetime14, found.url, found.offset, found.filename, found.digest)
        read = (again.datetime14, again.url, again.offset, again.filename, again.digest)
        holds(told == read, "what is written comes back", (found, again))


def seeds() -> Iterator[bytes]:
    """Every form of line, with and without its header."""
    yield b" CDX N b a m s k r M S V g\n" + LINE
    yield b" CDX A b a m s k r V g\n" + LINE
    yield LINE + b"\n" + LINE.replace(b"200", b"-")
    yield JSON_LINE + b"\n" + JSON_LINE.replace(b'"200"', b"200")
    yield b"!OpenWayback-CDXJ 1.0\n" + JSON_LINE.partition(b"{")[2]
    yield b"{" + JSON_LINE.partition(b"{")[2]
    yield b"filedesc:x\n# remark\n\nbroken line\n" + LINE[:60]
    yield b" ".join(LINE.split()[:9]) + b"\n" + b" ".join(LINE.split()[:10])
