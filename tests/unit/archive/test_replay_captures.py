"""Captures are found by URL and time, and only rows between two keys are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdx_rows import CountingRecords, build_cdx_row
from depth import examples
from fonds.archive.replay.captures import (
    ORDER,
    Cursor,
    UrlMatch,
    build_cursor_before,
    build_key_ranges,
    find_at_second,
    find_first_from,
    find_last_before,
    find_nearest,
    iter_captures,
    iter_url_captures,
    list_seconds_after,
)
from fonds.model.capture import parse_datetime14
from fonds.model.rows import CdxRow
from fonds.stores.records.sql import SqlRecords
from fonds.urls.surt import LOOKUP_MAX_CHARS, build_lookup_key, build_lookup_prefix
from sql_statements import explain_query, record_queries

URLS = [
    "http://example.org/",
    "http://example.org/a",
    "http://example.org/a/b",
    "http://example.org/ab",
    "http://example.org:8080/a",
    "http://news.example.org/a",
    "http://news.example.org:81/a",
    "http://example.organic/a",
    "http://exampleorg/a",
    f"http://example.org/{'long/' * 100}",
    f"http://example.org/{'long/' * 100}er",
]
MATCHES = {
    ("http://example.org/a", UrlMatch.EXACT): {1},
    ("https://www.EXAMPLE.org/a/?", UrlMatch.EXACT): {1},
    ("http://example.org/a", UrlMatch.PREFIX): {1, 2, 3},
    ("http://example.org/a/", UrlMatch.PREFIX): {2},
    ("http://example.org/", UrlMatch.PREFIX): {0, 1, 2, 3, 9, 10},
    ("http://example.org/a", UrlMatch.HOST): {0, 1, 2, 3, 4, 9, 10},
    ("example.org", UrlMatch.DOMAIN): {0, 1, 2, 3, 4, 5, 6, 9, 10},
    ("http://example.org:8080/", UrlMatch.HOST): {4},
    (URLS[9], UrlMatch.EXACT): {9},
    (URLS[9][:-2], UrlMatch.PREFIX): {9, 10},
    (URLS[10], UrlMatch.PREFIX): {10},
    ("http://nowhere.example/", UrlMatch.DOMAIN): set(),
}


@pytest.fixture
def filled_records(records: SqlRecords) -> SqlRecords:
    records.put([build_cdx_row(url, "20240506120000", n) for n, url in enumerate(URLS)])
    return records


@pytest.mark.parametrize("query", MATCHES, ids=lambda query: f"{query[1]} {query[0][:40]}")
def test_each_url_match_finds_exactly_its_captures(
    filled_records: SqlRecords, query: tuple[str, UrlMatch]
) -> None:
    rows = list(iter_captures(filled_records, build_key_ranges(*query)))
    assert {row.warc_offset for row in rows} == MATCHES[query]
    assert len(rows) == len(MATCHES[query])
    assert [row.surt_key for row in rows] == sorted(row.surt_key for row in rows)


@pytest.mark.parametrize("query", MATCHES, ids=lambda query: f"{query[1]} {query[0][:40]}")
def test_a_walk_continues_after_any_row(
    filled_records: SqlRecords, query: tuple[str, UrlMatch]
) -> None:
    key_ranges = build_key_ranges(*query)
    all_rows = list(iter_captures(filled_records, key_ranges))
    for number, row in enumerate(all_rows):
        assert (
            list(iter_captures(filled_records, key_ranges, after=Cursor.after_row(row)))
            == all_rows[number + 1 :]
        )


def test_an_invalid_url_is_rejected() -> None:
    for url, match, message in (
        (" ", UrlMatch.EXACT, "no URL given"),
        ("mailto:a@example.org", UrlMatch.HOST, "no host in"),
        ("urn:x", UrlMatch.DOMAIN, "no host in"),
    ):
        with pytest.raises(ValueError, match=message):
            build_key_ranges(url, match)


def test_the_nearest_capture_is_found_before_or_after(records: SqlRecords) -> None:
    url, times = URLS[1], ["20200101000000", "20210101000000", "20210101000002"]
    records.put([build_cdx_row(url, at, n) for n, at in enumerate(times)])
    records.put([build_cdx_row("http://example.org/b", "20200601000000", 9)])

    def get_nearest_time(datetime14: str) -> str:
        nearest = find_nearest(records, url, parse_datetime14(datetime14), datetime14)
        assert nearest is not None
        return nearest.datetime

    assert get_nearest_time("19990101000000") == times[0]
    assert get_nearest_time("20200101000000") == times[0]
    assert get_nearest_time("20200601000000") == times[0]
    assert get_nearest_time("20200801000000") == times[1]
    assert get_nearest_time("20210101000001") == times[1]
    assert get_nearest_time("20300101000000") == times[2]
    missing = find_nearest(records, "http://example.org/0", parse_datetime14(times[0]), times[0])
    assert missing is None
    assert find_first_from(records, url, "20210101000001") == find_last_before(records, url, "2022")


@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.text("ab/", min_size=1, max_size=4), max_size=8), st.text("ab/", max_size=3))
def test_prefix_matches_are_those_of_the_keys(
    records: SqlRecords, paths: list[str], prefix: str
) -> None:
    records.delete(CdxRow, [(row.warc_path, row.warc_offset) for row in records.find(CdxRow)])
    rows = [
        build_cdx_row(f"http://p.example/{p}", "20240101000000", n) for n, p in enumerate(paths)
    ]
    records.put(rows)
    (key_range,) = build_key_ranges(f"http://p.example/{prefix}", UrlMatch.PREFIX)
    offsets = {row.warc_offset for row in iter_captures(records, [key_range])}
    assert offsets == {row.warc_offset for row in rows if row.surt.startswith(key_range.text)}


def test_only_rows_of_the_result_are_read(records: SqlRecords) -> None:
    """With a hundred captures of each of a hundred pages, the rows read are those of the result
    and one page."""
    captures = [
        build_cdx_row(
            f"http://many.example/{page}", f"2024010100{n // 60:02d}{n % 60:02d}", 100 * page + n
        )
        for page in range(100)
        for n in range(100)
    ]
    records.put(captures)
    counting = CountingRecords(records)
    assert len(list(iter_url_captures(counting, "http://many.example/50"))) == 100
    assert counting.row_count < 400
    counting.row_count = 0
    assert (
        len(list(iter_url_captures(counting, "http://many.example/50", since="20240101000130")))
        == 10
    )
    assert counting.row_count <= 16
    counting.row_count = 0
    assert find_last_before(counting, "http://many.example/50", "20240101000130") is not None
    assert counting.row_count == 1


def test_the_database_finds_the_first_row_by_index(records: SqlRecords, tmp_path: Path) -> None:
    cursor = build_cursor_before("org,example)/a", "20240101000000")
    with record_queries() as queries:
        list(records.find(CdxRow, order=ORDER, after=cursor.build_filter(), count_max=10))
    plan = " ".join(explain_query(tmp_path / "records.sqlite", *queries[-1]))
    assert "USING INDEX cdx_surt_key ((surt_key,datetime)>(?,?))" in plan


@given(st.text("ab)", max_size=1200))
def test_lookup_keys_are_limited_and_keep_their_prefix(text: str) -> None:
    key = build_lookup_key(text)
    assert len(key) <= LOOKUP_MAX_CHARS
    assert key.startswith(build_lookup_prefix(text))
    assert (key == text) == (len(text) <= LOOKUP_MAX_CHARS)


def test_one_capture_per_second_is_read(records: SqlRecords) -> None:
    url = "http://busy.example/"
    seconds = [f"202401010000{n:02d}" for n in range(5)]
    records.put(
        [build_cdx_row(url, at, 1000 * n + m) for n, at in enumerate(seconds) for m in range(900)]
    )
    counting = CountingRecords(records)
    assert [row.datetime for row in list_seconds_after(counting, url, "", 10)] == seconds
    assert [row.datetime for row in list_seconds_after(counting, url, seconds[1], 2)] == seconds[
        2:4
    ]
    assert counting.row_count < 200
    assert find_at_second(counting, url, seconds[3]) is not None
    assert counting.row_count < 400


def test_the_exact_spelling_of_a_url_is_preferred(records: SqlRecords) -> None:
    urls = ("http://www.spelt.example/", "https://spelt.example/")
    records.put([build_cdx_row(url, "20240101000000", n) for n, url in enumerate(urls)])
    for url in urls:
        capture = find_at_second(records, url, "20240101000000")
        assert capture is not None
        assert capture.url == url
    default_capture = find_at_second(records, "spelt.example", "20240101000000")
    assert default_capture is not None
    assert default_capture.url == urls[0]
    assert find_at_second(records, urls[0], "20240101000001") is None


def test_a_list_of_seconds_is_never_longer_than_its_maximum(records: SqlRecords) -> None:
    """A second with several captures interrupts a page, and the next page fills only the rest."""
    url = "http://busy.example/"
    seconds = [f"202401010000{n:02d}" for n in range(8)]
    records.put([build_cdx_row(url, at, 1000 * n) for n, at in enumerate(seconds)])
    records.put(
        [build_cdx_row(url, at, 1000 * n + 1) for n, at in enumerate(seconds) if n % 3 == 1]
    )
    for count_max in range(1, 10):
        found = list_seconds_after(records, url, "", count_max)
        assert [row.datetime for row in found] == seconds[:count_max]
