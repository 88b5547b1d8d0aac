"""What a source has to open, told from the first bytes of a file."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from fonds.extract.container import Container, container

WARC = b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
ARC = b"filedesc://x.arc 0.0.0.0 20080430204825 text/plain 76\n1 0 InternetArchive\n"
CDX_HEAD = b" CDX N b a m s k r M S V g\n"
CDX_LINE = (
    b"com,example)/ 20200101000000 http://example.com/ text/html 200 "
    b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - - 1043 333 x.warc.gz\n"
)
CDXJ_LINE = b'com,example)/ 20200101000000 {"url": "http://example.com/"}\n'
LIST = b"# seeds\nhttp://example.com/\r\n\nhttps://example.org/a?b=c\n"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (WARC, Container.WARC),
        (b"\r\n" + WARC, Container.WARC),
        (ARC, Container.ARC),
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
def test_a_file_is_known_by_its_content(head: bytes, kind: Container) -> None:
    assert container(head) is kind


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        (WARC, Container.WARC_GZ),
        (ARC, Container.ARC_GZ),
        (CDX_HEAD + CDX_LINE, Container.CDX_GZ),
        (CDXJ_LINE, Container.CDXJ_GZ),
        (LIST, Container.LIST_GZ),
        (b"%PDF-1.7\n", None),
        (b"anything else", None),
    ],
)
def test_gzip_is_looked_into(inside: bytes, kind: Container | None) -> None:
    assert container(gzip.compress(inside)) is kind


def test_an_empty_gzip_member_in_front_does_not_hide_the_warc() -> None:
    assert container(gzip.compress(b"") * 3 + gzip.compress(WARC)) is Container.WARC_GZ


def test_a_head_cut_in_the_middle_of_a_member_is_enough() -> None:
    assert container(gzip.compress(WARC * 500)[:60]) is Container.WARC_GZ


def test_zstd_is_looked_into_with_and_without_a_dictionary() -> None:
    assert container(zstandard.compress(WARC)) is Container.WARC_ZST
    assert container(zstandard.compress(b"anything else")) is None
    dictionary_frame = b"\x5d\x2a\x4d\x18" + (70_000).to_bytes(4, "little") + b"\0" * 70_000
    assert container(dictionary_frame) is Container.WARC_ZST


def test_a_zip_is_a_zip_even_when_empty() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        empty = packed.getvalue()
        archive.writestr("a.pdf", b"%PDF-1.4")
    assert container(packed.getvalue()) is Container.ZIP
    assert empty == b""
    packed = io.BytesIO()
    zipfile.ZipFile(packed, "w").close()
    assert container(packed.getvalue()) is Container.ZIP


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
def test_what_no_source_reads_is_none(head: bytes) -> None:
    assert container(head) is None


def test_a_list_longer_than_the_head_is_a_list_although_its_last_line_is_cut() -> None:
    lines = b"".join(b"https://example.org/%d\n" % number for number in range(10_000))
    assert container(lines) is Container.LIST


def test_little_gzip_that_unpacks_to_very_much_is_bounded() -> None:
    assert container(gzip.compress(b"\0" * 50_000_000)) is None


@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"WARC/", b"PK"]),
)
def test_any_bytes_are_judged_without_an_error(tail: bytes, start: bytes) -> None:
    assert container(start + tail) in {None, *Container}
