"""Sends PDFs to be extracted that never were, that failed, or that an older extractor read.

It streams the files out of the records, any number of them. Interrupted, it is simply begun again: what
was done meanwhile is no longer wanted, and what is on its way is done once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from fonds.formats.envelope import decode, encode
from fonds.formats.journal import FILE_META, read_file, row_key
from fonds.model.capture import Capture, Place, PlaceKind, from_datetime14
from fonds.model.disposition import Verdict
from fonds.model.errors import PermanentError
from fonds.model.file import FileMeta, Unextracted
from fonds.model.message import ENTRY, PIPELINE, Message, Subscription
from fonds.model.pdf import PdfStatus, StatusClass
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
)
from fonds.ports import Ledger, Queue, Records, Table
from fonds.runtime.binding import stage_of
from fonds.runtime.packing import RUN
from fonds.runtime.quarantine import BATCH_MAX, ended_by_hand, put_back

PDF_MIME, REVISIT_MIME = "application/pdf", "warc/revisit"
AGAIN = frozenset({StatusClass.LIMIT, StatusClass.TRANSIENT, StatusClass.INTERNAL})


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which PDFs are to be extracted, by what is known of them.

    Without `again`: those of whom nothing is known, who failed for a reason that may be gone, or were
    read by another extractor than `extractor`. With it: those that fit all of `statuses`, `made_by` (the
    beginning of an extractor's name) and `before`, whatever else is known of them.
    """

    extractor: str
    again: bool = False
    statuses: frozenset[str] = frozenset()
    made_by: str = ""
    before: datetime | None = None

    def __call__(self, row: PdfMetaRow | None) -> bool:
        """Whether a file with this row is wanted; None is a file without one."""
        if row is None:
            return not self.statuses and not self.made_by and self.before is None
        if self.again:
            return (
                (not self.statuses or row.status in self.statuses)
                and row.extractor.startswith(self.made_by)
                and (self.before is None or row.updated < self.before)
            )
        return row.extractor != self.extractor or PdfStatus(row.status).status_class in AGAIN

    def count(self, records: Records) -> dict[str, int]:
        """How many files are wanted, by the status they have; '' for those that have none."""
        counts: Counter[str] = Counter()
        files = records.find(FileMetaRow, {"mimetype": PDF_MIME})
        while batch := [row.sha1hex for row in islice(files, BATCH_MAX)]:
            known = {row.sha1hex: row for row in records.get(PdfMetaRow, batch)}
            rows = [known.get(sha1hex) for sha1hex in batch]
            counts.update(row.status if row else "" for row in rows if self(row))
        return dict(counts)


