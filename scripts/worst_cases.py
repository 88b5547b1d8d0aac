"""The worst input known for each format, made to a size, and what is done with it; for `bench_worst.py`."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any

import brotli
import lz4.frame
import zstandard

from fonds.archive.cdx import IndexReader
from fonds.archive.warc.http_head import parse_head
from fonds.archive.warc.reader import read_record
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.extract.article.days import find_days
from fonds.extract.article.extraction import extract_article
from fonds.extract.article.paragraphs import extract_paragraphs
from fonds.extract.charset import decode
from fonds.extract.mime import sniff
from fonds.extract.pdf.extraction import count_words
from fonds.extract.pdf.metadata import read_xmp
from fonds.extract.pdf.strings import decode_text_string
from fonds.extract.pdf.text_cleanup import normalize_page_text
from fonds.extract.pdf.trailer import scan_trailer
from fonds.ingest.sources.container import detect_container
from fonds.model.errors import PermanentError
from fonds.model.story_json import decode_story
from fonds.text.coding import MEMBERS_MAX, decode_body
from fonds.text.language import identify_page_language
from fonds.urls.mediacloud_id import hash_url
from fonds.urls.normalization import find_canonical_domain, normalize_url
from fonds.urls.surt import build_surt

BODY_MAX_BYTES = 1 << 31
PIECE_BYTES = 64 * 1024
URL_CHARACTERS = 8_000


@dataclass(frozen=True, slots=True)
class Case:
    """`make` gives an input of about so many bytes, `run` does with it what Fonds does.

    `limit_bytes` is how large such an input may be at all, 0 for any size.
    """

    name: str
    make: Callable[[int], Any]
    run: Callable[[Any], object]
    limit_bytes: int = 0


def times(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: unit * (size // len(unit))


def text_times(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit.encode()))


def within(before: bytes, unit: bytes, after: bytes) -> Callable[[int], bytes]:
    return lambda size: before + unit * (size // len(unit)) + after


def scan(data: bytes) -> int:
    return sum(1 for _ in read_heads(io.BytesIO(data)))


def scan_and_read(data: bytes) -> None:
    """Every record by its place, as identify reads them."""
    stream = io.BytesIO(data)
    for head in read_heads(io.BytesIO(data)):
        if isinstance(head, RecordHead):
            read_record(stream, head.offset, body_max_bytes=BODY_MAX_BYTES)


def decoded(*codings: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        def pieces() -> Iterator[bytes]:
            return (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))

        try:
            decode_body(pieces, codings, body_max_bytes=BODY_MAX_BYTES)
        except PermanentError:
            return

    return run


def lines(data: bytes) -> None:
    reader = IndexReader()
    for line in data.split(b"\n"):
        reader.parse(line.decode("utf-8", "replace"))


def each_url(make: Callable[[str], object]) -> Callable[[str], None]:
    def run(text: str) -> None:
        for at in range(0, len(text), URL_CHARACTERS):
            make("http://a.example/" + text[at : at + URL_CHARACTERS])

    return run


def story(data: bytes) -> None:
    try:
        decode_story(data)
    except PermanentError:
        return


def article(markup: str) -> object:
    return extract_article(markup, "http://a.example/b", date(2026, 1, 1))


def stacked_gzip(size: int) -> bytes:
    """What gzip makes of gzip, over and over, with a body that hardly packs."""
    body = bytes(zlib.crc32(bytes([n & 255, n >> 8 & 255])) & 255 for n in range(65_536))
    data = body * (size // len(body))
    for _ in range(4):
        data = gzip.compress(data, 0)
    return data


RECORD = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
LYING = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 99999999\r\n\r\nHTTP/1.1 200 OK\r\n"
ARC_RECORD = b"http://a/ 192.0.2.7 20080430204825 text/html 0\n\n"
ARC_ALMOST = b"http://a/" + b" 20080430" * 800 + b"\n"
BLANK = zlib.compress(b"")
CDX_LINE = b"a)/ 20200101000000 http://a/ text/html 200 - - - 1 2 x\n"
DEEP = b'{"a":' * 400 + b"1" + b"}" * 400

WARC = [
    Case("WARC: records of no length", times(RECORD), scan),
    Case("WARC: each length reaches to the end", times(LYING), scan),
    Case("WARC: version lines and no header", times(b"WARC/1.0\r\n"), scan),
    Case("WARC: one header without an end", within(b"WARC/1.0\r\n", b"A: b\r\n", b""), scan),
    Case(
        "WARC: interim answers",
        times(b"HTTP/1.1 100 C\r\n\r\n"),
        lambda d: parse_head(d[: 1 << 18]),
    ),
    Case("ARC: records of no length", times(ARC_RECORD), scan),
    Case("ARC: lines that are nearly its own", within(b"WARC/", ARC_ALMOST, b""), scan),
    Case("junk: the magic of gzip", within(b"WARC/", b"\x1f\x8b\x08\x00", b""), scan),
    Case(
        "junk: the magic of zstd",
        within(b"WARC/", b"\x28\xb5\x2f\xfd\x24\x00\x00\xff\x03", b""),
        scan,
    ),
    Case("junk: the magic of LZ4", within(b"WARC/", b"\x04\x22\x4d\x18\x60\x40\x82", b""), scan),
    Case("gzip: empty members", times(gzip.compress(b"", mtime=0)), scan),
    Case("gzip: a record in each member", times(gzip.compress(RECORD, mtime=0)), scan_and_read),
    Case("gzip: all records in one member", lambda n: gzip.compress(times(RECORD)(n), 1), scan),
    Case("zstd: empty frames", times(zstandard.compress(b"")), scan),
    Case("zstd: a record in each frame", times(zstandard.compress(RECORD)), scan_and_read),
    Case("zstd: frames to be skipped", times(b"\x50\x2a\x4d\x18\x00\x00\x00\x00"), scan),
    Case("bzip2: empty streams", times(bz2.compress(b"")), scan),
    Case("XZ: empty streams", times(lzma.compress(b"")), scan),
    Case("LZ4: empty frames", times(lz4.frame.compress(b"")), scan),
    Case(
        "zstd: blocks of no length",
        within(b"\x28\xb5\x2f\xfd\x00\x48", b"\x00\x00\x00", b"\x01\x00\x00"),
        scan,
    ),
]
CODINGS = [
    Case(
        "gzip: empty members, as many as may be",
        times(gzip.compress(b"", mtime=0)),
        decoded("gzip"),
        limit_bytes=20 * MEMBERS_MAX,
    ),
    Case(
        "gzip: members of 4 KB",
        times(gzip.compress(Random(1).randbytes(4_000), mtime=0)),
        decoded("gzip"),
    ),
    Case("gzip in gzip in gzip in gzip", stacked_gzip, decoded("gzip", "gzip", "gzip", "gzip")),
    Case(
        "deflate: blocks of no length",
        within(b"", b"\x00\x00\x00\xff\xff", b""),
        decoded("deflate"),
    ),
    Case(
        "br: no better than stored",
        lambda n: brotli.compress(Random(1).randbytes(n), quality=0),
        decoded("br"),
    ),
    Case("zstd: empty frames", times(zstandard.compress(b"")), decoded("zstd")),
    Case("chunked: chunks of one byte", times(b"1\r\nx\r\n"), decoded("chunked")),
    Case("chunked: blank lines", within(b"1\r\nx", b"\r\n", b""), decoded("chunked")),
    Case("chunked, then gzip", lambda n: times(b"1\r\nx\r\n")(n), decoded("chunked", "gzip")),
]
LINES = [
    Case("CDX: shortest lines", times(CDX_LINE), lines),
    Case("CDX: empty lines", times(b"\n"), lines),
    Case("CDXJ: JSON in JSON", times(b"a 20200101000000 " + DEEP + b"\n"), lines),
    Case(
        "story: fields nobody knows",
        lambda n: b"{" + b'"a1":{"b":1},' * (n // 13) + b'"z":1}',
        story,
    ),
    Case("story: JSON in JSON", within(b"", b'{"a":', b"1"), story),
]
ADDRESSES = [
    Case(f"{name} of {what}", text_times(unit), each_url(make))
    for name, make in {
        "SURT": build_surt,
        "normal spelling": normalize_url,
        "Media Cloud's id": hash_url,
        "domain": find_canonical_domain,
    }.items()
    for what, unit in {
        "escapes in escapes": "%252525",
        "steps up and down": "a/../",
        "parameters": "b=2&a=1&",
        "session ids": "(a(0123456789abcdefghijklmn))/",
        "dots": "a.",
    }.items()
]
PAGES = [
    Case("page: tags that never end", text_times("<p "), extract_paragraphs),
    Case("page: comments that never end", text_times("<!-- "), extract_paragraphs),
    Case("page: scripts that never end", text_times("<script>"), extract_paragraphs),
    Case("page: links in links", text_times("<a><a href=x>b "), extract_paragraphs),
    Case("page: entities", text_times("&amp;&#x41;&lt"), extract_paragraphs),
    Case("charset: no language in it", times(b"\xe0\x80\xff <a> "), lambda d: decode(d, None)),
    Case("charset: declarations", times(b"<meta charset=x>"), lambda d: decode(d, "utf-7")),
    Case("type: comments before anything", times(b"<!-- -->"), lambda d: sniff(d, None)),
    Case("type: gzip members before anything", times(gzip.compress(b"")), detect_container),
    Case("article: elements in elements", text_times("<div>"), article, limit_bytes=10_000_000),
    Case("article: paragraphs of one letter", text_times("<p>a"), article, limit_bytes=10_000_000),
    Case("article: links", text_times("<a href=x>a</a> "), article, limit_bytes=10_000_000),
    Case("article: attributes", text_times("<p a=b c=d>x"), article, limit_bytes=10_000_000),
    Case("article: one text", text_times("word "), article, limit_bytes=10_000_000),
    Case(
        "article: linked data",
        lambda n: (
            '<script type="application/ld+json">['
            + '{"@type":"a"},' * (n // 14)
            + "{}]</script><p>a"
        ),
        article,
        limit_bytes=10_000_000,
    ),
    Case(
        "language: one word over and over",
        text_times("a"),
        lambda t: identify_page_language(t, None),
    ),
    Case("days: numbers", text_times("1 2 2024 "), lambda t: sum(1 for _ in find_days(t))),
]
PDFS = [
    Case("PDF: /ID over and over", times(b"/ID[<00"), scan_trailer),
    Case("PDF: /Linearized over and over", times(b"/Linearized 1 "), scan_trailer),
    Case("PDF: a string of escapes", times(b"\\053"), decode_text_string),
    Case("PDF: a page of hyphens", text_times("a-\n"), normalize_page_text),
    Case("PDF: a page of blanks", text_times(" \n"), normalize_page_text),
    Case("PDF: words of one letter", text_times("a "), count_words),
    Case(
        "PDF: XMP of empty elements",
        lambda n: "<x>" + "<a/>" * (n // 4) + "</x>",
        read_xmp,
        limit_bytes=1_000_000,
    ),
]
CASES = {
    "archives": WARC,
    "codings": CODINGS,
    "lines": LINES,
    "addresses": ADDRESSES,
    "pages": PAGES,
    "pdf": PDFS,
}
