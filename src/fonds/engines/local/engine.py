"""Runs bulk jobs on this machine: parts read side by side, sorted on disk, ranges written.

What is done stands in a folder of the job: runs of a part count when `part-N.json` names them, a range when
`range-N.results` is there. Killed at any moment, the same job goes on there. Before it is removed the folder
gets another name: of one that is half removed nothing is believed.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from fonds.engines.local.processes import side_by_side
from fonds.engines.local.runs import Run, Stretch, merged, write_runs
from fonds.model.prepared import prepared
from fonds.ports import Job

MEMORY_BYTES = 64 * 1024**2
TELL_EVERY_S = 5.0
Tell = Callable[[str, int, int], None]
"""Takes what is under way, how many of it are done, and of how many."""


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Implements Engine. `folder` is where jobs keep what they sort, as much as all records are long.

    `workers` processes read at once, each with about `memory_bytes` of records; `writers` write at once:
    one where a store is a file of this machine. `tell` is told of parts read and ranges written, every few
    seconds.
    """

    folder: Path
    workers: int
    writers: int
    memory_bytes: int = MEMORY_BYTES
    tell: Tell | None = None

    def run(self, job: Job) -> Iterator[bytes]:
        """As the port says; the job's folder is removed when the results were given."""
        folder, removed = self.folder / job.name, self.folder / f"{job.name}.removed"
        shutil.rmtree(removed, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        read = partial(_read_part, job.read, folder, job.ranges, self.memory_bytes)
        parts = [
            (number, part)
            for number, part in enumerate(job.parts)
            if not _part(folder, number).exists()
        ]
        self._told("read", side_by_side(read, parts, self.workers), len(parts), len(job.parts))
        counts = (len(job.parts), len(job.ranges) + 1)
        write = partial(_write_range, job.write, folder, counts[0])
        ranges = [(one,) for one in range(counts[1]) if not _results(folder, one).exists()]
        self._told("written", side_by_side(write, ranges, self.writers), len(ranges), counts[1])
        for number in range(counts[1]):
            with _results(folder, number).open("rb") as stream:
                yield from (line[:-1] for line in stream)
        folder.replace(removed)
        shutil.rmtree(removed)

    def _told(self, what: str, ended: Iterator[None], left: int, total: int) -> None:
        """Have all of it done, telling how far it got."""
        told_s = time.monotonic()
        for done, _ in enumerate(ended, total - left + 1):
            if self.tell and (done == total or time.monotonic() - told_s >= TELL_EVERY_S):
                told_s = time.monotonic()
                self.tell(what, done, total)


def _part(folder: Path, number: int) -> Path:
    return folder / f"part-{number}.json"


def _results(folder: Path, number: int) -> Path:
    return folder / f"range-{number}.results"


def _read_part(
    read: Any, folder: Path, ranges: Sequence[bytes], memory_bytes: int, number: int, part: Any
) -> None:
    runs = write_runs(read(part), folder, f"part-{number}", ranges, memory_bytes)
    _put(_part(folder, number), msgspec.json.encode(runs))


def _write_range(write: Any, folder: Path, part_count: int, number: int) -> None:
    stretches = [
        Stretch(folder / run.name, run.offsets[number], run.offsets[number + 1])
        for part in range(part_count)
        for run in msgspec.json.decode(_part(folder, part).read_bytes(), type=prepared(list[Run]))
    ]
    filled = [one for one in stretches if one.end > one.start]
    results = [*write(number, merged(filled, folder, f"range-{number}"))]
    _put(_results(folder, number), b"".join(one + b"\n" for one in results))


def _put(path: Path, data: bytes) -> None:
    """Whole or not at all, also after a power cut."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)
