"""Intake: enter the entries of a source into a pipeline.

Each entry (a capture, link or message) is entered once. A new run resumes at the position where the
last run stopped.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from fonds.model.disposition import PENDING, Reason, Verdict
from fonds.model.entry import (
    UNREAD_FINGERPRINT,
    Entry,
    UnreadTally,
    compute_unread_entry_id,
    compute_unread_input_id,
    is_unread,
)
from fonds.model.errors import TransientError
from fonds.model.message import PIPELINE, Delivery, Message, Subscription
from fonds.model.rows import EntryRow, InputRow
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.pipelines.runtime.quarantine import build_decided_row, take_messages
from fonds.ports import Ledger, Queue, Records, Source
from fonds.queues.messages.envelope import build_format_header, encode

BATCH_MAX = 200
POLL_S = 0.1
PAUSE_FIRST_S, PAUSE_MAX_S = 1.0, 30.0
_UNREAD_REASONS = frozenset(
    {Reason.NOT_FOLLOWED, Reason.ACCEPTED, Reason.PURGED, Reason.READ_LATER}
)
"""Reasons of entries that ended without reading their record."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueueMarks:
    """Limits for the number of messages that wait in a queue.

    If at least `high` messages wait, no more entries are read from a source until at most `low`
    wait.
    """

    high: int = 20_000
    low: int = 10_000


@dataclass(slots=True)
class IntakeCounts:
    """Counts of one intake run.

    - `input_ids`: ids of the inputs that were read, or could not be read.
    - `entries`: number of new entries.
    - `known_count`: number of entries in inputs that earlier runs had finished.
    - `known_input_count`: number of inputs that earlier runs had finished.
    - `read_later`: ids of failed inputs (unreadable paths) whose path was read in this run.
    - `still_failing`: ids of failed inputs whose path still could not be read.
    """

    input_ids: set[str] = field(default_factory=set)
    entries: int = 0
    known_count: int = 0
    known_input_count: int = 0
    read_later: set[str] = field(default_factory=set)
    still_failing: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _EntryBatch:
    """Batch of entries (captures, links or messages) that are entered into a pipeline together.

    - `entries`: new entries.
    - `repeated_entries`: entries that record the failure of an input, and that are sent again. The
      input failed before, and now fails for another cause, or fails again after it was read.
    - `rows`: rows of `inputs` by input id. Each has the position after the entries of this batch.
    """

    entries: list[Entry] = field(default_factory=list)
    repeated_entries: list[Entry] = field(default_factory=list)
    rows: dict[str, InputRow] = field(default_factory=dict)

    def add_entries(
        self, row: InputRow, entries: list[Entry], tally: Mapping[str, int], position: int
    ) -> InputRow:
        """Add entries of one input to the batch, and advance the read position of the input.

        `tally` is the number of items counted but not entered, by reason. Returns the updated row
        of the input, with the new position and counts.
        """
        self.entries += entries
        row = replace(
            row,
            position=position,
            entries=row.entries + len(entries),
            tally=dict(tally),
            tally_count=sum(tally.values()),
        )
        self.rows[row.input_id] = row
        return row

    def clear(self) -> None:
        """Empty the batch, after its entries were entered into the pipeline."""
        self.entries, self.repeated_entries, self.rows = [], [], {}


