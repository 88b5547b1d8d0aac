"""File names of downloads: readable, valid on every system, and safe in a header."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.web.serving.downloads import (
    MAX_BYTES,
    build_disposition,
    build_file_name,
)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("A report", "A report.pdf"),
        ("Flood: “März” / <b>", "Flood “März” b.pdf"),
        ("http://a.example/x/Flood%20M%C3%A4rz.PDF?d=1", "Flood März.pdf"),
        ("http://a.example/", "abc.pdf"),
        ("..\\..\\etc/passwd", "etc passwd.pdf"),
        ("gpj\u202efdp", "gpjfdp.pdf"),
        ("CON", "abc.pdf"),
        ("con.text", "abc.pdf"),
        ("", "abc.pdf"),
        ("هل", "هل.pdf"),
    ],
)
def test_file_names_are_built_from_titles_and_urls(title: str, name: str) -> None:
    assert build_file_name(title, ".pdf", "abc") == name


def test_a_header_repeats_a_non_ascii_name_as_utf_8() -> None:
    assert build_disposition("inline", "a b.pdf") == 'inline; filename="a b.pdf"'
    assert build_disposition("attachment", "März.pdf") == (
        "attachment; filename=\"Marz.pdf\"; filename*=UTF-8''M%C3%A4rz.pdf"
    )
    assert build_disposition("inline", "图.pdf").startswith(
        'inline; filename="file.pdf"; filename*='
    )
    assert "50_" in build_disposition("inline", "50%.pdf")


@given(st.text(max_size=400))
def test_any_text_becomes_a_valid_name(title: str) -> None:
    name = build_file_name(title, ".pdf", "abc")
    assert name.endswith(".pdf")
    assert len(name.encode()) <= MAX_BYTES
    assert not re.search(r'[\x00-\x1f/\\"]', name)
    header = build_disposition("inline", name)
    assert header.isascii()
    assert re.fullmatch(
        r"inline; filename=\"[^\"\\\r\n]+\"(?:; filename\*=UTF-8''[\w%!#$&+.^`|~-]+)?", header
    )
