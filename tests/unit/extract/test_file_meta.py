"""Hashes, size and type of a file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fonds.extract.mime import describe
from fonds.model.file import Kind


def test_a_page_is_described_by_hashes_size_and_type() -> None:
    meta = describe(b"<html></html>", "text/html; charset=utf-8")
    assert meta.size == 13
    assert (len(meta.sha1), len(meta.md5), len(meta.sha256)) == (40, 32, 64)
    assert (meta.mime, meta.magic, meta.magic_mime) == ("text/html", "HTML document", "text/html")
    assert meta.kind is Kind.STORY


def test_digests_match_known_values() -> None:
    meta = describe(b"abc", None)
    assert meta.sha1 == "a9993e364706816aba3e25717850c26c9cd0d89d"
    assert meta.md5 == "900150983cd24fb0d6963f7d28e17f72"
    assert meta.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_the_kind_follows_the_bytes_not_the_declared_type() -> None:
    assert describe(b"%PDF-1.5\n", "text/html").kind is Kind.PDF
    assert describe(b"GIF89a\x00", "application/pdf").kind is Kind.OTHER


@given(st.binary(max_size=100))
def test_any_body_can_be_described(body: bytes) -> None:
    assert describe(body, None).size == len(body)
