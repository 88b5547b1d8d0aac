"""An extraction that is killed repeatedly gives the same result as an undisturbed one."""

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
"""Number of changes to the home after which each run is killed."""


def build_arguments(home: Path, crawl: Path) -> tuple[str, ...]:
    into = ("--workers", "2", "--to", "parquet", "--out", str(home / "out"), "--json")
    return ("backfill", "extract", str(crawl), *into)


def kill_repeatedly(arguments: Sequence[str], home: Path, change_counts: Sequence[int]) -> None:
    killed = [kill_after_changes(home, arguments, changes) for changes in change_counts]
    assert sum(killed) > 1


def test_a_killed_extraction_to_parquet_writes_each_row_once(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    undisturbed_home, home, crawl = tmp_path / "whole", tmp_path / "home", tmp_path / "crawl"
    result = fonds(undisturbed_home, *build_arguments(undisturbed_home, crawl))
    assert result.code == 1, result.err
    kill_repeatedly(build_arguments(home, crawl), home, TO_PARQUET)
    summary = fonds(home, *build_arguments(home, crawl)).last
    assert (summary["ended"], summary["wrong"]) == (OUTCOMES, [])
    for name in RESULT_COLUMNS:
        assert rows_in(home / "out", name) == rows_in(undisturbed_home / "out", name)
        assert [*(home / "out" / name).glob(".*")] == []
    assert (home / "out/books.jsonl").read_bytes() == (
        undisturbed_home / "out/books.jsonl"
    ).read_bytes()
    assert [*(home / "bulk").iterdir()] == []


def test_a_killed_extraction_to_stores_balances(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    home = tmp_path / "home"
    arguments = ("backfill", "extract", str(tmp_path / "crawl"), "--to", "stores", "--json")
    kill_repeatedly(arguments, home, TO_STORES)
    summary = fonds(home, *arguments).last
    assert (summary["ended"], summary["wrong"]) == (OUTCOMES, [])
    assert fonds(home, "audit", "--json").last["missing"] == []
