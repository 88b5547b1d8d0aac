"""match: writes cells, row and citations of a paper, and replaces those of an earlier match."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fonds.derivatives.fixity import build_row_fixity
from fonds.model.bibliography import Author, Citation, Paper
from fonds.model.disposition import DONE
from fonds.model.paper import MATCH_VERSION, UnmatchedPaper
from fonds.model.rows import CitationRow, FixityRow, MatchRow
from fonds.papers.bibliography.paper import encode_paper
from fonds.papers.catalog.store import Catalog
from fonds.papers.catalog.work import Work, WorkAuthor
from fonds.papers.match_step import MatchPapersStep
from fonds.stores.journal_table.keys import build_row_key
from step_bench import JOURNAL, LATER, Bench, open_bench

SHA1 = "ab" * 20
RIVERS = Work(
    id="doi:10.5555/rivers",
    source="crossref",
    title="On the slow meandering of lowland rivers",
    authors=(WorkAuthor("Stroom", "Ada"),),
    year=2011,
    doi="10.5555/rivers",
)
TIDES = Work(
    id="doi:10.5555/tides",
    source="crossref",
    title="Tides and the banks they leave behind",
    authors=(WorkAuthor("Brook", "Ben"),),
    year=1999,
    doi="10.5555/tides",
)
PAPER = Paper(
    grobid_version="x",
    title=RIVERS.title,
    authors=(Author(name="Ada Stroom", surname="Stroom"),),
    citations=(
        Citation(
            id="b0",
            index=0,
            authors=(Author(name="B Brook", surname="Brook"),),
            title=TIDES.title,
            date="1999",
        ),
        Citation(id="b1", index=1, authors=(), title="An unknown work", doi="10.5555/none"),
    ),
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    opened = open_bench(tmp_path)
    yield opened
    opened.close()


def match(
    bench: Bench, paper: Paper | None, *works: Work
) -> tuple[MatchRow, dict[str, bytes], list[CitationRow]]:
    catalog = Catalog(bench.table, "catalog")
    catalog.declare()
    catalog.put(works)
    if paper is not None:
        bench.table.put(JOURNAL, [(build_row_key(SHA1), {"grobid0:metadata": encode_paper(paper)})])
    step = MatchPapersStep(bench.table, bench.records, JOURNAL, lambda: catalog, lambda: LATER)
    results = step([UnmatchedPaper(SHA1), UnmatchedPaper(SHA1)])
    assert [result.disposition for result in results] == [DONE, DONE]
    (row,) = bench.records.find(MatchRow)
    return row, bench.cells().get(build_row_key(SHA1), {}), list(bench.records.find(CitationRow))


def test_cells_row_and_citations_are_written(bench: Bench) -> None:
    row, cells, cited = match(bench, PAPER, RIVERS, TIDES)
    evidence = "doi:10.5555/rivers: title 1.00, author 1.00"
    by = ("strong", "title-and-author", RIVERS.id, RIVERS.doi)
    assert row == MatchRow(SHA1, LATER, *by, evidence, 2, MATCH_VERSION)
    assert cells["match0:mstatus"] == b"strong"
    assert cells["match0:doi"] == b"10.5555/rivers"
    info = json.loads(cells["match0:minfo"])
    assert info["reason"] == "title-and-author"
    assert info["candidates"][0]["agreement"]["title"] == 1.0
    assert [
        (citation.number, citation.work, citation.status, citation.printed_doi)
        for citation in cited
    ] == [
        (0, TIDES.id, "strong", None),
        (1, None, "none", "10.5555/none"),
    ]
    assert "Tides and the banks" in cited[0].reference
    assert build_row_fixity(row) in bench.records.find(FixityRow)


def test_a_new_match_replaces_the_earlier_one(bench: Bench) -> None:
    match(bench, PAPER, RIVERS, TIDES)
    other_paper = Paper(
        grobid_version="x", title="Of something else", citations=PAPER.citations[:1]
    )
    row, cells, cited = match(bench, other_paper)
    assert (row.status, row.doi, row.reference_count) == ("none", None, 1)
    assert "match0:doi" not in cells
    assert [citation.number for citation in cited] == [0]


def test_a_file_without_bibliography_gets_a_row_with_that_reason(bench: Bench) -> None:
    row, cells, cited = match(bench, None, RIVERS)
    assert (row.status, row.reason, cited) == ("none", "no-bibliography", [])
    assert cells["match0:mstatus"] == b"none"


def test_a_cell_that_is_not_a_bibliography_is_skipped(bench: Bench) -> None:
    bench.table.put(JOURNAL, [(build_row_key(SHA1), {"grobid0:tei_json": encode_paper(PAPER)})])
    bench.table.put(JOURNAL, [(build_row_key(SHA1), {"grobid0:metadata": b"{"})])
    assert match(bench, None, RIVERS)[0].work == RIVERS.id


def test_matching_again_writes_the_same(bench: Bench) -> None:
    first = match(bench, PAPER, RIVERS, TIDES)
    assert match(bench, PAPER, RIVERS, TIDES) == first
    assert replace(first[0], updated=LATER) == first[0]
