"""persist_grobid: TEI, JSON and row of every result; no failure takes a success away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.tei import citation, tei
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
WHOLE = tei(body=WORDS, citations=citation(0, "<title>Wind</title>")).decode()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    opened = open_bench(tmp_path)
    yield opened
    opened.close()


def output(
    bench: Bench, status: str = "success", code: int = 200, text: str | None = WHOLE
) -> GrobidOutput:
    error = None if status == "success" else "it failed"
    place = bench.write_file(), "client 1"
    return GrobidOutput(SHA1, GrobidStatus(status), code, text, error, pdf_file(), *place)


def keep(bench: Bench, *items: GrobidOutput) -> GrobidRow:
    step = PersistGrobidStep(
        *(bench.table, bench.records, bench.blobs, JOURNAL), read_tei_bytes, lambda: LATER
    )
    assert [one.disposition for one in step(items)] == [DONE] * len(items)
    (row,) = bench.records.find(GrobidRow)
    return row


def cells(bench: Bench) -> dict[str, bytes]:
    return bench.cells()[build_row_key(SHA1)]


def test_all_six_columns_the_blob_and_the_row(bench: Bench) -> None:
    row = keep(bench, output(bench))
    found = cells(bench)
    assert decode_integer(found["grobid0:status_code"]) == 200
    assert found["grobid0:quality"] == b"good"
    assert json.loads(found["grobid0:status"]) == {
        "status": "success",
        "status_code": 200,
        "grobid_version": "0.8.1",
        "extractor": "client 1",
    }
    assert found["grobid0:tei_xml"] == WHOLE.encode()
    whole, less = (json.loads(found[f"grobid0:{one}"]) for one in ("tei_json", "metadata"))
    assert whole["title"] == "On the Weight of Air"
    assert whole == {**less, "body": ("word " * 200).strip()}
    assert bench.blobs.get(build_tei_blob_key(SHA1)) == WHOLE.encode()
    assert (row.status, row.status_code, row.quality) == ("success", 200, "good")
    assert (row.grobid_version, row.updated, row.extractor) == ("0.8.1", LATER, "client 1")
    assert encode_stored(row.metadata)["biblio"]["title"] == "On the Weight of Air"
    assert encode_stored(row.metadata)["reference_count"] == 1
    fixity = {one.part: one for one in bench.records.find(FixityRow)}
    assert fixity["grobid"] == build_row_fixity(row)
    assert fixity["tei"].size_bytes == len(WHOLE.encode())


@pytest.mark.parametrize(
    ("status", "code"),
    [("error", 500), ("no-content", 204), ("error-timeout", -4), ("blob-too-large", -5)],
)
def test_a_failure_is_kept_whatever_its_code(bench: Bench, status: str, code: int) -> None:
    row = keep(bench, output(bench, status, code, None))
    assert (row.status, row.status_code, row.error_msg) == (status, code, "it failed")
    assert decode_integer(cells(bench)["grobid0:status_code"]) == code
    assert cells(bench).keys() == {"grobid0:status_code", "grobid0:status"}
    assert not bench.blobs.filter_existing([build_tei_blob_key(SHA1)])


@pytest.mark.parametrize("text", ["<html><body>Bad Gateway</body></html>", "<TEI", "", WHOLE[:-50]])
def test_what_is_no_tei_is_named(bench: Bench, text: str) -> None:
    row = keep(bench, output(bench, text=text))
    assert (row.status, row.status_code) == ("bad-grobid-xml", 200)
    assert row.error_msg


def test_tei_that_ends_its_reader_is_named(bench: Bench) -> None:
    def read(_: bytes) -> object:
        raise ChildError(Reason.TIMEOUT, "20 seconds")

    step = PersistGrobidStep(
        *(bench.table, bench.records, bench.blobs, JOURNAL),
        read,
        lambda: LATER,  # type: ignore[arg-type]
    )
    step([output(bench)])
    (row,) = bench.records.find(GrobidRow)
    assert (row.status, row.error_msg) == ("bad-grobid-xml", "20 seconds")


def test_a_failure_never_takes_a_success_away(bench: Bench) -> None:
    first = keep(bench, output(bench))
    before = cells(bench)
    assert keep(bench, output(bench, "error", 500, None)) == first
    assert keep(bench, output(bench), output(bench, "error-timeout", -4, None)) == first
    assert cells(bench) == before


def test_a_success_comes_after_a_failure_and_what_says_nothing_after_none(bench: Bench) -> None:
    keep(bench, output(bench, "error", 500, None))
    assert keep(bench, output(bench, "error-source", -6, None)).status == "error"
    assert keep(bench, output(bench)).status == "success"


def test_what_is_too_long_for_a_cell_lies_in_the_blob(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_cells, "CELL_MAX_BYTES", 1_300)
    keep(bench, output(bench))
    status = json.loads(cells(bench)["grobid0:status"])
    assert "grobid0:tei_xml" in status["left_out"]
    assert "grobid0:tei_xml" not in cells(bench)
    assert bench.blobs.get(build_tei_blob_key(SHA1)) == WHOLE.encode()
