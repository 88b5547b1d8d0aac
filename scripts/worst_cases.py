"""The worst known input of each format at a given size, and the code to measure; for `bench_worst.py`."""

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
from fonds.extract.pdf.strings import decode_text_string
from fonds.extract.pdf.text_cleanup import normalize_page_text
from fonds.extract.pdf.trailer import scan_trailer
from fonds.extract.pdf.word_count import count_words
from fonds.extract.pdf.xmp import read_xmp
from fonds.following.listings.opml import read_opml
from fonds.following.listings.whole_day_rss import ITEM_MAX_BYTES, read_rss_day, read_rss_piece
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
URL_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class Case:
    """`make` creates an input of about a given size, `run` processes it as Fonds does.

    `limit_bytes` is the maximum size of such an input; 0 means no limit.
    """

    name: str
    make: Callable[[int], Any]
    run: Callable[[Any], object]
    limit_bytes: int = 0


def repeat(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: unit * (size // len(unit))


def repeat_text(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit.encode()))


def surround(before: bytes, unit: bytes, after: bytes) -> Callable[[int], bytes]:
    return lambda size: before + unit * (size // len(unit)) + after


def scan(data: bytes) -> int:
    return sum(1 for _ in read_heads(io.BytesIO(data)))


def scan_and_read(data: bytes) -> None:
    """Read each record by its place, like the step `identify`."""
    stream = io.BytesIO(data)
    for head in read_heads(io.BytesIO(data)):
        if isinstance(head, RecordHead):
            read_record(stream, head.offset, body_max_bytes=BODY_MAX_BYTES)


def decode_all(*codings: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        def pieces() -> Iterator[bytes]:
            return (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))

        try:
            decode_body(pieces, codings, body_max_bytes=BODY_MAX_BYTES)
        except PermanentError:
            return

    return run


def parse_lines(data: bytes) -> None:
    reader = IndexReader()
    for line in data.split(b"\n"):
        reader.parse(line.decode("utf-8", "replace"))


def repeat_for_urls(make: Callable[[str], object]) -> Callable[[str], None]:
    def run(text: str) -> None:
        for at in range(0, len(text), URL_CHARS):
            make("http://a.example/" + text[at : at + URL_CHARS])

    return run


def read_story(data: bytes) -> None:
    try:
        decode_story(data)
    except PermanentError:
        return


def read_article(markup: str) -> object:
    return extract_article(markup, "http://a.example/b", date(2026, 1, 1))


def build_stacked_gzip(size: int) -> bytes:
    """Compress repeatedly with gzip, with a body that hardly compresses."""
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
    Case("WARC: records of no length", repeat(RECORD), scan),
    Case("WARC: each length reaches to the end", repeat(LYING), scan),
    Case("WARC: version lines and no header", repeat(b"WARC/1.0\r\n"), scan),
    Case("WARC: one header without an end", surround(b"WARC/1.0\r\n", b"A: b\r\n", b""), scan),
    Case(
        "WARC: interim answers",
        repeat(b"HTTP/1.1 100 C\r\n\r\n"),
        lambda d: parse_head(d[: 1 << 18]),
    ),
    Case("ARC: records of no length", repeat(ARC_RECORD), scan),
    Case("ARC: lines that are nearly its own", surround(b"WARC/", ARC_ALMOST, b""), scan),
    Case("junk: the magic of gzip", surround(b"WARC/", b"\x1f\x8b\x08\x00", b""), scan),
    Case(
        "junk: the magic of zstd",
        surround(b"WARC/", b"\x28\xb5\x2f\xfd\x24\x00\x00\xff\x03", b""),
        scan,
    ),
    Case("junk: the magic of LZ4", surround(b"WARC/", b"\x04\x22\x4d\x18\x60\x40\x82", b""), scan),
    Case("gzip: empty members", repeat(gzip.compress(b"", mtime=0)), scan),
    Case("gzip: a record in each member", repeat(gzip.compress(RECORD, mtime=0)), scan_and_read),
    Case("gzip: all records in one member", lambda n: gzip.compress(repeat(RECORD)(n), 1), scan),
    Case("zstd: empty frames", repeat(zstandard.compress(b"")), scan),
    Case("zstd: a record in each frame", repeat(zstandard.compress(RECORD)), scan_and_read),
    Case("zstd: frames to be skipped", repeat(b"\x50\x2a\x4d\x18\x00\x00\x00\x00"), scan),
    Case("bzip2: empty streams", repeat(bz2.compress(b"")), scan),
    Case("XZ: empty streams", repeat(lzma.compress(b"")), scan),
    Case("LZ4: empty frames", repeat(lz4.frame.compress(b"")), scan),
    Case(
        "zstd: blocks of no length",
        surround(b"\x28\xb5\x2f\xfd\x00\x48", b"\x00\x00\x00", b"\x01\x00\x00"),
        scan,
    ),
]
CODINGS = [
    Case(
        "gzip: empty members, as many as may be",
        repeat(gzip.compress(b"", mtime=0)),
        decode_all("gzip"),
        limit_bytes=20 * MEMBERS_MAX,
    ),
    Case(
        "gzip: members of 4 KB",
        repeat(gzip.compress(Random(1).randbytes(4_000), mtime=0)),
        decode_all("gzip"),
    ),
    Case(
        "gzip in gzip in gzip in gzip",
        build_stacked_gzip,
        decode_all("gzip", "gzip", "gzip", "gzip"),
    ),
    Case(
        "deflate: blocks of no length",
        surround(b"", b"\x00\x00\x00\xff\xff", b""),
        decode_all("deflate"),
    ),
    Case(
        "br: no better than stored",
        lambda n: brotli.compress(Random(1).randbytes(n), quality=0),
        decode_all("br"),
    ),
    Case("zstd: empty frames", repeat(zstandard.compress(b"")), decode_all("zstd")),
    Case("chunked: chunks of one byte", repeat(b"1\r\nx\r\n"), decode_all("chunked")),
    Case("chunked: blank lines", surround(b"1\r\nx", b"\r\n", b""), decode_all("chunked")),
    Case("chunked, then gzip", lambda n: repeat(b"1\r\nx\r\n")(n), decode_all("chunked", "gzip")),
]
LINES = [
    Case("CDX: shortest lines", repeat(CDX_LINE), parse_lines),
    Case("CDX: empty lines", repeat(b"\n"), parse_lines),
    Case("CDXJ: JSON in JSON", repeat(b"a 20200101000000 " + DEEP + b"\n"), parse_lines),
    Case(
        "story: fields nobody knows",
        lambda n: b"{" + b'"a1":{"b":1},' * (n // 13) + b'"z":1}',
        read_story,
    ),
    Case("story: JSON in JSON", surround(b"", b'{"a":', b"1"), read_story),
]
ADDRESSES = [
    Case(f"{name} of {pattern}", repeat_text(unit), repeat_for_urls(make))
    for name, make in {
        "SURT": build_surt,
        "normal spelling": normalize_url,
        "Media Cloud's id": hash_url,
        "domain": find_canonical_domain,
    }.items()
    for pattern, unit in {
        "escapes in escapes": "%252525",
        "steps up and down": "a/../",
        "parameters": "b=2&a=1&",
        "session ids": "(a(0123456789abcdefghijklmn))/",
        "dots": "a.",
    }.items()
]
PAGES = [
    Case("page: tags that never end", repeat_text("<p "), extract_paragraphs),
    Case("page: comments that never end", repeat_text("<!-- "), extract_paragraphs),
    Case("page: scripts that never end", repeat_text("<script>"), extract_paragraphs),
    Case("page: links in links", repeat_text("<a><a href=x>b "), extract_paragraphs),
    Case("page: entities", repeat_text("&amp;&#x41;&lt"), extract_paragraphs),
    Case("charset: no language in it", repeat(b"\xe0\x80\xff <a> "), lambda d: decode(d, None)),
    Case("charset: declarations", repeat(b"<meta charset=x>"), lambda d: decode(d, "utf-7")),
    Case("type: comments before anything", repeat(b"<!-- -->"), lambda d: sniff(d, None)),
    Case("type: gzip members before anything", repeat(gzip.compress(b"")), detect_container),
    Case(
        "article: elements in elements", repeat_text("<div>"), read_article, limit_bytes=10_000_000
    ),
    Case(
        "article: paragraphs of one letter",
        repeat_text("<p>a"),
        read_article,
        limit_bytes=10_000_000,
    ),
    Case("article: links", repeat_text("<a href=x>a</a> "), read_article, limit_bytes=10_000_000),
    Case("article: attributes", repeat_text("<p a=b c=d>x"), read_article, limit_bytes=10_000_000),
    Case("article: one text", repeat_text("word "), read_article, limit_bytes=10_000_000),
    Case(
        "article: linked data",
        lambda n: (
            '<script type="application/ld+json">['
            + '{"@type":"a"},' * (n // 14)
            + "{}]</script><p>a"
        ),
        read_article,
        limit_bytes=10_000_000,
    ),
    Case(
        "language: one word over and over",
        repeat_text("a"),
        lambda t: identify_page_language(t, None),
    ),
    Case("days: numbers", repeat_text("1 2 2024 "), lambda t: sum(1 for _ in find_days(t))),
]
PDFS = [
    Case("PDF: /ID over and over", repeat(b"/ID[<00"), scan_trailer),
    Case("PDF: /Linearized over and over", repeat(b"/Linearized 1 "), scan_trailer),
    Case("PDF: a string of escapes", repeat(b"\\053"), decode_text_string),
    Case("PDF: a page of hyphens", repeat_text("a-\n"), normalize_page_text),
    Case("PDF: a page of blanks", repeat_text(" \n"), normalize_page_text),
    Case("PDF: words of one letter", repeat_text("a "), count_words),
    Case(
        "PDF: XMP of empty elements",
        lambda n: "<x>" + "<a/>" * (n // 4) + "</x>",
        read_xmp,
        limit_bytes=1_000_000,
    ),
]


def read_day(data: bytes) -> int:
    return sum(1 for _ in read_rss_day(io.BytesIO(data), "day", None, read_rss_piece))


def repeat_items(start: bytes, unit: bytes) -> Callable[[int], bytes]:
    """Return a function that makes whole-day RSS of items of the largest size, filled with a unit."""
    item = b"<item>" + start + unit * ((ITEM_MAX_BYTES - 20) // len(unit)) + b"</item>"
    return repeat(item)


LISTINGS = [
    Case("whole-day RSS: links that never end", repeat_items(b"", b"<link>"), read_day),
    Case("whole-day RSS: attributes that never end", repeat_items(b"", b"<link x"), read_day),
    Case("whole-day RSS: CDATA that never ends", repeat_items(b"<title>", b"<![CDATA["), read_day),
    Case("whole-day RSS: items without content", repeat(b"<item></item>"), read_day),
    Case("whole-day RSS: starts of items", repeat(b"<item>"), read_day),
    Case("whole-day RSS: ends of items", repeat(b"</item>"), read_day),
    Case(
        "OPML: feeds in many folders",
        surround(
            b"<opml><body>" + b'<outline text="folder">' * 240,
            b'<outline xmlUrl="http://a.example/"/>',
            b"</outline>" * 240 + b"</body></opml>",
        ),
        read_opml,
        3_000_000,
    ),
]
CASES = {
    "archives": WARC,
    "codings": CODINGS,
    "lines": LINES,
    "addresses": ADDRESSES,
    "pages": PAGES,
    "pdf": PDFS,
    "listings": LISTINGS,
}
