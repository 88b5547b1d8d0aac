"""Records sorted on disk: runs that were sorted in memory, each divided into ranges, and merged.

A run is a file of records with a line end each. At most `WAYS_MAX` runs are open at once; more are merged
in steps.
"""

from __future__ import annotations

import heapq
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

WAYS_MAX = 64
READ_BYTES = 256 * 1024
RECORD_OVERHEAD_BYTES = 50
"""What a record takes in memory beside its bytes."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the file's name, and where in it each range begins, and the last ends."""

    name: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """The records of one range in one run."""

    path: Path
    start: int
    end: int


def write_runs(
    records: Iterable[bytes], folder: Path, stem: str, ranges: Sequence[bytes], memory_bytes: int
) -> list[Run]:
    """Sort records into runs `STEM-NUMBER.run`, holding about `memory_bytes` at once.

    Raises ValueError for a record with a line end.
    """
    runs: list[Run] = []
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


def merged(stretches: Sequence[Stretch], folder: Path, stem: str) -> Iterator[bytes]:
    """The records of all stretches in order; what is merged in between lies in `folder` for as long."""
    for step in range(len(stretches)):
        if len(stretches) <= WAYS_MAX:
            break
        stretches = [
            _merge(stretches[at : at + WAYS_MAX], folder / f"{stem}-{step}-{at}.merge")
            for at in range(0, len(stretches), WAYS_MAX)
        ]
    yield from heapq.merge(*map(_records, stretches))


def _write(held: list[bytes], folder: Path, name: str, ranges: Sequence[bytes]) -> Run:
    held.sort()
    bounds = [0, *(bisect_left(held, key) for key in ranges), len(held)]
    offsets = [0]
    with (folder / name).open("wb") as stream:
        for start, end in pairwise(bounds):
            chunk = b"\n".join(held[start:end])
            if chunk.count(b"\n") != max(0, end - start - 1):
                raise ValueError("a record has a line end")
            size_bytes = stream.write(chunk + b"\n") if end > start else 0
            offsets.append(offsets[-1] + size_bytes)
        stream.flush()
        os.fsync(stream.fileno())
    return Run(name, tuple(offsets))


def _merge(stretches: Sequence[Stretch], path: Path) -> Stretch:
    size_bytes = 0
    with path.open("wb") as stream:
        for record in heapq.merge(*map(_records, stretches)):
            size_bytes += stream.write(record + b"\n")
    return Stretch(path, 0, size_bytes)


def _records(stretch: Stretch) -> Iterator[bytes]:
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
