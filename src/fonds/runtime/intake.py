"""Takes entries from a source and enters them into a pipeline: once each, going on where it stopped."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from fonds.formats.envelope import encode
from fonds.model.disposition import Verdict
from fonds.model.entry import Entry
from fonds.model.errors import TransientError
from fonds.model.message import PIPELINE, Message, Subscription
from fonds.model.rows import InputRow
from fonds.ports import Ledger, Queue, Records, Source
from fonds.runtime.binding import stage_of
from fonds.runtime.quarantine import ended_by_hand

BATCH_MAX = 200
POLL_S = 0.1
PAUSE_FIRST_S, PAUSE_LONGEST_S = 1.0, 30.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Marks:
    """Messages waiting at one stage at which a source pauses (`high`), and at which it goes on (`low`)."""

    high: int = 20_000
    low: int = 10_000


@dataclass(slots=True)
class Entered:
    """What one run of the intake did. `known` counts what finished inputs held before this run."""

    input_ids: set[str] = field(default_factory=set)
    entries: int = 0
    known: int = 0
    inputs_known: int = 0


@dataclass(slots=True)
class _Batch:
    """Entries to be entered together, and the marks that stand behind them."""

    entries: list[Entry] = field(default_factory=list)
    rows: dict[str, InputRow] = field(default_factory=dict)

    def add(
        self, row: InputRow, entries: list[Entry], tally: Mapping[str, int], position: int
    ) -> InputRow:
        """Take entries in, up to `position`; returns the input's row as it is to be written."""
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
        """Everything was entered."""
        self.entries, self.rows = [], {}


@dataclass(frozen=True, slots=True)
class Gate:
    """Where entries enter a pipeline: its name, its entry topic on the queue, and the steps that read that.

    `watched` are all the stages of the pipeline: a source waits for the slowest.
    """

    pipeline: str
    topic: str
    watched: tuple[Subscription, ...]
    steps: tuple[str, ...]
    public: bool = False


