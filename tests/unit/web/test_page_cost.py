"""The database cost of a page does not grow with the library, because counts are stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.failures.accounting import workload
from fonds.failures.accounting.workload import EndedCount, count_ended_last_hour
from fonds.ports import Stores
from fonds.web.app import create_app
from home_rows import NOW
from many_entries import ADDRESSES, KINDS, fill_entries

FEW_ENTRIES, MANY_ENTRIES = 300, 3_000
STATEMENTS_MAX = {"/": 36, "/failures": 54, "/pipeline": 40, "/records": 70, "/files": 24}
INSTRUCTIONS_PER_TICK = 10


@dataclass
class Work:
    """Work done by SQLite: statements, and ticks of ten virtual machine instructions."""

    statement_count: int = 0
    tick_count: int = 0

    def count_tick(self) -> None:
        self.tick_count += 1


@contextmanager
def count_work() -> Iterator[Work]:
    """Count the work of every database in this process, without a clock."""
    work = Work()
    connections: list[sqlite3.Connection] = []

    def count_statement(conn: Any, cursor: Any, *_: Any) -> None:
        work.statement_count += 1
        connection: sqlite3.Connection = cursor.connection
        connection.set_progress_handler(work.count_tick, INSTRUCTIONS_PER_TICK)
        connections.append(connection)

    sa.event.listen(sa.Engine, "before_cursor_execute", count_statement)
    try:
        yield work
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", count_statement)
        for connection in connections:
            connection.set_progress_handler(None, 0)


@pytest.fixture(scope="module")
def small_and_large_stores(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Stores, Stores]]:
    """Stores of a small home and of one ten times as large."""
    with (
        open_home(tmp_path_factory.mktemp("few")) as small,
        open_home(tmp_path_factory.mktemp("many")) as large,
    ):
        fill_entries(small, FEW_ENTRIES)
        fill_entries(large, MANY_ENTRIES)
        yield small, large


@pytest.fixture(scope="module")
def homes(small_and_large_stores: tuple[Stores, Stores]) -> Iterator[tuple[TestClient, TestClient]]:
    """Clients of the small and the large home."""
    small_stores, large_stores = small_and_large_stores
    with (
        TestClient(create_app(small_stores), base_url="http://localhost") as small,
        TestClient(create_app(large_stores), base_url="http://localhost") as large,
    ):
        yield small, large


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_of_a_home_ten_times_as_large_costs_the_same(
    homes: tuple[TestClient, TestClient], address: str
) -> None:
    costs = []
    for client in homes:
        assert client.get(address).status_code == 200
        with count_work() as work:
            client.get(address)
        costs.append(work)
    small, large = costs
    assert small.statement_count == large.statement_count > 0
    assert small.tick_count > 0
    assert large.tick_count <= 2 * small.tick_count + 20


@pytest.mark.parametrize("address", STATEMENTS_MAX)
def test_a_page_runs_few_statements(homes: tuple[TestClient, TestClient], address: str) -> None:
    """The count includes statements that begin a transaction or check for hidden files."""
    with count_work() as work:
        assert homes[1].get(address).status_code == 200
    assert work.statement_count <= STATEMENTS_MAX[address]


def test_counting_the_last_hour_stops_at_its_limit(
    small_and_large_stores: tuple[Stores, Stores], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = NOW + timedelta(minutes=55)

    def measure() -> list[tuple[EndedCount, int]]:
        counts = []
        for stores in small_and_large_stores:
            with count_work() as work:
                counts.append(
                    (count_ended_last_hour(stores.records, "library", now), work.tick_count)
                )
        return counts

    (small, _), (large, _) = measure()
    assert [(ended.count, ended.is_lower_bound) for ended in (small, large)] == [
        (FEW_ENTRIES * 4 // KINDS, False),
        (MANY_ENTRIES * 4 // KINDS, False),
    ]
    monkeypatch.setattr(workload, "ENDED_COUNTED_MAX", 100)
    (small, small_tick_count), (large, large_tick_count) = measure()
    assert [(ended.count, ended.is_lower_bound) for ended in (small, large)] == [(100, True)] * 2
    assert 0 < large_tick_count <= 2 * small_tick_count + 20


def test_the_overview_counts_match_the_stored_rows(homes: tuple[TestClient, TestClient]) -> None:
    for client, count in zip(homes, (FEW_ENTRIES, MANY_ENTRIES), strict=True):
        overview = client.get("/.json").json()
        per_outcome = 2 * count // KINDS
        assert overview["received"] == 2 * count + 2 * count
        assert {outcome["name"]: outcome["count"] for outcome in overview["outcomes"]} == {
            "stored": per_outcome,
            "skipped": per_outcome + 2 * count,
            "rejected": per_outcome,
            "failed": per_outcome,
            "in-progress": 2 * per_outcome,
        }
        records = client.get("/records.json?pipeline=library&outcome=done").json()
        assert records["total"] == per_outcome // 2
