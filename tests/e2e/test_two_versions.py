"""Workers of two versions process one home: the older ones leave the newer one's messages alone."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.crawls import page, write_crawl
from e2e.running import ROOT, call, fonds
from e2e.states import ignore_owners, state
from e2e.workers import STEPS, Workers
from fonds.pipelines.runtime.worker_threads import WorkerThreads

OLDER, NEWER = "1", "2"
LAUNCHER = str(ROOT / "tests" / "versioned_launcher.py")
KILLS = 4
WAIT_MAX_S = 120.0


def run(version: str, home: Path, *arguments: str | Path) -> str:
    """Run `fonds` in a version and return its output."""
    command = [sys.executable, LAUNCHER, version, "--home", str(home), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def count_delayed(home: Path) -> int:
    depths = json.loads(run(NEWER, home, "status", "--json"))["queues"].values()
    return sum(depth["delayed"] for depth in depths)


def test_killed_workers_of_two_versions_give_the_state_of_one_process(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    write_crawl(crawl)
    undisturbed_home, home = tmp_path / "calm", tmp_path / "home"
    assert fonds(undisturbed_home, "ingest", crawl).code in (0, 1)
    run(NEWER, home, "ingest", "--enter-only", crawl)

    # The embedded index has one writer, which must be of the newer version.
    older_steps = [steps for steps in STEPS if "import_story" not in steps]
    older = Workers(home, steps=older_steps, program=(LAUNCHER, OLDER))
    older.start()
    deadline = time.monotonic() + WAIT_MAX_S
    while "waits: messages of a newer version" not in run(OLDER, home, "status"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert count_delayed(home) > 0
    assert fonds(home, "audit").code == 0

    chance, newer = random.Random(20261128), Workers(home, program=(LAUNCHER, NEWER))
    while older.kills < KILLS or newer.kills < KILLS:
        older.start()
        newer.start()
        time.sleep(chance.uniform(0.3, 1.5))
        chance.choice((older, newer)).kill_one(chance)
    older.start()
    newer.start()
    newer.drain()
    assert set(older.stop() + newer.stop()) <= {0, -signal.SIGTERM}
    audited = fonds(home, "audit")
    assert audited.code == 0, audited.out
    assert ignore_owners(state(home)) == ignore_owners(state(undisturbed_home))


def test_an_older_ingest_ends_and_names_the_steps_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, pages = tmp_path / "home", tmp_path / "pages"
    pages.mkdir()
    for number in range(3):
        (pages / f"{number}.html").write_bytes(page(number))
    run(NEWER, home, "ingest", "--enter-only", pages)
    (tmp_path / "other.html").write_bytes(page(10))
    drain = WorkerThreads.drain
    monkeypatch.setattr(
        WorkerThreads, "drain", lambda threads, _, tick: drain(threads, 1.0, tick=tick)
    )
    ingested = call(home, "ingest", tmp_path / "other.html")
    assert ingested.code == 1
    assert "Messages of identify were made by a newer version of Fonds" in ingested.err
    status = call(home, "status", "--json").last
    assert (status["done"], status["pending"]) == (1, 3)
    assert call(home, "audit").code == 0
