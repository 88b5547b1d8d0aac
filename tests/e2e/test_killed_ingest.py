"""An ingest that is killed repeatedly ends in the same state as an undisturbed one."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from depth import kills as number_of_kills
from e2e.crawls import write_crawl
from e2e.running import fonds, start, start_fonds
from e2e.states import state

KILLS = number_of_kills(5, nightly=20)
SEED = 20261120
RUN_MAX_S = 600


def finish(home: Path, crawl: Path) -> dict[str, Any]:
    run = fonds(home, "ingest", "--json", crawl)
    assert run.code in (0, 1), run.err
    return run.last


def test_a_killed_ingest_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    write_crawl(crawl)
    undisturbed_home = tmp_path / "calm"
    started = time.monotonic()
    summary = finish(undisturbed_home, crawl)
    usual_s = time.monotonic() - started
    assert summary["pending"] == 0
    expected = state(undisturbed_home)
    assert sum(expected["left"].values()) == 0
    assert len(expected["outcomes"]) > 100

    chance = random.Random(SEED)
    kills = homes = 0
    while kills < KILLS:
        homes += 1
        home = tmp_path / f"killed-{homes}"
        kills += kill_until_done(home, crawl, chance, usual_s)
        assert state(home) == expected


def kill_until_done(home: Path, crawl: Path, chance: random.Random, usual_s: float) -> int:
    """Kill runs at random moments until one ends; return the number of killed runs."""
    kills = 0
    while True:
        run = start_fonds(home, "ingest", crawl)
        time.sleep(chance.uniform(0.1, 0.8) * usual_s)
        run.kill()
        if run.returncode == -signal.SIGKILL:
            kills += 1
            if kills < KILLS:
                continue
            finish(home, crawl)
            return kills
        assert run.returncode in (0, 1)
        return kills


def wait_for_entries(home: Path) -> None:
    """Wait for the first entry. From then on, the ingest handles signals."""
    deadline = time.monotonic() + RUN_MAX_S
    while time.monotonic() < deadline:
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(f"file:{home}/records.sqlite?mode=ro", uri=True)) as database,
        ):
            if database.execute("select 1 from entries limit 1").fetchone():
                return
        time.sleep(0.05)
    raise AssertionError("nothing was entered")


def test_an_interrupted_ingest_exits_with_130_and_resumes(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    write_crawl(crawl)
    home = tmp_path / "home"
    printed = tmp_path / "printed"
    with printed.open("wb") as out:
        files = (out.fileno(),) * 3
        words = ("--home", str(home), "ingest", "--json", str(crawl))
        run = start(words, files, os.environ)
    wait_for_entries(home)
    run.send_signal(signal.SIGINT)
    assert run.wait(RUN_MAX_S) in (130, 1)  # 1 if it had already ended
    if run.returncode == 130:
        assert json.loads(printed.read_text().splitlines()[-1])["pending"] >= 0
    last = finish(home, crawl)
    assert last["pending"] == 0
    second = finish(home, crawl)
    assert second["in"] == 0
    assert second["known"] > 100
