"""Records sorted on disk: runs that were sorted in memory, each divided into ranges, and merged.

A run is a file of records with a line end each. At most `MERGE_WAYS_MAX` runs are open at once; more are
merged in steps."""

from __future__ import annotations

import heapq
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

MERGE_WAYS_MAX = 64
READ_BYTES = 256 * 1024
RECORD_OVERHEAD_BYTES = 50
"""What a record takes in memory beside its bytes."""


@dataclass(frozen=True, slots=True)
class SortRun:
    """One run: the file's name, and where in it each range begins, and the last ends."""

    name: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunRange:
    """The records of one range in one run."""

    path: Path
    start: int
    end: int


def write_runs(
    records: Iterable[bytes], folder: Path, stem: str, ranges: Sequence[bytes], memory_bytes: int
) -> list[SortRun]:
    """Sort records into runs `STEM-NUMBER.run`, holding about `memory_bytes` at once.

    Raises ValueError for a record with a line end.
    """
    runs: list[SortRun] = []
    held: list[bytes] = []
    left = memory_bytes
    for record in records:
        held.append(record)
        left -= len(record) + RECORD_OVERHEAD_BYTES
        if left <= 0:
            runs.append(_write(held, folder, f"{stem}-{len(runs)}.run", ranges))
            held, left = [], memory_bytes
    if held:
        runs.append(_write(held, folder, f"{stem}-{len(runs)}.run", ranges))
    return runs


def merge_runs(stretches: Sequence[RunRange], folder: Path, stem: str) -> Iterator[bytes]:
    """The records of all stretches in order; what is merged in between lies in `folder` for as long."""
    for step in range(len(stretches)):
        if len(stretches) <= MERGE_WAYS_MAX:
            break
        stretches = [
            _merge(stretches[at : at + MERGE_WAYS_MAX], folder / f"{stem}-{step}-{at}.merge")
            for at in range(0, len(stretches), MERGE_WAYS_MAX)
        ]
    yield from heapq.merge(*map(_iter_records, stretches))


def _write(records: list[bytes], folder: Path, name: str, ranges: Sequence[bytes]) -> SortRun:
    records.sort()
    bounds = [0, *(bisect_left(records, key) for key in ranges), len(records)]
    offsets = [0]
    with (folder / name).open("wb") as stream:
        for start, end in pairwise(bounds):
            chunk = b"\n".join(records[start:end])
            if chunk.count(b"\n") != max(0, end - start - 1):
                raise ValueError("a record has a line end")
            size_bytes = stream.write(chunk + b"\n") if end > start else 0
            offsets.append(offsets[-1] + size_bytes)
        stream.flush()
        os.fsync(stream.fileno())
    return SortRun(name, tuple(offsets))


def _merge(stretches: Sequence[RunRange], path: Path) -> RunRange:
    size_bytes = 0
    with path.open("wb") as stream:
        for record in heapq.merge(*map(_iter_records, stretches)):
            size_bytes += stream.write(record + b"\n")
    return RunRange(path, 0, size_bytes)


def _iter_records(stretch: RunRange) -> Iterator[bytes]:
    left = stretch.end - stretch.start
    if not left:
        return
    with stretch.path.open("rb", buffering=READ_BYTES) as stream:
        stream.seek(stretch.start)
        for line in stream:
            yield line[:-1]
            left -= len(line)
            if left <= 0:
                return


# Which range a record falls in.


def find_range(ranges: Sequence[bytes], record: bytes) -> int:
    """The number of the range: how many of the sorted keys are not greater than the record."""
    return bisect_right(ranges, record)
