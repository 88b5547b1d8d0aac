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
OURS = "reader 2"
READER = Subscription("library.extract_pdf", "x.unextracted", DEFAULT_TRAITS, "library")


@dataclass
class DeliveryBuffer:
    """Files that are here already, and the queue they are sent to."""

    bench: Bench
    queue: SqliteQueue
    count: int = 0
    rooms: list[bool] = field(default_factory=list)

    def file(
        self,
        status: str | None = "success",
        *,
        extractor: str = OURS,
        verdict: str | None = "done",
        kind: str = "file",
        place: Place | None = None,
        cdx: CdxRow | None = None,
        pipeline: str = "library",
    ) -> FileMeta:
        """A PDF with its rows; `status` None: nothing is known of it; `verdict` None: it was never sent to be
        extracted in this pipeline; `pending`: it is on its way."""
        self.count += 1
        file, name = pdf_file(b"%%PDF-%d" % self.count), f"c{self.count}"
        where = place or Place(PlaceKind.FILE, f"/papers/{self.count}.pdf")
        capture = Capture(name, f"i{self.count}", where, "http://e.org/", MOMENT, "file", "buffer")
        self.bench.enter(capture, pipeline=pipeline)
        rows, ledger = self.bench.records, self.bench.records.ledger
        facts = ("f", 0, 1, {}, 0, True, None, NOW, pipeline)
        ledger.enter([InputRow(capture.input_id, where.path, kind, *facts)], [], ())
        rows.put([FileMetaRow(file.sha1, file.sha256, file.md5, file.size, file.mime, name, NOW)])
        self.bench.table.put(JOURNAL, [(build_row_key(file.sha1), build_file_cells(file))])
        if cdx is not None:
            rows.put([replace(cdx, capture_id=name, sha1hex=file.sha1)])
        if status is not None:
            rows.put([pdf_row(file.sha1, status, extractor)])
        ended = [disposition(name, "identify", "done", file.sha1, pipeline)]
        if verdict is not None:
            ended.append(disposition(name, "extract_pdf", verdict, file.sha1, pipeline))
        ledger.write(ended)
        return file

    def send(self, **how: object) -> tuple[CatchUpCount, list[UnextractedPdf]]:
        """What was said, and the work that lies on the queue afterwards."""
        wanted = CatchUpSelection(pdf.KIND, OURS, **how)  # type: ignore[arg-type]
        rooms = iter(self.rooms)
        sender = CatchUp(
            self.queue, self.bench.records, self.bench.records.ledger, self.bench.table, JOURNAL,
            READER, wanted, lambda: NOW, lambda: next(rooms, True),
        )  # fmt: skip
        sent = sender.run(lambda sent, captures: None)
        found = self.queue.receive(READER.incoming, 100, 0.0)
        return sent, [decode(one.message, UnextractedPdf) for one in found]


def disposition(
    entry_id: str, step: str, verdict: str, sha1hex: str, pipeline: str
) -> DispositionRow:
    parents = (None, None) if step == "identify" else (entry_id, "persist_file")
    is_open = verdict == "pending"
    return DispositionRow(
        *(entry_id, pipeline, step, entry_id, *parents),
        *(verdict, is_open, None, "", sha1hex, 0, MOMENT, None if is_open else MOMENT),
    )


def pdf_row(sha1hex: str, status: str, extractor: str) -> PdfMetaRow:
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


