"""Responses of the rss-fetcher API."""

from __future__ import annotations

import json

import pytest

from fixtures.feeds import api_rows
from fonds.following.listings.reader import read_listing
from fonds.following.listings.rss_fetcher import find_last_id
from fonds.model.errors import DamagedInputError

API = "https://user:word@rss.example.org/api/rss_entries/1?_limit=2500"


def test_api_rows_keep_all_fields() -> None:
    listing = read_listing(api_rows(17, 2), API)
    first = listing.entries[0]
    assert listing.kind == "rss-fetcher"
    assert (first.link, first.via) == ("https://news.example.org/17", "17@rss.example.org")
    assert first.pub_date == "Sun, 22 Nov 2026 01:02:03 -0000"
    assert (first.source_feed_id, first.source_source_id) == (70, 7)
    assert (first.domain, first.fetch_date) == ("example.org", "2026-11-22T02:00:00.123")
    assert find_last_id(api_rows(17, 2)) == 18
    assert find_last_id(api_rows(17, 0)) is None


def test_malformed_api_rows_are_counted_without_a_crash() -> None:
    rows = [
        {"id": "x", "url": "https://a.example/"},
        {"id": True},
        {"id": 3, "url": 5},
        "row",
        None,
    ]
    listing = read_listing(json.dumps({"status": "OK", "results": rows}).encode(), API)
    assert [entry.link for entry in listing.entries] == [None, None, None]
    assert listing.problem.startswith("2 rows")


def test_an_api_response_with_an_error_status_is_rejected() -> None:
    with pytest.raises(DamagedInputError, match="with the status ERROR"):
        read_listing(api_rows(1, 1, status="ERROR"), API)
