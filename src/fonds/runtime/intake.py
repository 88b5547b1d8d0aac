"""Takes captures from a source and enters them: once each, going on where an earlier run stopped."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

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
        for found in source.inputs():
            if self.stopping():
                return
            row = next(iter(self.records.get(InputRow, [found.input_id])), None)
            if row is not None and row.finished:
                if found.input_id not in entered.input_ids:
                    entered.inputs_known += 1
                    entered.known += row.captures + sum(row.tally.values())
                continue
            entered.input_ids.add(found.input_id)
            self._read(source, row or found, row is not None, entered)

    def _read(self, source: Source, row: InputRow, resumed: bool, entered: Entered) -> None:
        batch: list[Capture] = []
        tally: Counter[str] = Counter(row.tally)
        reading = source.captures(row)
        for found in _until(reading, self.stopping):
            if isinstance(found, Capture):
                batch.append(found)
            elif isinstance(found, Mapping):
                tally.update(found)
            elif len(batch) >= BATCH_MAX:
                row = self._enter(row, batch, tally, found, resumed, entered)
                batch = []
        else:
            if not self.stopping():
                row = self._enter(row, batch, tally, row.position, resumed, entered)
                self.records.put([replace(row, finished=True, updated=self.clock())])

    def _enter(
        self,
        row: InputRow,
        batch: list[Capture],
        tally: Mapping[str, int],
        position: int,
        resumed: bool,
        entered: Entered,
    ) -> InputRow:
        """Captures first, then their messages, then the mark: a death in between repeats, never skips."""
        self._wait_for_room()
        now = self.clock()
        self.records.add([_capture_row(capture, now) for capture in batch])
        settled = self._settled(batch) if resumed else set()
        messages = [Message(c.id, encode(c)) for c in batch if c.id not in settled]
        if messages:
            self.queue.put(self.entry.topic, messages)
        row = replace(
            row,
            position=position,
            captures=row.captures + len(batch),
            tally=dict(tally),
            updated=now,
        )
        self.records.put([row])
        entered.captures += len(batch)
        return row

    def _settled(self, batch: list[Capture]) -> set[str]:
        keys = [(capture.id, self.entry.name) for capture in batch]
        rows = self.records.get(DispositionRow, keys)
        return {row.capture_id for row in rows}

    def _wait_for_room(self) -> None:
        if self.queue.depth(self.entry).pending < self.marks.high:
            return
        while not self.stopping() and self.queue.depth(self.entry).pending > self.marks.low:
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
        entered_at=now,
    )
