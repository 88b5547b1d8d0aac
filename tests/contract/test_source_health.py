"""Sources are found and counted by health, on every database."""

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
STORED_HEALTHS = [
    health
    for health in SourceHealth
    if health not in (SourceHealth.PAUSED, SourceHealth.GONE, SourceHealth.MUTED)
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
            health=str(draw(st.sampled_from(STORED_HEALTHS))),
            failures=draw(st.integers(0, 3)),
            muted_until=draw(st.sampled_from(UNTIL)),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


def replace_sources(records: SqlRecords, rows: list[SourceRow]) -> None:
    records.delete(SourceRow, [row.source_id for row in records.find(SourceRow)])
    records.put(rows)


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=sources(), size=st.integers(1, 5), state=st.sampled_from(["", "active", "gone"]))
def test_each_health_finds_and_counts_its_sources(
    records: SqlRecords, rows: list[SourceRow], size: int, state: str
) -> None:
    replace_sources(records, rows)
    source_counts = count_sources(records, NOW)
    assert source_counts.health_counts == Counter(compute_health(row, NOW) for row in rows)
    assert source_counts.total == len(rows)
    for health in SourceHealth:
        rows_of_health = records.find(SourceRow, build_health_filter(health, NOW))
        assert {row.source_id for row in rows_of_health} == {
            row.source_id for row in rows if compute_health(row, NOW) is health
        }
    for query in (SourceQuery(state), *(SourceQuery(state, health) for health in SourceHealth)):
        expected_rows = [
            row
            for row in rows
            if state in ("", row.state) and query.health in (None, compute_health(row, NOW))
        ]
        listed: list[SourceRow] = []
        for first in range(1, len(rows) + 2, size):
            total, page = list_sources(records, query, source_counts, NOW, first, size)
            assert total == len(expected_rows)
            listed += page
        assert sorted(row.source_id for row in listed) == [row.source_id for row in expected_rows]
        muted = [row.state == "active" and is_muted(row, NOW) for row in listed]
        assert query.health or muted == sorted(muted), "muted sources are listed last"


def test_sources_are_listed_by_health_since_a_day(records: SqlRecords) -> None:
    times: dict[str, Any] = {"failures": 1, "health": "failing"}
    old, new = NOW - timedelta(days=9), NOW - timedelta(days=1)
    rows = [
        replace(ROW, source_id="a" * 12, url="https://a.example/", failing_since=old, **times),
        replace(ROW, source_id="b" * 12, url="https://b.example/", failing_since=new, **times),
        replace(ROW, source_id="c" * 12, url="https://c.example/", failing_since=None, **times),
        replace(
            ROW, source_id="d" * 12, url="https://d.example/", health="silent", silent_since=new
        ),
    ]
    replace_sources(records, rows)
    since = NOW - timedelta(days=2)
    source_counts = count_sources(records, NOW)
    for health, ids in ((SourceHealth.FAILING, ["b" * 12]), (SourceHealth.SILENT, ["d" * 12])):
        total, listed = list_sources(
            records, SourceQuery("", health, since), source_counts, NOW, 1, 9
        )
        assert ([row.source_id for row in listed], total) == (ids, 1)
    with pytest.raises(ValueError, match="use one of dead, failing, silent"):
        build_health_since_filter(SourceHealth.QUIET, since, NOW)
    with pytest.raises(ValueError, match="a start date needs a health"):
        list_sources(records, SourceQuery("", None, since), source_counts, NOW, 1, 9)


def test_muted_sources_do_not_count_as_needing_attention(records: SqlRecords) -> None:
    rows = [
        replace(
            ROW, source_id=f"{number:012x}", url=f"https://{number}.example/", health=str(health)
        )
        for number, health in enumerate(NEEDS_ATTENTION)
    ]
    replace_sources(records, [*rows[:2], replace(rows[2], muted_until=UNTIL_RECOVERED)])
    source_counts = count_sources(records, NOW)
    assert (
        source_counts.attention_count,
        source_counts.muted,
        source_counts.health_counts[SourceHealth.MUTED],
    ) == (
        2,
        1,
        1,
    )