@dataclass(frozen=True, slots=True)
class EntryGate:
    """Where and under what conditions new entries enter a pipeline.

    - `pipeline`: name of the pipeline.
    - `topic`: name of the pipeline's first topic on the queue.
    - `watched`: subscriptions of all stages. Reading of a source pauses while too many messages
      wait for any of them.
    - `steps`: names of the stages that read the first topic.
    - `is_public`: whether other programs may also write to the first topic.
    """

    pipeline: str
    topic: str
    watched: tuple[Subscription, ...]
    steps: tuple[str, ...]
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class Intake:
    """Reads the entries of sources, and enters them into a pipeline.

    - `gate`: first topic of the pipeline, and the stages to watch.
    - `marks`: numbers of waiting messages at which reading pauses and resumes.
    - `clock`: returns the current time (aware UTC).
    - `stopping`: returns whether to stop. The next run resumes without loss.
    """

    queue: Queue
    records: Records
    ledger: Ledger
    gate: EntryGate
    marks: QueueMarks
    clock: Callable[[], datetime]
    stopping: Callable[[], bool]

    def run(self, source: Source, counts: IntakeCounts, named_paths: Collection[str] = ()) -> None:
        """Enter all entries of a source, and update `counts`.

        `named_paths` are the absolute paths that a user named. The recorded failure of a named
        folder, or of a folder below it, ends when a file in the folder is found. If a store is
        unavailable, the source is read again from its last position after a pause.
        """
        roots = frozenset(named_paths)
        pause_s = PAUSE_FIRST_S
        while not self.stopping():
            try:
                self._run(source, counts, roots)
            except TransientError as error:
                logger.warning("intake stopped: %s; retrying in %.0f s", error, pause_s)
                time.sleep(pause_s)
                pause_s = min(PAUSE_MAX_S, 2 * pause_s)
                counts.known_count = counts.known_input_count = 0
            else:
                return

    def send_again(self, entries: Sequence[Entry], reason: str) -> None:
        """Process entries again, whatever their outcome was.

        The entries become pending in the ledger, then their first messages are sent. `reason` is
        stored as the detail of the new dispositions.
        """
        if not entries:
            return
        for stage in self.gate.watched:
            wait_for_room(self.queue, stage, self.marks, self.stopping)
        now = self.clock()
        rows = [entry.build_row(self.gate.pipeline, now) for entry in entries]
        self.ledger.enter([], rows, self.gate.steps)
        keys = [(entry.id, self.gate.pipeline) for entry in entries]
        current_rows = self.records.get(EntryRow, keys)
        failed_ids = {row.entry_id for row in current_rows if row.outcome == Verdict.QUARANTINED}
        messages = [self._build_message(entry) for entry in entries]
        for reader in self._first_readers():
            retried_rows = [
                build_decided_row(message, reader, Verdict.RETRIED, None, reason, now)
                for message in messages
            ]
            self.ledger.write(retried_rows)
            # A queue may keep the older of two messages with one id, so the older leaves quarantine
            # first.
            for quarantined_deliveries in self._iter_quarantined(reader, failed_ids):
                self.queue.settle(quarantined_deliveries)
            self.queue.put(reader.incoming, messages)

    def end_failures(self, counts: IntakeCounts) -> int:
        """End the recorded failures of paths and files that a run after the failure could read.

        Returns the number of failures ended. They are the failed inputs in `counts.read_later`, and
        entries whose file was missing and was found elsewhere. If the message of a failure is not
        in quarantine yet, the failure ends the next time a user names its path.
        """
        ids = sorted(counts.read_later)
        starts = range(0, len(ids), BATCH_MAX)
        ended_count = sum(self._end_failures(ids[start : start + BATCH_MAX]) for start in starts)
        return ended_count + self._end_missing()

    def _first_readers(self) -> list[Subscription]:
        """Return the subscriptions of the stages that read the first topic of the pipeline."""
        return [
            subscription
            for subscription in self.gate.watched
            if parse_subscription_name(subscription)[1] in self.gate.steps
        ]

    def _iter_quarantined(
        self, reader: Subscription, entry_ids: Collection[str]
    ) -> Iterator[list[Delivery]]:
        """Yield the messages of the entries `entry_ids` that are in quarantine, in batches.

        The caller must settle the messages.
        """
        if entry_ids:
            yield from take_messages(
                self.queue,
                reader,
                lambda messages: {message.id for message in messages if message.id in entry_ids},
            )

    def _end_missing(self) -> int:
        """End the failures of ledger entries whose WARC file was missing, if another WARC with the
        same record was read.

        Returns the number of failures ended.
        """
        where = {
            "pipeline": self.gate.pipeline,
            "outcome": str(Verdict.QUARANTINED),
            "reason": str(Reason.MISSING_SOURCE),
            "step": list(self.gate.steps),
        }
        failed_rows = self.records.find(EntryRow, where)
        found_ids = set[str]()
        while chunk := list(islice(failed_rows, BATCH_MAX)):
            found_ids |= self._find_read_later(chunk)
        self._drop_failures(found_ids)
        rows = self.records.get(
            EntryRow, [(entry_id, self.gate.pipeline) for entry_id in sorted(found_ids)]
        )
        return sum(row.outcome != Verdict.QUARANTINED for row in rows)

    def _find_read_later(self, failed_rows: Sequence[EntryRow]) -> set[str]:
        """Return the ids of those failed entries whose record was read after the failure.

        The record was read from a file with the same name, perhaps in another folder.
        """
        records = [row for row in failed_rows if row.place and not is_unread(row.entry_id)]
        if not records:
            return set()
        where = {
            "pipeline": self.gate.pipeline,
            "url": sorted({row.url for row in records}),
            "seen": sorted({row.seen for row in records if row.seen}),
            "outcome": [str(Verdict.DONE), str(Verdict.DROPPED)],
        }
        last_entered: dict[tuple[str, ...], datetime] = {}
        for row in self.records.find(EntryRow, where):
            if row.reason not in _UNREAD_REASONS:
                key = _record_key(row)
                last_entered[key] = max(row.entered_at, last_entered.get(key, row.entered_at))
        return {
            row.entry_id
            for row in records
            if last_entered.get(_record_key(row), row.entered_at) > row.entered_at
        }

    def _drop_failures(self, entry_ids: Collection[str]) -> None:
        """Take the messages of failed entries out of quarantine, and end them as dropped with
        reason `read-later`.
        """
        for reader in self._first_readers():
            for quarantined_deliveries in self._iter_quarantined(reader, entry_ids):
                now, reason = self.clock(), str(Reason.READ_LATER)
                rows = [
                    build_decided_row(
                        delivery.message,
                        reader,
                        Verdict.DROPPED,
                        reason,
                        _get_order_key(delivery.message),
                        now,
                    )
                    for delivery in quarantined_deliveries
                ]
                self.ledger.write(rows)
                self.queue.settle(quarantined_deliveries)

    def _end_failures(self, ids: Sequence[str]) -> int:
        keys = [(input_id, self.gate.pipeline) for input_id in ids]
        entry_keys = [(compute_unread_entry_id(input_id), self.gate.pipeline) for input_id in ids]
        failure_rows = {row.entry_id: row for row in self.records.get(EntryRow, entry_keys)}
        ended_ids = {key for key, row in failure_rows.items() if row.outcome != "pending"}
        self._drop_failures(ended_ids)
        open_ids = {
            row.entry_id
            for row in self.records.get(EntryRow, entry_keys)
            if row.outcome in ("pending", "quarantined")
        }
        ended_inputs = [
            replace(row, error=None, tally=_read_later(row.tally), updated=self.clock())
            for row in self.records.get(InputRow, keys)
            if row.error is not None and compute_unread_entry_id(row.input_id) not in open_ids
        ]
        self.ledger.enter(ended_inputs, [], ())
        return len(ended_inputs)

    def _run(self, source: Source, counts: IntakeCounts, roots: frozenset[str]) -> None:
        batch, read_ids = _EntryBatch(), set[str]()
        for new_input, row, resolved_ids in self._iter_looked_up(source.iter_inputs(), roots):
            if self.stopping():
                break
            if new_input.input_id in read_ids:
                continue
            if row is not None and row.finished and new_input.error is None:
                if new_input.input_id not in counts.input_ids:
                    counts.known_input_count += 1
                    counts.known_count += row.entries + row.tally_count
                counts.read_later |= resolved_ids
                continue
            read_ids.add(new_input.input_id)
            counts.input_ids.add(new_input.input_id)
            current = row if row is not None and new_input.error is None else new_input
            current = replace(current, pipeline=self.gate.pipeline)
            if self._read(source.iter_entries(current), current, batch, counts):
                counts.read_later |= resolved_ids
        self._flush(batch, counts)

    def _iter_looked_up(
        self, inputs: Iterator[InputRow], roots: frozenset[str]
    ) -> Iterator[tuple[InputRow, InputRow | None, set[str]]]:
        """Yield each input with its stored row, and with the ids of earlier failures that it
        resolves.

        The stored row is None for an input that no run has read. An input that can be read resolves
        the failures recorded for its path, and for its parent folders up to the outermost in
        `roots`.
        """
        for chunk in _iter_chunks(inputs):
            unread_ids = {
                new_input.input_id: {
                    compute_unread_input_id(candidate)
                    for candidate in _list_parent_paths(new_input.path, roots)
                }
                for new_input in chunk
                if new_input.error is None
            }
            ids = {new_input.input_id for new_input in chunk}.union(*unread_ids.values())
            keys = [(candidate, self.gate.pipeline) for candidate in sorted(ids)]
            rows = {row.input_id: row for row in self.records.get(InputRow, keys)}
            failed_ids = {candidate for candidate, row in rows.items() if row.error is not None}
            for new_input in chunk:
                failed_here = unread_ids.get(new_input.input_id, set()) & failed_ids
                yield new_input, rows.get(new_input.input_id), failed_here

    def _read(
        self,
        items: Iterator[Entry | Mapping[str, int] | int],
        row: InputRow,
        batch: _EntryBatch,
        counts: IntakeCounts,
    ) -> bool:
        """Read the entries of one input, and enter them in batches. Return whether it was read to
        the end.

        If reading fails, a later run resumes at the last position. The failure is recorded as an
        input of its own, until the input can be read.
        """
        tally: Counter[str] = Counter(row.tally)
        new_entries: list[Entry] = []
        last_mark: tuple[int, int, Counter[str]] | None = None
        failure: Entry | UnreadTally | None = None
        for item in _iter_until_stopped(items, self.stopping):
            if isinstance(item, UnreadTally) or (isinstance(item, Entry) and is_unread(item.id)):
                failure = item
            elif isinstance(item, Entry):
                new_entries.append(item)
            elif isinstance(item, Mapping):
                tally.update(item)
            elif len(new_entries) + len(batch.entries) >= BATCH_MAX:
                row = batch.add_entries(row, new_entries, tally, item)
                new_entries, last_mark = [], None
                self._flush(batch, counts)
            else:
                last_mark = item, len(new_entries), Counter(tally)
        is_stopped = self.stopping()
        if is_stopped or failure is not None:
            # Entries after the last position are read again next time.
            if last_mark is not None:
                position, count, marked_tally = last_mark
                batch.add_entries(row, new_entries[:count], marked_tally, position)
            if failure is not None and not is_stopped:
                self._add_failure(row, failure, batch, counts)
            return False
        batch.add_entries(replace(row, finished=True), new_entries, tally, row.position)
        if max(len(batch.entries), len(batch.rows)) >= BATCH_MAX:
            self._flush(batch, counts)
        return True

    def _add_failure(
        self, row: InputRow, failure: Entry | UnreadTally, batch: _EntryBatch, counts: IntakeCounts
    ) -> None:
        """Record that an input cannot be read, unless the same failure with the same cause is
        recorded already.
        """
        input_id = compute_unread_input_id(row.path)
        counts.input_ids.add(input_id)
        earlier_rows = self.records.get(InputRow, [(input_id, self.gate.pipeline)])
        if earlier_rows and earlier_rows[0].error is not None:
            counts.still_failing.add(input_id)
            if not self._is_new_failure(earlier_rows[0].error, failure):
                return
        is_entry = isinstance(failure, Entry)
        if isinstance(failure, Entry):
            (batch.repeated_entries if earlier_rows else batch.entries).append(failure)
        tally = {} if isinstance(failure, Entry) else dict(failure)
        batch.rows[input_id] = replace(
            row,
            input_id=input_id,
            fingerprint=UNREAD_FINGERPRINT,
            position=0,
            entries=int(is_entry),
            tally=tally,
            tally_count=sum(tally.values()),
            finished=True,
            error=_explain_failure(failure),
        )

    def _is_new_failure(self, error: str, failure: Entry | UnreadTally) -> bool:
        """Return whether the failure of an input must be recorded, although it failed before.

        This is so if the cause changed, or if the entry of the failure is still pending, because
        the run that recorded it ended too early. A failure that a user accepted is not recorded
        again.
        """
        if isinstance(failure, UnreadTally):
            return error != _explain_failure(failure)
        earlier_rows = self.records.get(EntryRow, [(failure.id, self.gate.pipeline)])
        outcome = earlier_rows[0].outcome if earlier_rows else PENDING
        return outcome == PENDING or (
            outcome == Verdict.QUARANTINED and error != _explain_failure(failure)
        )

    def _flush(self, batch: _EntryBatch, counts: IntakeCounts) -> None:
        """Record the entries of a batch in the ledger, send their messages, then store the read
        positions.

        The order matters: a crash in between can repeat entries, but never skips one.
        """
        if not batch.rows:
            return
        for reader in self.gate.watched:
            wait_for_room(self.queue, reader, self.marks, self.stopping)
        now = self.clock()
        rows = [entry.build_row(self.gate.pipeline, now) for entry in batch.entries]
        unsettled_ids = self.ledger.enter([], rows, self.gate.steps)
        messages = [
            self._build_message(new_entry)
            for new_entry in batch.entries
            if new_entry.id in unsettled_ids
        ]
        if messages:
            self.queue.put(self.gate.topic, messages)
        self.send_again(batch.repeated_entries, "it still cannot be read")
        self.ledger.enter([replace(row, updated=now) for row in batch.rows.values()], [], ())
        counts.entries += len(batch.entries)
        batch.clear()

    def _build_message(self, entry: Entry) -> Message:
        item: Any = entry.item
        key = str(getattr(item, "order_key", item.about))
        headers = {PIPELINE: self.gate.pipeline} if self.gate.is_public else build_format_header()
        return Message(entry.id, encode(item), key, headers=headers)


