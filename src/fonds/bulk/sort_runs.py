"""External sorting of records: sorted files (runs) on disk, divided into ranges and merged.

A run is a file with one record per line. At most 64 runs are open at once. More than 64 runs are
merged in several passes.
"""

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
"""Estimated memory of a record in bytes, in addition to the record's own bytes."""


@dataclass(frozen=True, slots=True)
class SortRun:
    """File of sorted records, one per line, divided into ranges.

    - `name`: file name.
    - `offsets`: position in bytes at which each range starts, and the end of the last range.
    """

    name: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunRange:
    """Part of a file of sorted records that contains one range of keys.

    - `path`: path of the file.
    - `start`, `end`: position in bytes of the first record, and of the end of the last.
    """

    path: Path
    start: int
    end: int


def write_runs(
    records: Iterable[bytes], folder: Path, stem: str, ranges: Sequence[bytes], memory_bytes: int
) -> list[SortRun]:
    """Sort records into files `STEM-NUMBER.run` of one record per line; return these runs.

    At most about `memory_bytes` of records are in memory. `ranges`: sorted keys that divide the
    records into ranges. Raises ValueError for a record that contains a line end.
    """
    runs: list[SortRun] = []
    batch: list[bytes] = []
    remaining_bytes = memory_bytes
    for record in records:
        batch.append(record)
        remaining_bytes -= len(record) + RECORD_OVERHEAD_BYTES
        if remaining_bytes <= 0:
            runs.append(_write(batch, folder, f"{stem}-{len(runs)}.run", ranges))
            batch, remaining_bytes = [], memory_bytes
    if batch:
        runs.append(_write(batch, folder, f"{stem}-{len(runs)}.run", ranges))
    return runs


def merge_runs(stretches: Sequence[RunRange], folder: Path, stem: str) -> Iterator[bytes]:
    """Merge stretches of files with sorted records; yield all their records in order.

    If there are more than 64 stretches, intermediate files `STEM-….merge` are written to `folder`.
    """
    for step in range(len(stretches)):
        if len(stretches) <= MERGE_WAYS_MAX:
            break
        stretches = [
            _merge(
                stretches[start : start + MERGE_WAYS_MAX], folder / f"{stem}-{step}-{start}.merge"
            )
            for start in range(0, len(stretches), MERGE_WAYS_MAX)
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
                raise ValueError("a record contains a line end")
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
    remaining_bytes = stretch.end - stretch.start
    if not remaining_bytes:
        return
    with stretch.path.open("rb", buffering=READ_BYTES) as stream:
        stream.seek(stretch.start)
        for line in stream:
            yield line[:-1]
            remaining_bytes -= len(line)
            if remaining_bytes <= 0:
                return


def find_range(ranges: Sequence[bytes], record: bytes) -> int:
    """Return the number of the range in which a record belongs, from 0.

    This equals the number of keys in `ranges` (sorted) that are not greater than the record.
    """
    return bisect_right(ranges, record)