@dataclass(frozen=True, slots=True)
class Intake:
    """Enters what sources find at `gate`. `stopping` says when to leave off; nothing is lost by it."""

    queue: Queue
    records: Records
    ledger: Ledger
    gate: Gate
    marks: Marks
    clock: Callable[[], datetime]
    stopping: Callable[[], bool]

    def run(self, source: Source, entered: Entered) -> None:
        """Enter everything the source holds, adding to `entered` as it goes.

        When a store does not answer, the source is read again from its marks a little later.
        """
        pause_s = PAUSE_FIRST_S
        while not self.stopping():
            try:
                self._run(source, entered)
            except TransientError as error:
                logger.warning("entering stopped: %s; again in %.0f s", error, pause_s)
                time.sleep(pause_s)
                pause_s = min(PAUSE_LONGEST_S, 2 * pause_s)
                entered.known = entered.inputs_known = 0
            else:
                return

    def send_again(self, entries: Sequence[Entry], why: str) -> None:
        """Let these go their way once more, whatever became of them; on the books they are open first."""
        if not entries:
            return
        for stage in self.gate.watched:
            wait_for_room(self.queue, stage, self.marks, self.stopping)
        now = self.clock()
        rows = [entry.row(self.gate.pipeline, now) for entry in entries]
        self.ledger.enter([], rows, self.gate.steps)
        messages = [self._message(entry) for entry in entries]
        for reader in self.gate.watched:
            if stage_of(reader)[1] in self.gate.steps:
                again = [
                    ended_by_hand(one, reader, Verdict.RETRIED, None, why, now) for one in messages
                ]
                self.ledger.write(again)
                self.queue.put(reader.incoming, messages)

    def _run(self, source: Source, entered: Entered) -> None:
        batch, read = _Batch(), set[str]()
        for found, row in self._looked_up(source.inputs()):
            if self.stopping():
                break
            if found.input_id in read:
                continue
            if row is not None and row.finished:
                if found.input_id not in entered.input_ids:
                    entered.inputs_known += 1
                    entered.known += row.entries + row.tally_count
                continue
            read.add(found.input_id)
            entered.input_ids.add(found.input_id)
            begun = row or replace(found, pipeline=self.gate.pipeline)
            self._read(source.entries(begun), begun, batch, entered)
        self._flush(batch, entered)

    def _looked_up(self, inputs: Iterator[InputRow]) -> Iterator[tuple[InputRow, InputRow | None]]:
        """Each input with its row of an earlier run, None for a new one."""
        for chunk in _chunks(inputs):
            keys = [(found.input_id, self.gate.pipeline) for found in chunk]
            rows = {row.input_id: row for row in self.records.get(InputRow, keys)}
            yield from ((found, rows.get(found.input_id)) for found in chunk)

    def _read(
        self,
        reading: Iterator[Entry | Mapping[str, int] | int],
        row: InputRow,
        batch: _Batch,
        entered: Entered,
    ) -> None:
        """One input; many small ones share a batch, a large one fills several."""
        tally: Counter[str] = Counter(row.tally)
        unmarked: list[Entry] = []
        marked: tuple[int, int, Counter[str]] | None = None
        for found in _until(reading, self.stopping):
            if isinstance(found, Entry):
                unmarked.append(found)
            elif isinstance(found, Mapping):
                tally.update(found)
            elif len(unmarked) + len(batch.entries) >= BATCH_MAX:
                row = batch.add(row, unmarked, tally, found)
                unmarked, marked = [], None
                self._flush(batch, entered)
            else:
                marked = found, len(unmarked), Counter(tally)
        if self.stopping():
            # What no mark stands behind is read again next time.
            if marked is not None:
                position, count, counted = marked
                batch.add(row, unmarked[:count], counted, position)
            return
        batch.add(replace(row, finished=True), unmarked, tally, row.position)
        if max(len(batch.entries), len(batch.rows)) >= BATCH_MAX:
            self._flush(batch, entered)

    def _flush(self, batch: _Batch, entered: Entered) -> None:
        """Entries first, then their messages, then the marks: a death in between repeats, never skips."""
        if not batch.rows:
            return
        for reader in self.gate.watched:
            wait_for_room(self.queue, reader, self.marks, self.stopping)
        now = self.clock()
        rows = [entry.row(self.gate.pipeline, now) for entry in batch.entries]
        unsettled = self.ledger.enter([], rows, self.gate.steps)
        messages = [self._message(one) for one in batch.entries if one.id in unsettled]
        if messages:
            self.queue.put(self.gate.topic, messages)
        self.ledger.enter([replace(row, updated=now) for row in batch.rows.values()], [], ())
        entered.entries += len(batch.entries)
        batch.clear()

    def _message(self, entry: Entry) -> Message:
        item: Any = entry.item
        key = str(getattr(item, "order_key", item.about))
        headers = {PIPELINE: self.gate.pipeline} if self.gate.public else {}
        return Message(entry.id, encode(item), key, headers=headers)


def _chunks(inputs: Iterator[InputRow]) -> Iterator[list[InputRow]]:
    """Inputs whose rows are looked up together. A file of another machine ends a chunk: it is read while the
    answer that named it is open."""
    chunk: list[InputRow] = []
    for found in inputs:
        chunk.append(found)
        if len(chunk) >= BATCH_MAX or "://" in found.path:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def wait_for_room(
    queue: Queue, reader: Subscription, marks: Marks, stopping: Callable[[], bool]
) -> None:
    """While as many messages wait as the high mark, wait until they are as few as the low one."""
    if queue.depth(reader).pending < marks.high:
        return
    while not stopping() and queue.depth(reader).pending > marks.low:
        time.sleep(POLL_S)


def _until(
    found: Iterator[Entry | Mapping[str, int] | int], stopping: Callable[[], bool]
) -> Iterator[Entry | Mapping[str, int] | int]:
    for one in found:
        yield one
        if stopping():
            return
