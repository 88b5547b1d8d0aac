"""Blobs as files under one folder, written aside and moved to their place whole."""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

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

    def put(self, key: str, data: bytes, content_type: str) -> None:
        """On the disk, under its name, when it returns."""
        path = self._path(key)
        with _translated(path):
            self._make_folders(path.parent)
            part = self._parts / secrets.token_hex(8)
            try:
                _write_durably(part, data)
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
            _sync_folder(path.parent)

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

    def delete(self, keys: Sequence[str]) -> None:
        """Remove blobs; emptied folders stay, others may be writing there."""
        for key in keys:
            path = self._path(key)
            with _translated(path):
                try:
                    path.unlink()
                except _ABSENT:
                    continue

    def _path(self, key: str) -> Path:
        check_key(key)
        return self._root / key

    def _make_folders(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self._make_folders(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sweep(parts: Path) -> None:
    """Remove what killed processes left; nobody writes one blob for a day."""
    oldest_s = time.time() - PART_LIFE_S
    for part in parts.iterdir():
        with suppress(FileNotFoundError):
            if part.stat().st_mtime < oldest_s:
                part.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
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
