"""An extraction that is killed, again and again, leaves what one that nobody disturbed leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from depth import kills
from e2e.running import fonds
from fonds.ingest.bulk.extraction_rows import RESULT_COLUMNS
from killing import kill_after_changes
from made_warcs import OUTCOMES, rows_in, write_warcs

TO_PARQUET = (1, 5, 2, 6, 3, 4)[: kills(3, nightly=6)]
TO_STORES = (1, 20, 3, 45, 8, 30)[: kills(4, nightly=6)]
"""How many changes to the home each run is killed behind."""


def words(home: Path, crawl: Path) -> tuple[str, ...]:
    into = ("--workers", "2", "--to", "parquet", "--out", str(home / "out"), "--json")
    return ("backfill", "extract", str(crawl), *into)


def kill_again_and_again(said: Sequence[str], home: Path, behind: Sequence[int]) -> None:
    killed = [kill_after_changes(home, said, changes) for changes in behind]
    assert sum(killed) > 1


def test_kills_count_nothing_twice_and_lose_nothing(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    whole, home, crawl = tmp_path / "whole", tmp_path / "home", tmp_path / "crawl"
    done = fonds(whole, *words(whole, crawl))
    assert done.code == 1, done.err
    kill_again_and_again(words(home, crawl), home, TO_PARQUET)
    told = fonds(home, *words(home, crawl)).last
    assert (told["ended"], told["wrong"]) == (OUTCOMES, [])
    for name in RESULT_COLUMNS:
        assert rows_in(home / "out", name) == rows_in(whole / "out", name)
        assert [*(home / "out" / name).glob(".*")] == []
    assert (home / "out/books.jsonl").read_bytes() == (whole / "out/books.jsonl").read_bytes()
    assert [*(home / "bulk").iterdir()] == []


def test_the_stores_balance_after_kills(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    home = tmp_path / "home"
    said = ("backfill", "extract", str(tmp_path / "crawl"), "--to", "stores", "--json")
    kill_again_and_again(said, home, TO_STORES)
    told = fonds(home, *said).last
    assert (told["ended"], told["wrong"]) == (OUTCOMES, [])
    assert fonds(home, "audit", "--json").last["missing"] == []