@dataclass(slots=True)
class Sent:
    """How many files were looked at, how many sent, and how many are on their way from before.

    `lost` are wanted and nobody knows where their bytes are.
    """

    seen: int = 0
    sent: int = 0
    on_their_way: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Puts work to `reader`, the step that extracts. `room` returns when there is room on the queue.

    `journal` is the name of the journal-extract table, `clock` gives aware UTC.
    """

    queue: Queue
    records: Records
    ledger: Ledger
    table: Table
    journal: str
    reader: Subscription
    wanted: Wanted
    clock: Callable[[], datetime]
    room: Callable[[], bool]

    def run(self, tick: Callable[[Sent, Sequence[EntryRow]], None]) -> Sent:
        """Send all that is wanted, unless `room` says to stop; `tick` is told of each batch."""
        sent = Sent()
        after = self.clock() if self.wanted.again else None
        freed = self._out_of_quarantine(after, sent, tick)
        files = self.records.find(FileMetaRow, {"mimetype": PDF_MIME})
        while batch := list(islice(files, BATCH_MAX)):
            if not self.room():
                break
            tick(sent, self._send(batch, after, freed, sent))
        return sent

    def _out_of_quarantine(
        self,
        after: datetime | None,
        sent: Sent,
        tick: Callable[[Sent, Sequence[EntryRow]], None],
    ) -> set[str]:
        """Messages set apart are taken from there, so that none is left of a file that was read.

        Returns the SHA-1s of their files.
        """
        left, freed = [], set[str]()
        while deliveries := self.queue.receive(self.reader.quarantine, BATCH_MAX, 0.0):
            known = self._pdf_rows([one.message.key for one in deliveries])
            chosen = [one for one in deliveries if self.wanted(known.get(one.message.key))]
            kept = {one.message.id for one in chosen}
            left += [one for one in deliveries if one.message.id not in kept]
            again = [replace(one, message=_dated(one.message, after)) for one in chosen]
            put_back(self.queue, self.ledger, self.reader, again, self.clock())
            sent.sent += len(chosen)
            freed |= {one.message.about for one in chosen}
            entries = [one.message.entry for one in chosen]
            tick(sent, list(self.records.find(EntryRow, {"entry_id": entries})))
        self.queue.release(left)
        return freed

    def _send(
        self, files: Sequence[FileMetaRow], after: datetime | None, freed: set[str], sent: Sent
    ) -> Sequence[EntryRow]:
        known = self._pdf_rows([file.sha1hex for file in files])
        fresh = [file for file in files if file.sha1hex not in freed]
        chosen = [file for file in fresh if self.wanted(known.get(file.sha1hex))]
        sent.seen += len(files)
        last = self._last([file.sha1hex for file in chosen])
        ready = [file for file in chosen if _is_over(last.get(file.sha1hex))]
        sent.on_their_way += len(chosen) - len(ready)
        captures = self._captures(ready)
        work = list(self._work(ready, captures, after))
        sent.lost += len(ready) - len(work)
        sent.sent += len(work)
        self._enter(work, last, captures)
        return [captures[one.capture.id] for one in work]

    def _last(self, sha1hexes: Sequence[str]) -> dict[str, DispositionRow]:
        """How the last extraction of each file ended, in this pipeline."""
        pipeline, step = stage_of(self.reader)
        where = {"about": list(sha1hexes), "pipeline": pipeline, "step": step}
        rows = self.records.find(DispositionRow, where) if sha1hexes else iter(())
        last: dict[str, DispositionRow] = {}
        for row in rows:
            before = last.get(row.about or "")
            if before is None or (row.is_open, row.promised_at) >= (
                before.is_open,
                before.promised_at,
            ):
                last[row.about or ""] = row
        return last

    def _captures(self, files: Sequence[FileMetaRow]) -> dict[str, EntryRow]:
        """The captures that brought these files, whichever pipeline they came into."""
        wanted = {"entry_id": [file.capture_id for file in files]}
        return {row.entry_id: row for row in self.records.find(EntryRow, wanted)} if files else {}

    def _enter(
        self,
        work: Sequence[Unextracted],
        last: Mapping[str, DispositionRow],
        captures: Mapping[str, EntryRow],
    ) -> None:
        """On the books first: what was extracted before is open again, the rest is promised anew."""
        now = self.clock()
        pipeline, _ = stage_of(self.reader)
        fresh = [captures[one.capture.id] for one in work if one.file.sha1 not in last]
        self.ledger.enter([], [_entered_again(row, pipeline, now) for row in fresh], ())
        rows, messages = [], []
        for one in work:
            message = self._message(one, last.get(one.file.sha1))
            before = last.get(one.file.sha1)
            detail = f"to be extracted again; before: {before.verdict}" if before else ""
            rows.append(ended_by_hand(message, self.reader, Verdict.RETRIED, None, detail, now))
            messages.append(message)
        self.ledger.write(rows)
        self.queue.put(self.reader.incoming, messages)

    def _message(self, work: Unextracted, before: DispositionRow | None) -> Message:
        """The message as it was, if there was one; what is made of it this time has ids of its own."""
        pipeline, step = stage_of(self.reader)
        entry = before.entry_id if before else work.capture.id
        name = before.message_id if before else f"{entry}.{step}"
        headers = {PIPELINE: pipeline, RUN: f"{self.clock():%Y%m%d%H%M%S}"}
        if name != entry:
            headers[ENTRY] = entry
        return Message(name, encode(work), work.file.sha1, headers=headers)

    def _work(
        self,
        files: Sequence[FileMetaRow],
        captures: Mapping[str, EntryRow],
        after: datetime | None,
    ) -> Iterator[Unextracted]:
        places = self._places(files, captures)
        keys = {file.sha1hex: row_key(file.sha1hex) for file in files}
        cells = self.table.get(self.journal, list(keys.values()), [FILE_META])
        for file in files:
            row, place = captures.get(file.capture_id), places.get(file.sha1hex)
            if row is None or place is None:
                continue
            meta = read_file(cells.get(keys[file.sha1hex], {})) or _meta(file)
            yield Unextracted(_capture(row, place), meta, after)

    def _places(
        self, files: Sequence[FileMetaRow], captures: Mapping[str, EntryRow]
    ) -> dict[str, Place]:
        """Where each file's bytes lie: in a WARC, else where its first capture found them."""
        ids = sorted({row.input_id for row in captures.values()})
        inputs = {row.input_id: row for row in self.records.find(InputRow, {"input_id": ids})}
        places: dict[str, Place] = {}
        for file in files:
            row = captures.get(file.capture_id)
            if row is not None and (place := _first_place(row, inputs.get(row.input_id))):
                places[file.sha1hex] = place
        sha1hexes = [file.sha1hex for file in files]
        for cdx in self.records.find(CdxRow, {"sha1hex": sha1hexes}) if sha1hexes else ():
            if cdx.mimetype != REVISIT_MIME:
                place = Place(PlaceKind.WARC, cdx.warc_path, cdx.warc_offset, cdx.warc_csize)
                places[cdx.sha1hex] = place
        return places

    def _pdf_rows(self, sha1hexes: Sequence[str]) -> dict[str, PdfMetaRow]:
        return {row.sha1hex: row for row in self.records.get(PdfMetaRow, sha1hexes)}


