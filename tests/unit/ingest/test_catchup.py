"""Which PDFs are sent to be extracted again, and with what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fonds.derivatives import pdf
from fonds.ingest.catch_up import CatchUp, CatchUpCount, CatchUpSelection
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.errors import StoreUnavailableError
from fonds.model.file import FileMeta, UnextractedPdf
from fonds.model.message import DEFAULT_TRAITS, PIPELINE, Message, Subscription
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
)
from fonds.queues.messages.envelope import decode, encode
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.journal_table.cells import build_file_cells
from fonds.stores.journal_table.keys import build_row_key
from step_bench import JOURNAL, MOMENT, Bench, open_bench, pdf_file

NOW = datetime(2024, 5, 6, tzinfo=UTC)
OUR_EXTRACTOR = "reader 2"
READER = Subscription("library.extract_pdf", "x.unextracted", DEFAULT_TRAITS, "library")


@dataclass
class DeliveryBuffer:
    """Stored files and the queue that they are sent to."""

    bench: Bench
    queue: SqliteQueue
    count: int = 0
    rooms: list[bool] = field(default_factory=list)

    def file(
        self,
        status: str | None = "success",
        *,
        extractor: str = OUR_EXTRACTOR,
        verdict: str | None = "done",
        kind: str = "file",
        place: Place | None = None,
        cdx: CdxRow | None = None,
        pipeline: str = "library",
    ) -> FileMeta:
        """Store a PDF with its rows.

        `status` None: it has no extraction. `verdict` None: this pipeline never sent it to extraction.
        `verdict` "pending": its message is in flight.
        """
        self.count += 1
        file, name = pdf_file(b"%%PDF-%d" % self.count), f"c{self.count}"
        file_place = place or Place(PlaceKind.FILE, f"/papers/{self.count}.pdf")
        capture = Capture(
            name, f"i{self.count}", file_place, "http://e.org/", MOMENT, "file", "buffer"
        )
        self.bench.enter(capture, pipeline=pipeline)
        rows, ledger = self.bench.records, self.bench.records.ledger
        facts = ("f", 0, 1, {}, 0, True, None, NOW, pipeline)
        ledger.enter([InputRow(capture.input_id, file_place.path, kind, *facts)], [], ())
        rows.put([FileMetaRow(file.sha1, file.sha256, file.md5, file.size, file.mime, name, NOW)])
        self.bench.table.put(JOURNAL, [(build_row_key(file.sha1), build_file_cells(file))])
        if cdx is not None:
            rows.put([replace(cdx, capture_id=name, sha1hex=file.sha1)])
        if status is not None:
            rows.put([build_pdf_row(file.sha1, status, extractor)])
        dispositions = [build_disposition(name, "identify", "done", file.sha1, pipeline)]
        if verdict is not None:
            dispositions.append(
                build_disposition(name, "extract_pdf", verdict, file.sha1, pipeline)
            )
        ledger.write(dispositions)
        return file

    def send(self, **options: object) -> tuple[CatchUpCount, list[UnextractedPdf]]:
        """Run a catch-up and return its counts and the messages on the queue."""
        selection = CatchUpSelection(pdf.KIND, OUR_EXTRACTOR, **options)  # type: ignore[arg-type]
        rooms = iter(self.rooms)
        sender = CatchUp(
            self.queue, self.bench.records, self.bench.records.ledger, self.bench.table, JOURNAL,
            READER, selection, lambda: NOW, lambda: next(rooms, True),
        )  # fmt: skip
        sent = sender.run(lambda sent, captures: None)
        deliveries = self.queue.receive(READER.incoming, 100, 0.0)
        return sent, [decode(delivery.message, UnextractedPdf) for delivery in deliveries]


def build_disposition(
    entry_id: str, step: str, verdict: str, sha1hex: str, pipeline: str
) -> DispositionRow:
    parents = (None, None) if step == "identify" else (entry_id, "persist_file")
    is_open = verdict == "pending"
    return DispositionRow(
        *(entry_id, pipeline, step, entry_id, *parents),
        *(verdict, is_open, None, "", sha1hex, 0, MOMENT, None if is_open else MOMENT),
    )


def build_pdf_row(sha1hex: str, status: str, extractor: str) -> PdfMetaRow:
    return PdfMetaRow(
        sha1hex, NOW - timedelta(days=2), status, False, *(None,) * 8, extractor, None
    )  # fmt: skip


@pytest.fixture
def buffer(tmp_path: Path) -> Iterator[DeliveryBuffer]:
    bench, queue = open_bench(tmp_path), SqliteQueue(tmp_path / "queue.sqlite")
    queue.declare([READER])
    yield DeliveryBuffer(bench, queue)
    queue.close()
    bench.close()


def test_files_without_extraction_with_errors_or_another_extractor_are_sent(
    buffer: DeliveryBuffer,
) -> None:
    expected = {
        buffer.file(None).sha1,
        buffer.file("error-timeout").sha1,
        buffer.file("error-source").sha1,
        buffer.file("error-internal").sha1,
        buffer.file("success", extractor="reader 1").sha1,
        buffer.file("encrypted", extractor="reader 1").sha1,
    }
    buffer.file("success")
    buffer.file("parse-error")
    sent, work = buffer.send()
    assert {item.file.sha1 for item in work} == expected
    assert (sent.examined, sent.sent, sent.in_flight, sent.lost) == (8, 6, 0, 0)
    assert {item.after for item in work} == {None}


def test_a_sent_item_equals_the_original_message(buffer: DeliveryBuffer) -> None:
    file = buffer.file(None)
    _, (work,) = buffer.send()
    assert work.file == file
    assert (work.capture.id, work.capture.input_id) == ("c1", "i1")
    assert (work.capture.collection, work.capture.captured_at) == ("buffer", MOMENT)


CDX = CdxRow(
    "", "", "http://e.org/", "org,e)/", "org,e)/", "20240506000000", "application/pdf",
    200, "a.warc.gz", 80, 512, NOW,
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "place", "cdx", "expected"),
    [
        ("file", None, None, Place(PlaceKind.FILE, "/papers/1.pdf")),
        ("file", None, CDX, Place(PlaceKind.WARC, "a.warc.gz", 512, 80)),
        (
            "zip",
            Place(PlaceKind.ZIP, "/a#b.zip", member="in/x#1.pdf"),
            None,
            Place(PlaceKind.ZIP, "/a#b.zip", member="in/x#1.pdf"),
        ),
        (
            "file",
            None,
            replace(CDX, mimetype="warc/revisit"),
            Place(PlaceKind.FILE, "/papers/1.pdf"),
        ),
    ],
)
def test_a_sent_item_has_the_current_place_of_the_bytes(
    buffer: DeliveryBuffer, kind: str, place: Place | None, cdx: CdxRow | None, expected: Place
) -> None:
    buffer.file(None, kind=kind, place=place, cdx=cdx)
    _, (work,) = buffer.send()
    assert work.capture.place == expected


def test_a_file_without_known_place_is_counted_as_lost(buffer: DeliveryBuffer) -> None:
    buffer.file(None, kind="warc")
    sent, work = buffer.send()
    assert (sent.lost, sent.sent, work) == (1, 0, [])


def test_a_sent_file_is_pending_and_files_in_flight_are_skipped(
    buffer: DeliveryBuffer,
) -> None:
    buffer.file(None)
    buffer.file(None, verdict="pending")
    sent, work = buffer.send()
    assert (sent.sent, sent.in_flight, len(work)) == (1, 1, 1)
    (row,) = buffer.bench.records.get(DispositionRow, [("c1", "library", "extract_pdf")])
    assert (row.verdict, row.is_open, row.parent_step) == ("retried", True, "persist_file")
    (entry,) = buffer.bench.records.get(EntryRow, [("c1", "library")])
    assert (entry.outcome, entry.open_count) == ("pending", 1)
    assert buffer.bench.records.ledger.recount() == []


def test_a_file_new_to_the_pipeline_gets_a_ledger_row_before_it_is_sent(
    buffer: DeliveryBuffer,
) -> None:
    """Files of a pipeline without extraction enter this pipeline without an input."""
    buffer.file(None, verdict=None)
    buffer.file(None, verdict=None, pipeline="archive-only")
    sent, work = buffer.send()
    assert (sent.sent, {item.capture.id for item in work}) == (2, {"c1", "c2"})
    records = buffer.bench.records
    rows = {row.entry_id: row for row in records.find(EntryRow, {"pipeline": "library"})}
    assert {name: row.outcome for name, row in rows.items()} == {"c1": "pending", "c2": "pending"}
    assert (rows["c1"].input_id, rows["c2"].input_id) == ("i1", "")
    (other_row,) = records.get(EntryRow, [("c2", "archive-only")])
    assert other_row.outcome == "done"
    sent_rows = records.find(DispositionRow, {"step": "extract_pdf"})
    assert [(row.message_id, row.pipeline, row.is_open) for row in sent_rows] == [
        ("c1.extract_pdf", "library", True),
        ("c2.extract_pdf", "library", True),
    ]
    assert records.ledger.recount() == []


def test_sending_twice_leaves_one_message_on_the_queue(buffer: DeliveryBuffer) -> None:
    buffer.file(None)
    _, first = buffer.send()
    sent, second = buffer.send()
    assert (sent.sent, len(first), len(second)) == (1, 1, 0)


@pytest.mark.parametrize("verdict", ["done", None])
def test_a_crash_between_ledger_and_queue_is_repaired_by_the_next_run(
    buffer: DeliveryBuffer, verdict: str | None
) -> None:
    buffer.file(None, verdict=verdict)
    real, buffer.queue = buffer.queue, FailingQueue(buffer.queue)  # type: ignore[assignment]
    with pytest.raises(StoreUnavailableError):
        buffer.send()
    buffer.queue = real
    sent, work = buffer.send()
    assert (sent.sent, len(work)) == (1, 1)
    assert len(list(buffer.bench.records.find(DispositionRow, {"step": "extract_pdf"}))) == 1


@dataclass
class FailingQueue:
    """A queue that fails on every put."""

    real: SqliteQueue

    def put(self, *_: object, **__: object) -> None:
        raise StoreUnavailableError("gone")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def test_rereads_send_all_matching_files_with_the_request_time(
    buffer: DeliveryBuffer,
) -> None:
    buffer.file("success")
    encrypted = buffer.file("encrypted")
    sent, work = buffer.send(rereads=True, statuses=frozenset({"encrypted"}))
    assert [(item.file, item.after) for item in work] == [(encrypted, NOW)]
    assert sent.sent == 1


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"made_by": "reader"}, 2),
        ({"made_by": "reader 1"}, 1),
        ({"before_time": NOW}, 2),
        ({"before_time": NOW - timedelta(days=3)}, 0),
        ({}, 3),
    ],
)
def test_files_are_selected_by_status_extractor_and_age(
    buffer: DeliveryBuffer, options: dict[str, object], count: int
) -> None:
    buffer.file("success")
    buffer.file("success", extractor="reader 1")
    buffer.file(None)
    assert buffer.send(rereads=True, **options)[0].sent == count


def test_quarantined_messages_are_taken_from_the_quarantine_and_sent_once(
    buffer: DeliveryBuffer,
) -> None:
    quarantined, parse_error = (
        buffer.file("encrypted", verdict="quarantined"),
        buffer.file("parse-error"),
    )
    capture = Capture("c1", "i1", Place(PlaceKind.FILE, "/p"), "http://e.org/", MOMENT, "file")
    headers = {PIPELINE: "library", "reason": "x"}
    messages = [
        Message(
            "c1",
            encode(UnextractedPdf(capture, quarantined)),
            quarantined.sha1,
            headers=headers,
        ),
        Message("c2", b"unreadable", parse_error.sha1),
    ]
    buffer.queue.put(READER.quarantine, messages)
    sent, work = buffer.send(rereads=True, statuses=frozenset({"encrypted"}))
    assert [(item.capture.id, item.after) for item in work] == [("c1", NOW)]
    assert sent.sent == 1
    assert buffer.queue.get_depth(READER).quarantined == 1


def test_nothing_is_sent_while_the_queue_is_full(buffer: DeliveryBuffer) -> None:
    buffer.file(None)
    buffer.rooms = [False]
    sent, work = buffer.send()
    assert (sent.examined, work) == (0, [])


def test_files_to_send_are_counted_by_status(buffer: DeliveryBuffer) -> None:
    buffer.file(None)
    buffer.file("error-crash")
    buffer.file("success")
    assert CatchUpSelection(pdf.KIND, OUR_EXTRACTOR).count_by_status(buffer.bench.records) == {
        "": 1,
        "error-crash": 1,
    }
