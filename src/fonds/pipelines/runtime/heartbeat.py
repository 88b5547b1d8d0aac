"""Heartbeat: rows in which a worker process regularly records that it is alive."""

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

HEARTBEAT_EVERY_S = 15
REMOVED_AFTER = timedelta(days=7)
"""Age at which a heartbeat row is deleted if its process cannot be checked, for example on another
machine.
"""
SWEPT_MAX = 1_000


class Heartbeat:
    """Writer of heartbeat rows, by which other processes see that this process is alive.

    It writes one `WorkerRow` per step at regular intervals, and deletes the rows at the end. The
    heartbeat never delays the work of the process. While the SQL database is unavailable, no row is
    written.
    """

    def __init__(
        self,
        records: Records,
        worker: str,
        pipeline: str,
        steps: Sequence[str],
        clock: Callable[[], datetime],
        every_s: int = HEARTBEAT_EVERY_S,
    ) -> None:
        """Prepare the heartbeat of a process, without writing rows yet.

        - `worker`: unique name of this process, which no other process ever has.
        - `pipeline`: name of the pipeline that the process runs.
        - `steps`: names of the steps that the process runs.
        - `clock`: returns the current time (aware UTC).
        - `every_s`: interval in seconds at which the rows are written again.
        """
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
        """Add the messages of a finished batch to the number of messages that the step has
        processed.
        """
        with self._lock:
            count, _ = self._ended.get(step, (0, None))
            self._ended[step] = (count + len(rows), self._clock())

    def start(self, troubles: Callable[[], Mapping[str, str]]) -> None:
        """Start the thread that writes the heartbeat rows.

        `troubles` returns why a thread waits, such as the error text of an unavailable store, by
        thread name (`STEP-NUMBER`).
        """
        self._thread = threading.Thread(
            target=self._write_regularly, args=(troubles,), name="heartbeat", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeat and delete its rows. A second call does nothing."""
        if self._thread is None:
            return
        self._stopped.set()
        self._thread.join()
        self._thread = None
        self._log_errors(self._delete_own_rows)

    def _write_regularly(self, troubles: Callable[[], Mapping[str, str]]) -> None:
        self._log_errors(self._delete_stale_rows)
        while True:
            self._log_errors(partial(self._write, troubles))
            if self._stopped.wait(self._every_s):
                return

    def _log_errors(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (TransientError, StorageFullError) as error:
            logger.debug("could not write the heartbeat: %s", error)

    def _write(self, troubles: Callable[[], Mapping[str, str]]) -> None:
        now = self._clock()
        waits = {name.rpartition("-")[0]: trouble for name, trouble in troubles().items()}
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

    def _delete_own_rows(self) -> None:
        self._records.delete(WorkerRow, [(self._worker, step) for step in self._steps])

    def _delete_stale_rows(self) -> None:
        """Delete heartbeat rows of killed processes; examine at most a thousand rows per call."""
        oldest_seen = self._clock() - REMOVED_AFTER
        rows = self._records.find(WorkerRow, order=("seen",), count_max=SWEPT_MAX)
        stale_rows = [row for row in rows if is_process_gone(row.worker) or row.seen < oldest_seen]
        self._records.delete(WorkerRow, [(row.worker, row.step) for row in stale_rows])
