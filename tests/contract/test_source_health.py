"""Sources asked for by how they stand are those that stand so, on every database."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.following.health import (
    NEEDS_ATTENTION,
    UNTIL_RECOVERED,
    SourceHealth,
    build_health_filter,
    build_health_since_filter,
    compute_health,
    is_muted,
)
from fonds.following.source_edits import SourceOptions as Described
from fonds.following.source_edits import build_source
from fonds.following.source_list import SourceQuery, count_sources, list_sources
from fonds.model.rows import SourceRow
from fonds.stores.records.sql import SqlRecords

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
LEFT = [
    one
    for one in SourceHealth
    if one not in (SourceHealth.PAUSED, SourceHealth.GONE, SourceHealth.MUTED)
]
ROW = build_source("https://a.example/feed", Described(), NOW)
UNTIL = [None, NOW - timedelta(days=1), NOW, NOW + timedelta(microseconds=1), UNTIL_RECOVERED]


@st.composite
def sources(draw: st.DrawFn) -> list[SourceRow]:
    return [
        replace(
            ROW,
            source_id=f"{number:012x}",
            url=f"https://{number}.example/feed",
            state=draw(st.sampled_from(["active", "active", "active", "paused", "gone"])),
            standing=str(draw(st.sampled_from(LEFT))),
            failures=draw(st.integers(0, 3)),
            muted_until=draw(st.sampled_from(UNTIL)),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


def put(records: SqlRecords, rows: list[SourceRow]) -> None:
    records.delete(SourceRow, [row.source_id for row in records.find(SourceRow)])
    records.put(rows)


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=sources(), size=st.integers(1, 5), state=st.sampled_from(["", "active", "gone"]))
def test_each_standing_finds_and_counts_the_sources_that_stand_so(
    records: SqlRecords, rows: list[SourceRow], size: int, state: str
) -> None:
    put(records, rows)
    there = count_sources(records, NOW)
    assert there.health_counts == Counter(compute_health(row, NOW) for row in rows)
    assert there.total == len(rows)
    for stands in SourceHealth:
        found = {row.source_id for row in records.find(SourceRow, build_health_filter(stands, NOW))}
        assert found == {row.source_id for row in rows if compute_health(row, NOW) is stands}
    for wanted in (SourceQuery(state), *(SourceQuery(state, stands) for stands in SourceHealth)):
        fitting = [
            row
            for row in rows
            if state in ("", row.state) and wanted.health in (None, compute_health(row, NOW))
        ]
        walked: list[SourceRow] = []
        for first in range(1, len(rows) + 2, size):
            total, page = list_sources(records, wanted, there, NOW, first, size)
            assert total == len(fitting)
            walked += page
        assert sorted(row.source_id for row in walked) == [row.source_id for row in fitting]
        muted = [row.state == "active" and is_muted(row, NOW) for row in walked]
        assert wanted.health or muted == sorted(muted), "muted ones stand last"


def test_since_when_sources_stand_so_is_asked(records: SqlRecords) -> None:
    times: dict[str, Any] = {"failures": 1, "standing": "failing"}
    old, new = NOW - timedelta(days=9), NOW - timedelta(days=1)
    rows = [
        replace(ROW, source_id="a" * 12, url="https://a.example/", failing_since=old, **times),
        replace(ROW, source_id="b" * 12, url="https://b.example/", failing_since=new, **times),
        replace(ROW, source_id="c" * 12, url="https://c.example/", failing_since=None, **times),
        replace(
            ROW, source_id="d" * 12, url="https://d.example/", standing="silent", silent_since=new
        ),
    ]
    put(records, rows)
    since = NOW - timedelta(days=2)
    there = count_sources(records, NOW)
    for stands, ids in ((SourceHealth.FAILING, ["b" * 12]), (SourceHealth.SILENT, ["d" * 12])):
        total, found = list_sources(records, SourceQuery("", stands, since), there, NOW, 1, 9)
        assert ([row.source_id for row in found], total) == (ids, 1)
    with pytest.raises(ValueError, match="use one of dead, failing, silent"):
        build_health_since_filter(SourceHealth.QUIET, since, NOW)
    with pytest.raises(ValueError, match="a start date needs a health"):
        list_sources(records, SourceQuery("", None, since), there, NOW, 1, 9)


def test_what_needs_someone_is_counted_without_what_is_muted(records: SqlRecords) -> None:
    rows = [
        replace(
            ROW, source_id=f"{number:012x}", url=f"https://{number}.example/", standing=str(left)
        )
        for number, left in enumerate(NEEDS_ATTENTION)
    ]
    put(records, [*rows[:2], replace(rows[2], muted_until=UNTIL_RECOVERED)])
    there = count_sources(records, NOW)
    assert (there.attention_count, there.muted, there.health_counts[SourceHealth.MUTED]) == (
        2,
        1,
        1,
    )
