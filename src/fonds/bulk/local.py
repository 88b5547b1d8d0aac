"""Run bulk jobs on this machine: read parts in parallel, sort the records on disk, write ranges.

Progress is kept in the job's folder. A part (one input of the job) is done when `part-N.json` lists
its sorted runs. A range of sorted records is done when `range-N.results` exists. If the process is
killed, the same job resumes from these files. The folder is renamed before it is deleted, so that a
partly deleted folder is never resumed.
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

T = TypeVar("T")


def run_in_parallel(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[T]:
    """Run a function for each task in parallel processes; yield the results in order of completion.

    Each task is a tuple of arguments for the function. With one worker, the tasks run in this
    process. Raises what the function raises, and StoreUnavailableError if a process was killed;
    then the other processes are killed too.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        for task in tasks:
            yield function(*task)
        return
    # Start new interpreters: a fork would share the parent's connections and locks.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_die_with_parent)
    try:
        yield from _iter_done(pool, function, tasks, workers)
    except BrokenProcessPool as error:
        message = (
            "a process of the job was killed, probably because memory ran out. Start the job again"
        )
        raise StoreUnavailableError(message) from error
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
    """Run tasks in a pool of processes; yield the results in order of completion.

    Only a few tasks are submitted at a time, because the arguments of a task may be large.
    """
    remaining, running = iter(tasks), set[Future[T]]()
    while True:
        for task in remaining:
            running.add(pool.submit(function, *task))
            if len(running) >= 2 * workers:
                break
        if not running:
            return
        completed_futures, running = wait(running, return_when=FIRST_COMPLETED)
        for future in completed_futures:
            yield future.result()


def _die_with_parent() -> None:
    """Prepare a worker process: ignore interrupts, which the parent handles, and exit with the
    parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


MEMORY_BYTES = 64 * 1024**2
REPORT_EVERY_S = 5.0
ReportProgress = Callable[[str, int, int], None]
"""Function that receives the current stage (`read` or `written`), the number of parts or ranges
done, and their total.
"""


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Engine that runs bulk jobs with processes of this machine.

    - `folder`: folder for the sorted records of jobs. It needs room for all records.
    - `workers`: number of processes that read parts at once, each with about `memory_bytes` of
      records in memory.
    - `writers`: number of processes that write ranges at once; must be 1 if a store of the library
      is a file on this machine.
    - `report_progress`: receives the numbers of parts read and ranges written, every few seconds.
    """

    folder: Path
    workers: int
    writers: int
    memory_bytes: int = MEMORY_BYTES
    report_progress: ReportProgress | None = None

    def run(self, job: Job) -> Iterator[bytes]:
        """Run a bulk job, or resume it after a crash; yield the results of all ranges in order.

        The job's folder is deleted after all results were yielded. Raises what `Engine.run` raises.
        """
        folder, removed_folder = self.folder / job.name, self.folder / f"{job.name}.removed"
        shutil.rmtree(removed_folder, ignore_errors=True)
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
        ranges = [
            (index,) for index in range(counts[1]) if not _results_path(folder, index).exists()
        ]
        self._report_progress(
            "written", run_in_parallel(write, ranges, self.writers), len(ranges), counts[1]
        )
        for number in range(counts[1]):
            with _results_path(folder, number).open("rb") as stream:
                yield from (line[:-1] for line in stream)
        folder.replace(removed_folder)
        shutil.rmtree(removed_folder)

    def _report_progress(
        self, stage: str, results: Iterator[None], remaining: int, total: int
    ) -> None:
        """Consume the results of all tasks of a stage, and report progress every few seconds.

        - `remaining`: number of tasks of the stage that were not done at the start.
        - `total`: number of all tasks of the stage, including those that an earlier run has done.
        """
        reported_at_s = time.monotonic()
        for done_count, _ in enumerate(results, total - remaining + 1):
            if self.report_progress and (
                done_count == total or time.monotonic() - reported_at_s >= REPORT_EVERY_S
            ):
                reported_at_s = time.monotonic()
                self.report_progress(stage, done_count, total)


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
    run_ranges = [
        RunRange(folder / run.name, run.offsets[number], run.offsets[number + 1])
        for part in range(part_count)
        for run in msgspec.json.decode(
            _part_path(folder, part).read_bytes(), type=prepare_type(list[SortRun])
        )
    ]
    nonempty_ranges = [run_range for run_range in run_ranges if run_range.end > run_range.start]
    results = [*write(number, merge_runs(nonempty_ranges, folder, f"range-{number}"))]
    _write_atomically(
        _results_path(folder, number), b"".join(run_range + b"\n" for run_range in results)
    )


def _write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it has its old or its new contents, even after a power failure."""
    temporary_path = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary_path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary_path.replace(path)
