"""Catch-up: select stored files that must be extracted again, and send them to the step that
extracts them.

Files are read from the SQL records one batch at a time. An interrupted catch-up is started again:
it no longer selects the files that are done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta

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
from fonds.queues.messages.envelope import build_format_header, decode, encode
from fonds.stores.journal_table.cells import FILE_META, read_file
from fonds.stores.journal_table.keys import build_row_key


@dataclass(frozen=True, slots=True)
class CatchUpSelection:
    """Condition that selects the files whose derivatives of one kind are computed again.

    A derivative is data extracted from a file, such as the text of a PDF. Its row has the status
    and time of the extraction and the extractor's name.

    - `kind`: the kind of derivative.
    - `extractor`: name and version of the current extractor.
    - `rereads`: False selects files without a row of this kind (unless their extraction was
      refused), files that failed for a possibly temporary reason, and files whose row has another
      extractor than `extractor`. True selects the files that match all conditions below.
    - `statuses`: accepted statuses; empty accepts all.
    - `made_by`: prefix of the extractor's name; '' accepts all.
    - `before_time`: selects results from before this time (aware UTC); None accepts all.
    - `only_files`: SHA-1s of at most some hundred files to select from; empty means all files.
    """

    kind: DerivativeKind
    extractor: str
    rereads: bool = False
    statuses: frozenset[str] = frozenset()
    made_by: str = ""
    before_time: datetime | None = None
    only_files: frozenset[str] = frozenset()

    @property
    def reading(self) -> RereadPlan:
        """How derivatives of the selected kind are computed again: which step computes them, and
        which statuses allow a retry.

        Raises ConfigurationError if they are only computed together with another kind.
        """
        if self.kind.reading is None:
            raise ConfigurationError(
                f"{self.kind.name} is made together with another kind. Catch up that kind instead"
            )
        return self.kind.reading

    def __call__(self, row: DerivativeRow | None, was_dropped: bool = False) -> bool:
        """Return whether the derivative of a file is to be computed again.

        - `row`: the derivative row of the file; None if it has none.
        - `was_dropped`: whether the last extraction of the file ended with the verdict `dropped`.
        """
        if row is None:
            has_criteria = bool(self.statuses or self.made_by or self.before_time)
            return not has_criteria and (self.rereads or not was_dropped)
        if self.rereads:
            return (
                (not self.statuses or row.status in self.statuses)
                and row.extractor.startswith(self.made_by)
                and (self.before_time is None or row.updated < self.before_time)
            )
        return row.extractor != self.extractor or row.status in self.reading.retry_statuses

    def select(self, records: Records, sha1hexes: Sequence[str]) -> dict[str, DerivativeRow | None]:
        """Return those files among `sha1hexes` that this condition selects, each with its
        derivative row (None if it has none).
        """
        sha1hexes = [key for key in sha1hexes if not self.only_files or key in self.only_files]
        rows = {row.sha1hex: row for row in records.get(self.kind.row, sha1hexes)}
        bare = [key for key in sha1hexes if key not in rows]
        where = {"about": bare, "step": self.reading.step, "verdict": str(Verdict.DROPPED)}
        dropped_sha1hexes = (
            {row.about for row in records.find(DispositionRow, where)} if bare else set()
        )
        return {
            key: rows.get(key) for key in sha1hexes if self(rows.get(key), key in dropped_sha1hexes)
        }

    def iter_files(self, records: Records) -> Iterator[FileMetaRow]:
        """Yield the rows of all files whose media type can have the selected kind of derivative.

        If `only_files` is set, only these files are considered.
        """
        if self.only_files:
            named_files = records.get(FileMetaRow, sorted(self.only_files))
            return (row for row in named_files if row.mimetype in self.kind.mimetypes)
        return records.find(FileMetaRow, {"mimetype": list(self.kind.mimetypes)})

    def count_by_status(self, records: Records) -> dict[str, int]:
        """Count the selected files by the status of their derivative row. The key '' counts files
        without such a row.
        """
        counts: Counter[str] = Counter()
        files = self.iter_files(records)
        while batch := [row.sha1hex for row in islice(files, BATCH_MAX)]:
            rows = self.select(records, batch).values()
            counts.update(row.status if row else "" for row in rows)
        return dict(counts)


@dataclass(slots=True)
class CatchUpCount:
    """Numbers of files that a catch-up examined, sent to be read, found already in progress, and
    could not locate.
    """

    examined: Annotated[int, Meta(description="number of files examined")] = 0
    sent: Annotated[int, Meta(description="number of files sent to be read")] = 0
    in_flight: Annotated[int, Meta(description="number of files that were already in progress")] = 0
    lost: Annotated[
        int, Meta(description="number of selected files whose bytes have no known location")
    ] = 0


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Sends the files that a selection selects to the step that extracts them.

    - `journal`: name of the wide table that has the files.
    - `reader`: subscription through which the step receives its messages.
    - `selection`: which files are sent.
    - `clock`: returns the current time (aware UTC).
    - `wait_for_room`: waits until the queue is short enough; returns False to stop the catch-up.
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
        """Send all selected files to the step, until all are sent or `wait_for_room` returns False.

        `tick` is called after each batch with the counts so far and the entries that were sent.
        Returns the final counts.
        """
        counts = CatchUpCount()
        is_read_again = self.selection.rereads or self.selection.reading.is_shared
        after = self.clock() if is_read_again else None
        freed_sha1hexes = self._take_from_quarantine(after, counts, tick)
        files = self.selection.iter_files(self.records)
        while batch := list(islice(files, BATCH_MAX)):
            if not self.wait_for_room():
                break
            tick(counts, self._send(batch, after, freed_sha1hexes, counts))
        return counts

    def _take_from_quarantine(
        self,
        after: datetime | None,
        counts: CatchUpCount,
        tick: Callable[[CatchUpCount, Sequence[EntryRow]], None],
    ) -> set[str]:
        """Send the messages about selected files from the quarantine back to the step. Return the
        SHA-1s of these files.

        Otherwise a message would stay in quarantine although its file was extracted in the
        meantime. `after` is the time from which results count as new; None leaves the messages
        unchanged. `counts.sent` is increased, and `tick` is called after each batch with the counts
        and the entries of the files.
        """
        unselected_deliveries, freed_sha1hexes = [], set[str]()
        if self.selection.only_files and not self._has_quarantined(self.selection.only_files):
            return freed_sha1hexes
        while deliveries := self.queue.receive(self.reader.quarantine, BATCH_MAX, 0.0):
            selected_sha1hexes = self.selection.select(
                self.records, [delivery.message.about for delivery in deliveries]
            )
            selected_deliveries = [
                delivery for delivery in deliveries if delivery.message.about in selected_sha1hexes
            ]
            chosen_ids = {delivery.message.id for delivery in selected_deliveries}
            unselected_deliveries += [
                delivery for delivery in deliveries if delivery.message.id not in chosen_ids
            ]
            requests = [
                replace(delivery, message=self._set_start_time(delivery.message, after))
                for delivery in selected_deliveries
            ]
            requeue(self.queue, self.ledger, self.reader, requests, self.clock())
            counts.sent += len(selected_deliveries)
            freed_sha1hexes |= {delivery.message.about for delivery in selected_deliveries}
            entries = [delivery.message.entry for delivery in selected_deliveries]
            tick(counts, list(self.records.find(EntryRow, {"entry_id": entries})))
        self.queue.release(unselected_deliveries)
        return freed_sha1hexes

    def _has_quarantined(self, sha1hexes: Collection[str]) -> bool:
        """Return whether the ledger has a quarantined message about one of these files."""
        where = {"about": sorted(sha1hexes), "verdict": str(Verdict.QUARANTINED)}
        return any(True for _ in self.records.find(DispositionRow, where, count_max=1))

    def _send(
        self,
        files: Sequence[FileMetaRow],
        after: datetime | None,
        freed_sha1hexes: set[str],
        counts: CatchUpCount,
    ) -> Sequence[EntryRow]:
        candidates = [file for file in files if file.sha1hex not in freed_sha1hexes]
        selected_sha1hexes = self.selection.select(
            self.records, [file.sha1hex for file in candidates]
        )
        selected_files = [file for file in candidates if file.sha1hex in selected_sha1hexes]
        counts.examined += len(files)
        last_endings = self._load_last_endings([file.sha1hex for file in selected_files])
        ready_files = [file for file in selected_files if _is_over(last_endings.get(file.sha1hex))]
        counts.in_flight += len(selected_files) - len(ready_files)
        captures = self._load_captures(ready_files)
        work = list(self._iter_work(ready_files, captures, after))
        counts.lost += len(ready_files) - len(work)
        counts.sent += len(work)
        self._enter(work, last_endings)
        return [entry for entry, _ in work]

    def _load_last_endings(self, sha1hexes: Sequence[str]) -> dict[str, DispositionRow]:
        """Return the ledger row of the last extraction of each file in this pipeline, by SHA-1.

        An extraction that is still open counts as the last. Files without such a row are left out.
        """
        pipeline, step = parse_subscription_name(self.reader)
        where = {"about": list(sha1hexes), "pipeline": pipeline, "step": step}
        rows = self.records.find(DispositionRow, where) if sha1hexes else iter(())
        last_endings: dict[str, DispositionRow] = {}
        for row in rows:
            previous = last_endings.get(row.about or "")
            if previous is None or (row.is_open, row.promised_at) >= (
                previous.is_open,
                previous.promised_at,
            ):
                last_endings[row.about or ""] = row
        return last_endings

    def _load_captures(self, files: Sequence[FileMetaRow]) -> dict[str, EntryRow]:
        """Return the ledger entry of the primary capture of each file, from any pipeline, by
        capture id.

        For a fetched link, the entry has the final URL and the time of the fetch. Captures without
        an entry are left out.
        """
        ids = [file.capture_id for file in files]
        entries = self.records.find(EntryRow, {"entry_id": ids}) if files else ()
        captures = {row.entry_id: row for row in entries}
        for row in self.records.get(FetchedPageRow, ids):
            if row.capture_id in captures:
                captures[row.capture_id] = replace(
                    captures[row.capture_id], url=row.final_url, seen=format_datetime14(row.fetched)
                )
        return captures

    def _enter(
        self,
        work: Sequence[tuple[EntryRow, Item]],
        last: Mapping[str, DispositionRow],
    ) -> None:
        """Record the files to be extracted in the ledger, then send their messages to the step.

        The ledger is the record of all entries of a library. `work` has an entry and a work item
        per file, `last` the ledger row of the last extraction by SHA-1. A file with such a row
        keeps its entry and message, which are opened again. Any other file gets a new entry in this
        pipeline.
        """
        now = self.clock()
        pipeline, _ = parse_subscription_name(self.reader)
        new_entries = [entry for entry, item in work if item.about not in last]
        self.ledger.enter([], [_copy_entry(row, pipeline, now) for row in new_entries], ())
        rows, messages = [], []
        for entry, item in work:
            previous = last.get(item.about)
            message = self._build_message(entry, item, previous)
            detail = f"queued for reading again; before: {previous.verdict}" if previous else ""
            rows.append(build_decided_row(message, self.reader, Verdict.RETRIED, None, detail, now))
            messages.append(message)
        self.ledger.write(rows)
        self.queue.put(self.reader.incoming, messages)

    def _build_message(self, row: EntryRow, work: Item, previous: DispositionRow | None) -> Message:
        """Build the message that requests the extraction of a file, with the id of its previous
        message if there is one.

        A header with the current time makes the ids of the messages that result from it differ from
        earlier ones.
        """
        pipeline, step = parse_subscription_name(self.reader)
        entry = previous.entry_id if previous else row.entry_id
        name = previous.message_id if previous else f"{entry}.{step}"
        run_number = f"{self.clock():%Y%m%d%H%M%S}"
        headers = {PIPELINE: pipeline, RUN: run_number, **build_format_header()}
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
        """Return the location of the bytes of each file, by SHA-1.

        The location is a WARC record if the file is in one. Otherwise it is the single file or ZIP
        member where the primary capture was found. Files without a known location are left out.
        """
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
        """Return the message with `after` as the time from which results count as new.

        Messages whose payload has no field `after`, or cannot be decoded, are returned unchanged.
        So are all messages if `after` is None.
        """
        payload = self.selection.reading.payload
        if after is None or "after" not in {
            payload_field.name for payload_field in fields(payload)
        }:
            return message
        try:
            work: Any = decode(message, payload)
        except PermanentError:
            work = None
        if not isinstance(work, payload):
            return message
        return replace(message, body=encode(replace(work, after=after)))


def _find_first_place(row: EntryRow, source_input: InputRow | None) -> Place | None:
    """Return where the file of an entry was found: the path of a single file, or the member of a
    ZIP.

    Returns None if the file was found in anything else, such as a WARC.
    """
    if source_input is None or source_input.kind not in ("file", "zip"):
        return None
    if source_input.kind == "file":
        return Place(PlaceKind.FILE, row.place or "")
    member = (row.place or "").removeprefix(f"{source_input.path}#")
    return Place(PlaceKind.ZIP, source_input.path, member=member)


def _copy_entry(row: EntryRow, pipeline: str, now: datetime) -> EntryRow:
    """Copy the ledger entry of a capture to the entries of the pipeline `pipeline`.

    The copy belongs to the same input only if `row` is from this pipeline. Otherwise it belongs to
    no input.
    """
    facts = (row.kind, "" if row.pipeline != pipeline else row.input_id, row.url)
    return EntryRow(row.entry_id, pipeline, *facts, row.seen, row.place, row.collection, now)


def _is_over(row: DispositionRow | None) -> bool:
    """Return whether the last extraction of a file has ended. Without a previous extraction, return
    True.

    `row` is the last ledger row (disposition) of the extraction. The verdict RETRIED counts as
    ended, because its message may never have reached the queue. The message is sent again with the
    same id.
    """
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