def _iter_chunks(inputs: Iterator[InputRow]) -> Iterator[list[InputRow]]:
    """Yield groups of inputs. The stored rows of a group are looked up with one query.

    A remote file is the last of its group. It must be read while the HTTP response that listed it
    is still open.
    """
    chunk: list[InputRow] = []
    for new_input in inputs:
        chunk.append(new_input)
        if len(chunk) >= BATCH_MAX or "://" in new_input.path:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _list_parent_paths(path: str, roots: frozenset[str]) -> list[str]:
    """Return a path, and its parent folders up to the outermost that is in `roots`.

    A URL, or a path outside all `roots`, is returned alone.
    """
    if "://" in path:
        return [path]
    parents = [str(parent) for parent in PurePosixPath(path).parents] if roots else []
    outermost = max(
        (number for number, parent in enumerate(parents, 1) if parent in roots), default=0
    )
    return [path, *parents[:outermost]]


def _explain_failure(failure: Entry | UnreadTally) -> str:
    if isinstance(failure, UnreadTally):
        return failure.detail
    return getattr(failure.item, "damage", None) or "it cannot be read"


def _record_key(row: EntryRow) -> tuple[str, ...]:
    """Return a key that identifies a record in all copies of its file.

    The key consists of the URL, the capture time, and the file name with the offset, without the
    folder.
    """
    return row.url, row.seen or "", PurePosixPath(row.place or "").name


