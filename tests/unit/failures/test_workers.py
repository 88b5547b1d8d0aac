"""Who works each step: at work, overdue, or gone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.failures.accounting.workload import (
    StepWorkers,
    iter_workers,
    summarize_workers,
)
from fonds.isolation.process_identity import identify
from fonds.model.rows import WorkerRow
from fonds.ports import Stores
from fonds.web.app import create_app
from page_reading import read

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
ELSEWHERE = "other-host/other-boot/1/{}/5/0"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as found:
        yield found


def row(worker: str, seen_ago_s: int, step: str = "identify", **changes: object) -> WorkerRow:
    told = {"ended": 3, "last_ended": None, "trouble": None, **changes}
    seen = NOW - timedelta(seconds=seen_ago_s)
    return WorkerRow(worker, step, "library", NOW - timedelta(days=1), seen, 15, **told)  # type: ignore[arg-type]


def test_a_process_is_overdue_when_four_signs_are_missing(stores: Stores) -> None:
    ended = NOW - timedelta(minutes=3)
    stores.records.put(
        [
            row(ELSEWHERE.format(1), 60, trouble="the index is away"),
            row(ELSEWHERE.format(2), 61, last_ended=ended),
            row(ELSEWHERE.format(3), 5, "extract_pdf"),
        ]
    )
    found = summarize_workers(stores.records, "library", NOW)
    assert found == {
        "identify": StepWorkers(1, 1, NOW - timedelta(seconds=60), 3, ended, "the index is away"),
        "extract_pdf": StepWorkers(1, 0, NOW - timedelta(seconds=5), 3),
    }
    assert summarize_workers(stores.records, "news", NOW) == {}


def test_who_was_killed_here_is_nobody(stores: Stores) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        name = f"{identify(other.pid)}/0"
        stores.records.put([row(name, 0)])
        assert [worker.worker for worker in iter_workers(stores.records)] == [name]
        other.kill()
        other.wait()
        assert list(iter_workers(stores.records)) == []


def test_the_page_says_who_works_each_step_and_nothing_of_which_machine(stores: Stores) -> None:
    now = datetime.now(UTC)
    rows = [
        WorkerRow(ELSEWHERE.format(1), "identify", "library", now, now, 15, 1, now, None),
        WorkerRow(ELSEWHERE.format(2), "persist_file", "library", NOW, NOW, 15, 1, None, None),
        WorkerRow(
            ELSEWHERE.format(3), "archive_body", "library", now, now, 15, 1, now, "<b>full</b>"
        ),
    ]
    stores.records.put(rows)
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        page = read(client, "/pipeline")
        told = client.get("/api/pipeline")
    assert "1 worker" in page.words("//tr[th='identify']")
    assert "A worker sends a heartbeat every 15 seconds" in page.words()
    assert "1 not responding since 14 Mar 2026, 09:26:53 UTC" in page.words(
        "//tr[th='persist_file']"
    )
    assert "waiting: <b>full</b>" in page.words("//tr[th='archive_body']")
    assert "none" in page.words("//tr[th='extract_pdf']")
    assert "other-host" not in told.text
    steps = {one["step"]: one["workers"] for one in told.json()["pipelines"][0]["steps"]}
    assert (steps["identify"]["at_work"], steps["identify"]["overdue"]) == (1, 0)
    assert (steps["persist_file"]["at_work"], steps["persist_file"]["overdue"]) == (0, 1)
