"""Rendering numbers, times, marks and links as HTML."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fonds.model.encoding import pluralize
from fonds.web.html.rendering import (
    build_pager,
    build_url,
    filter_web_url,
    format_size,
    format_time,
    format_time14,
    format_url,
    get_language_code,
    get_local_file_name,
    mark_text,
)
from fonds.web.serving.parameters import shorten


def test_marked_text_is_escaped() -> None:
    assert mark_text("<b>flood</b>", [(3, 8)]) == "&lt;b&gt;<mark>flood</mark>&lt;/b&gt;"
    assert mark_text("<script>", [(0, 8)]) == "<mark>&lt;script&gt;</mark>"


def test_overlapping_and_outside_marks_are_cut() -> None:
    assert mark_text("abcdef", [(4, 99), (0, 3), (2, 4), (-5, 1), (9, 12), (5, 4)]) == (
        "<mark>a</mark><mark>bc</mark><mark>d</mark><mark>ef</mark>"
    )


@settings(deadline=None)
@given(st.text(), st.lists(st.tuples(st.integers(-5, 60), st.integers(-5, 60))))
def test_marking_keeps_the_text_for_any_marks(text: str, marks: list[tuple[int, int]]) -> None:
    html = str(mark_text(text, marks))
    html_without_marks = html.replace("<mark>", "").replace("</mark>", "")
    assert "<" not in html_without_marks
    assert ">" not in html_without_marks
    assert unescape(html_without_marks) == unescape(text.replace("&", "&amp;"))


def test_a_time_has_its_zone_and_a_datetime_attribute() -> None:
    at = datetime(2021, 5, 3, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    assert (
        format_time(at) == '<time datetime="2021-05-04T01:30:00Z">4 May 2021, 01:30:00 UTC</time>'
    )
    assert format_time14("20210504013000") == format_time(at)


def test_unknown_and_invalid_times_are_shown_as_such() -> None:
    assert "unknown" in format_time(None)
    assert format_time14("<2021>") == "&lt;2021&gt;"


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (None, "unknown size"), (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"),
        (999_949, "999.9 kB"), (999_960, "1.0 MB"), (268_435_456, "268.4 MB"), (5 * 10**15, "5000.0 TB"),
    ],
)  # fmt: skip
def test_sizes_are_formatted_with_units(size_bytes: int | None, expected: str) -> None:
    assert format_size(size_bytes) == expected


def test_one_is_singular_and_zero_is_plural() -> None:
    assert [pluralize(count, "file") for count in (0, 1, 1204)] == [
        "0 files",
        "1 file",
        "1,204 files",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "http:",
        "http://[",
        "",
        "ftp://x/y",
    ],
)
def test_only_web_urls_become_links(url: str) -> None:
    assert filter_web_url(url) is None


def test_web_urls_are_kept_unchanged() -> None:
    assert filter_web_url("http://example.org/a?b") == "http://example.org/a?b"


def test_urls_omit_empty_parameters_and_encode_the_others() -> None:
    assert build_url(
        "/search", q="a&b", kind=["pdf", "story"], page=None, undated=False, to=""
    ) == ("/search?q=a%26b&kind=pdf&kind=story")
    assert build_url("/search", q="") == "/search"


def test_the_pager_ends_at_the_last_row() -> None:
    first = build_pager("/records", {"outcome": "done"}, 120, 1, 50, 100)
    assert (first.pages, first.first, first.last, first.previous_href) == (3, 1, 50, None)
    assert first.next_href == "/records?outcome=done&page=2"
    last = build_pager("/records", {"outcome": "done"}, 120, 3, 50, 100)
    assert (last.first, last.last, last.next_href) == (101, 120, None)
    assert build_pager("/records", {}, 120, 2, 50, 100).previous_href == "/records"


def test_the_pager_stops_at_the_maximum_page() -> None:
    assert build_pager("/search", {}, 10**6, 7, 10, 7).next_href is None


def test_long_texts_are_cut_with_an_ellipsis() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("ab cdef", 4) == "ab…"


@settings(deadline=None)
@given(st.text())
def test_a_lang_attribute_is_two_letters_or_absent(language: str) -> None:
    code = get_language_code(language)
    assert code is None or re.fullmatch("[a-z]{2}", code)


@pytest.mark.parametrize(
    ("url", "expected", "name"),
    [
        ("file:///crawl/a%2Bb/page%20one.html", "/crawl/a+b/page one.html", "page one.html"),
        ("file:///crawl/%E2%80%AEgnp.html", "file:///crawl/%E2%80%AEgnp.html", "%E2%80%AEgnp.html"),
        ("file:///crawl/a%0Ab", "file:///crawl/a%0Ab", "a%0Ab"),
        ("file:///crawl/a.zip#in/b%20c.html", "/crawl/a.zip#in/b c.html", "b c.html"),
        ("https://example.org/a%2Bb", "https://example.org/a%2Bb", ""),
    ],
)
def test_a_local_file_is_shown_by_its_path(url: str, expected: str, name: str) -> None:
    assert format_url(url) == expected
    assert get_local_file_name(url) == name
