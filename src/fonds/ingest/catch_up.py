"""Sends the files that were chosen to the step that reads them.

It streams the files out of the records. Interrupted, it is begun again: what is done is not wanted any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import islice
from typing import Any

from fonds.derivatives.kind import DerivativeKind, RereadPlan
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    Place,
    PlaceKind,
    format_datetime14,
    parse_datetime14,
)
from fonds.model.disposition import Verdict
from fonds.model.errors import ConfigurationError, PermanentError
from fonds.model.file import FileMeta
from fonds.model.message import ENTRY, PIPELINE, Message, Subscription
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, FetchedPageRow, FileMetaRow, InputRow
from fonds.model.rows.row import DerivativeRow
from fonds.model.step import Item
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.pipelines.runtime.quarantine import BATCH_MAX, build_decided_row, requeue
from fonds.pipelines.runtime.result_messages import RUN
from fonds.ports import Ledger, Queue, Records, Table
from fonds.queues.messages.envelope import decode, encode
from fonds.stores.journal_table.cells import FILE_META, read_file
from fonds.stores.journal_table.keys import build_row_key

# Which files of a kind are to be read, by what is known of them.


@dataclass(frozen=True, slots=True)
class CatchUpSelection:
    """Which files of a kind are to be read, by what is known of them.

    Without `rereads`: those of whom nothing is known and whom no reading refused, who failed for a reason
    that may be gone, or were read by another extractor than `extractor`. With it: those that fit all of
    `statuses`, `made_by` (the beginning of an extractor's name) and `before_time`, whatever else is
    known. `only_files` names the files there is to choose from, some hundred; empty: all."""

    kind: DerivativeKind
    extractor: str
    rereads: bool = False
    statuses: frozenset[str] = frozenset()
    made_by: str = ""
    before_time: datetime | None = None
    only_files: frozenset[str] = frozenset()

    @property
    def reading(self) -> RereadPlan:
        """How the kind is read again. Raises ConfigurationError for one that is made with another."""
        if self.kind.reading is None:
            raise ConfigurationError(
                f"{self.kind.name} is made with another kind; catch up that one"
            )
        return self.kind.reading

    def __call__(self, row: DerivativeRow | None, refused: bool = False) -> bool:
        """Whether a file with this row is wanted; None is a file without one, `refused` one whose reading
        ended as dropped."""
        if row is None:
            chosen = bool(self.statuses or self.made_by or self.before_time)
            return not chosen and (self.rereads or not refused)
        if self.rereads:
            return (
                (not self.statuses or row.status in self.statuses)
                and row.extractor.startswith(self.made_by)
                and (self.before_time is None or row.updated < self.before_time)
            )
        return row.extractor != self.extractor or row.status in self.reading.retry_statuses

    def select(self, records: Records, sha1hexes: Sequence[str]) -> dict[str, DerivativeRow | None]:
        """Those of these files that are wanted, with their row."""
        sha1hexes = [key for key in sha1hexes if not self.only_files or key in self.only_files]
        known = {row.sha1hex: row for row in records.get(self.kind.row, sha1hexes)}
        bare = [key for key in sha1hexes if key not in known]
        where = {"about": bare, "step": self.reading.step, "verdict": str(Verdict.DROPPED)}
        refused = {row.about for row in records.find(DispositionRow, where)} if bare else set()
        return {key: known.get(key) for key in sha1hexes if self(known.get(key), key in refused)}

    def iter_files(self, records: Records) -> Iterator[FileMetaRow]:
        """All files the kind is made of, or those named."""
        if self.only_files:
            named = records.get(FileMetaRow, sorted(self.only_files))
            return (row for row in named if row.mimetype in self.kind.mimetypes)
        return records.find(FileMetaRow, {"mimetype": list(self.kind.mimetypes)})

    def count_by_status(self, records: Records) -> dict[str, int]:
        """How many files are wanted, by the status they have; '' for those that have none."""
        counts: Counter[str] = Counter()
        files = self.iter_files(records)
        while batch := [row.sha1hex for row in islice(files, BATCH_MAX)]:
            rows = self.select(records, batch).values()
            counts.update(row.status if row else "" for row in rows)
        return dict(counts)


@dataclass(slots=True)
class CatchUpCount:
    """How many files were looked at, how many sent, and how many are on their way from before.

    `lost` are wanted and nobody knows where their bytes are.
    """

    examined: int = 0
    sent: int = 0
    in_flight: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Puts work to `reader`, the step that reads. `wait_for_room` returns when there is room on the queue.

    `journal` is the name of the journal-extract table, `clock` gives aware UTC.
    """

    queue: Queue
    records: Records
    ledger: Ledger
    table: Table
    journal: str
    reader: Subscription
    selection: CatchUpSelection
    clock: Callable[[], datetime]
    wait_for_room: Callable[[], bool]

    def run(self, tick: Callable[[CatchUpCount, Sequence[EntryRow]], None]) -> CatchUpCount:
        """Send all that is wanted, unless `room` says to stop; `tick` is told of each batch."""
        sent = CatchUpCount()
        is_read_again = self.selection.rereads or self.selection.reading.is_shared
        after = self.clock() if is_read_again else None
        freed = self._take_from_quarantine(after, sent, tick)
        files = self.selection.iter_files(self.records)
        while batch := list(islice(files, BATCH_MAX)):
            if not self.wait_for_room():
                break
            tick(sent, self._send(batch, after, freed, sent))
        return sent

    def _take_from_quarantine(
        self,
        after: datetime | None,
        counts: CatchUpCount,
        tick: Callable[[CatchUpCount, Sequence[EntryRow]], None],
    ) -> set[str]:
        """Messages set apart are taken from there, so that none is left of a file that was read.

        Returns the SHA-1s of their files.
        """
        left, freed = [], set[str]()
        if self.selection.only_files and not self._has_quarantined(self.selection.only_files):
            return freed
        while deliveries := self.queue.receive(self.reader.quarantine, BATCH_MAX, 0.0):
            wanted = self.selection.select(self.records, [one.message.about for one in deliveries])
            chosen = [one for one in deliveries if one.message.about in wanted]
            kept = {one.message.id for one in chosen}
            left += [one for one in deliveries if one.message.id not in kept]
            again = [
                replace(one, message=self._set_start_time(one.message, after)) for one in chosen
            ]
            requeue(self.queue, self.ledger, self.reader, again, self.clock())
            counts.sent += len(chosen)
            freed |= {one.message.about for one in chosen}
            entries = [one.message.entry for one in chosen]
            tick(counts, list(self.records.find(EntryRow, {"entry_id": entries})))
        self.queue.release(left)
        return freed

    def _has_quarantined(self, sha1hexes: Collection[str]) -> bool:
        """Whether a message about one of few files is in quarantine, so that all there are looked at."""
        where = {"about": sorted(sha1hexes), "verdict": str(Verdict.QUARANTINED)}
        return any(True for _ in self.records.find(DispositionRow, where, count_max=1))

    def _send(
        self,
        files: Sequence[FileMetaRow],
        after: datetime | None,
        freed: set[str],
        counts: CatchUpCount,
    ) -> Sequence[EntryRow]:
        fresh = [file for file in files if file.sha1hex not in freed]
        wanted = self.selection.select(self.records, [file.sha1hex for file in fresh])
        chosen = [file for file in fresh if file.sha1hex in wanted]
        counts.examined += len(files)
        last = self._load_last_endings([file.sha1hex for file in chosen])
        ready = [file for file in chosen if _is_over(last.get(file.sha1hex))]
        counts.in_flight += len(chosen) - len(ready)
        captures = self._load_captures(ready)
        work = list(self._iter_work(ready, captures, after))
        counts.lost += len(ready) - len(work)
        counts.sent += len(work)
        self._enter(work, last)
        return [entry for entry, _ in work]

    def _load_last_endings(self, sha1hexes: Sequence[str]) -> dict[str, DispositionRow]:
        """How the last reading of each file ended, in this pipeline."""
        pipeline, step = parse_subscription_name(self.reader)
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

    def _load_captures(self, files: Sequence[FileMetaRow]) -> dict[str, EntryRow]:
        """The captures that brought these files, whichever pipeline they came into; of a link what it led
        to, and when."""
        ids = [file.capture_id for file in files]
        found = self.records.find(EntryRow, {"entry_id": ids}) if files else ()
        entered = {row.entry_id: row for row in found}
        for row in self.records.get(FetchedPageRow, ids):
            if row.capture_id in entered:
                entered[row.capture_id] = replace(
                    entered[row.capture_id], url=row.final_url, seen=format_datetime14(row.fetched)
                )
        return entered

    def _enter(
        self,
        work: Sequence[tuple[EntryRow, Item]],
        last: Mapping[str, DispositionRow],
    ) -> None:
        """On the books first: what was read before is open again, the rest is promised anew."""
        now = self.clock()
        pipeline, _ = parse_subscription_name(self.reader)
        fresh = [entry for entry, one in work if one.about not in last]
        self.ledger.enter([], [_copy_entry(row, pipeline, now) for row in fresh], ())
        rows, messages = [], []
        for entry, one in work:
            before = last.get(one.about)
            message = self._build_message(entry, one, before)
            detail = f"to be read again; before: {before.verdict}" if before else ""
            rows.append(build_decided_row(message, self.reader, Verdict.RETRIED, None, detail, now))
            messages.append(message)
        self.ledger.write(rows)
        self.queue.put(self.reader.incoming, messages)

    def _build_message(self, row: EntryRow, work: Item, previous: DispositionRow | None) -> Message:
        """The message as it was, if there was one; what is made of it this time has ids of its own."""
        pipeline, step = parse_subscription_name(self.reader)
        entry = previous.entry_id if previous else row.entry_id
        name = previous.message_id if previous else f"{entry}.{step}"
        headers = {PIPELINE: pipeline, RUN: f"{self.clock():%Y%m%d%H%M%S}"}
        if name != entry:
            headers[ENTRY] = entry
        return Message(name, encode(work), work.about, headers=headers)

    def _iter_work(
        self,
        files: Sequence[FileMetaRow],
        captures: Mapping[str, EntryRow],
        after: datetime | None,
    ) -> Iterator[tuple[EntryRow, Item]]:
        places = self._find_places(files, captures)
        keys = {file.sha1hex: build_row_key(file.sha1hex) for file in files}
        cells = self.table.get(self.journal, list(keys.values()), [FILE_META])
        for file in files:
            row, place = captures.get(file.capture_id), places.get(file.sha1hex)
            if row is None or place is None:
                continue
            meta = read_file(cells.get(keys[file.sha1hex], {})) or _build_meta(file)
            yield row, self.selection.reading.work(_build_capture(row, place), meta, after)

    def _find_places(
        self, files: Sequence[FileMetaRow], captures: Mapping[str, EntryRow]
    ) -> dict[str, Place]:
        """Where each file's bytes lie: in a WARC, else where its first capture found them."""
        ids = sorted({row.input_id for row in captures.values()})
        inputs = {row.input_id: row for row in self.records.find(InputRow, {"input_id": ids})}
        places: dict[str, Place] = {}
        for file in files:
            row = captures.get(file.capture_id)
            if row is not None and (place := _find_first_place(row, inputs.get(row.input_id))):
                places[file.sha1hex] = place
        sha1hexes = [file.sha1hex for file in files]
        for cdx in self.records.find(CdxRow, {"sha1hex": sha1hexes}) if sha1hexes else ():
            if cdx.mimetype != REVISIT_MIME:
                place = Place(PlaceKind.WARC, cdx.warc_path, cdx.warc_offset, cdx.warc_csize)
                places[cdx.sha1hex] = place
        return places

    def _set_start_time(self, message: Message, after: datetime | None) -> Message:
        """The work with the moment from which on it counts, where it has one."""
        payload = self.selection.reading.payload
        if after is None or "after" not in {one.name for one in fields(payload)}:
            return message
        try:
            work: Any = decode(message, payload)
        except PermanentError:
            work = None
        if not isinstance(work, payload):
            return message
        return replace(message, body=encode(replace(work, after=after)))


def _find_first_place(row: EntryRow, source_input: InputRow | None) -> Place | None:
    """Where a loose file or a member of a ZIP was found; None for what lay in something else."""
    if source_input is None or source_input.kind not in ("file", "zip"):
        return None
    if source_input.kind == "file":
        return Place(PlaceKind.FILE, row.place or "")
    member = (row.place or "").removeprefix(f"{source_input.path}#")
    return Place(PlaceKind.ZIP, source_input.path, member=member)


def _copy_entry(row: EntryRow, pipeline: str, now: datetime) -> EntryRow:
    """A capture that came into another pipeline, on the books of this one; it is of no input here."""
    facts = (row.kind, "" if row.pipeline != pipeline else row.input_id, row.url)
    return EntryRow(row.entry_id, pipeline, *facts, row.seen, row.place, row.collection, now)


def _is_over(row: DispositionRow | None) -> bool:
    """Whether the last extraction, if any, has ended; what is in quarantine was looked at before.
    What was to be extracted again may never have reached the queue: it is sent once more, as itself."""
    return row is None or not row.is_open or row.verdict == Verdict.RETRIED


def _build_capture(row: EntryRow, place: Place) -> Capture:
    return Capture(
        id=row.entry_id,
        input_id=row.input_id,
        place=place,
        url=row.url,
        captured_at=parse_datetime14(row.seen or "19700101000000"),
        record_type="file" if place.kind is PlaceKind.FILE else "response",
        collection=row.collection,
    )


def _build_meta(file: FileMetaRow) -> FileMeta:
    return FileMeta(
        size=file.size_bytes,
        mime=file.mimetype,
        magic="",
        magic_mime=file.mimetype,
        sha1=file.sha1hex,
        md5=file.md5hex,
        sha256=file.sha256hex,
    )
