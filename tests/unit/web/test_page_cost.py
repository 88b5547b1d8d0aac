"""What a page costs the database does not grow with the library: numbers are read, never counted anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from filled_home import opened
from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import InputRow
from fonds.ports import Stores
from fonds.web.app import create_app
from home_rows import NOW, Body, entry, file_row, promised, said

FEW, MANY = 300, 3_000
KINDS = 6
INSTRUCTIONS_A_TICK = 10
MIMES = ("text/html", "application/pdf", "image/png")


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


def filled(stores: Stores, count: int) -> None:
    """Entries of every outcome in equal parts, in two pipelines, and a file for each kept one."""
    bodies = [Body(n, f"http://a.example/{n}", NOW, MIMES[n % 3], b"%d" % n) for n in range(count)]
    for start in range(0, count, 500):
        some = bodies[start : start + 500]
        rows = [row for body in some for row in _ended(body)]
        for name in ("library", "pdf-only"):
            entries = [replace(entry(body), pipeline=name) for body in some]
            stores.ledger.enter([], entries, ["identify"])
            stores.ledger.write([replace(row, pipeline=name) for row in rows])
    stores.records.put(
        [
            replace(file_row(body), row_created=NOW + timedelta(seconds=body.number))
            for body in bodies[::KINDS]
        ]
    )
    tally = {str(Reason.NOT_A_CAPTURE): count}
    facts = ("/a.warc.gz", "warc", "1:1", 0, count, tally, count, True, None, NOW)
    stores.ledger.enter(
        [InputRow("input-1", *facts, name) for name in ("library", "pdf-only")], [], ()
    )


def _ended(body: Body) -> list[Any]:
    at = NOW + timedelta(seconds=body.number)
    apart, dropped = Verdict.QUARANTINED, Verdict.DROPPED
    kind = body.number % KINDS
    if kind == 0:
        rows = [said(body, "identify", 0)]
    elif kind == 1:
        rows = [said(body, "identify", 0, verdict=dropped, reason=Reason.HTTP_STATUS)]
    elif kind == 2:
        rows = [said(body, "identify", 0, verdict=apart, reason=Reason.MISSING_SOURCE)]
    elif kind == 3:
        rows = [said(body, "identify", 0), promised(body, "persist_file", 0, "identify")]
    elif kind == 4:
        late = said(body, "persist_file", 0, "identify", dropped, Reason.DUPLICATE)
        rows = [said(body, "identify", 0), late]
    else:
        return []
    return [replace(row, settled_at=at if row.settled_at else None) for row in rows]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, TestClient]]:
    """The pages of a small home, and of one ten times as large."""
    with (
        opened(tmp_path_factory.mktemp("few")) as few,
        opened(tmp_path_factory.mktemp("many")) as many,
        TestClient(create_app(few), base_url="http://localhost") as small,
        TestClient(create_app(many), base_url="http://localhost") as large,
    ):
        filled(few, FEW)
        filled(many, MANY)
        yield small, large


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/failures",
        "/files",
        "/files?type=application/pdf",
        "/records",
        "/records?outcome=done",
        "/records?outcome=pending",
        "/records?outcome=dropped&reason=http-status",
        "/records?reason=not-a-capture",
        "/records?weight=set-aside",
        "/records?weight=failed",
        "/records?step=identify",
        "/records?outcome=quarantined&step=identify&reason=missing-source&pipeline=pdf-only",
        "/records?pipeline=library",
        "/records?outcome=done&pipeline=pdf-only",
    ],
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
