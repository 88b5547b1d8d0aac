"""Walk the given paths. Find each file once, in a stable order, without loops of symbolic links."""

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
    """File or symbolic link that was found below the given paths.

    - `path`: path of the file or link.
    - `size_bytes`: size of the file.
    - `modified_ns`: modification time in Unix nanoseconds.
    - `error`: why the file cannot be read; None if it can.
    - `is_missing`: whether the path does not exist.
    - `is_outside`: whether the path is a symbolic link to a target outside the given path.
    """

    path: Path
    size_bytes: int = 0
    modified_ns: int = 0
    error: str | None = None
    is_missing: bool = False
    is_outside: bool = False


def iter_files(
    paths: Sequence[Path], excluded_folder: Path, *, follows_links: bool = False
) -> Iterator[FoundPath]:
    """Yield the files below `paths`, in order of name. No folder is entered twice.

    A given path may be a symbolic link. Below a given path, symbolic links are followed if their
    target is below the path too. A link to a target outside is yielded with `is_outside`; its
    target is read only with `follows_links`. The folder `excluded_folder` (the library folder) is
    not entered.
    """
    entered_keys: set[tuple[int, int]] = set()
    for path in paths:
        # `abspath` does not resolve links: `..` is removed, but the name the user gave stays.
        start = Path(os.path.abspath(path))  # noqa: PTH100
        yield from _visit_path(start, excluded_folder.resolve(), entered_keys, follows_links)


def is_outside(path: Path, root: Path) -> bool:
    """Return whether `path` resolves, through symbolic links, to a target outside the folder
    `root`.

    Raises OSError if a link cannot be resolved.
    """
    try:
        return not path.resolve().is_relative_to(root.resolve())
    except RuntimeError as error:
        raise OSError(errno.ELOOP, "the symbolic links form a loop") from error


def _visit_path(
    start: Path, excluded_folder: Path, entered_keys: set[tuple[int, int]], follows_links: bool
) -> Iterator[FoundPath]:
    pending_paths = [start]
    while pending_paths:
        path = pending_paths.pop()
        try:
            status = path.stat()
            if path != start and path.is_symlink() and is_outside(path, start):
                yield FoundPath(path, is_outside=True)
                if not follows_links:
                    continue
            if not stat.S_ISDIR(status.st_mode):
                yield _build_found_path(path, status)
                continue
            folder_key = (status.st_dev, status.st_ino)
            if folder_key in entered_keys or path.resolve() == excluded_folder:
                continue
            entered_keys.add(folder_key)
            pending_paths += sorted((Path(entry) for entry in os.scandir(path)), reverse=True)
        except FileNotFoundError:
            yield FoundPath(path, error="no such file", is_missing=True)
        except OSError as error:
            if (shortage := find_shortage(error)) is not None:
                raise shortage from error
            yield FoundPath(path, error=cause_of(error))


def _build_found_path(path: Path, status: os.stat_result) -> FoundPath:
    if not stat.S_ISREG(status.st_mode):
        return FoundPath(path, error="not a regular file (a pipe, socket or device)")
    if not os.access(path, os.R_OK):
        return FoundPath(path, error="permission denied")
    return FoundPath(path, status.st_size, status.st_mtime_ns)
