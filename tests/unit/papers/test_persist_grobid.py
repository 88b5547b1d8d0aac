"""persist_grobid: stores TEI, JSON and row of every result; a failure never replaces a success."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.tei import build_citation, build_tei
from fonds.derivatives.fixity import build_row_fixity
from fonds.model.disposition import DONE, Reason
from fonds.model.errors import ChildError
from fonds.model.keys import build_tei_blob_key
from fonds.model.paper import GrobidOutput, GrobidStatus
from fonds.model.rows import FixityRow, GrobidRow
from fonds.model.stored_json import encode_stored
from fonds.papers.bibliography.tei import read_tei_bytes
from fonds.papers.grobid_step import PersistGrobidStep
from fonds.stores.journal_table import cells as journal_cells
from fonds.stores.journal_table.cells import decode_integer
from fonds.stores.journal_table.keys import build_row_key
from step_bench import JOURNAL, LATER, Bench, open_bench, pdf_file

SHA1 = pdf_file().sha1
WORDS = "<p>" + "word " * 200 + "</p>"
FULL_TEI = build_tei(body=WORDS, citations=build_citation(0, "<title>Wind</title>")).decode()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    opened = open_bench(tmp_path)
    yield opened
    opened.close()


def build_output(
    bench: Bench, status: str = "success", code: int = 200, text: str | None = FULL_TEI
) -> GrobidOutput:
    error = None if status == "success" else "it failed"
    place = bench.write_file(), "client 1"
    return GrobidOutput(SHA1, GrobidStatus(status), code, text, error, pdf_file(), *place)


def persist(bench: Bench, *items: GrobidOutput) -> GrobidRow:
    step = PersistGrobidStep(
        *(bench.table, bench.records, bench.blobs, JOURNAL), read_tei_bytes, lambda: LATER
    )
    assert [result.disposition for result in step(items)] == [DONE] * len(items)
    (row,) = bench.records.find(GrobidRow)
    return row


def get_cells(bench: Bench) -> dict[str, bytes]:
    return bench.cells()[build_row_key(SHA1)]


def test_all_columns_the_blob_and_the_row_are_written(bench: Bench) -> None:
    row = persist(bench, build_output(bench))
    stored_cells = get_cells(bench)
    assert decode_integer(stored_cells["grobid0:status_code"]) == 200
    assert stored_cells["grobid0:quality"] == b"good"
    assert json.loads(stored_cells["grobid0:status"]) == {
        "status": "success",
        "status_code": 200,
        "grobid_version": "0.8.1",
        "extractor": "client 1",
    }
    assert stored_cells["grobid0:tei_xml"] == FULL_TEI.encode()
    full, metadata = (
        json.loads(stored_cells[f"grobid0:{name}"]) for name in ("tei_json", "metadata")
    )
    assert full["title"] == "On the Weight of Air"
    assert full == {**metadata, "body": ("word " * 200).strip()}
    assert bench.blobs.get(build_tei_blob_key(SHA1)) == FULL_TEI.encode()
    assert (row.status, row.status_code, row.quality) == ("success", 200, "good")
    assert (row.grobid_version, row.updated, row.extractor) == ("0.8.1", LATER, "client 1")
    assert encode_stored(row.metadata)["biblio"]["title"] == "On the Weight of Air"
    assert encode_stored(row.metadata)["reference_count"] == 1
    fixity = {row_fixity.part: row_fixity for row_fixity in bench.records.find(FixityRow)}
    assert fixity["grobid"] == build_row_fixity(row)
    assert fixity["tei"].size_bytes == len(FULL_TEI.encode())


@pytest.mark.parametrize(
    ("status", "code"),
    [("error", 500), ("no-content", 204), ("error-timeout", -4), ("blob-too-large", -5)],
)
def test_a_failure_is_stored_with_its_code(bench: Bench, status: str, code: int) -> None:
    row = persist(bench, build_output(bench, status, code, None))
    assert (row.status, row.status_code, row.error_msg) == (status, code, "it failed")
    assert decode_integer(get_cells(bench)["grobid0:status_code"]) == code
    assert get_cells(bench).keys() == {"grobid0:status_code", "grobid0:status"}
    assert not bench.blobs.filter_existing([build_tei_blob_key(SHA1)])


@pytest.mark.parametrize(
    "text", ["<html><body>Bad Gateway</body></html>", "<TEI", "", FULL_TEI[:-50]]
)
def test_invalid_tei_is_reported(bench: Bench, text: str) -> None:
    row = persist(bench, build_output(bench, text=text))
    assert (row.status, row.status_code) == ("bad-grobid-xml", 200)
    assert row.error_msg


def test_tei_that_kills_its_reader_is_reported(bench: Bench) -> None:
    def read(_: bytes) -> object:
        raise ChildError(Reason.TIMEOUT, "20 seconds")

    step = PersistGrobidStep(
        *(bench.table, bench.records, bench.blobs, JOURNAL),
        read,
        lambda: LATER,  # type: ignore[arg-type]
    )
    step([build_output(bench)])
    (row,) = bench.records.find(GrobidRow)
    assert (row.status, row.error_msg) == ("bad-grobid-xml", "20 seconds")


def test_a_failure_never_replaces_a_success(bench: Bench) -> None:
    first = persist(bench, build_output(bench))
    before = get_cells(bench)
    assert persist(bench, build_output(bench, "error", 500, None)) == first
    assert (
        persist(bench, build_output(bench), build_output(bench, "error-timeout", -4, None)) == first
    )
    assert get_cells(bench) == before


def test_a_success_replaces_a_failure_and_a_missing_source_does_not(bench: Bench) -> None:
    persist(bench, build_output(bench, "error", 500, None))
    assert persist(bench, build_output(bench, "error-source", -6, None)).status == "error"
    assert persist(bench, build_output(bench)).status == "success"


def test_tei_too_long_for_a_cell_is_stored_as_a_blob_only(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_cells, "CELL_MAX_BYTES", 1_300)
    persist(bench, build_output(bench))
    status = json.loads(get_cells(bench)["grobid0:status"])
    assert "grobid0:tei_xml" in status["left_out"]
    assert "grobid0:tei_xml" not in get_cells(bench)
    assert bench.blobs.get(build_tei_blob_key(SHA1)) == FULL_TEI.encode()
