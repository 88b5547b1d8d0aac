"""grobid: every PDF asked about has a result, but those of which the server has not spoken yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fonds.derivatives.grobid import KnownGrobid
from fonds.model.disposition import DONE, Reason, Verdict
from fonds.model.errors import PostponedError, TransientError
from fonds.model.paper import GrobidOutput, GrobidResponse, GrobidStatus, UngrobidedPdf
from fonds.model.rows import GrobidRow
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


def step(bench: Bench, answer: GrobidResponse | Exception = TEI) -> GrobidStep:
    def ask(pdf: bytes) -> GrobidResponse:
        assert pdf == PDF
        if isinstance(answer, Exception):
            raise answer
        return answer

    known = KnownGrobid(bench.records, EXTRACTOR)
    return GrobidStep(
        *(bench.archive, ask, EXTRACTOR, known, lambda item: Result(items=(item,))),
        *(RESTS.append, lambda _: BibliographyReading()),
    )


def row(status: str, extractor: str = EXTRACTOR) -> GrobidRow:
    code = 200 if status == "success" else 500
    return GrobidRow(pdf_file().sha1, LATER, "0.8", code, status, None, None, None, extractor, None)


def test_what_the_server_made_goes_on_with_where_it_came_from(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    result = step(bench)(UngrobidedPdf(capture, pdf_file()))
    expected = GrobidOutput(
        *(pdf_file().sha1, GrobidStatus.SUCCESS, 200, "<TEI/>", None),
        *(pdf_file(), capture, EXTRACTOR),
    )
    assert (result.disposition, result.items) == (DONE, (expected,))


def test_a_failure_is_a_result_too(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    failed = GrobidResponse(GrobidStatus.TIMEOUT, -4, error_msg="slow")
    result = step(bench, failed)(UngrobidedPdf(capture, pdf_file()))
    (output,) = result.items
    assert isinstance(output, GrobidOutput)
    assert (output.status, output.status_code, output.error_msg) == ("error-timeout", -4, "slow")


def test_a_server_that_is_away_costs_no_attempt(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    result = step(bench, PostponedError("GROBID answers 503", 40.0))(
        UngrobidedPdf(capture, pdf_file())
    )
    ended = result.disposition
    assert (ended.verdict, ended.reason, ended.after_s) == (Verdict.DEFERRED, Reason.NOT_YET, 40.0)
    assert (result.items, RESTS) == ((), [40.0])


def test_a_connection_that_broke_off_is_the_runtimes_to_try_again(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    with pytest.raises(TransientError):
        step(bench, TransientError("broke off"))(UngrobidedPdf(capture, pdf_file()))


def test_bytes_that_are_gone_are_a_result_and_stand_aside(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    Path(capture.place.path).unlink()
    result = step(bench)(UngrobidedPdf(capture, pdf_file()))
    (output,) = result.items
    assert isinstance(output, GrobidOutput)
    assert (output.status, output.status_code) == ("error-source", -6)
    assert (result.disposition.verdict, result.disposition.reason) == (
        Verdict.QUARANTINED,
        Reason.MISSING_SOURCE,
    )


@pytest.mark.parametrize(
    ("before", "asked"),
    [
        (None, True),
        (row("success"), False),
        (row("error"), False),
        (row("error-timeout"), True),
        (row("success", "client 0"), True),
    ],
)
def test_nothing_is_asked_twice(bench: Bench, before: GrobidRow | None, asked: bool) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    if before is not None:
        bench.records.put([before])
    work = UngrobidedPdf(capture, pdf_file())
    result = step(bench)(work)
    assert (result.disposition, bool(result.items)) == (DONE, asked)
    assert step(bench)(replace(work, after=MOMENT)).items == result.items
    assert step(bench)(replace(work, after=LATER.replace(year=2030))).items != ()
