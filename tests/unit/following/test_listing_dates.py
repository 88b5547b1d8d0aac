"""Dates of feeds become RFC 2822 in UTC; a missing time zone stays marked."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.following.listings.dates import format_rfc2822, read_moment


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sun, 22 Nov 2026 01:02:03 GMT", "Sun, 22 Nov 2026 01:02:03 +0000"),
        ("Sun, 22 Nov 2026 01:02:03 +0530", "Sat, 21 Nov 2026 19:32:03 +0000"),
        ("22 Nov 26 01:02 EST", "Sun, 22 Nov 2026 06:02:00 +0000"),
        ("Sun,22 Nov 2026 4:35:5 GMT+9", "Sat, 21 Nov 2026 19:35:05 +0000"),
        ("Sun, 22 Nov 2026 01:02:03", "Sun, 22 Nov 2026 01:02:03 -0000"),
        ("2026-11-22T01:02:03Z", "Sun, 22 Nov 2026 01:02:03 +0000"),
        ("2026-11-22T01:02:03.123456-05:00", "Sun, 22 Nov 2026 06:02:03 +0000"),
        ("2026-11-22 01:02:03", "Sun, 22 Nov 2026 01:02:03 -0000"),
        ("2026-11-22", "Sun, 22 Nov 2026 00:00:00 -0000"),
        ("2026-11", "Sun, 01 Nov 2026 00:00:00 -0000"),
        ("2026", "Thu, 01 Jan 2026 00:00:00 -0000"),
        ("2026-11-22T24:00:00Z", "Mon, 23 Nov 2026 00:00:00 +0000"),
        ("2026-12-31T23:59:60Z", "Thu, 31 Dec 2026 23:59:59 +0000"),
    ],
)
def test_a_date_is_formatted_in_utc(text: str, expected: str) -> None:
    assert format_rfc2822(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "soon",
        "2026-13-01",
        "2026-02-30",
        "0000-01-01",
        "Sun, 99 Nov 2026 01:02:03 GMT",
        "٢٠٢٦-١١-٢٢",
        "9999-12-31T23:59:59-23:59",
        "0001-01-01T00:00:00+23:59",
        "1" * 5_000,
    ],
)
def test_an_invalid_date_returns_none(text: str | None) -> None:
    assert format_rfc2822(text) is None


@given(st.datetimes())
def test_a_formatted_date_is_read_back_unchanged(moment: datetime) -> None:
    full_seconds = moment.replace(year=1000 + moment.year % 8_000, day=1, microsecond=0, tzinfo=UTC)
    assert read_moment(format_rfc2822(full_seconds.isoformat())) == (full_seconds, True)


@given(st.text(max_size=120))
def test_any_text_is_a_date_or_none(text: str) -> None:
    formatted = format_rfc2822(text)
    assert formatted is None or parsedate_to_datetime(formatted)
