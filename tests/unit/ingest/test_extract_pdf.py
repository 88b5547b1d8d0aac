"""extract_pdf: returns a PdfText for every outcome of the reader, with everything that could be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fonds.derivatives.pdf import find_no_ending
from fonds.ingest.steps.extract_pdf import ExtractPdfStep
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import (
    DONE,
    Reason,
    Verdict,
    Weight,
    drop,
    end,
    quarantine,
)
from fonds.model.errors import ChildError, FaultError, PermanentError
from fonds.model.file import UnextractedPdf
from fonds.model.pdf import (
    PAGE0_FORM,
    PdfExtraction,
    PdfStatus,
    PdfText,
    Thumbnail,
)
from fonds.model.pdf_extra import PdfExtra
from fonds.model.step import Result
from fonds.model.task import Task
from fonds.queues.messages.envelope import encode
from fonds.wiring.steps import pass_known_work
from step_bench import PDF, Bench, pdf_file

READ = PdfExtraction(
    PdfStatus.SUCCESS,
    text="words",
    pdf_info={"Title": "A title"},
    pdf_extra=PdfExtra(page_count=3),
    meta_xml="<xmp/>",
    thumbnails={PAGE0_FORM: b"a picture"},
)
BARE = PdfExtraction(
    PdfStatus.SUCCESS,
    text="not requested",
    pdf_info={"Title": "A title"},
    pdf_extra=PdfExtra(page_count=3),
    thumbnails={PAGE0_FORM: b"not requested"},
)


@dataclass
class Reader:
    """A reader that returns or raises its answer and records the bodies it received."""

    answer: PdfExtraction | ChildError
    read: list[bytes] = field(default_factory=list)

    def __call__(self, body: bytes) -> PdfExtraction:
        self.read.append(body)
        if isinstance(self.answer, ChildError):
            raise self.answer
        return self.answer


ReadFunction = Callable[[bytes], PdfExtraction]
RunStep = Callable[[ReadFunction, ReadFunction], tuple[Result, PdfText]]


@pytest.fixture
def capture(bench: Bench) -> Capture:
    return bench.in_warc(PDF, mime="application/pdf")[0]


@pytest.fixture
def read(bench: Bench, capture: Capture) -> RunStep:
    def extract_and_split(extract: ReadFunction, salvage: ReadFunction) -> tuple[Result, PdfText]:
        step = ExtractPdfStep(
            bench.archive, extract, salvage, "reader 1", find_no_ending, pass_known_work
        )
        result = step(UnextractedPdf(capture, pdf_file()))
        text = result.items[-1]
        assert isinstance(text, PdfText)
        return result, text

    return extract_and_split


def test_an_extraction_is_passed_on_with_its_source_and_extractor(
    read: RunStep, capture: Capture
) -> None:
    extract, salvage = Reader(READ), Reader(BARE)
    result, text = read(extract, salvage)
    assert result.disposition is DONE
    assert text == PdfText(
        sha1hex=pdf_file().sha1,
        status=PdfStatus.SUCCESS,
        text="words",
        page0_thumbnail=True,
        meta_xml="<xmp/>",
        pdf_info={"Title": "A title"},
        pdf_extra=PdfExtra(page_count=3),
        file_meta=pdf_file(),
        source=capture,
        extractor="reader 1",
    )
    assert result.items[:-1] == (Thumbnail(pdf_file().sha1, PAGE0_FORM, b"a picture"),)
    assert (extract.read, salvage.read) == ([PDF], [])


@pytest.mark.parametrize("status", list(PdfStatus))
def test_every_status_ends_by_the_weight_of_its_reason(read: RunStep, status: PdfStatus) -> None:
    extraction = PdfExtraction(status, pdf_extra=PdfExtra(page_count=1), error_msg="why")
    result, text = read(Reader(extraction), Reader(BARE))
    if status.reason is None:
        assert result.disposition is DONE
    elif status.reason.weight is Weight.REJECTED:
        assert result.disposition == drop(status.reason, "why")
    else:
        assert result.disposition == quarantine(status.reason, "why")
    assert (text.status, text.error_msg, text.pdf_extra) == (status, "why", PdfExtra(page_count=1))
    assert (text.page0_thumbnail, len(result.items)) == (False, 1)


def test_a_failure_without_message_uses_its_status(read: RunStep) -> None:
    result, _ = read(Reader(PdfExtraction(PdfStatus.ENCRYPTED)), Reader(BARE))
    assert result.disposition == quarantine(Reason.ENCRYPTED_PDF, "encrypted")


def test_a_thumbnail_is_passed_on_even_if_the_text_failed(read: RunStep) -> None:
    extraction = PdfExtraction(PdfStatus.PARSE_ERROR, thumbnails={PAGE0_FORM: b"page 0"})
    result, text = read(Reader(extraction), Reader(BARE))
    assert result.disposition.reason is Reason.BROKEN_PDF
    assert text.page0_thumbnail
    assert result.items[0] == Thumbnail(pdf_file().sha1, PAGE0_FORM, b"page 0")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason.TIMEOUT, PdfStatus.ERROR_TIMEOUT),
        (Reason.OUT_OF_MEMORY, PdfStatus.ERROR_MEMORY),
        (Reason.CRASHED_READER, PdfStatus.ERROR_CRASH),
        (Reason.INTERNAL_ERROR, PdfStatus.ERROR_CRASH),
    ],
)
def test_metadata_is_salvaged_after_the_reader_is_killed(
    read: RunStep, reason: Reason, status: PdfStatus
) -> None:
    salvage = Reader(BARE)
    result, text = read(Reader(ChildError(reason, "stopped")), salvage)
    assert salvage.read == [PDF]
    assert result.disposition == quarantine(status.reason or Reason.TIMEOUT, "stopped")
    assert (text.status, text.error_msg) == (status, "stopped")
    assert (text.pdf_info, text.pdf_extra) == ({"Title": "A title"}, PdfExtra(page_count=3))
    assert (text.text, text.page0_thumbnail, len(result.items)) == (None, False, 1)


def test_the_first_reason_is_kept_if_salvaging_is_killed_too(read: RunStep) -> None:
    timeout = ChildError(Reason.TIMEOUT, "took 60 s")
    result, text = read(Reader(timeout), Reader(ChildError(Reason.CRASHED_READER, "signal 11")))
    assert result.disposition == quarantine(Reason.TIMEOUT, "took 60 s")
    assert (text.status, text.error_msg) == (PdfStatus.ERROR_TIMEOUT, "took 60 s")
    assert (text.pdf_info, text.pdf_extra, text.text) == (None, None, None)
    assert text.file_meta == pdf_file()


def test_bytes_that_changed_since_identification_are_quarantined(bench: Bench) -> None:
    capture = bench.write_file(PDF, "application/pdf")
    Path(capture.place.path).write_bytes(PDF + b"more")
    extract = Reader(READ)
    step = ExtractPdfStep(
        bench.archive, extract, Reader(BARE), "reader 1", find_no_ending, pass_known_work
    )
    result = step(UnextractedPdf(capture, pdf_file()))
    (text,) = result.items
    assert isinstance(text, PdfText)
    assert text.status is PdfStatus.ERROR_SOURCE
    assert capture.place.path in (text.error_msg or "")
    assert "no longer match" in result.disposition.detail
    assert (result.disposition.verdict, result.disposition.reason) == (
        Verdict.QUARANTINED,
        Reason.DAMAGED_RECORD,
    )
    assert extract.read == []


def test_a_missing_source_has_its_own_reason(bench: Bench) -> None:
    capture = bench.write_file(PDF, "application/pdf")
    Path(capture.place.path).unlink()
    result = ExtractPdfStep(
        bench.archive, Reader(READ), Reader(BARE), "reader 1", find_no_ending, pass_known_work
    )(UnextractedPdf(capture, pdf_file()))
    assert result.disposition.reason is Reason.MISSING_SOURCE
    assert [getattr(item, "status", None) for item in result.items] == [PdfStatus.ERROR_SOURCE]


def test_a_fault_of_fonds_is_distinguished_from_a_broken_file(read: RunStep) -> None:
    def raise_fault(body: bytes) -> PdfExtraction:
        raise FaultError("in the child process:\nKeyError")

    result, text = read(raise_fault, Reader(BARE))
    assert result.disposition == quarantine(
        Reason.INTERNAL_ERROR, "in the child process:\nKeyError"
    )
    assert text.status is PdfStatus.ERROR_INTERNAL


def test_each_thumbnail_form_has_its_own_topic_and_precedes_the_text(read: RunStep) -> None:
    extraction = PdfExtraction(PdfStatus.SUCCESS, thumbnails={"360px-webp": b"w", PAGE0_FORM: b"j"})
    result, text = read(Reader(extraction), Reader(BARE))
    assert text.page0_thumbnail
    sha1 = pdf_file().sha1
    webp, jpg = Thumbnail(sha1, "360px-webp", b"w"), Thumbnail(sha1, PAGE0_FORM, b"j")
    assert result.items == (webp, jpg, text)
    assert (webp.tag, jpg.tag) == ("360px-webp", PAGE0_FORM)
    assert encode(webp) == b"w"


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason.UNSUPPORTED_TYPE, PdfStatus.NOT_PDF),
        (Reason.EMPTY_BODY, PdfStatus.EMPTY_BLOB),
        (Reason.TOO_LARGE, PdfStatus.TOO_LARGE),
        (Reason.MISSING_SOURCE, PdfStatus.ERROR_SOURCE),
        (Reason.DAMAGED_RECORD, PdfStatus.ERROR_SOURCE),
    ],
)
@pytest.mark.parametrize("is_raised", [False, True])
def test_a_task_without_pdf_gets_a_result_under_its_sha1(
    bench: Bench, reason: Reason, status: PdfStatus, is_raised: bool
) -> None:
    def take_in(_: Task | UnextractedPdf) -> Result:
        if is_raised:
            raise PermanentError(reason, "the reason in words")
        return Result(end(reason, "the reason in words"))

    def read(_: bytes) -> PdfExtraction:
        raise AssertionError("nothing is read")

    step = ExtractPdfStep(bench.archive, read, read, "reader 2", find_no_ending, take_in)
    task = Task(PlaceKind.PETABOX, "a.pdf", item="item", sha1hex="ab" * 20, id="m1")
    result = step(task)
    (text,) = result.items
    assert isinstance(text, PdfText)
    assert result.disposition == end(reason, "the reason in words")
    assert (text.sha1hex, text.status, text.file_meta) == ("ab" * 20, status, None)
    assert (text.error_msg, text.source.id) == ("the reason in words", "m1")
    assert text.source.place == Place(PlaceKind.PETABOX, "item/a.pdf")
    assert step(replace(task, sha1hex=None)).items == ()


def test_a_known_file_is_not_fetched(bench: Bench) -> None:
    capture = bench.write_file(PDF, "application/pdf")
    Path(capture.place.path).unlink()
    known_ending = quarantine(Reason.BROKEN_PDF, "as before")
    step = ExtractPdfStep(
        bench.archive,
        Reader(READ),
        Reader(BARE),
        "reader 1",
        lambda item: known_ending,
        pass_known_work,
    )
    assert step(UnextractedPdf(capture, pdf_file())) == Result(known_ending)
