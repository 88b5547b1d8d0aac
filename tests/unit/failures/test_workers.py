"""Workers of each step: active, overdue, or gone."""

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
    with open_home(tmp_path) as new_stores:
        yield new_stores


def make_row(worker: str, seen_ago_s: int, step: str = "identify", **changes: object) -> WorkerRow:
    values = {"ended": 3, "last_ended": None, "trouble": None, **changes}
    seen_at = NOW - timedelta(seconds=seen_ago_s)
    return WorkerRow(worker, step, "library", NOW - timedelta(days=1), seen_at, 15, **values)  # type: ignore[arg-type]


def test_a_worker_is_overdue_when_four_heartbeats_are_missing(stores: Stores) -> None:
    ended = NOW - timedelta(minutes=3)
    stores.records.put(
        [
            make_row(ELSEWHERE.format(1), 60, trouble="the index is away"),
            make_row(ELSEWHERE.format(2), 61, last_ended=ended),
            make_row(ELSEWHERE.format(3), 5, "extract_pdf"),
        ]
    )
    workers = summarize_workers(stores.records, "library", NOW)
    assert workers == {
        "identify": StepWorkers(1, 1, NOW - timedelta(seconds=60), 3, ended, "the index is away"),
        "extract_pdf": StepWorkers(1, 0, NOW - timedelta(seconds=5), 3),
    }
    assert summarize_workers(stores.records, "news", NOW) == {}


def test_a_killed_worker_of_this_machine_is_not_listed(stores: Stores) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        name = f"{identify(process.pid)}/0"
        stores.records.put([make_row(name, 0)])
        assert [worker.worker for worker in iter_workers(stores.records)] == [name]
        process.kill()
        process.wait()
        assert list(iter_workers(stores.records)) == []


def test_the_page_shows_the_workers_of_each_step_without_host_names(stores: Stores) -> None:
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
        response = client.get("/api/pipeline")
    assert "1 worker" in page.words("//tr[th='identify']")
    assert "A worker sends a heartbeat every 15 seconds" in page.words()
    assert "1 not responding since 14 Mar 2026, 09:26:53 UTC" in page.words(
        "//tr[th='persist_file']"
    )
    assert "waiting: <b>full</b>" in page.words("//tr[th='archive_body']")
    assert "none" in page.words("//tr[th='extract_pdf']")
    assert "other-host" not in response.text
    steps = {step["step"]: step["workers"] for step in response.json()["pipelines"][0]["steps"]}
    assert (steps["identify"]["at_work"], steps["identify"]["overdue"]) == (1, 0)
    assert (steps["persist_file"]["at_work"], steps["persist_file"]["overdue"]) == (0, 1)
