"""Heartbeats are written during work, deleted at the end, and never stop the work."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from empty_records import open_records
from fonds.isolation.process_identity import create_worker_name, identify
from fonds.model.errors import StoreUnavailableError
from fonds.model.rows import Row, WorkerRow
from fonds.pipelines.runtime.heartbeat import REMOVED_AFTER, Heartbeat
from fonds.stores.records.sql import SqlRecords

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
WAIT_S = 60.0


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    opened = open_records(tmp_path / "records.sqlite")
    yield opened
    opened.close()


class SignallingRecords(SqlRecords):
    """Real records that signal each write and can be unavailable."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.written = threading.Semaphore(0)
        self.failures_left = 0

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        try:
            if self.failures_left:
                self.failures_left -= 1
                raise StoreUnavailableError("away")
            super().put(rows, replace=replace)
        finally:
            self.written.release()


def build_row(worker: str, step: str = "fetch", seen_at: datetime = NOW) -> WorkerRow:
    return WorkerRow(worker, step, "news", NOW, seen_at, 15, 0, None, None)


def test_each_step_has_a_row_only_while_it_works(tmp_path: Path) -> None:
    records = SignallingRecords(f"sqlite:///{tmp_path / 'r.sqlite'}")
    heartbeat = Heartbeat(
        records, create_worker_name(), "news", ["fetch", "parse"], lambda: NOW, 3600
    )
    heartbeat.observe("parse", [], 0.1)
    heartbeat.start(lambda: {"fetch-0": "the records do not answer"})
    assert records.written.acquire(timeout=WAIT_S)
    fetch, parse = sorted(records.find(WorkerRow), key=lambda worker_row: worker_row.step)
    assert (fetch.step, fetch.trouble) == ("fetch", "the records do not answer")
    assert (fetch.pipeline, fetch.seen, fetch.every_s) == ("news", NOW, 3600)
    assert (fetch.ended, fetch.last_ended) == (0, None)
    assert (parse.trouble, parse.last_ended) == (None, NOW)
    heartbeat.stop()
    heartbeat.stop()
    assert list(records.find(WorkerRow)) == []
    records.close()


def test_settled_messages_of_several_threads_are_all_counted(records: SqlRecords) -> None:
    heartbeat = Heartbeat(records, "w", "news", ["fetch"], lambda: NOW)
    settled = list[WorkerRow]()

    def observe_often() -> None:
        for _ in range(500):
            heartbeat.observe("fetch", [None, None], 0.0)  # type: ignore[list-item]

    threads = [threading.Thread(target=observe_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heartbeat._write(dict)
    settled += records.find(WorkerRow)
    assert [worker_row.ended for worker_row in settled] == [4000]


def test_the_heartbeat_continues_after_an_outage_of_the_records(tmp_path: Path) -> None:
    records = SignallingRecords(f"sqlite:///{tmp_path / 'r.sqlite'}")
    records.failures_left = 1
    heartbeat = Heartbeat(records, create_worker_name(), "news", ["fetch"], lambda: NOW, 1)
    heartbeat.start(dict)
    for _ in range(2):
        assert records.written.acquire(timeout=WAIT_S)
    assert [worker_row.step for worker_row in records.find(WorkerRow)] == ["fetch"]
    heartbeat.stop()
    records.close()


def test_rows_of_killed_and_long_silent_workers_are_deleted(tmp_path: Path) -> None:
    records = SignallingRecords(f"sqlite:///{tmp_path / 'r.sqlite'}")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        killed = f"{identify(process.pid)}/0"
        process.kill()
    remote_name = "other-host/other-boot/1/77/5/0"
    records.put(
        [
            build_row(killed),
            build_row(killed, "parse"),
            build_row(remote_name),
            build_row("third/boot/1/2/3/0", seen_at=NOW - REMOVED_AFTER - timedelta(seconds=1)),
        ]
    )
    assert records.written.acquire(timeout=WAIT_S)
    own_name = create_worker_name()
    heartbeat = Heartbeat(records, own_name, "news", ["fetch"], lambda: NOW, 3600)
    heartbeat.start(dict)
    assert records.written.acquire(timeout=WAIT_S)
    assert {worker_row.worker for worker_row in records.find(WorkerRow)} == {own_name, remote_name}
    heartbeat.stop()
    assert {worker_row.worker for worker_row in records.find(WorkerRow)} == {remote_name}
    records.close()