def test_what_has_no_extraction_a_failed_or_another_one_is_sent(buffer: DeliveryBuffer) -> None:
    wanted = {
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
    assert {one.file.sha1 for one in work} == wanted
    assert (sent.examined, sent.sent, sent.in_flight, sent.lost) == (8, 6, 0, 0)
    assert {one.after for one in work} == {None}


def test_the_work_is_as_it_was_the_first_time(buffer: DeliveryBuffer) -> None:
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
    ("kind", "place", "cdx", "found"),
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
def test_the_bytes_are_looked_for_where_they_are_now(
    buffer: DeliveryBuffer, kind: str, place: Place | None, cdx: CdxRow | None, found: Place
) -> None:
    buffer.file(None, kind=kind, place=place, cdx=cdx)
    _, (work,) = buffer.send()
    assert work.capture.place == found


def test_what_nobody_can_find_is_counted(buffer: DeliveryBuffer) -> None:
    buffer.file(None, kind="warc")
    sent, work = buffer.send()
    assert (sent.lost, sent.sent, work) == (1, 0, [])


def test_what_is_sent_counts_as_pending_until_it_ends_and_what_is_on_its_way_is_left(
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


def test_what_this_pipeline_never_extracted_is_promised_before_it_is_sent(
    buffer: DeliveryBuffer,
) -> None:
    """As for files of a pipeline that extracts nothing: they enter this one, of no input of its."""
    buffer.file(None, verdict=None)
    buffer.file(None, verdict=None, pipeline="archive-only")
    sent, work = buffer.send()
    assert (sent.sent, {one.capture.id for one in work}) == (2, {"c1", "c2"})
    records = buffer.bench.records
    rows = {row.entry_id: row for row in records.find(EntryRow, {"pipeline": "library"})}
    assert {name: row.outcome for name, row in rows.items()} == {"c1": "pending", "c2": "pending"}
    assert (rows["c1"].input_id, rows["c2"].input_id) == ("i1", "")
    (other,) = records.get(EntryRow, [("c2", "archive-only")])
    assert other.outcome == "done"
    sent_rows = records.find(DispositionRow, {"step": "extract_pdf"})
    assert [(row.message_id, row.pipeline, row.is_open) for row in sent_rows] == [
        ("c1.extract_pdf", "library", True),
        ("c2.extract_pdf", "library", True),
    ]
    assert records.ledger.recount() == []


def test_sent_again_after_a_death_it_lies_on_the_queue_once(buffer: DeliveryBuffer) -> None:
    buffer.file(None)
    _, first = buffer.send()
    sent, again = buffer.send()
    assert (sent.sent, len(first), len(again)) == (1, 1, 0)


@pytest.mark.parametrize("verdict", ["done", None])
def test_a_death_after_the_books_and_before_the_queue_is_made_good(
    buffer: DeliveryBuffer, verdict: str | None
) -> None:
    buffer.file(None, verdict=verdict)
    real, buffer.queue = buffer.queue, Dies(buffer.queue)  # type: ignore[assignment]
    with pytest.raises(StoreUnavailableError):
        buffer.send()
    buffer.queue = real
    sent, work = buffer.send()
    assert (sent.sent, len(work)) == (1, 1)
    assert len(list(buffer.bench.records.find(DispositionRow, {"step": "extract_pdf"}))) == 1


@dataclass
class Dies:
    """A queue that goes away when something is put on it."""

    real: SqliteQueue

    def put(self, *_: object, **__: object) -> None:
        raise StoreUnavailableError("gone")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def test_asked_for_again_everything_that_fits_is_sent_with_the_moment_it_was_asked_for(
    buffer: DeliveryBuffer,
) -> None:
    buffer.file("success")
    encrypted = buffer.file("encrypted")
    sent, work = buffer.send(rereads=True, statuses=frozenset({"encrypted"}))
    assert [(one.file, one.after) for one in work] == [(encrypted, NOW)]
    assert sent.sent == 1


@pytest.mark.parametrize(
    ("how", "count"),
    [
        ({"made_by": "reader"}, 2),
        ({"made_by": "reader 1"}, 1),
        ({"before_time": NOW}, 2),
        ({"before_time": NOW - timedelta(days=3)}, 0),
        ({}, 3),
    ],
)
def test_status_extractor_and_age_choose(
    buffer: DeliveryBuffer, how: dict[str, object], count: int
) -> None:
    buffer.file("success")
    buffer.file("success", extractor="reader 1")
    buffer.file(None)
    assert buffer.send(rereads=True, **how)[0].sent == count


def test_messages_set_apart_are_taken_from_there_and_sent_once(buffer: DeliveryBuffer) -> None:
    apart, kept = buffer.file("encrypted", verdict="quarantined"), buffer.file("parse-error")
    capture = Capture("c1", "i1", Place(PlaceKind.FILE, "/p"), "http://e.org/", MOMENT, "file")
    headers = {PIPELINE: "library", "reason": "x"}
    messages = [
        Message(
            "c1",
            encode(UnextractedPdf(capture, apart)),
            apart.sha1,
            headers=headers,
        ),
        Message("c2", b"what nobody can read", kept.sha1),
    ]
    buffer.queue.put(READER.quarantine, messages)
    sent, work = buffer.send(rereads=True, statuses=frozenset({"encrypted"}))
    assert [(one.capture.id, one.after) for one in work] == [("c1", NOW)]
    assert sent.sent == 1
    assert buffer.queue.get_depth(READER).quarantined == 1


def test_without_room_nothing_more_is_sent(buffer: DeliveryBuffer) -> None:
    buffer.file(None)
    buffer.rooms = [False]
    sent, work = buffer.send()
    assert (sent.examined, work) == (0, [])


def test_what_would_be_sent_can_be_counted_before(buffer: DeliveryBuffer) -> None:
    buffer.file(None)
    buffer.file("error-crash")
    buffer.file("success")
    assert CatchUpSelection(pdf.KIND, OURS).count_by_status(buffer.bench.records) == {
        "": 1,
        "error-crash": 1,
    }


def test_a_file_is_in_flight_while_any_of_its_messages_is_open(buffer: DeliveryBuffer) -> None:
    """A later message about the same file may have ended before."""
    file = buffer.file(None)
    earlier = replace(
        disposition("c1", "extract_pdf", "pending", file.sha1, "library"),
        message_id="c0.extract_pdf",
        promised_at=MOMENT - timedelta(hours=1),
    )
    buffer.bench.records.ledger.write([earlier])
    sent, work = buffer.send()
    assert (sent.sent, sent.in_flight, work) == (0, 1, [])
