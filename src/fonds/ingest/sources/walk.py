"""Finds the files below the paths a person named: each once, in a stable order, whatever the links do."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fonds.model.errors import cause_of, find_shortage


@dataclass(frozen=True, slots=True)
class FoundPath:
    """One path; `error` says why it cannot be read, `is_missing` that it is not there, `is_led_out` that
    it is a link that leads out of what was named."""

    path: Path
    size_bytes: int = 0
    modified_ns: int = 0
    error: str | None = None
    is_missing: bool = False
    is_led_out: bool = False


def iter_files(
    paths: Sequence[Path], leave_out: Path, *, follow: bool = False
) -> Iterator[FoundPath]:
    """Files below `paths`, folders in order of name, no folder entered twice.

    What is named may be a link. Below it links are followed to what lies below it too; one that leads out
    is found as such, and what is behind it with `follow` alone. `leave_out` (the home) is not entered.
    """
    entered: set[tuple[int, int]] = set()
    for path in paths:
        # Without following links: `..` is gone, and what a person called it stays.
        start = Path(os.path.abspath(path))  # noqa: PTH100
        yield from _visit_path(start, leave_out.resolve(), entered, follow)


def is_led_out(path: Path, root: Path) -> bool:
    """Whether a path is led out of the folder `root` by a link. Raises OSError."""
    try:
        return not path.resolve().is_relative_to(root.resolve())
    except RuntimeError as error:
        raise OSError(errno.ELOOP, "the links lead round for ever") from error


def _visit_path(
    start: Path, leave_out: Path, entered: set[tuple[int, int]], follow: bool
) -> Iterator[FoundPath]:
    waiting = [start]
    while waiting:
        path = waiting.pop()
        try:
            status = path.stat()
            if path != start and path.is_symlink() and is_led_out(path, start):
                yield FoundPath(path, is_led_out=True)
                if not follow:
                    continue
            if not stat.S_ISDIR(status.st_mode):
                yield _build_found_path(path, status)
                continue
            place = (status.st_dev, status.st_ino)
            if place in entered or path.resolve() == leave_out:
                continue
            entered.add(place)
            waiting += sorted((Path(entry) for entry in os.scandir(path)), reverse=True)
        except FileNotFoundError:
            yield FoundPath(path, error="no such file", is_missing=True)
        except OSError as error:
            if (short := find_shortage(error)) is not None:
                raise short from error
            yield FoundPath(path, error=cause_of(error))


def _build_found_path(path: Path, status: os.stat_result) -> FoundPath:
    if not stat.S_ISREG(status.st_mode):
        return FoundPath(path, error="not a regular file (a pipe, socket or device)")
    if not os.access(path, os.R_OK):
        return FoundPath(path, error="permission denied")
    return FoundPath(path, status.st_size, status.st_mtime_ns)
