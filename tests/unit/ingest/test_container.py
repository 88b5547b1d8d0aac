"""Container types are detected from the first bytes of a file."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from fixtures.warcs import PACKERS
from fonds.ingest.sources.container import Container, detect_container, is_archive_name

WARC = b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
ARC = b"filedesc://x.arc 0.0.0.0 20080430204825 text/plain 76\n1 0 InternetArchive\n"
CDX_HEAD = b" CDX N b a m s k r M S V g\n"
CDX_LINE = (
    b"com,example)/ 20200101000000 http://example.com/ text/html 200 "
    b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - - 1043 333 x.warc.gz\n"
)
CDXJ_LINE = b'com,example)/ 20200101000000 {"url": "http://example.com/"}\n'
ZIPNUM = b"com,example)/ 20200101000000\tcdx-00000.gz\t0\t188224\t1\n" * 2
LIST = b"# seeds\nhttp://example.com/\r\n\nhttps://example.org/a?b=c\n"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (WARC, Container.WARC),
        (b"\r\n" + WARC, Container.WARC),
        (b"WARC/1.0\r\r\nWARC-Type: response\r\r\n", Container.WARC),
        (b"WARC/one\n", Container.WARC),
        (b"\xef\xbb\xbfwarc/1.0\n", Container.WARC),
        (ARC, Container.ARC),
        (b"filedesc:// - - - 76\n", Container.ARC),
        (
            b"http://a.example/ 192.0.2.7 20080430204825 text/html 40\nHTTP/1.0 200 OK\n",
            Container.ARC,
        ),
        (b"http://a.example/ 2001:db8::7 4818dc99 text/html 40\n", Container.ARC),
        (ZIPNUM, Container.ZIPNUM),
        (CDX_HEAD + CDX_LINE, Container.CDX),
        (CDX_LINE * 3, Container.CDX),
        (b"# remark\nbroken line\n" + CDX_LINE * 3, Container.CDX),
        (CDXJ_LINE, Container.CDXJ),
        (b"!OpenWayback-CDXJ 1.0\n" + CDXJ_LINE, Container.CDXJ),
        (LIST, Container.LIST),
        (b"%PDF-1.7\n", Container.PDF),
        (b"<!doctype html><p>x", Container.HTML),
    ],
)
def test_a_container_is_recognized_by_content(head: bytes, kind: Container) -> None:
    assert detect_container(head) is kind


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        (WARC, Container.WARC),
        (ARC, Container.ARC),
        (CDX_HEAD + CDX_LINE, Container.CDX),
        (CDXJ_LINE, Container.CDXJ),
        (LIST, Container.LIST),
        (b"%PDF-1.7\n", None),
        (b"anything else", None),
    ],
)
def test_the_container_inside_gzip_is_recognized(inside: bytes, kind: Container | None) -> None:
    assert detect_container(gzip.compress(inside)) is kind


def test_empty_gzip_members_before_a_warc_are_skipped() -> None:
    assert detect_container(gzip.compress(b"") * 3 + gzip.compress(WARC)) is Container.WARC


def test_a_head_cut_inside_a_gzip_member_is_recognized() -> None:
    assert detect_container(gzip.compress(WARC * 500)[:60]) is Container.WARC


def test_zstd_is_recognized_with_and_without_a_dictionary() -> None:
    assert detect_container(zstandard.compress(WARC)) is Container.WARC
    assert detect_container(zstandard.compress(b"anything else")) is None
    dictionary_frame = b"\x5d\x2a\x4d\x18" + (70_000).to_bytes(4, "little") + b"\0" * 70_000
    assert detect_container(dictionary_frame) is Container.WARC


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_only_archives_are_recognized_inside_every_compression(
    pack: Callable[[bytes], bytes],
) -> None:
    assert detect_container(pack(WARC)) is Container.WARC
    assert detect_container(pack(ARC)) is Container.ARC
    assert detect_container(pack(CDX_HEAD + CDX_LINE)) is None
    assert detect_container(pack(b"%PDF-1.7\n")) is None
    assert detect_container(pack(WARC)[:20]) in (None, Container.WARC)


@pytest.mark.parametrize(
    ("name", "is_archive"),
    [
        ("a.warc", True),
        ("a.WARC.GZ", True),
        ("a.warc.gz.open", True),
        ("b.arc.lz4", True),
        ("warc.warc.zst", True),
        ("search.html", False),
        ("a.warc.cdx", False),
        ("arc", False),
        ("a.arch", False),
        ("a.warc.gz.md5", False),
    ],
)
def test_archives_are_recognized_by_file_name(name: str, is_archive: bool) -> None:
    assert is_archive_name(name) is is_archive


def test_an_empty_zip_is_recognized_as_zip() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        empty = packed.getvalue()
        archive.writestr("a.pdf", b"%PDF-1.4")
    assert detect_container(packed.getvalue()) is Container.ZIP
    assert empty == b""
    packed = io.BytesIO()
    zipfile.ZipFile(packed, "w").close()
    assert detect_container(packed.getvalue()) is Container.ZIP


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n\n",
        b"words and more words",
        b"http://example.com/ and a remark",
        b"\x00\x01",
        b"{}",
        b"\xff\xd8\xff",
    ],
)
def test_content_without_a_source_returns_none(head: bytes) -> None:
    assert detect_container(head) is None


def test_a_list_longer_than_the_head_is_recognized() -> None:
    lines = b"".join(b"https://example.org/%d\n" % number for number in range(10_000))
    assert detect_container(lines) is Container.LIST


def test_a_gzip_bomb_is_unpacked_only_up_to_a_limit() -> None:
    assert detect_container(gzip.compress(b"\0" * 50_000_000)) is None


@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"WARC/", b"PK"]),
)
def test_any_bytes_are_classified_without_error(tail: bytes, start: bytes) -> None:
    assert detect_container(start + tail) in {None, *Container}


def test_an_epub_is_a_file_and_other_zips_are_containers() -> None:
    for mime, kind in (("application/epub+zip", None), ("application/zip", Container.ZIP)):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("mimetype", mime, zipfile.ZIP_STORED)
            archive.writestr("OEBPS/text.html", "<p>words</p>")
        assert detect_container(packed.getvalue()) is kind