def _get_order_key(message: Message) -> str:
    headers = message.headers
    return f"read later; before: {headers.get('reason', '')}: {headers.get('detail', '')}"


def _read_later(tally: Mapping[str, int]) -> dict[str, int]:
    count = sum(tally.values())
    return {str(Reason.READ_LATER): count} if count else {}


def wait_for_room(
    queue: Queue, reader: Subscription, marks: QueueMarks, should_stop: Callable[[], bool]
) -> None:
    """Wait until fewer messages wait for a subscription.

    Returns at once if fewer than `marks.high` messages wait. Otherwise returns when at most
    `marks.low` wait, or when `should_stop` returns True.
    """
    if queue.get_depth(reader).pending < marks.high:
        return
    while not should_stop() and queue.get_depth(reader).pending > marks.low:
        time.sleep(POLL_S)


def _iter_until_stopped(
    items: Iterator[Entry | Mapping[str, int] | int], should_stop: Callable[[], bool]
) -> Iterator[Entry | Mapping[str, int] | int]:
    for item in items:
        yield item
        if should_stop():
            return


def build_failed_input(path: str, kind: str, updated_at: datetime, error: str) -> InputRow:
    """Return the row of `inputs` that records that a path or URL cannot be read.

    `error` says why. The row has an id of its own, so it does not replace the row of an input that
    was read from the same path before.
    """
    return build_unread_input(
        compute_unread_input_id(path), path, kind, UNREAD_FINGERPRINT, updated_at, error
    )


def build_unread_input(
    input_id: str,
    path: str,
    kind: str,
    fingerprint: str,
    updated_at: datetime,
    error: str | None = None,
) -> InputRow:
    """Return the row of `inputs` for an input that has not been read.

    `error` says why the input cannot be read; None if no attempt failed.
    """
    return InputRow(
        input_id=input_id,
        path=path,
        kind=kind,
        fingerprint=fingerprint,
        position=0,
        entries=0,
        tally={},
        tally_count=0,
        finished=False,
        error=error,
        updated=updated_at,
    )
