"""Bulk matching writes the same rows and cells as the step."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from bulk_jobs import JOURNAL, NOW, open_table
from fonds.bulk.local import LocalEngine
from fonds.bulk.tallies import sum_tallies
from fonds.model.paper import UnmatchedPaper
from fonds.model.rows import CitationRow, MatchRow
from fonds.papers.bulk_match import PAPERS, RANGES, REFERENCES, build_matching_job
from fonds.papers.catalog.store import Catalog
from fonds.papers.match_step import MatchPapersStep
from fonds.stores.records.sql import open_sqlite
from fonds.stores.table.sqlite import SqliteTable
from made_papers import keep_papers, works

CATALOG = "fonds-catalog-0-test"
WORK_COUNT, PAPER_COUNT = 120, 30


def fill_home(home: Path) -> dict[str, list[str | None]]:
    """Store a catalogue and papers. Return the cited works by SHA-1."""
    table = open_table(home)
    catalog = Catalog(table, CATALOG)
    catalog.declare()
    catalog.put(works(WORK_COUNT))
    cited_works = keep_papers(table, JOURNAL, works(WORK_COUNT), PAPER_COUNT)
    table.close()
    open_sqlite(home / "records.sqlite").close()
    return cited_works


def match_in_bulk(home: Path, job_name: str, workers: int = 2) -> int:
    stores = (
        partial(SqliteTable, home / "table.sqlite"),
        partial(open_sqlite, home / "records.sqlite"),
        JOURNAL,
        CATALOG,
    )
    results = LocalEngine(home / "bulk", workers, 1).run(
        build_matching_job(job_name, stores, NOW, "test")
    )
    return sum(sum_tallies(results).counts.values())


def read_stored(home: Path) -> tuple[list[MatchRow], list[CitationRow], object]:
    table, records = open_table(home), open_sqlite(home / "records.sqlite")
    rows = list(records.find(MatchRow)), list(records.find(CitationRow))
    cells = table.scan(JOURNAL, columns=["match0:"])
    table.close()
    records.close()
    return *rows, cells


def test_bulk_matching_writes_the_rows_of_the_step_and_finds_nearly_all_works(
    tmp_path: Path,
) -> None:
    step_home, bulk_home = tmp_path / "one", tmp_path / "other"
    for home in (step_home, bulk_home):
        home.mkdir()
    cited_works = fill_home(step_home)
    fill_home(bulk_home)
    table, records = open_table(step_home), open_sqlite(step_home / "records.sqlite")
    catalog = Catalog(table, CATALOG)
    MatchPapersStep(table, records, JOURNAL, lambda: catalog, lambda: NOW)(
        [*map(UnmatchedPaper, cited_works)]
    )
    table.close()
    records.close()
    assert match_in_bulk(bulk_home, PAPERS) == PAPER_COUNT
    assert match_in_bulk(bulk_home, REFERENCES) == PAPER_COUNT * 12
    assert read_stored(step_home) == read_stored(bulk_home)
    papers, cited, _ = read_stored(step_home)
    assert all(row.status in ("exact", "strong") for row in papers)
    expected = {(row.sha1hex, row.number): cited_works[row.sha1hex][row.number] for row in cited}
    matched = {(row.sha1hex, row.number): row.work for row in cited if row.work is not None}
    assert matched.items() <= expected.items()
    assert len(matched) >= 0.95 * sum(work is not None for work in expected.values())


def test_matching_again_changes_nothing(tmp_path: Path) -> None:
    fill_home(tmp_path)
    for job_name in (PAPERS, REFERENCES):
        match_in_bulk(tmp_path, job_name)
    before = read_stored(tmp_path)
    for job_name in (REFERENCES, PAPERS):
        match_in_bulk(tmp_path, job_name, workers=1)
    assert read_stored(tmp_path) == before


def test_the_key_ranges_are_in_order() -> None:
    assert list(RANGES) == sorted(RANGES)


@pytest.mark.parametrize("job_name", [PAPERS, REFERENCES])
def test_a_journal_without_papers_has_no_matches(tmp_path: Path, job_name: str) -> None:
    table = open_table(tmp_path)
    Catalog(table, CATALOG).declare()
    table.put(
        JOURNAL, [(b"nokey", {"grobid0:metadata": b"{}"}), (b"k" * 20, {"grobid0:metadata": b"?"})]
    )
    table.close()
    assert match_in_bulk(tmp_path, job_name) == 0
