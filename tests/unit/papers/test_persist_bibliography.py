"""persist_bibliography: what was read beside a text, into table and records; GROBID's reading stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.pdfs import text_pdf
from fonds.derivatives.fixity import build_row_fixity
from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes
from fonds.model.disposition import DONE
from fonds.model.pdf import PdfStatus, PdfText
from fonds.model.rows import BibliographyRow, FixityRow, GrobidRow
from fonds.papers.bibliography.paper_text import VERSION
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


def text(bench: Bench, paper: object = PAPER, status: PdfStatus = PdfStatus.SUCCESS) -> PdfText:
    extra = {"bibliography": paper}
    return PdfText(
        *(SHA1, status, "Words.", True, None, None, extra, pdf_file(), bench.write_file()),
        "pdf 1",
        None,
    )


def keep(bench: Bench, *items: PdfText) -> BibliographyRow:
    step = PersistBibliographyStep(bench.table, bench.records, JOURNAL, lambda: LATER)
    assert [one.disposition for one in step(items)] == [DONE] * len(items)
    (row,) = bench.records.find(BibliographyRow)
    return row


def cells(bench: Bench) -> dict[str, bytes]:
    return bench.cells().get(build_row_key(SHA1), {})


def test_row_cells_and_fixity(bench: Bench) -> None:
    row = keep(bench, text(bench))
    assert (row.status, row.title, row.doi) == ("success", "Rivers that rise", "10.1000/jw.12")
    assert (row.reference_count, row.quality, row.extractor) == (1, "marginal", VERSION)
    found = {
        name.partition(":")[2]: json.loads(cell)
        for name, cell in cells(bench).items()
        if b"{" in cell
    }
    assert found["bib_json"] == found["bib_metadata"] == PAPER
    assert found["bib_status"] == {"status": "success", "extractor": VERSION}
    assert cells(bench)["bib0:bib_quality"] == b"marginal"
    (fixity,) = bench.records.find(FixityRow)
    assert fixity == build_row_fixity(row)


@pytest.mark.parametrize("paper", [None, [], {"title": 5}, {"authors": "x"}])
def test_what_is_no_bibliography_is_not_kept(bench: Bench, paper: object) -> None:
    assert keep(bench, text(bench, paper)).status == "not-read"
    assert cells(bench) == {}


def test_less_never_replaces_more(bench: Bench) -> None:
    first = keep(bench, text(bench))
    before = cells(bench)
    assert keep(bench, text(bench, None, PdfStatus.ERROR_TIMEOUT)) == first
    assert keep(bench, text(bench), text(bench, None)) == first
    assert cells(bench) == before
    assert keep(bench, text(bench, {**PAPER, "title": "Other"})).title == "Other"


@pytest.mark.parametrize("status", ["success", "error"])
def test_our_own_reading_never_enters_the_family_of_grobid(bench: Bench, status: str) -> None:
    bench.records.put(
        [GrobidRow(SHA1, LATER, "0.8", 200, status, None, None, None, "client", None)]
    )
    assert keep(bench, text(bench)).status == "success"
    assert {name.partition(":")[0] for name in cells(bench)} == {"bib0"}


def test_what_an_earlier_version_read_leaves_the_family_of_grobid(bench: Bench) -> None:
    """Fonds kept its own reading in `grobid0` before; what others wrote there stays."""
    earlier = {**PAPER, "grobid_version": "fonds-bibliography/2"}
    told = {"status": "success", "extractor": "fonds-bibliography/2"}
    old = {
        "grobid0:metadata": json.dumps(earlier).encode(),
        "grobid0:tei_json": json.dumps(earlier).encode(),
        "grobid0:quality": b"good",
        "grobid0:status": json.dumps(told).encode(),
        "grobid0:status_code": b"\0" * 8,
    }
    bench.table.put(JOURNAL, [(build_row_key(SHA1), old)])
    keep(bench, text(bench))
    names = {name for name in cells(bench) if name.startswith("grobid0:")}
    assert names == {"grobid0:status_code"}
    theirs = {**old, "grobid0:metadata": b'{"grobid_version": "0.8.1"}', "grobid0:status": b"{}"}
    bench.table.put(JOURNAL, [(build_row_key(SHA1), theirs)])
    keep(bench, text(bench))
    assert theirs.items() <= cells(bench).items()


def test_a_pdf_without_title_and_references_has_nothing_found() -> None:
    pdf_bytes = extract_pdf_bytes(text_pdf(["x"]), PdfLimits())
    assert (pdf_bytes.pdf_extra or {})["bibliography"]["citations"] == []


def test_a_whole_paper_is_read_from_its_pdf() -> None:
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
    paper = (pdf_bytes.pdf_extra or {})["bibliography"]
    assert paper["abstract"].startswith("We measure how rivers rise")
    assert [one["title"] for one in paper["citations"]] == ["Rain in seas", "Mist and fog"]
    assert paper["citations"][1]["doi"] == "10.1000/jr.2"
    assert paper["grobid_version"] == VERSION
