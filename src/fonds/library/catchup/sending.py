"""Sends the files that were chosen to the step that reads them.

It streams the files out of the records. Interrupted, it is begun again: what is done is not wanted any more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import islice
from typing import Any

from fonds.formats.envelope import decode, encode
from fonds.formats.journal import FILE_META, read_file, row_key
from fonds.library.catchup.selection import Selection
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    Place,
    PlaceKind,
    from_datetime14,
    to_datetime14,
)
from fonds.model.disposition import Verdict
from fonds.model.errors import PermanentError
from fonds.model.file import FileMeta
from fonds.model.message import ENTRY, PIPELINE, Message, Subscription
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FetchedRow,
    FileMetaRow,
    InputRow,
)
from fonds.model.step import Item
from fonds.ports import Ledger, Queue, Records, Table
from fonds.runtime.binding import stage_of
from fonds.runtime.packing import RUN
from fonds.runtime.quarantine import BATCH_MAX, ended_by_hand, put_back


@dataclass(slots=True)
class CatchUpCount:
    """How many files were looked at, how many sent, and how many are on their way from before.

    `lost` are wanted and nobody knows where their bytes are.
    """

    seen: int = 0
    sent: int = 0
    on_their_way: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Puts work to `reader`, the step that reads. `room` returns when there is room on the queue.

    `journal` is the name of the journal-extract table, `clock` gives aware UTC.
    """

    queue: Queue
    records: Records
    ledger: Ledger
    table: Table
    journal: str
    reader: Subscription
    wanted: Selection
    clock: Callable[[], datetime]
    room: Callable[[], bool]

    def run(self, tick: Callable[[CatchUpCount, Sequence[EntryRow]], None]) -> CatchUpCount:
        """Send all that is wanted, unless `room` says to stop; `tick` is told of each batch."""
        sent = CatchUpCount()
        is_read_again = self.wanted.again or self.wanted.reading.is_shared
        after = self.clock() if is_read_again else None
        freed = self._out_of_quarantine(after, sent, tick)
        files = self.wanted.files(self.records)
        while batch := list(islice(files, BATCH_MAX)):
            if not self.room():
                break
            tick(sent, self._send(batch, after, freed, sent))
        return sent

    def _out_of_quarantine(
        self,
        after: datetime | None,
        sent: CatchUpCount,
        tick: Callable[[CatchUpCount, Sequence[EntryRow]], None],
    ) -> set[str]:
        """Messages set apart are taken from there, so that none is left of a file that was read.

        Returns the SHA-1s of their files.
        """
        left, freed = [], set[str]()
        if self.wanted.only and not self._are_apart(self.wanted.only):
            return freed
        while deliveries := self.queue.receive(self.reader.quarantine, BATCH_MAX, 0.0):
            wanted = self.wanted.of(self.records, [one.message.about for one in deliveries])
            chosen = [one for one in deliveries if one.message.about in wanted]
            kept = {one.message.id for one in chosen}
            left += [one for one in deliveries if one.message.id not in kept]
            again = [replace(one, message=self._dated(one.message, after)) for one in chosen]
            put_back(self.queue, self.ledger, self.reader, again, self.clock())
            sent.sent += len(chosen)
            freed |= {one.message.about for one in chosen}
            entries = [one.message.entry for one in chosen]
            tick(sent, list(self.records.find(EntryRow, {"entry_id": entries})))
        self.queue.release(left)
        return freed

    def _are_apart(self, sha1hexes: Collection[str]) -> bool:
        """Whether a message about one of few files is in quarantine, so that all there are looked at."""
        where = {"about": sorted(sha1hexes), "verdict": str(Verdict.QUARANTINED)}
        return any(True for _ in self.records.find(DispositionRow, where, count_max=1))

    def _send(
        self,
        files: Sequence[FileMetaRow],
        after: datetime | None,
        freed: set[str],
        sent: CatchUpCount,
    ) -> Sequence[EntryRow]:
        fresh = [file for file in files if file.sha1hex not in freed]
        wanted = self.wanted.of(self.records, [file.sha1hex for file in fresh])
        chosen = [file for file in fresh if file.sha1hex in wanted]
        sent.seen += len(files)
        last = self._last([file.sha1hex for file in chosen])
        ready = [file for file in chosen if _is_over(last.get(file.sha1hex))]
        sent.on_their_way += len(chosen) - len(ready)
        captures = self._captures(ready)
        work = list(self._work(ready, captures, after))
        sent.lost += len(ready) - len(work)
        sent.sent += len(work)
        self._enter(work, last)
        return [entry for entry, _ in work]

    def _last(self, sha1hexes: Sequence[str]) -> dict[str, DispositionRow]:
        """How the last reading of each file ended, in this pipeline."""
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
        """The captures that brought these files, whichever pipeline they came into; of a link what it led
        to, and when."""
        ids = [file.capture_id for file in files]
        found = self.records.find(EntryRow, {"entry_id": ids}) if files else ()
        entered = {row.entry_id: row for row in found}
        for row in self.records.get(FetchedRow, ids):
            if row.capture_id in entered:
                entered[row.capture_id] = replace(
                    entered[row.capture_id], url=row.final_url, seen=to_datetime14(row.fetched)
                )
        return entered

    def _enter(
        self,
        work: Sequence[tuple[EntryRow, Item]],
        last: Mapping[str, DispositionRow],
    ) -> None:
        """On the books first: what was read before is open again, the rest is promised anew."""
        now = self.clock()
        pipeline, _ = stage_of(self.reader)
        fresh = [entry for entry, one in work if one.about not in last]
        self.ledger.enter([], [_entered_again(row, pipeline, now) for row in fresh], ())
        rows, messages = [], []
        for entry, one in work:
            before = last.get(one.about)
            message = self._message(entry, one, before)
            detail = f"to be read again; before: {before.verdict}" if before else ""
            rows.append(ended_by_hand(message, self.reader, Verdict.RETRIED, None, detail, now))
            messages.append(message)
        self.ledger.write(rows)
        self.queue.put(self.reader.incoming, messages)

    def _message(self, row: EntryRow, work: Item, before: DispositionRow | None) -> Message:
        """The message as it was, if there was one; what is made of it this time has ids of its own."""
        pipeline, step = stage_of(self.reader)
        entry = before.entry_id if before else row.entry_id
        name = before.message_id if before else f"{entry}.{step}"
        headers = {PIPELINE: pipeline, RUN: f"{self.clock():%Y%m%d%H%M%S}"}
        if name != entry:
            headers[ENTRY] = entry
        return Message(name, encode(work), work.about, headers=headers)

    def _work(
        self,
        files: Sequence[FileMetaRow],
        captures: Mapping[str, EntryRow],
        after: datetime | None,
    ) -> Iterator[tuple[EntryRow, Item]]:
        places = self._places(files, captures)
        keys = {file.sha1hex: row_key(file.sha1hex) for file in files}
        cells = self.table.get(self.journal, list(keys.values()), [FILE_META])
        for file in files:
            row, place = captures.get(file.capture_id), places.get(file.sha1hex)
            if row is None or place is None:
                continue
            meta = read_file(cells.get(keys[file.sha1hex], {})) or _meta(file)
            yield row, self.wanted.reading.work(_capture(row, place), meta, after)

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

    def _dated(self, message: Message, after: datetime | None) -> Message:
        """The work with the moment from which on it counts, where it has one."""
        payload = self.wanted.reading.payload
        if after is None or "after" not in {one.name for one in fields(payload)}:
            return message
        try:
            work: Any = decode(message, payload)
        except PermanentError:
            work = None
        if not isinstance(work, payload):
            return message
        return replace(message, body=encode(replace(work, after=after)))


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
    What was to be extracted again may never have reached the queue: it is sent once more, as itself."""
    return row is None or not row.is_open or row.verdict == Verdict.RETRIED


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
