"""grobid: every PDF gets a result, except while the server is unavailable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fonds.derivatives.grobid import KnownGrobid
from fonds.model.disposition import DONE, Reason, Verdict
from fonds.model.errors import PostponedError, TransientError
from fonds.model.paper import GrobidOutput, GrobidResponse, GrobidStatus, UngrobidedPdf
from fonds.model.rows import DispositionRow, GrobidRow
from fonds.model.step import Result
from fonds.papers.bibliography.tei import (
    BibliographyReading,
)
from fonds.papers.grobid_step import GrobidStep
from step_bench import LATER, MOMENT, PDF, Bench, open_bench, pdf_file

TEI = GrobidResponse(GrobidStatus.SUCCESS, 200, b"<TEI/>")
EXTRACTOR = "client 1"
RESTS: list[float] = []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    opened = open_bench(tmp_path)
    yield opened
    opened.close()


CONFIRMATION = DispositionRow(
    *("g", "papers", "persist_grobid", "e", None, None, "done", False, None, ""),
    *(pdf_file().sha1, 0, LATER, LATER),
)


def create_step(bench: Bench, answer: GrobidResponse | Exception = TEI) -> GrobidStep:
    def send(pdf: bytes) -> GrobidResponse:
        assert pdf == PDF
        if isinstance(answer, Exception):
            raise answer
        return answer

    known_grobid = KnownGrobid(bench.records, EXTRACTOR)
    return GrobidStep(
        *(bench.archive, send, EXTRACTOR, known_grobid, lambda item: Result(items=(item,))),
        *(RESTS.append, lambda _: BibliographyReading()),
    )


def build_row(status: str, extractor: str = EXTRACTOR) -> GrobidRow:
    code = 200 if status == "success" else 500
    return GrobidRow(pdf_file().sha1, LATER, "0.8", code, status, None, None, None, extractor, None)


def test_a_response_is_passed_on_with_its_source(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    result = create_step(bench)(UngrobidedPdf(capture, pdf_file()))
    expected = GrobidOutput(
        *(pdf_file().sha1, GrobidStatus.SUCCESS, 200, "<TEI/>", None),
        *(pdf_file(), capture, EXTRACTOR),
    )
    assert (result.disposition, result.items) == (DONE, (expected,))


def test_a_failure_is_a_result_too(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    failed = GrobidResponse(GrobidStatus.TIMEOUT, -4, error_msg="slow")
    result = create_step(bench, failed)(UngrobidedPdf(capture, pdf_file()))
    (output,) = result.items
    assert isinstance(output, GrobidOutput)
    assert (output.status, output.status_code, output.error_msg) == ("error-timeout", -4, "slow")


def test_an_unavailable_server_counts_no_attempt(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    result = create_step(bench, PostponedError("GROBID answers 503", 40.0))(
        UngrobidedPdf(capture, pdf_file())
    )
    disposition = result.disposition
    assert (disposition.verdict, disposition.reason, disposition.after_s) == (
        Verdict.DEFERRED,
        Reason.NOT_YET,
        40.0,
    )
    assert (result.items, RESTS) == ((), [40.0])


def test_a_broken_connection_is_raised_for_the_runtime(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    with pytest.raises(TransientError):
        create_step(bench, TransientError("broke off"))(UngrobidedPdf(capture, pdf_file()))


def test_missing_bytes_are_a_result_and_quarantined(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    Path(capture.place.path).unlink()
    result = create_step(bench)(UngrobidedPdf(capture, pdf_file()))
    (output,) = result.items
    assert isinstance(output, GrobidOutput)
    assert (output.status, output.status_code) == ("error-source", -6)
    assert (result.disposition.verdict, result.disposition.reason) == (
        Verdict.QUARANTINED,
        Reason.MISSING_SOURCE,
    )


@pytest.mark.parametrize(
    ("before", "is_confirmed", "is_requested"),
    [
        (None, False, True),
        (build_row("success"), True, False),
        (build_row("success"), False, True),
        (build_row("error"), True, False),
        (build_row("error-timeout"), True, True),
        (build_row("success", "client 0"), True, True),
    ],
)
def test_a_known_result_is_not_requested_again(
    bench: Bench, before: GrobidRow | None, is_confirmed: bool, is_requested: bool
) -> None:
    """The ledger confirms a result when the step that stores it has sent the paper to matching."""
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    if before is not None:
        bench.records.put([before])
    if is_confirmed:
        bench.records.put([CONFIRMATION])
    work = UngrobidedPdf(capture, pdf_file())
    result = create_step(bench)(work)
    assert (result.disposition, bool(result.items)) == (DONE, is_requested)
    assert create_step(bench)(replace(work, after=MOMENT)).items == result.items
    assert create_step(bench)(replace(work, after=LATER.replace(year=2030))).items != ()
