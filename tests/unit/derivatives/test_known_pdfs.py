"""Known results of a PDF are checked before its bytes are fetched."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fonds.derivatives.pdf import KnownPdfs
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import DONE, Disposition, Reason, quarantine
from fonds.model.file import UnextractedPdf
from fonds.model.pdf import STOPPED_STATUSES, PdfStatus, StatusClass
from fonds.model.rows import CrashedPdfRow, DispositionRow, PdfMetaRow
from step_bench import Bench, pdf_file

NOW = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
EARLIER = NOW - timedelta(days=3)
FILE = pdf_file()
CAPTURE = Capture("c", "i", Place(PlaceKind.FILE, "/x.pdf"), "http://e.org/", NOW, "file")
ITEM = UnextractedPdf(CAPTURE, FILE)
EXTRACTOR = "reader 2"
ROW = PdfMetaRow(
    FILE.sha1,
    EARLIER,
    "success",
    False,
    1,
    1,
    None,
    None,
    None,
    None,
    None,
    None,
    EXTRACTOR,
    "as told",
)
STOP = CrashedPdfRow(
    FILE.sha1, EXTRACTOR, "error-timeout", "took 60 s", EARLIER, NOW + timedelta(days=1)
)

DISPOSITION = DispositionRow(
    *("c", "library", "persist_pdf_text", "c", None, None, "done", False, None, "", FILE.sha1, 0),
    *(EARLIER, EARLIER),
)
CONFIRMED_NOW = replace(DISPOSITION, message_id="again", settled_at=NOW)


def check_known(
    bench: Bench,
    *rows: PdfMetaRow | CrashedPdfRow | DispositionRow,
    item: UnextractedPdf = ITEM,
    has_disposition: bool = True,
) -> Disposition | None:
    bench.records.put([*rows, *([DISPOSITION] if has_disposition else [])])
    return KnownPdfs(bench.records, EXTRACTOR, lambda: NOW)(item)


def test_an_unknown_pdf_is_read(bench: Bench) -> None:
    assert check_known(bench) is None


@pytest.mark.parametrize("status", list(PdfStatus))
def test_a_pdf_finished_by_this_extractor_is_not_read_again(
    bench: Bench, status: PdfStatus
) -> None:
    disposition = check_known(bench, replace(ROW, status=str(status)))
    if status.status_class is StatusClass.OK:
        assert disposition is DONE
    elif status is PdfStatus.EMPTY_BLOB:
        assert disposition is None, "a task had no bytes, but this file has some"
    elif status.status_class is StatusClass.CONTENT:
        assert disposition is not None
        assert (disposition.reason, disposition.detail) == (status.reason, "as told")
    else:
        assert disposition is None


def test_another_extractor_reads_the_pdf_again(bench: Bench) -> None:
    assert (
        check_known(bench, replace(ROW, extractor="reader 1"), replace(STOP, extractor="reader 1"))
        is None
    )


def test_a_pdf_that_crashed_the_extractor_waits_until_its_time(bench: Bench) -> None:
    row = replace(ROW, status="error-timeout")
    assert check_known(bench, row, STOP) == quarantine(
        Reason.TIMEOUT, "took 60 s; next attempt after 2024-03-06"
    )
    assert check_known(bench, row, replace(STOP, expires=NOW)) is None


def test_it_waits_even_if_the_row_has_an_older_success(bench: Bench) -> None:
    disposition = check_known(bench, replace(ROW, extractor="reader 1"), STOP)
    assert disposition is not None
    assert disposition.reason is Reason.TIMEOUT


def test_a_requested_repetition_runs_once(bench: Bench) -> None:
    requested = replace(ITEM, after=NOW)
    assert check_known(bench, ROW, STOP, item=requested) is None
    assert check_known(bench, replace(ROW, updated=NOW), CONFIRMED_NOW, item=requested) is DONE
    later_stop = replace(STOP, stopped=NOW)
    assert check_known(bench, ROW, later_stop, item=requested) is not None


def test_every_crash_status_is_a_limit() -> None:
    assert {status.status_class for status in STOPPED_STATUSES} == {StatusClass.LIMIT}


@pytest.mark.parametrize(
    "disposition",
    [
        replace(DISPOSITION, verdict="pending", is_open=True, settled_at=None),
        replace(DISPOSITION, settled_at=EARLIER - timedelta(seconds=1)),
        replace(DISPOSITION, step="extract_pdf"),
        replace(DISPOSITION, about="0" * 40),
    ],
    ids=["pending", "an earlier outcome", "another step", "another file"],
)
def test_a_row_that_the_ledger_does_not_confirm_is_computed_again(
    bench: Bench, disposition: DispositionRow
) -> None:
    """A process that is killed after the row leaves the index and the next steps without it."""
    assert check_known(bench, ROW, disposition, has_disposition=False) is None
    stopped_row = replace(ROW, status="error-timeout")
    assert check_known(bench, stopped_row, STOP, disposition, has_disposition=False) is None


def test_a_row_that_the_ledger_confirms_is_known_during_a_catch_up(bench: Bench) -> None:
    retried = replace(DISPOSITION, message_id="r", step="extract_pdf", verdict="retried")
    assert check_known(bench, ROW, replace(retried, is_open=True)) is DONE
