"""Queries of the index of captures: results in pages that add up, at a limited cost."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdx_rows import CountingRecords, build_cdx_row
from depth import examples
from empty_records import open_records
from fonds.archive.replay import cdx_query
from fonds.archive.replay.captures import UrlMatch
from fonds.archive.replay.cdx_query import (
    FIELDS,
    CdxCollapse,
    CdxFilter,
    CdxQuery,
    CdxResult,
    CdxResumeKey,
    check_fields,
    run_query,
)
from fonds.model.rows import CdxRow
from fonds.stores.records.sql import SqlRecords

TYPES = ("text/html", "application/pdf", "warc/revisit")
PATHS = ("a", "a/b", "b", "b/c/d")


def _make_rows() -> list[CdxRow]:
    """Return two hundred captures of four pages of three hosts with rotating status, type, file
    and time."""
    return [
        build_cdx_row(
            f"http://{('', 'news.', 'old.')[n % 3]}example.org/{PATHS[n % 4]}",
            f"{2000 + n % 7}01{1 + n % 28:02d}000000",
            n,
            mimetype=TYPES[n % len(TYPES)],
            status=(200, 226, None)[n % 3],
            sha1hex=f"{n % 11:040x}",
        )
        for n in range(200)
    ]


@pytest.fixture(scope="module")
def filled_records(tmp_path_factory: pytest.TempPathFactory) -> SqlRecords:
    records = open_records(tmp_path_factory.mktemp("cdx") / "records.sqlite")
    records.put(_make_rows())
    return records


def query_all(records: object, query: CdxQuery) -> list[tuple[str, ...]]:
    """Return all rows, page by page. Each resume key is encoded and decoded."""
    rows: list[tuple[str, ...]] = []
    resume: CdxResumeKey | None = None
    for _ in range(10_000):
        result = run_query(records, replace(query, resume=resume))  # type: ignore[arg-type]
        assert len(result.rows) <= query.limit
        rows += result.rows
        if result.resume is None:
            return rows
        resume = CdxResumeKey.decode(result.resume.encode())
        assert resume == result.resume
    raise AssertionError("the pages do not end")


def filter_all_rows(query: CdxQuery) -> list[tuple[str, ...]]:
    """Return the rows that a scan of all captures would select."""
    hosts = {
        UrlMatch.EXACT: lambda row: row.surt == "org,example)/a",
        UrlMatch.PREFIX: lambda row: row.surt.startswith("org,example)/a"),
        UrlMatch.HOST: lambda row: row.surt.startswith("org,example)"),
        UrlMatch.DOMAIN: lambda row: row.surt.startswith(("org,example)", "org,example,")),
    }
    rows = sorted(
        _make_rows(), key=lambda row: (row.surt, row.datetime, row.warc_path, row.warc_offset)
    )
    rows = [row for row in rows if hosts[query.match](row)]
    rows = [row for row in rows if query.since <= row.datetime <= (query.until or "9")]
    row_values = [cdx_query._build_values(row) for row in rows]
    for item in query.filters:
        row_values = [
            v
            for v in row_values
            if bool(re.fullmatch(item.pattern, v[item.name])) is not item.is_negated
        ]
    if query.collapse:
        neighbours = groupby(
            row_values, key=lambda v: tuple(item.build_key(v) for item in query.collapse)
        )
        row_values = [next(group) for _, group in neighbours]
    return [tuple(values[name] for name in query.fields) for values in row_values]


FILTERS = st.lists(
    st.sampled_from(
        ["statuscode:200", "!statuscode:200", "mimetype:text/.*", "!mimetype:warc/revisit",
         "original:.*/b.*", "timestamp:200[0-3].*", "length:-", "digest:A+.|.*Q"]
    ),
    max_size=2,
)  # fmt: skip
COLLAPSES = st.lists(st.sampled_from(["timestamp:4", "urlkey", "digest", "mimetype:3"]), max_size=2)


@settings(max_examples=examples(40), deadline=None)
@given(
    match=st.sampled_from(list(UrlMatch)),
    bounds=st.tuples(
        st.sampled_from(["", "20020101000000"]), st.sampled_from(["", "20041231235959"])
    ),
    filters=FILTERS,
    collapse=COLLAPSES,
    limit=st.sampled_from([1, 2, 7, 50, 10_000]),
    scanned_max=st.sampled_from([1, 13, 50_000]),
)
def test_a_query_in_pages_of_any_size_equals_a_full_scan(
    filled_records: SqlRecords,
    match: UrlMatch,
    bounds: tuple[str, str],
    filters: list[str],
    collapse: list[str],
    limit: int,
    scanned_max: int,
) -> None:
    query = CdxQuery(
        "http://example.org/a",
        match,
        *bounds,
        [CdxFilter.parse(text) for text in filters],
        [CdxCollapse.parse(text) for text in collapse],
        FIELDS,
        limit,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cdx_query, "SCANNED_MAX", scanned_max)
        patch.setattr(cdx_query, "_ROWS_A_BATCH", 5)
        assert query_all(filled_records, query) == filter_all_rows(query)


def test_a_query_scans_at_most_the_limit_and_returns_where_it_stopped(
    tmp_path: Path,
) -> None:
    records = open_records(tmp_path / "records.sqlite")
    captures = [build_cdx_row(f"http://many.example/{n}", "20240101000000", n) for n in range(3000)]
    records.put(
        [
            *captures,
            *(
                build_cdx_row(f"http://other.example/{n}", "20240101000000", 9000 + n)
                for n in range(3000)
            ),
        ]
    )
    counting = CountingRecords(records)
    no_match = CdxQuery(
        "http://many.example/", UrlMatch.HOST, filters=[CdxFilter.parse("digest:none")]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cdx_query, "SCANNED_MAX", 1000)
        result = run_query(counting, no_match)
        assert (result.rows, result.scanned) == ([], 1000)
        assert result.resume is not None
        assert counting.row_count < 2500
        counting.row_count = 0
        assert query_all(counting, no_match) == []
    counting.row_count = 0
    query = run_query(counting, CdxQuery("http://many.example/7"))
    assert (len(query.rows), query.resume, counting.row_count) == (1, None, 16)
    records.close()


def test_a_time_range_of_one_url_is_read_directly(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    times = [f"2024{1 + n // 28 % 12:02d}{1 + n % 28:02d}{n // 336:02d}0000" for n in range(3360)]
    records.put([build_cdx_row("http://often.example/", at, n) for n, at in enumerate(times)])
    counting = CountingRecords(records)
    query = run_query(
        counting, CdxQuery("often.example", since="20241201000000", until="20241203999999")
    )
    assert len(query.rows) == 30
    assert counting.row_count < 120
    records.close()


def test_fields_contain_no_blanks_and_dashes_for_unknown_values() -> None:
    row = build_cdx_row(
        "http://example.org/a b\n", "20240101000000", 1, status=None, warc_csize=None
    )
    values = cdx_query._build_values(row)
    assert values["original"] == "http://example.org/a%20b"
    assert (values["statuscode"], values["length"]) == ("-", "-")
    assert len(values["digest"]) == 32
    assert not any(" " in value or "\n" in value or not value for value in values.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("statuscode", r"write a filter as \[!\]FIELD:PATTERN"),
        ("status:200", "Did you mean 'statuscode'"),
        ("original:(", "is not valid"),
        ("original:(?=look)", "is not valid"),
        (r"original:(a)\1", "is not valid"),
        ("original:a)|(b", "is not valid"),
        ("original:((a{0,100}){0,100}){0,100}", "is not valid"),
        (f"original:{'a' * 501}", "at most 500 characters"),
        ("original:\ud800", "is not valid"),
    ],
)
def test_an_invalid_filter_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CdxFilter.parse(text)


@pytest.mark.parametrize(
    "text", ["timestamp:0", "timestamp:-1", "timestamp:x", "timestamp:", "time"]
)
def test_an_invalid_collapse_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be 1 or more|no field"):
        CdxCollapse.parse(text)


def test_an_unknown_field_is_rejected_with_a_suggestion() -> None:
    assert check_fields("urlkey, timestamp") == ("urlkey", "timestamp")
    with pytest.raises(ValueError, match="Did you mean 'original'"):
        check_fields("urlkey,orignal")


@given(st.text(max_size=60))
def test_an_invalid_resume_key_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="resume key is not valid"):
        CdxResumeKey.decode(text)


def test_a_pattern_that_would_backtrack_takes_no_longer(filled_records: SqlRecords) -> None:
    """With backtracking it would not finish."""
    rows = [
        build_cdx_row(f"http://long.example/{'a' * 5000}{n}", "20240101000000", 10_000 + n)
        for n in range(20)
    ]
    filled_records.put(rows)
    query = CdxQuery(
        "http://long.example/",
        UrlMatch.HOST,
        filters=[CdxFilter.parse("original:.*/(a*)*(a*)*(a|a)*b")],
    )
    result: CdxResult = run_query(filled_records, query)
    assert (result.rows, result.scanned) == ([], 20)
