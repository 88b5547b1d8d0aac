"""What a page costs the database does not grow with the library: numbers are read, never counted anew."""

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

FEW, MANY = 300, 3_000
STATEMENTS_MAX = {"/": 36, "/failures": 54, "/pipeline": 40, "/records": 70, "/files": 24}
INSTRUCTIONS_A_TICK = 10


@dataclass
class Work:
    """How much SQLite did: statements, and ticks of ten instructions of its machine."""

    statements: int = 0
    ticks: int = 0

    def tick(self) -> None:
        self.ticks += 1


@contextmanager
def watched() -> Iterator[Work]:
    """Counts what is done in every database of this process; no clock takes part."""
    work = Work()
    seen: list[sqlite3.Connection] = []

    def before(conn: Any, cursor: Any, *_: Any) -> None:
        work.statements += 1
        raw: sqlite3.Connection = cursor.connection
        raw.set_progress_handler(work.tick, INSTRUCTIONS_A_TICK)
        seen.append(raw)

    sa.event.listen(sa.Engine, "before_cursor_execute", before)
    try:
        yield work
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", before)
        for raw in seen:
            raw.set_progress_handler(None, 0)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, Stores]]:
    """A small home, and one ten times as large."""
    with (
        open_home(tmp_path_factory.mktemp("few")) as few,
        open_home(tmp_path_factory.mktemp("many")) as many,
    ):
        fill_entries(few, FEW)
        fill_entries(many, MANY)
        yield few, many


@pytest.fixture(scope="module")
def homes(places: tuple[Stores, Stores]) -> Iterator[tuple[TestClient, TestClient]]:
    """Their pages."""
    few, many = places
    with (
        TestClient(create_app(few), base_url="http://localhost") as small,
        TestClient(create_app(many), base_url="http://localhost") as large,
    ):
        yield small, large


@pytest.mark.parametrize(
    "address",
    ADDRESSES,
)
def test_a_page_of_ten_times_as_much_costs_the_same(
    homes: tuple[TestClient, TestClient], address: str
) -> None:
    costs = []
    for client in homes:
        assert client.get(address).status_code == 200
        with watched() as work:
            client.get(address)
        costs.append(work)
    few, many = costs
    assert few.statements == many.statements > 0
    assert few.ticks > 0
    assert many.ticks <= 2 * few.ticks + 20


@pytest.mark.parametrize("address", STATEMENTS_MAX)
def test_a_page_asks_few_statements(homes: tuple[TestClient, TestClient], address: str) -> None:
    """Those that begin a transaction are among them, and those that ask whether something is hidden."""
    with watched() as work:
        assert homes[1].get(address).status_code == 200
    assert work.statements <= STATEMENTS_MAX[address]


def test_what_ended_in_the_last_hour_is_counted_and_not_read(
    places: tuple[Stores, Stores], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = NOW + timedelta(minutes=55)

    def looked() -> list[tuple[EndedCount, int]]:
        found = []
        for place in places:
            with watched() as work:
                found.append((count_ended_last_hour(place.records, "library", now), work.ticks))
        return found

    (few, _), (many, _) = looked()
    assert [(one.count, one.is_lower_bound) for one in (few, many)] == [
        (FEW * 4 // KINDS, False),
        (MANY * 4 // KINDS, False),
    ]
    monkeypatch.setattr(workload, "ENDED_COUNTED_MAX", 100)
    (few, few_ticks), (many, many_ticks) = looked()
    assert [(one.count, one.is_lower_bound) for one in (few, many)] == [(100, True)] * 2
    assert 0 < many_ticks <= 2 * few_ticks + 20


def test_and_the_numbers_are_those_of_the_rows(homes: tuple[TestClient, TestClient]) -> None:
    for client, count in zip(homes, (FEW, MANY), strict=True):
        told = client.get("/.json").json()
        each = 2 * count // KINDS
        assert told["received"] == 2 * count + 2 * count
        assert {one["name"]: one["count"] for one in told["outcomes"]} == {
            "kept": each,
            "set-aside": each + 2 * count,
            "refused": each,
            "failed": each,
            "in-flight": 2 * each,
        }
        one = client.get("/records.json?pipeline=library&outcome=done").json()
        assert one["total"] == each // 2
