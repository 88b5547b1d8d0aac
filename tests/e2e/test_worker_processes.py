"""`ingest --workers N`: several processes leave behind what one does, whoever of them is killed."""

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
from fixtures.warcs import gzipped, http_response

pytestmark = pytest.mark.xdist_group("worker_processes")

RUN_MAX_S = 300
POLL_S = 0.02
PAGES = 600


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    write_crawl(folder)
    records = [http_response(page(n), url=f"http://news.example/many/{n}") for n in range(PAGES)]
    (folder / "many.warc.gz").write_bytes(gzipped(records))
    return folder


@pytest.fixture(scope="module")
def expected(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("calm")
    assert finish(home, crawl, workers=1)["processes"] == 1
    return ignore_owners(state(home))


def ingest(home: Path, crawl: Path, workers: int) -> subprocess.Popen[bytes]:
    """All is entered before the work begins, so that there is enough of it for several."""
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
    out, err = ingest(home, crawl, workers).communicate(timeout=RUN_MAX_S)
    summary: dict[str, Any] = json.loads(out)
    assert summary["pending"] == 0, err.decode()
    return summary


def processes_of(home: Path) -> Iterator[int]:
    """The process ids of those that work on a home beside the first."""
    lock = home / "lock"
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if b"fonds.cli.worker_processes" in (path / "cmdline").read_bytes():
                opened = [one.readlink() for one in (path / "fd").iterdir()]
                if lock in opened:
                    yield int(path.name)
        except OSError:
            continue


def first_of(home: Path, run: subprocess.Popen[bytes]) -> int:
    while run.poll() is None:
        for found in processes_of(home):
            return found
        time.sleep(POLL_S)
    raise AssertionError("it never had a further process")


def test_several_processes_leave_what_one_leaves(
    tmp_path: Path, crawl: Path, expected: dict[str, Any]
) -> None:
    assert finish(tmp_path, crawl, workers=3)["processes"] > 1
    assert ignore_owners(state(tmp_path)) == expected
    assert list(processes_of(tmp_path)) == []


def test_one_of_them_is_killed_and_the_others_do_its_work(
    tmp_path: Path, crawl: Path, expected: dict[str, Any]
) -> None:
    run = ingest(tmp_path, crawl, workers=3)
    os.kill(first_of(tmp_path, run), signal.SIGKILL)
    out, err = run.communicate(timeout=RUN_MAX_S)
    assert json.loads(out)["pending"] == 0
    assert "exited with -9" in err.decode()
    assert ignore_owners(state(tmp_path)) == expected


def test_the_first_is_killed_and_all_end_with_it(
    tmp_path: Path, crawl: Path, expected: dict[str, Any]
) -> None:
    run = ingest(tmp_path, crawl, workers=3)
    first_of(tmp_path, run)
    run.kill()
    run.communicate()
    deadline = time.monotonic() + RUN_MAX_S
    while list(processes_of(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(POLL_S)
    finish(tmp_path, crawl, workers=1)
    assert ignore_owners(state(tmp_path)) == expected


def test_settings_are_told_to_nobody_else(tmp_path: Path, crawl: Path) -> None:
    run = ingest(tmp_path, crawl, workers=2)
    found = first_of(tmp_path, run)
    words = Path(f"/proc/{found}/cmdline").read_bytes().split(b"\0")
    assert words[1:] == [b"-m", b"fonds.cli.worker_processes", b""]
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=RUN_MAX_S)
    assert run.returncode in (0, 1, 130)
    assert list(processes_of(tmp_path)) == []
