"""An extraction that is killed, again and again, leaves what one that nobody disturbed leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from depth import kills
from fonds.ingest.bulk.extraction_rows import RESULT_COLUMNS
from killing import killed_behind
from made_warcs import ENDED, rows_in, write_warcs

TO_PARQUET = (1, 5, 2, 6, 3, 4)[: kills(3, nightly=6)]
TO_STORES = (1, 20, 3, 45, 8, 30)[: kills(4, nightly=6)]
"""How many changes to the home each run is killed behind."""


def fonds(home: Path, *words: str) -> list[str]:
    return [*(sys.executable, "-m", "fonds", "--home", str(home), "--json"), *words]


def words(home: Path, crawl: Path) -> list[str]:
    into = ("--workers", "2", "--to", "parquet", "--out", str(home / "out"))
    return fonds(home, "backfill", "extract", str(crawl), *into)


def kill_again_and_again(said: list[str], home: Path, behind: Sequence[int]) -> None:
    killed = [killed_behind(said, home, changes) for changes in behind]
    assert sum(killed) > 1


def test_kills_count_nothing_twice_and_lose_nothing(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    whole, home, crawl = tmp_path / "whole", tmp_path / "home", tmp_path / "crawl"
    done = subprocess.run(words(whole, crawl), capture_output=True, check=False, timeout=300)
    assert done.returncode == 1, done.stderr
    kill_again_and_again(words(home, crawl), home, TO_PARQUET)
    again = subprocess.run(words(home, crawl), capture_output=True, check=False, timeout=300)
    told = json.loads(again.stdout)
    assert (told["ended"], told["wrong"]) == (ENDED, [])
    for name in RESULT_COLUMNS:
        assert rows_in(home / "out", name) == rows_in(whole / "out", name)
        assert [*(home / "out" / name).glob(".*")] == []
    assert (home / "out/books.jsonl").read_bytes() == (whole / "out/books.jsonl").read_bytes()
    assert [*(home / "bulk").iterdir()] == []


def test_the_stores_balance_after_kills(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    said = fonds(
        tmp_path / "home", "backfill", "extract", str(tmp_path / "crawl"), "--to", "stores"
    )
    kill_again_and_again(said, tmp_path / "home", TO_STORES)
    again = subprocess.run(said, capture_output=True, check=False, timeout=300)
    told = json.loads(again.stdout)
    assert (told["ended"], told["wrong"]) == (ENDED, [])
    audit = subprocess.run(fonds(tmp_path / "home", "audit"), capture_output=True, check=False)
    assert json.loads(audit.stdout)["missing"] == []
