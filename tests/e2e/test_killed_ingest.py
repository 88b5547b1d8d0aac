"""An ingest that is killed again and again ends in the same state as one left in peace."""

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
RUN_MAX_S = 300


def finish(home: Path, crawl: Path) -> dict[str, Any]:
    run = fonds(home, "ingest", "--json", crawl)
    assert run.code in (0, 1), run.err
    return run.last


def test_killed_at_random_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    write_crawl(crawl)
    calm = tmp_path / "calm"
    started = time.monotonic()
    summary = finish(calm, crawl)
    usual_s = time.monotonic() - started
    assert summary["pending"] == 0
    expected = state(calm)
    assert sum(expected["left"].values()) == 0
    assert len(expected["outcomes"]) > 100

    chance = random.Random(SEED)
    kills = homes = 0
    while kills < KILLS:
        homes += 1
        home = tmp_path / f"killed-{homes}"
        kills += killed_until_done(home, crawl, chance, usual_s)
        assert state(home) == expected


def killed_until_done(home: Path, crawl: Path, chance: random.Random, usual_s: float) -> int:
    """Kill runs at random moments until one comes to its end; returns how many were killed."""
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
    """Until something has been entered: from then on the work can be told to stop."""
    deadline = time.monotonic() + RUN_MAX_S
    while time.monotonic() < deadline:
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(f"file:{home}/records.sqlite?mode=ro", uri=True)) as one,
        ):
            if one.execute("select 1 from entries limit 1").fetchone():
                return
        time.sleep(0.05)
    raise AssertionError("nothing was entered")


def test_interrupted_by_a_signal_it_says_so_and_goes_on_at_the_next_start(tmp_path: Path) -> None:
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
    assert run.wait(RUN_MAX_S) in (130, 1)  # 1 when it was already done
    if run.returncode == 130:
        assert json.loads(printed.read_text().splitlines()[-1])["pending"] >= 0
    last = finish(home, crawl)
    assert last["pending"] == 0
    again = finish(home, crawl)
    assert again["in"] == 0
    assert again["known"] > 100
