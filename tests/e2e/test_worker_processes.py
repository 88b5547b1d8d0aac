"""`ingest --workers N`: several processes give the same result as one, even if one is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.crawls import page, write_crawl
from e2e.running import fonds
from e2e.states import ignore_owners, state
from fixtures.warcs import gzip_records, http_response

pytestmark = pytest.mark.xdist_group("worker_processes")

RUN_MAX_S = 600
POLL_INTERVAL_S = 0.02
PAGE_COUNT = 600


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    write_crawl(folder)
    records = [
        http_response(page(n), url=f"http://news.example/many/{n}") for n in range(PAGE_COUNT)
    ]
    (folder / "many.warc.gz").write_bytes(gzip_records(records))
    return folder


@pytest.fixture(scope="module")
def expected_state(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("calm")
    assert run_ingest(home, crawl, workers=1)["processes"] == 1
    return ignore_owners(state(home))


def start_ingest(home: Path, crawl: Path, workers: int) -> subprocess.Popen[bytes]:
    """Start an ingest. All entries are made first, so that there is work for several processes."""
    fonds(home, "ingest", "--enter-only", crawl)
    command = [
        sys.executable,
        "-m",
        "fonds",
        "--home",
        str(home),
        "--set",
        "work.worker_backlog=20",
    ]
    command += ["ingest", "--json", f"--workers={workers}", str(crawl)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run_ingest(home: Path, crawl: Path, workers: int) -> dict[str, Any]:
    stdout, stderr = start_ingest(home, crawl, workers).communicate(timeout=RUN_MAX_S)
    summary: dict[str, Any] = json.loads(stdout)
    assert summary["pending"] == 0, stderr.decode()
    return summary


def iter_further_processes(home: Path) -> Iterator[int]:
    """Yield the ids of further processes that work on a home."""
    lock = home / "lock"
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if b"fonds.cli.worker_processes" in (path / "cmdline").read_bytes():
                open_paths = [link.readlink() for link in (path / "fd").iterdir()]
                if lock in open_paths:
                    yield int(path.name)
        except OSError:
            continue


def wait_for_further_process(home: Path, ingest_process: subprocess.Popen[bytes]) -> int:
    while ingest_process.poll() is None:
        for process_id in iter_further_processes(home):
            return process_id
        time.sleep(POLL_INTERVAL_S)
    raise AssertionError("no further process was started")


def test_several_processes_give_the_state_of_one(
    tmp_path: Path, crawl: Path, expected_state: dict[str, Any]
) -> None:
    assert run_ingest(tmp_path, crawl, workers=3)["processes"] > 1
    assert ignore_owners(state(tmp_path)) == expected_state
    assert list(iter_further_processes(tmp_path)) == []


def test_the_other_processes_finish_the_work_of_a_killed_one(
    tmp_path: Path, crawl: Path, expected_state: dict[str, Any]
) -> None:
    ingest_process = start_ingest(tmp_path, crawl, workers=3)
    os.kill(wait_for_further_process(tmp_path, ingest_process), signal.SIGKILL)
    stdout, stderr = ingest_process.communicate(timeout=RUN_MAX_S)
    assert json.loads(stdout)["pending"] == 0
    assert "exited with -9" in stderr.decode()
    assert ignore_owners(state(tmp_path)) == expected_state


def test_all_processes_end_when_the_first_is_killed(
    tmp_path: Path, crawl: Path, expected_state: dict[str, Any]
) -> None:
    ingest_process = start_ingest(tmp_path, crawl, workers=3)
    wait_for_further_process(tmp_path, ingest_process)
    ingest_process.kill()
    ingest_process.communicate()
    deadline = time.monotonic() + RUN_MAX_S
    while list(iter_further_processes(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(POLL_INTERVAL_S)
    run_ingest(tmp_path, crawl, workers=1)
    assert ignore_owners(state(tmp_path)) == expected_state


def test_settings_are_not_on_the_command_line_of_workers(tmp_path: Path, crawl: Path) -> None:
    ingest_process = start_ingest(tmp_path, crawl, workers=2)
    process_id = wait_for_further_process(tmp_path, ingest_process)
    arguments = Path(f"/proc/{process_id}/cmdline").read_bytes().split(b"\0")
    assert arguments[1:] == [b"-m", b"fonds.cli.worker_processes", b""]
    ingest_process.send_signal(signal.SIGINT)
    ingest_process.communicate(timeout=RUN_MAX_S)
    assert ingest_process.returncode in (0, 1, 130)
    assert list(iter_further_processes(tmp_path)) == []
