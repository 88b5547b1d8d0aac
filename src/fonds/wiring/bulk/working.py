"""The pipeline of a home at work on one input after the other, for jobs that extract into the stores."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fonds.config import Settings
from fonds.model.entry import Entry
from fonds.model.rows import EntryRow, InputRow
from fonds.ports import Records, Source, Stores
from fonds.runtime.intake import BATCH_MAX, Entered, Intake
from fonds.runtime.threads import WorkerThreads
from fonds.wiring.backends import close_stores, open_stores
from fonds.wiring.pipelines import make_intake, make_threads
from fonds.wiring.readers import Readers, open_readers

LOOK_EVERY_S = 0.2
PATIENCE_S = 600.0
"""What is still open when nothing has ended for so long is left pending: it waits for somebody else."""
WHY = "extracted again in bulk"


@dataclass(frozen=True, slots=True)
class PipelineAtWork:
    """Implements Working: stores, readers and threads of its own, started at once."""

    stores: Stores
    readers: Readers
    threads: WorkerThreads
    intake: Intake
    pipeline: str

    @property
    def records(self) -> Records:
        """Where the books are read."""
        return self.stores.records

    def work_off(self, source: Source, row: InputRow) -> None:
        """What was finished before is sent again, the rest is entered where that was left off."""
        known, entered = self.records.get(InputRow, [(row.input_id, self.pipeline)]), Entered()
        if known and known[0].finished:
            found = (one for one in source.entries(row) if isinstance(one, Entry))
            while some := list(islice(found, BATCH_MAX)):
                self.intake.send_again(some, WHY)
        else:
            self.intake.run(source, entered)
        self._wait(row.input_id)
        self.intake.end_failures(entered)
        if (failure := self.threads.failure()) is not None:
            raise failure

    def close(self) -> None:
        """What is in hand comes back by itself when it does not end within some seconds."""
        if self.threads.stop():
            self.readers.close()
            self.stores.archive.finish()
        close_stores(self.stores)

    def _wait(self, input_id: str) -> None:
        where = {"input_id": input_id, "pipeline": self.pipeline, "outcome": "pending"}
        before, since_s = -1, time.monotonic()
        while not self.threads.wait(LOOK_EVERY_S):
            left = self.records.count(EntryRow, (), where)[()]
            if left != before:
                before, since_s = left, time.monotonic()
            if not left or time.monotonic() - since_s > PATIENCE_S:
                return


def open_pipeline(home: Path, settings: Settings) -> PipelineAtWork:
    """The pipeline of these settings at work in this process."""
    stores = open_stores(home, settings)
    readers = open_readers(home / "tmp", settings)
    threads = make_threads(stores, readers, settings)
    intake = make_intake(stores, settings, threads.stopping)
    threads.start()
    return PipelineAtWork(stores, readers, threads, intake, settings.pipeline)
