"""Takes captures from a source and enters them: once each, going on where an earlier run stopped."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from fonds.formats.envelope import encode
from fonds.model.capture import Capture
from fonds.model.errors import TransientError
from fonds.model.message import Message, Subscription
from fonds.model.rows import CaptureRow, DispositionRow, InputRow
from fonds.ports import Queue, Records, Source

BATCH_MAX = 200
POLL_S = 0.1
PAUSE_FIRST_S, PAUSE_LONGEST_S = 1.0, 30.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Marks:
    """Waiting captures at which a source pauses (`high`), and at which it goes on (`low`)."""

    high: int = 20_000
    low: int = 10_000


@dataclass(slots=True)
class Entered:
    """What one run of the intake did. `known` counts what finished inputs held before this run."""

    input_ids: set[str] = field(default_factory=set)
    captures: int = 0
    known: int = 0
    inputs_known: int = 0


@dataclass(slots=True)
class _Batch:
    """Captures to be entered together, and the marks that stand behind them.

    `resumed` are the captures of inputs begun before: some may be settled already.
    """

    captures: list[Capture] = field(default_factory=list)
    rows: dict[str, InputRow] = field(default_factory=dict)
    resumed: list[str] = field(default_factory=list)

    def add(
        self,
        row: InputRow,
        captures: list[Capture],
        tally: Mapping[str, int],
        position: int,
        *,
        resumed: bool,
    ) -> InputRow:
        """Take captures in, up to `position`; returns the input's row as it is to be written."""
        self.captures += captures
        if resumed:
            self.resumed += [capture.id for capture in captures]
        count = row.captures + len(captures)
        row = replace(row, position=position, captures=count, tally=dict(tally))
        self.rows[row.input_id] = row
        return row

    def clear(self) -> None:
        """Everything was entered."""
        self.captures, self.rows, self.resumed = [], {}, []


@dataclass(frozen=True, slots=True)
class Intake:
    """Enters captures at `entry`. `stopping` says when to leave off; nothing is lost by it."""

    queue: Queue
    records: Records
    entry: Subscription
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
                    entered.known += row.captures + sum(row.tally.values())
                continue
            read.add(found.input_id)
            entered.input_ids.add(found.input_id)
            self._read(source.captures(row or found), row or found, row is not None, batch, entered)
        self._flush(batch, entered)

    def _looked_up(self, inputs: Iterator[InputRow]) -> Iterator[tuple[InputRow, InputRow | None]]:
        """Each input with its row of an earlier run, None for a new one."""
        while chunk := list(islice(inputs, BATCH_MAX)):
            keys = [found.input_id for found in chunk]
            rows = {row.input_id: row for row in self.records.get(InputRow, keys)}
            yield from ((found, rows.get(found.input_id)) for found in chunk)

    def _read(
        self,
        reading: Iterator[Capture | Mapping[str, int] | int],
        row: InputRow,
        resumed: bool,
        batch: _Batch,
        entered: Entered,
    ) -> None:
        """One input; many small ones share a batch, a large one fills several."""
        tally: Counter[str] = Counter(row.tally)
        unmarked: list[Capture] = []
        for found in _until(reading, self.stopping):
            if isinstance(found, Capture):
                unmarked.append(found)
            elif isinstance(found, Mapping):
                tally.update(found)
            elif len(unmarked) + len(batch.captures) >= BATCH_MAX:
                row = batch.add(row, unmarked, tally, found, resumed=resumed)
                unmarked = []
                self._flush(batch, entered)
        if self.stopping():
            # What no mark stands behind is read again next time.
            return
        batch.add(replace(row, finished=True), unmarked, tally, row.position, resumed=resumed)
        if max(len(batch.captures), len(batch.rows)) >= BATCH_MAX:
            self._flush(batch, entered)

    def _flush(self, batch: _Batch, entered: Entered) -> None:
        """Captures first, then their messages, then the marks: a death in between repeats, never skips."""
        if not batch.rows:
            return
        self._wait_for_room()
        now = self.clock()
        self.records.put([_capture_row(capture, now) for capture in batch.captures], replace=False)
        settled = self._settled(batch.resumed)
        messages = [Message(c.id, encode(c)) for c in batch.captures if c.id not in settled]
        if messages:
            self.queue.put(self.entry.topic, messages)
        self.records.put([replace(row, updated=now) for row in batch.rows.values()])
        entered.captures += len(batch.captures)
        batch.clear()

    def _settled(self, capture_ids: list[str]) -> set[str]:
        rows = self.records.get(DispositionRow, [(one, self.entry.name) for one in capture_ids])
        return {row.capture_id for row in rows}

    def _wait_for_room(self) -> None:
        wait_for_room(self.queue, self.entry, self.marks, self.stopping)


def wait_for_room(
    queue: Queue, reader: Subscription, marks: Marks, stopping: Callable[[], bool]
) -> None:
    """While as many messages wait as the high mark, wait until they are as few as the low one."""
    if queue.depth(reader).pending < marks.high:
        return
    while not stopping() and queue.depth(reader).pending > marks.low:
        time.sleep(POLL_S)


def _until(
    found: Iterator[Capture | Mapping[str, int] | int], stopping: Callable[[], bool]
) -> Iterator[Capture | Mapping[str, int] | int]:
    for one in found:
        yield one
        if stopping():
            return


def _capture_row(capture: Capture, now: datetime) -> CaptureRow:
    return CaptureRow(
        capture_id=capture.id,
        input_id=capture.input_id,
        url=capture.url,
        datetime=capture.datetime14,
        place=str(capture.place),
        collection=capture.collection,
        entered_at=now,
    )
