"""Blobs as files under one folder, written aside and moved to their place whole."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fonds.model.blob import Blob
from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.stores.keys import PARTS_FOLDER, check_key

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_MISCONFIGURED = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.EISDIR}
)
PART_LIFE_S = 86_400.0


class FolderBlobs:
    """Implements the port Blobs.

    The content type of a put is not kept: it follows from the extension of the key, by which web
    servers tell it too. A process killed while it writes leaves a file in `.parts`, never half a blob;
    such a file is removed by whoever opens the folder a day later.
    """

    def __init__(self, root: Path) -> None:
        """Raises ConfigurationError when the folder cannot be made."""
        self._root = root.absolute()
        self._parts = self._root / PARTS_FOLDER
        with _translated(self._root):
            self._parts.mkdir(parents=True, exist_ok=True)
            _sweep(self._parts)

    def put(self, blobs: Sequence[Blob]) -> None:
        """On the disk, under their names, when it returns. Of several each is written before the first is
        waited for, so that the disk does it in one go."""
        paths = [self._path(blob.key) for blob in blobs]
        parts = [self._parts / secrets.token_hex(8) for _ in blobs]
        try:
            for blob, part, path in zip(blobs, parts, paths, strict=True):
                with _translated(path):
                    part.write_bytes(blob.data)
            self._move(parts, paths)
        except BaseException:
            for part in parts:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
            raise

    def get(self, key: str) -> bytes | None:
        """The blob, or None; a folder is no blob."""
        path = self._path(key)
        with _translated(path):
            try:
                return path.read_bytes()
            except _ABSENT:
                return None

    def exists(self, keys: Sequence[str]) -> set[str]:
        """Those of `keys` that exist."""
        with _translated(self._root):
            return {key for key in keys if self._path(key).is_file()}

    def sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """By one look at each file."""
        found = {}
        with _translated(self._root):
            for key in keys:
                with suppress(*_ABSENT):
                    status = self._path(key).stat()
                    if stat.S_ISREG(status.st_mode):
                        found[key] = status.st_size
        return found

    def delete(self, keys: Sequence[str]) -> None:
        """Remove blobs; emptied folders stay, others may be writing there."""
        for key in keys:
            path = self._path(key)
            with _translated(path):
                try:
                    path.unlink()
                except _ABSENT:
                    continue

    def _move(self, parts: Sequence[Path], paths: Sequence[Path]) -> None:
        """To their places: contents on the disk first, then names, then the folders these stand in."""
        changed: set[Path] = set()
        for part, path in zip(parts, paths, strict=True):
            with _translated(path):
                _sync(part)
                changed |= _make_folders(path.parent)
        for part, path in zip(parts, paths, strict=True):
            with _translated(path):
                part.replace(path)
        for folder in sorted(changed | {path.parent for path in paths}):
            with _translated(folder):
                _sync(folder)

    def _path(self, key: str) -> Path:
        check_key(key)
        return self._root / key


def _make_folders(folder: Path) -> set[Path]:
    """Make what is missing; the folders that have a new one in them."""
    if folder.is_dir():
        return set()
    changed = _make_folders(folder.parent)
    folder.mkdir(exist_ok=True)
    return {*changed, folder.parent}


def _sweep(parts: Path) -> None:
    """Remove what killed processes left; nobody writes one blob for a day."""
    oldest_s = time.time() - PART_LIFE_S
    for part in parts.iterdir():
        with suppress(FileNotFoundError):
            if part.stat().st_mtime < oldest_s:
                part.unlink()


def _sync(path: Path) -> None:
    """Wait until a file's contents, or a folder's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _explain(error, path) from error


def _explain(error: OSError, path: Path) -> FondsError:
    if error.errno in _FULL:
        return StorageFullError(
            f"no space left to write {path}; make room, then give the same command again."
        )
    if error.errno in _MISCONFIGURED:
        return ConfigurationError(
            f"{path} cannot be used: {error.strerror}. Check the folder, its permissions, and that"
            " no blob has the name of a folder."
        )
    return StoreUnavailableError(f"{path} cannot be read or written: {error.strerror}.")
