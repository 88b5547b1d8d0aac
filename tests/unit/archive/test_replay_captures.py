"""Captures are found by address and time, and by what lies between two keys alone."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
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
FOUND = {
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
def filled(records: SqlRecords) -> SqlRecords:
    records.put([build_cdx_row(url, "20240506120000", n) for n, url in enumerate(URLS)])
    return records


@pytest.mark.parametrize("asked", FOUND, ids=lambda asked: f"{asked[1]} {asked[0][:40]}")
def test_what_is_meant_is_found_and_nothing_else(
    filled: SqlRecords, asked: tuple[str, UrlMatch]
) -> None:
    rows = list(iter_captures(filled, build_key_ranges(*asked)))
    assert {row.warc_offset for row in rows} == FOUND[asked]
    assert len(rows) == len(FOUND[asked])
    assert [row.surt_key for row in rows] == sorted(row.surt_key for row in rows)


@pytest.mark.parametrize("asked", FOUND, ids=lambda asked: f"{asked[1]} {asked[0][:40]}")
def test_a_walk_goes_on_behind_any_row(filled: SqlRecords, asked: tuple[str, UrlMatch]) -> None:
    stretches = build_key_ranges(*asked)
    whole = list(iter_captures(filled, stretches))
    for number, row in enumerate(whole):
        assert (
            list(iter_captures(filled, stretches, after=Cursor.after_row(row)))
            == whole[number + 1 :]
        )


def test_an_address_that_is_none_is_refused() -> None:
    for url, match, told in (
        (" ", UrlMatch.EXACT, "no URL given"),
        ("mailto:a@example.org", UrlMatch.HOST, "no host in"),
        ("urn:x", UrlMatch.DOMAIN, "no host in"),
    ):
        with pytest.raises(ValueError, match=told):
            build_key_ranges(url, match)


def test_the_nearest_capture_is_found_from_both_sides(records: SqlRecords) -> None:
    url, times = URLS[1], ["20200101000000", "20210101000000", "20210101000002"]
    records.put([build_cdx_row(url, at, n) for n, at in enumerate(times)])
    records.put([build_cdx_row("http://example.org/b", "20200601000000", 9)])

    def at(asked: str) -> str:
        nearest = find_nearest(records, url, parse_datetime14(asked), asked)
        assert nearest is not None
        return nearest.datetime

    assert at("19990101000000") == times[0]
    assert at("20200101000000") == times[0]
    assert at("20200601000000") == times[0]
    assert at("20200801000000") == times[1]
    assert at("20210101000001") == times[1]
    assert at("20300101000000") == times[2]
    none = find_nearest(records, "http://example.org/0", parse_datetime14(times[0]), times[0])
    assert none is None
    assert find_first_from(records, url, "20210101000001") == find_last_before(records, url, "2022")


@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.text("ab/", min_size=1, max_size=4), max_size=8), st.text("ab/", max_size=3))
def test_prefixes_are_those_of_the_keys(records: SqlRecords, paths: list[str], prefix: str) -> None:
    records.delete(CdxRow, [(row.warc_path, row.warc_offset) for row in records.find(CdxRow)])
    rows = [
        build_cdx_row(f"http://p.example/{p}", "20240101000000", n) for n, p in enumerate(paths)
    ]
    records.put(rows)
    (stretch,) = build_key_ranges(f"http://p.example/{prefix}", UrlMatch.PREFIX)
    found = {row.warc_offset for row in iter_captures(records, [stretch])}
    assert found == {row.warc_offset for row in rows if row.surt.startswith(stretch.text)}


def test_only_what_is_meant_is_looked_at(records: SqlRecords) -> None:
    """A hundred captures of each of a hundred pages; the rows read are those of the answer and one page."""
    many = [
        build_cdx_row(
            f"http://many.example/{page}", f"2024010100{n // 60:02d}{n % 60:02d}", 100 * page + n
        )
        for page in range(100)
        for n in range(100)
    ]
    records.put(many)
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


def test_the_database_goes_to_the_row_by_its_index(records: SqlRecords) -> None:
    spot = build_cursor_before("org,example)/a", "20240101000000")
    asked: list[str] = []
    with records._engine.connect() as connection:
        sa.event.listen(records._engine, "before_cursor_execute", lambda *a: asked.append(a[2:4]))
        list(records.find(CdxRow, order=ORDER, after=spot.build_filter(), count_max=10))
        statement, values = asked[-1]
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
    told = " ".join(str(row[-1]) for row in plan)
    assert "USING INDEX cdx_surt_key ((surt_key,datetime)>(?,?))" in told


@given(st.text("ab)", max_size=1200))
def test_lookup_keys_are_of_bounded_length_and_keep_their_prefix(text: str) -> None:
    key = build_lookup_key(text)
    assert len(key) <= LOOKUP_MAX_CHARS
    assert key.startswith(build_lookup_prefix(text))
    assert (key == text) == (len(text) <= LOOKUP_MAX_CHARS)


def test_of_many_captures_in_one_second_one_is_looked_at(records: SqlRecords) -> None:
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


def test_a_spelling_of_its_own_is_preferred(records: SqlRecords) -> None:
    urls = ("http://www.spelt.example/", "https://spelt.example/")
    records.put([build_cdx_row(url, "20240101000000", n) for n, url in enumerate(urls)])
    for url in urls:
        found = find_at_second(records, url, "20240101000000")
        assert found is not None
        assert found.url == url
    other = find_at_second(records, "spelt.example", "20240101000000")
    assert other is not None
    assert other.url == urls[0]
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