def _first_place(row: EntryRow, found_in: InputRow | None) -> Place | None:
    """Where a loose file or a member of a ZIP was found; None for what lay in something else."""
    if found_in is None or found_in.kind not in ("file", "zip"):
        return None
    if found_in.kind == "file":
        return Place(PlaceKind.FILE, row.place or "")
    member = (row.place or "").removeprefix(f"{found_in.path}#")
    return Place(PlaceKind.ZIP, found_in.path, member=member)


def _entered_again(row: EntryRow, pipeline: str, now: datetime) -> EntryRow:
    """A capture that came into another pipeline, on the books of this one; it is of no input here."""
    facts = (row.kind, "" if row.pipeline != pipeline else row.input_id, row.url)
    return EntryRow(row.entry_id, pipeline, *facts, row.seen, row.place, row.collection, now)


def _is_over(row: DispositionRow | None) -> bool:
    """Whether the last extraction, if any, has ended; what is in quarantine was looked at before.

    What was to be extracted again may never have reached the queue: it is sent once more, under its id.
    """
    return row is None or not row.is_open or row.verdict == Verdict.RETRIED


def _dated(message: Message, after: datetime | None) -> Message:
    """The work with the moment from which on it counts; as it is when it cannot be read."""
    if after is None:
        return message
    try:
        work = decode(message.body, Unextracted, message.key)
    except PermanentError:
        return message
    return replace(message, body=encode(replace(work, after=after)))


def _capture(row: EntryRow, place: Place) -> Capture:
    return Capture(
        id=row.entry_id,
        input_id=row.input_id,
        place=place,
        url=row.url,
        captured_at=from_datetime14(row.seen or "19700101000000"),
        record_type="file" if place.kind is PlaceKind.FILE else "response",
        collection=row.collection,
    )


def _meta(file: FileMetaRow) -> FileMeta:
    return FileMeta(
        size=file.size_bytes,
        mime=file.mimetype,
        magic="",
        magic_mime=file.mimetype,
        sha1=file.sha1hex,
        md5=file.md5hex,
        sha256=file.sha256hex,
    )
