"""Lines of indexes: each is a capture, refused with a reason, or skipped; written lines are read back."""

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
from nightly.fuzz.guarantees import require

LINE = (
    b"com,example)/ 20200101000000 http://example.com/ text/html 200 "
    b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - - 1043 333 x.warc.gz"
)
JSON_LINE = (
    b'com,example)/ 20200101000000 {"url": "http://example.com/", "mime": "text/html", "status": "200", '
    b'"digest": "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "length": "1043", "offset": "333", "filename": "x.gz"}'
)


def check(data: bytes) -> None:
    """Read all lines with one reader, like a source."""
    detect_container(data)
    reader = IndexReader()
    for line in data.split(b"\n"):
        parsed = reader.parse(line.decode("utf-8", "replace"))
        if isinstance(parsed, CdxLine):
            _check_line(parsed)
        elif isinstance(parsed, RejectedLine):
            require(bool(parsed.detail), "a refused line has a reason", parsed)
        else:
            require(parsed is None, "a line is a capture, refused or None", parsed)


def _check_line(line: CdxLine) -> None:
    parse_datetime14(line.datetime14)
    require(0 <= line.offset <= OFFSET_MAX, "an offset is valid", line)
    require(line.status is None or 0 <= line.status <= 999, "a status is valid", line)
    require(line.digest is None or len(line.digest) == 32, "a digest is a SHA-1", line)
    reread = IndexReader().parse(format_cdxj_line(line).decode())
    if isinstance(reread, CdxLine):
        before = (line.datetime14, line.url, line.offset, line.filename, line.digest)
        after = (reread.datetime14, reread.url, reread.offset, reread.filename, reread.digest)
        require(before == after, "a written line is read back", (line, reread))


def seeds() -> Iterator[bytes]:
    """Yield every form of line, with and without its header."""
    yield b" CDX N b a m s k r M S V g\n" + LINE
    yield b" CDX A b a m s k r V g\n" + LINE
    yield LINE + b"\n" + LINE.replace(b"200", b"-")
    yield JSON_LINE + b"\n" + JSON_LINE.replace(b'"200"', b"200")
    yield b"!OpenWayback-CDXJ 1.0\n" + JSON_LINE.partition(b"{")[2]
    yield b"{" + JSON_LINE.partition(b"{")[2]
    yield b"filedesc:x\n# remark\n\nbroken line\n" + LINE[:60]
    yield b" ".join(LINE.split()[:9]) + b"\n" + b" ".join(LINE.split()[:10])
