"""persist_bibliography: stores our own bibliography in table and records, and keeps that of GROBID."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.pdfs import text_pdf
from fonds.derivatives.fixity import build_cells_fixity, build_row_fixity
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits
from fonds.model.bibliography import Paper
from fonds.model.disposition import DONE
from fonds.model.pdf import PdfStatus, PdfText
from fonds.model.pdf_extra import PdfExtra
from fonds.model.rows import BibliographyRow, FixityRow, GrobidRow
from fonds.papers.bibliography.paper import VERSION
from fonds.papers.bibliography_step import PersistBibliographyStep
from fonds.stores.journal_table.keys import build_row_key
from step_bench import JOURNAL, LATER, Bench, open_bench, pdf_file

SHA1 = pdf_file().sha1
PAPER: dict[str, Any] = {
    "grobid_version": VERSION,
    "title": "Rivers that rise",
    "authors": [{"name": "Anna Hill", "given_name": "Anna", "surname": "Hill"}],
    "doi": "10.1000/jw.12",
    "citations": [{"id": "b0", "index": 0, "authors": [], "title": "Rain"}],
}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    opened = open_bench(tmp_path)
    yield opened
    opened.close()


def build_pdf_text(
    bench: Bench, paper: dict[str, Any] | None = PAPER, status: PdfStatus = PdfStatus.SUCCESS
) -> PdfText:
    extra = PdfExtra(bibliography=msgspec.convert(paper, Paper | None))
    return PdfText(
        *(SHA1, status, "Words.", True, None, None, extra, pdf_file(), bench.write_file()),
        "pdf 1",
        None,
    )


def persist(bench: Bench, *items: PdfText) -> BibliographyRow:
    step = PersistBibliographyStep(bench.table, bench.records, JOURNAL, lambda: LATER)
    assert [result.disposition for result in step(items)] == [DONE] * len(items)
    (row,) = bench.records.find(BibliographyRow)
    return row


def get_cells(bench: Bench) -> dict[str, bytes]:
    return bench.cells().get(build_row_key(SHA1), {})


def test_row_cells_and_fixity_are_written(bench: Bench) -> None:
    row = persist(bench, build_pdf_text(bench))
    assert (row.status, row.title, row.doi) == ("success", "Rivers that rise", "10.1000/jw.12")
    assert (row.reference_count, row.quality, row.extractor) == (1, "marginal", VERSION)
    documents = {
        name.partition(":")[2]: json.loads(cell)
        for name, cell in get_cells(bench).items()
        if b"{" in cell
    }
    assert documents["bib_json"] == documents["bib_metadata"] == PAPER
    assert documents["bib_status"] == {"status": "success", "extractor": VERSION}
    assert get_cells(bench)["bib0:bib_quality"] == b"marginal"
    fixity = {row_fixity.part: row_fixity for row_fixity in bench.records.find(FixityRow)}
    assert fixity == {
        "bibliography": build_row_fixity(row),
        "bib0": build_cells_fixity(row.sha1hex, get_cells(bench)),
    }


def test_a_missing_bibliography_is_not_stored(bench: Bench) -> None:
    assert persist(bench, build_pdf_text(bench, None)).status == "not-read"
    assert get_cells(bench) == {}


def test_a_smaller_result_never_replaces_a_larger_one(bench: Bench) -> None:
    first = persist(bench, build_pdf_text(bench))
    before = get_cells(bench)
    assert persist(bench, build_pdf_text(bench, None, PdfStatus.ERROR_TIMEOUT)) == first
    assert persist(bench, build_pdf_text(bench), build_pdf_text(bench, None)) == first
    assert get_cells(bench) == before
    assert persist(bench, build_pdf_text(bench, {**PAPER, "title": "Other"})).title == "Other"


@pytest.mark.parametrize("status", ["success", "error"])
def test_our_own_reading_never_enters_the_family_of_grobid(bench: Bench, status: str) -> None:
    bench.records.put(
        [GrobidRow(SHA1, LATER, "0.8", 200, status, None, None, None, "client", None)]
    )
    assert persist(bench, build_pdf_text(bench)).status == "success"
    assert {name.partition(":")[0] for name in get_cells(bench)} == {"bib0"}


def test_an_older_own_reading_is_deleted_from_the_family_of_grobid(bench: Bench) -> None:
    """Older versions stored our own reading in `grobid0`. Cells of GROBID are kept."""
    earlier = {**PAPER, "grobid_version": "fonds-bibliography/2"}
    status = {"status": "success", "extractor": "fonds-bibliography/2"}
    old = {
        "grobid0:metadata": json.dumps(earlier).encode(),
        "grobid0:tei_json": json.dumps(earlier).encode(),
        "grobid0:quality": b"good",
        "grobid0:status": json.dumps(status).encode(),
        "grobid0:status_code": b"\0" * 8,
    }
    bench.table.put(JOURNAL, [(build_row_key(SHA1), old)])
    persist(bench, build_pdf_text(bench))
    names = {name for name in get_cells(bench) if name.startswith("grobid0:")}
    assert names == {"grobid0:status_code"}
    grobid_cells = {
        **old,
        "grobid0:metadata": b'{"grobid_version": "0.8.1"}',
        "grobid0:status": b"{}",
    }
    bench.table.put(JOURNAL, [(build_row_key(SHA1), grobid_cells)])
    persist(bench, build_pdf_text(bench))
    assert grobid_cells.items() <= get_cells(bench).items()


def test_a_pdf_without_references_has_no_citations() -> None:
    pdf_bytes = extract_pdf_bytes(text_pdf(["x"]), PdfLimits())
    paper = (pdf_bytes.pdf_extra or PdfExtra()).bibliography
    assert paper is not None
    assert paper.citations == ()


def test_the_bibliography_of_a_paper_is_read_from_its_pdf() -> None:
    lines = [
        "Rivers that rise in the hills",
        "Anna Hill and Carl Vale",
        "University of Water, Pisa",
        "Abstract",
        "We measure how rivers rise in the hills after a night of rain and say why they do.",
        "1 Introduction",
        "References",
        "[1] D. Dale. Rain in seas. Journal of Water, 12(3):45-67, 2015.",
        "[2] F. Fen. Mist and fog. Journal of Rain, 2(1):5-7, 2016. doi:10.1000/jr.2",
    ]
    pdf_bytes = extract_pdf_bytes(text_pdf(["\n".join(lines)]), PdfLimits())
    paper = (pdf_bytes.pdf_extra or PdfExtra()).bibliography
    assert paper is not None
    assert (paper.abstract or "").startswith("We measure how rivers rise")
    assert [citation.title for citation in paper.citations] == [
        "Rain in seas",
        "Mist and fog",
    ]
    assert paper.citations[1].doi == "10.1000/jr.2"
    assert paper.grobid_version == VERSION
