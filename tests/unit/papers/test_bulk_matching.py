"""Matching in bulk leaves what the step leaves, row for row and cell for cell."""

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
KNOWN, COUNT = 120, 30


def filled(home: Path) -> dict[str, list[str | None]]:
    """A catalogue and papers; by SHA-1 what they cite."""
    table = open_table(home)
    catalog = Catalog(table, CATALOG)
    catalog.declare()
    catalog.put(works(KNOWN))
    found = keep_papers(table, JOURNAL, works(KNOWN), COUNT)
    table.close()
    open_sqlite(home / "records.sqlite").close()
    return found


def in_bulk(home: Path, what: str, workers: int = 2) -> int:
    stores = (
        partial(SqliteTable, home / "table.sqlite"),
        partial(open_sqlite, home / "records.sqlite"),
        JOURNAL,
        CATALOG,
    )
    results = LocalEngine(home / "bulk", workers, 1).run(
        build_matching_job(what, stores, NOW, "test")
    )
    return sum(sum_tallies(results).counts.values())


def left(home: Path) -> tuple[list[MatchRow], list[CitationRow], object]:
    table, records = open_table(home), open_sqlite(home / "records.sqlite")
    rows = list(records.find(MatchRow)), list(records.find(CitationRow))
    cells = table.scan(JOURNAL, columns=["match0:"])
    table.close()
    records.close()
    return *rows, cells


def test_the_same_rows_as_the_step_and_nearly_all_are_right(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for home in (one, other):
        home.mkdir()
    made_of = filled(one)
    filled(other)
    table, records = open_table(one), open_sqlite(one / "records.sqlite")
    catalog = Catalog(table, CATALOG)
    MatchPapersStep(table, records, JOURNAL, lambda: catalog, lambda: NOW)(
        [*map(UnmatchedPaper, made_of)]
    )
    table.close()
    records.close()
    assert in_bulk(other, PAPERS) == COUNT
    assert in_bulk(other, REFERENCES) == COUNT * 12
    assert left(one) == left(other)
    papers, cited, _ = left(one)
    assert all(row.status in ("exact", "strong") for row in papers)
    meant = {(row.sha1hex, row.number): made_of[row.sha1hex][row.number] for row in cited}
    found = {(row.sha1hex, row.number): row.work for row in cited if row.work is not None}
    assert found.items() <= meant.items()
    assert len(found) >= 0.95 * sum(work is not None for work in meant.values())


def test_done_again_nothing_changes(tmp_path: Path) -> None:
    filled(tmp_path)
    for what in (PAPERS, REFERENCES):
        in_bulk(tmp_path, what)
    before = left(tmp_path)
    for what in (REFERENCES, PAPERS):
        in_bulk(tmp_path, what, workers=1)
    assert left(tmp_path) == before


def test_the_ranges_are_in_order() -> None:
    assert list(RANGES) == sorted(RANGES)


@pytest.mark.parametrize("what", [PAPERS, REFERENCES])
def test_a_journal_without_papers_gives_nothing(tmp_path: Path, what: str) -> None:
    table = open_table(tmp_path)
    Catalog(table, CATALOG).declare()
    table.put(
        JOURNAL, [(b"nokey", {"grobid0:metadata": b"{}"}), (b"k" * 20, {"grobid0:metadata": b"?"})]
    )
    table.close()
    assert in_bulk(tmp_path, what) == 0
