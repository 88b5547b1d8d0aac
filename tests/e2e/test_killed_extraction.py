"""An extraction that is killed, again and again, leaves what one that nobody disturbed leaves."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fonds.bulk.extraction.rows import RESULTS
from made_warcs import ENDED, rows_in, write_warcs

pytestmark = pytest.mark.slow

KILLS = 6


def fonds(home: Path, *words: str) -> list[str]:
    return [*(sys.executable, "-m", "fonds", "--home", str(home), "--json"), *words]


def words(home: Path, crawl: Path) -> list[str]:
    into = ("--workers", "2", "--to", "parquet", "--out", str(home / "out"))
    return fonds(home, "backfill", "extract", str(crawl), *into)


def kill_again_and_again(said: list[str], lasted_s: float) -> None:
    chance, killed = random.Random(5), 0
    for _ in range(KILLS):
        with subprocess.Popen(said, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            try:
                running.wait(chance.uniform(0.3, 0.9) * lasted_s)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGKILL)
                killed += 1
    assert killed > 1


def test_kills_count_nothing_twice_and_lose_nothing(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    whole, home, crawl = tmp_path / "whole", tmp_path / "home", tmp_path / "crawl"
    began = time.monotonic()
    done = subprocess.run(words(whole, crawl), capture_output=True, check=False, timeout=300)
    lasted_s = time.monotonic() - began
    assert done.returncode == 1, done.stderr
    kill_again_and_again(words(home, crawl), lasted_s)
    again = subprocess.run(words(home, crawl), capture_output=True, check=False, timeout=300)
    told = json.loads(again.stdout)
    assert (told["ended"], told["wrong"]) == (ENDED, [])
    for name in RESULTS:
        assert rows_in(home / "out", name) == rows_in(whole / "out", name)
        assert [*(home / "out" / name).glob(".*")] == []
    assert (home / "out/books.jsonl").read_bytes() == (whole / "out/books.jsonl").read_bytes()
    assert [*(home / "bulk").iterdir()] == []


def test_the_stores_balance_after_kills(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    said = fonds(
        tmp_path / "home", "backfill", "extract", str(tmp_path / "crawl"), "--to", "stores"
    )
    kill_again_and_again(said, 12.0)
    again = subprocess.run(said, capture_output=True, check=False, timeout=300)
    told = json.loads(again.stdout)
    assert (told["ended"], told["wrong"]) == (ENDED, [])
    audit = subprocess.run(fonds(tmp_path / "home", "audit"), capture_output=True, check=False)
    assert json.loads(audit.stdout)["missing"] == []
