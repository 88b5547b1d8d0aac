"""The sign of life a process at work writes down, for whoever asks who works on a library."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from fonds.isolation.process_identity import is_process_gone
from fonds.model.errors import StorageFullError, TransientError
from fonds.model.rows import DispositionRow, WorkerRow
from fonds.ports import Records

logger = logging.getLogger(__name__)

EVERY_S = 15
SILENT_FOR = timedelta(days=7)
"""Rows of a process that cannot be asked, as one on another machine, are swept when they are so old."""
SWEPT_MAX = 1_000


class Heartbeat:
    """Writes one row a step of this process from its start to its stop, and then takes them away.

    It never holds the work up: while the records do not answer, the sign of life is missing.
    """

    def __init__(
        self,
        records: Records,
        worker: str,
        pipeline: str,
        steps: Sequence[str],
        clock: Callable[[], datetime],
        every_s: int = EVERY_S,
    ) -> None:
        """`worker` names this process and no other, ever."""
        self._records = records
        self._worker = worker
        self._pipeline = pipeline
        self._steps = steps
        self._clock = clock
        self._every_s = every_s
        self._started = clock()
        self._ended: dict[str, tuple[int, datetime]] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def observe(self, step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
        """Count a batch that was settled."""
        with self._lock:
            count, _ = self._ended.get(step, (0, None))
            self._ended[step] = (count + len(rows), self._clock())

    def start(self, troubles: Callable[[], Mapping[str, str]]) -> None:
        """Begin; `troubles` says what each thread, named `STEP-NUMBER`, waits for."""
        self._thread = threading.Thread(
            target=self._beat, args=(troubles,), name="heartbeat", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Leave: the rows are taken away. More than once does no harm."""
        if self._thread is None:
            return
        self._stopped.set()
        self._thread.join()
        self._thread = None
        self._try(self._leave)

    def _beat(self, troubles: Callable[[], Mapping[str, str]]) -> None:
        self._try(self._sweep)
        while True:
            self._try(partial(self._write, troubles))
            if self._stopped.wait(self._every_s):
                return

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (TransientError, StorageFullError) as error:
            logger.debug("no sign of life was written: %s", error)

    def _write(self, troubles: Callable[[], Mapping[str, str]]) -> None:
        now = self._clock()
        waits = {name.rpartition("-")[0]: told for name, told in troubles().items()}
        self._records.put([self._build_row(step, now, waits.get(step)) for step in self._steps])

    def _build_row(self, step: str, now: datetime, trouble: str | None) -> WorkerRow:
        count, last = self._ended.get(step, (0, None))
        return WorkerRow(
            worker=self._worker,
            step=step,
            pipeline=self._pipeline,
            started=self._started,
            seen=now,
            every_s=self._every_s,
            ended=count,
            last_ended=last,
            trouble=trouble,
        )

    def _leave(self) -> None:
        self._records.delete(WorkerRow, [(self._worker, step) for step in self._steps])

    def _sweep(self) -> None:
        """Take away rows of processes that were killed, a thousand at a time."""
        before = self._clock() - SILENT_FOR
        rows = self._records.find(WorkerRow, order=("seen",), count_max=SWEPT_MAX)
        gone = [row for row in rows if is_process_gone(row.worker) or row.seen < before]
        self._records.delete(WorkerRow, [(row.worker, row.step) for row in gone])
