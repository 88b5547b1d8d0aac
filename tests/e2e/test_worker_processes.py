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

RUN_MAX_S = 300
POLL_S = 0.02
PAGES = 600


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    write_crawl(folder)
    records = [http_response(page(n), url=f"http://news.example/many/{n}") for n in range(PAGES)]
    (folder / "many.warc.gz").write_bytes(gzip_records(records))
    return folder


@pytest.fixture(scope="module")
def expected(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("calm")
    assert finish(home, crawl, workers=1)["processes"] == 1
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


def finish(home: Path, crawl: Path, workers: int) -> dict[str, Any]:
    out, err = start_ingest(home, crawl, workers).communicate(timeout=RUN_MAX_S)
    summary: dict[str, Any] = json.loads(out)
    assert summary["pending"] == 0, err.decode()
    return summary


def iter_further_processes(home: Path) -> Iterator[int]:
    """Yield the ids of further processes that work on a home."""
    lock = home / "lock"
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if b"fonds.cli.worker_processes" in (path / "cmdline").read_bytes():
                opened = [link.readlink() for link in (path / "fd").iterdir()]
                if lock in opened:
                    yield int(path.name)
        except OSError:
            continue


def wait_for_further_process(home: Path, run: subprocess.Popen[bytes]) -> int:
    while run.poll() is None:
        for process_id in iter_further_processes(home):
            return process_id
        time.sleep(POLL_S)
    raise AssertionError("no further process was started")


def test_several_processes_give_the_state_of_one(
    tmp_path: Path, crawl: Path, expected: dict[str, Any]
) -> None:
    assert finish(tmp_path, crawl, workers=3)["processes"] > 1
    assert ignore_owners(state(tmp_path)) == expected
    assert list(iter_further_processes(tmp_path)) == []


def test_the_other_processes_finish_the_work_of_a_killed_one(
    tmp_path: Path, crawl: Path, expected: dict[str, Any]
) -> None:
    run = start_ingest(tmp_path, crawl, workers=3)
    os.kill(wait_for_further_process(tmp_path, run), signal.SIGKILL)
    out, err = run.communicate(timeout=RUN_MAX_S)
    assert json.loads(out)["pending"] == 0
    assert "exited with -9" in err.decode()
    assert ignore_owners(state(tmp_path)) == expected


def test_all_processes_end_when_the_first_is_killed(
    tmp_path: Path, crawl: Path, expected: dict[str, Any]
) -> None:
    run = start_ingest(tmp_path, crawl, workers=3)
    wait_for_further_process(tmp_path, run)
    run.kill()
    run.communicate()
    deadline = time.monotonic() + RUN_MAX_S
    while list(iter_further_processes(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(POLL_S)
    finish(tmp_path, crawl, workers=1)
    assert ignore_owners(state(tmp_path)) == expected


def test_settings_are_not_on_the_command_line_of_workers(tmp_path: Path, crawl: Path) -> None:
    run = start_ingest(tmp_path, crawl, workers=2)
    process_id = wait_for_further_process(tmp_path, run)
    words = Path(f"/proc/{process_id}/cmdline").read_bytes().split(b"\0")
    assert words[1:] == [b"-m", b"fonds.cli.worker_processes", b""]
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=RUN_MAX_S)
    assert run.returncode in (0, 1, 130)
    assert list(iter_further_processes(tmp_path)) == []
