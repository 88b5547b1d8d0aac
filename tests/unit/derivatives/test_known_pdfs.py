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
    *("c", "library", "extract_pdf", "c", None, None, "done", False, None, "", FILE.sha1, 0),
    *(EARLIER, EARLIER),
)


def check_known(
    bench: Bench,
    *rows: PdfMetaRow | CrashedPdfRow | DispositionRow,
    item: UnextractedPdf = ITEM,
    has_disposition: bool = True,
) -> Disposition | None:
    bench.records.put([*rows, *([DISPOSITION] if has_disposition else [])])
    return KnownPdfs(bench.records, EXTRACTOR, lambda: NOW)(item)


def test_a_finished_pdf_in_a_retry_is_known(bench: Bench) -> None:
    """A catch-up leaves this state. A PDF that crashed this extractor is not retried before its
    time."""
    retried = replace(DISPOSITION, verdict="retried", is_open=True)
    assert check_known(bench, ROW, retried, has_disposition=False) is DONE
    pending = replace(DISPOSITION, verdict="pending", is_open=True, settled_at=None)
    assert check_known(bench, ROW, pending, has_disposition=False) is None


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
    assert check_known(bench, replace(ROW, updated=NOW), item=requested) is DONE
    later_stop = replace(STOP, stopped=NOW)
    assert check_known(bench, ROW, later_stop, item=requested) is not None


def test_every_crash_status_is_a_limit() -> None:
    assert {status.status_class for status in STOPPED_STATUSES} == {StatusClass.LIMIT}


def test_a_pdf_that_is_pending_in_the_ledger_is_read_again(bench: Bench) -> None:
    """Its rows may exist already. If the step was killed then, its outgoing messages would be
    missing from the ledger."""
    assert (
        check_known(
            bench, ROW, replace(DISPOSITION, verdict="pending", is_open=True), has_disposition=False
        )
        is None
    )
    retried = replace(DISPOSITION, verdict="retried", is_open=True)
    assert check_known(bench, ROW, retried, has_disposition=False) is DONE
