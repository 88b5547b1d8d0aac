"""Finds the files below the paths a person named: each once, in a stable order, whatever the links do."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FoundPath:
    """One path; `error` says why it cannot be read, `missing` that it is not there."""

    path: Path
    size_bytes: int = 0
    modified_ns: int = 0
    error: str | None = None
    missing: bool = False


def walk(paths: Sequence[Path], leave_out: Path) -> Iterator[FoundPath]:
    """Files below `paths`, folders in order of name, links followed, no folder entered twice.

    `leave_out` (the home) is not entered.
    """
    entered: set[tuple[int, int]] = set()
    for path in paths:
        # Without following links: `..` is gone, and what a person called it stays.
        start = Path(os.path.abspath(path))  # noqa: PTH100
        yield from _visit(start, leave_out.resolve(), entered)


def _visit(path: Path, leave_out: Path, entered: set[tuple[int, int]]) -> Iterator[FoundPath]:
    waiting = [path]
    while waiting:
        path = waiting.pop()
        try:
            status = path.stat()
            if not stat.S_ISDIR(status.st_mode):
                yield _file(path, status)
                continue
            place = (status.st_dev, status.st_ino)
            if place in entered or path.resolve() == leave_out:
                continue
            entered.add(place)
            waiting += sorted((Path(entry) for entry in os.scandir(path)), reverse=True)
        except FileNotFoundError:
            yield FoundPath(path, error="no such file", missing=True)
        except OSError as error:
            yield FoundPath(path, error=error.strerror or str(error))


def _file(path: Path, status: os.stat_result) -> FoundPath:
    if not stat.S_ISREG(status.st_mode):
        return FoundPath(path, error="not a regular file (a pipe, socket or device)")
    if not os.access(path, os.R_OK):
        return FoundPath(path, error="permission denied")
    return FoundPath(path, status.st_size, status.st_mtime_ns)
