"""Runs bulk jobs on this machine: parts read side by side, sorted on disk, ranges written.

What is done stands in a folder of the job: runs of a part count when `part-N.json` names them, a range when
`range-N.results` is there. Killed at any moment, the same job goes on there. Before it is removed the folder
gets another name: of one that is half removed nothing is believed.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fonds.bulk.sort_runs import RunRange, SortRun, merge_runs, write_runs
from fonds.model.encoding import prepare_type
from fonds.model.errors import StoreUnavailableError
from fonds.ports import Job

# Tasks done side by side by processes that end with the one that started them.


T = TypeVar("T")


def run_in_parallel(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[T]:
    """What comes of the function for each task, in the order they end; with one worker in this process.

    Raises what the function raises, and StoreUnavailableError when a process was killed; the others are
    ended then.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        for task in tasks:
            yield function(*task)
        return
    # A fresh interpreter each: a fork would share the parent's connections and locks.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_die_with_parent)
    try:
        yield from _iter_done(pool, function, tasks, workers)
    except BrokenProcessPool as error:
        told = "a process of the job was killed, by the machine's want of memory perhaps; start it again"
        raise StoreUnavailableError(told) from error
    except BaseException:
        for child in multiprocessing.active_children():
            child.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _iter_done(
    pool: ProcessPoolExecutor,
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    workers: int,
) -> Iterator[T]:
    """Few tasks wait in the pool at once: a part of a job may be handed on whole."""
    waiting, under_way = iter(tasks), set[Future[T]]()
    while True:
        for task in waiting:
            under_way.add(pool.submit(function, *task))
            if len(under_way) >= 2 * workers:
                break
        if not under_way:
            return
        ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
        for one in ended:
            yield one.result()


def _die_with_parent() -> None:
    """Interrupting is for the parent to do; when it is gone, however it went, so is this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


MEMORY_BYTES = 64 * 1024**2
REPORT_EVERY_S = 5.0
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
            if not _part_path(folder, number).exists()
        ]
        self._report_progress(
            "read", run_in_parallel(read, parts, self.workers), len(parts), len(job.parts)
        )
        counts = (len(job.parts), len(job.ranges) + 1)
        write = partial(_write_range, job.write, folder, counts[0])
        ranges = [(one,) for one in range(counts[1]) if not _results_path(folder, one).exists()]
        self._report_progress(
            "written", run_in_parallel(write, ranges, self.writers), len(ranges), counts[1]
        )
        for number in range(counts[1]):
            with _results_path(folder, number).open("rb") as stream:
                yield from (line[:-1] for line in stream)
        folder.replace(removed)
        shutil.rmtree(removed)

    def _report_progress(
        self, stage: str, results: Iterator[None], remaining: int, total: int
    ) -> None:
        """Have all of it done, telling how far it got."""
        told_s = time.monotonic()
        for done, _ in enumerate(results, total - remaining + 1):
            if self.tell and (done == total or time.monotonic() - told_s >= REPORT_EVERY_S):
                told_s = time.monotonic()
                self.tell(stage, done, total)


def _part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number}.json"


def _results_path(folder: Path, number: int) -> Path:
    return folder / f"range-{number}.results"


def _read_part(
    read_part: Any, folder: Path, ranges: Sequence[bytes], memory_bytes: int, number: int, part: Any
) -> None:
    runs = write_runs(read_part(part), folder, f"part-{number}", ranges, memory_bytes)
    _write_atomically(_part_path(folder, number), msgspec.json.encode(runs))


def _write_range(write: Any, folder: Path, part_count: int, number: int) -> None:
    stretches = [
        RunRange(folder / run.name, run.offsets[number], run.offsets[number + 1])
        for part in range(part_count)
        for run in msgspec.json.decode(
            _part_path(folder, part).read_bytes(), type=prepare_type(list[SortRun])
        )
    ]
    filled = [one for one in stretches if one.end > one.start]
    results = [*write(number, merge_runs(filled, folder, f"range-{number}"))]
    _write_atomically(_results_path(folder, number), b"".join(one + b"\n" for one in results))


def _write_atomically(path: Path, data: bytes) -> None:
    """Whole or not at all, also after a power cut."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)
