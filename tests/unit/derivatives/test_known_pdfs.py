"""What is known of a PDF is asked before its bytes are fetched."""

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
OURS = "reader 2"
ROW = PdfMetaRow(
    FILE.sha1, EARLIER, "success", False, 1, 1, None, None, None, None, None, None, OURS, "as told"
)
STOP = CrashedPdfRow(
    FILE.sha1, OURS, "error-timeout", "took 60 s", EARLIER, NOW + timedelta(days=1)
)

ENDED = DispositionRow(
    *("c", "library", "extract_pdf", "c", None, None, "done", False, None, "", FILE.sha1, 0),
    *(EARLIER, EARLIER),
)


def asked(
    bench: Bench,
    *rows: PdfMetaRow | CrashedPdfRow | DispositionRow,
    item: UnextractedPdf = ITEM,
    ended: bool = True,
) -> Disposition | None:
    bench.records.put([*rows, *([ENDED] if ended else [])])
    return KnownPdfs(bench.records, OURS, lambda: NOW)(item)


def test_what_ended_and_is_to_be_read_again_is_known(bench: Bench) -> None:
    """As a catch-up leaves it: what stopped this reader is not tried again before its time."""
    sent = replace(ENDED, verdict="retried", is_open=True)
    assert asked(bench, ROW, sent, ended=False) is DONE
    begun = replace(ENDED, verdict="pending", is_open=True, settled_at=None)
    assert asked(bench, ROW, begun, ended=False) is None


def test_what_nobody_knows_is_read(bench: Bench) -> None:
    assert asked(bench) is None


@pytest.mark.parametrize("status", list(PdfStatus))
def test_what_this_extractor_has_brought_to_an_end_is_not_read_again(
    bench: Bench, status: PdfStatus
) -> None:
    ended = asked(bench, replace(ROW, status=str(status)))
    if status.status_class is StatusClass.OK:
        assert ended is DONE
    elif status is PdfStatus.EMPTY_BLOB:
        assert ended is None, "a task led to no bytes, and this file has some"
    elif status.status_class is StatusClass.CONTENT:
        assert ended is not None
        assert (ended.reason, ended.detail) == (status.reason, "as told")
    else:
        assert ended is None


def test_another_extractor_reads_it_anew(bench: Bench) -> None:
    assert (
        asked(bench, replace(ROW, extractor="reader 1"), replace(STOP, extractor="reader 1"))
        is None
    )


def test_what_stopped_a_reader_waits_until_its_time_is_over(bench: Bench) -> None:
    row = replace(ROW, status="error-timeout")
    assert asked(bench, row, STOP) == quarantine(
        Reason.TIMEOUT, "took 60 s; next attempt after 2024-03-06"
    )
    assert asked(bench, row, replace(STOP, expires=NOW)) is None


def test_it_waits_even_when_an_older_success_stands_in_the_row(bench: Bench) -> None:
    ended = asked(bench, replace(ROW, extractor="reader 1"), STOP)
    assert ended is not None
    assert ended.reason is Reason.TIMEOUT


def test_whoever_asks_for_it_again_gets_it_again_but_once(bench: Bench) -> None:
    again = replace(ITEM, after=NOW)
    assert asked(bench, ROW, STOP, item=again) is None
    assert asked(bench, replace(ROW, updated=NOW), item=again) is DONE
    late = replace(STOP, stopped=NOW)
    assert asked(bench, ROW, late, item=again) is not None


def test_each_status_that_stops_a_reader_is_a_limit() -> None:
    assert {one.status_class for one in STOPPED_STATUSES} == {StatusClass.LIMIT}


def test_what_was_begun_and_never_ended_on_the_books_is_done_again(bench: Bench) -> None:
    """Its rows may be there already: killed then, what it handed on would be missing from the books."""
    assert asked(bench, ROW, replace(ENDED, verdict="pending", is_open=True), ended=False) is None
    again = replace(ENDED, verdict="retried", is_open=True)
    assert asked(bench, ROW, again, ended=False) is DONE
