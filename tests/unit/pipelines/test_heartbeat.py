"""Signs of life: written while at work, taken away at the end, and never in the way of the work."""

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
    found = open_records(tmp_path / "records.sqlite")
    yield found
    found.close()


class Told(SqlRecords):
    """Real records that tell when rows were written, and can be away."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.written = threading.Semaphore(0)
        self.away = 0

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        try:
            if self.away:
                self.away -= 1
                raise StoreUnavailableError("away")
            super().put(rows, replace=replace)
        finally:
            self.written.release()


def row(worker: str, step: str = "fetch", seen: datetime = NOW) -> WorkerRow:
    return WorkerRow(worker, step, "news", NOW, seen, 15, 0, None, None)


def test_each_step_has_a_row_while_it_is_worked_and_none_afterwards(tmp_path: Path) -> None:
    records = Told(f"sqlite:///{tmp_path / 'r.sqlite'}")
    heartbeat = Heartbeat(
        records, create_worker_name(), "news", ["fetch", "parse"], lambda: NOW, 3600
    )
    heartbeat.observe("parse", [], 0.1)
    heartbeat.start(lambda: {"fetch-0": "the records do not answer"})
    assert records.written.acquire(timeout=WAIT_S)
    fetch, parse = sorted(records.find(WorkerRow), key=lambda one: one.step)
    assert (fetch.step, fetch.trouble) == ("fetch", "the records do not answer")
    assert (fetch.pipeline, fetch.seen, fetch.every_s) == ("news", NOW, 3600)
    assert (fetch.ended, fetch.last_ended) == (0, None)
    assert (parse.trouble, parse.last_ended) == (None, NOW)
    heartbeat.stop()
    heartbeat.stop()
    assert list(records.find(WorkerRow)) == []
    records.close()


def test_what_was_settled_is_counted_though_several_threads_tell(records: SqlRecords) -> None:
    heartbeat = Heartbeat(records, "w", "news", ["fetch"], lambda: NOW)
    settled = list[WorkerRow]()

    def tell() -> None:
        for _ in range(500):
            heartbeat.observe("fetch", [None, None], 0.0)  # type: ignore[list-item]

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    heartbeat._write(dict)
    settled += records.find(WorkerRow)
    assert [one.ended for one in settled] == [4000]


def test_it_goes_on_when_the_records_answer_again(tmp_path: Path) -> None:
    records = Told(f"sqlite:///{tmp_path / 'r.sqlite'}")
    records.away = 1
    heartbeat = Heartbeat(records, create_worker_name(), "news", ["fetch"], lambda: NOW, 1)
    heartbeat.start(dict)
    for _ in range(2):
        assert records.written.acquire(timeout=WAIT_S)
    assert [one.step for one in records.find(WorkerRow)] == ["fetch"]
    heartbeat.stop()
    records.close()


def test_rows_of_the_killed_are_swept_and_those_of_others_stay(tmp_path: Path) -> None:
    records = Told(f"sqlite:///{tmp_path / 'r.sqlite'}")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        killed = f"{identify(other.pid)}/0"
        other.kill()
    elsewhere = "other-host/other-boot/1/77/5/0"
    records.put(
        [
            row(killed),
            row(killed, "parse"),
            row(elsewhere),
            row("third/boot/1/2/3/0", seen=NOW - REMOVED_AFTER - timedelta(seconds=1)),
        ]
    )
    assert records.written.acquire(timeout=WAIT_S)
    mine = create_worker_name()
    heartbeat = Heartbeat(records, mine, "news", ["fetch"], lambda: NOW, 3600)
    heartbeat.start(dict)
    assert records.written.acquire(timeout=WAIT_S)
    assert {one.worker for one in records.find(WorkerRow)} == {mine, elsewhere}
    heartbeat.stop()
    assert {one.worker for one in records.find(WorkerRow)} == {elsewhere}
    records.close()
