"""Store blobs (bytes by key) as files below one folder. A blob is written to a temporary file and
renamed when it is complete.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from fonds.model.archive import Blob
from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StorageFullError,
    StoreUnavailableError,
)

KEY_MAX_BYTES = 1024
PART_MAX_BYTES = 255
"""Maximum bytes of one part of a blob key (the text between slashes), as in common file systems.
`KEY_MAX_BYTES` is the maximum of the whole key, as in S3. Every blob can thus move between
backends.
"""

PARTS_FOLDER = ".parts"
"""Reserved name that no blob key may contain. The folder backend keeps unfinished files in a folder
of this name. The S3 backend reads an object of this name when it opens, to check access to the
bucket.
"""


def check_key(key: str) -> None:
    """Check that a blob key is valid in every backend.

    Raises ConfigurationError if the key is not UTF-8 text, is over 1,024 bytes, has a part over 255
    bytes, or has an empty part, `.`, `..`, `.parts` or a NUL.
    """
    try:
        parts = key.encode().split(b"/")
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"the blob key {key!r} is not text") from error
    if len(key.encode()) > KEY_MAX_BYTES or max(map(len, parts)) > PART_MAX_BYTES:
        raise ConfigurationError(
            f"the blob key {key[:80]!r}… is longer than {KEY_MAX_BYTES} bytes, or has a "
            f"part longer than {PART_MAX_BYTES}"
        )
    unfit = (b"", b".", b"..", PARTS_FOLDER.encode())
    if b"\x00" in key.encode() or any(part in unfit for part in parts):
        raise ConfigurationError(
            f"the blob key {key!r} is not a portable relative path: it has an empty part, "
            f"`.`, `..`, `{PARTS_FOLDER}` or a NUL"
        )


_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
# A symbolic link in the path of a blob counts as absent.
_ABSENT_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO})
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MISCONFIGURED_ERRNOS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.EISDIR}
)
PART_LIFE_S = 86_400.0
SEQUENTIAL_SYNC_MAX = 3
SYNC_THREADS = 8


class FolderBlobs:
    """Blob store that keeps each blob as a file below one folder.

    Implements the interface Blobs (`ports/stores.py`). The content type of a blob is not stored; it
    follows from the extension of the key, as on web servers. A process that is killed while writing
    leaves an unfinished file in `.parts`, never half a blob. Opening the store removes unfinished
    files that are older than a day.
    """

    def __init__(self, root: Path) -> None:
        """Open the folder `root`, creating it if missing. A read-only folder is opened for reading.

        Raises ConfigurationError if the folder cannot be created.
        """
        self._root = root.absolute()
        self._parts = self._root / PARTS_FOLDER
        if self._root.is_dir() and not os.access(self._root, os.W_OK):
            return
        with _translate_errors(self._root):
            self._parts.mkdir(parents=True, exist_ok=True)
            _sweep(self._parts)

    def put(self, blobs: Sequence[Blob]) -> None:
        """Write blobs, replacing those with the same keys. All blobs are on disk when the method
        returns.

        All files are written before the first is synced, so that the disk can combine the writes.
        """
        paths = [self._build_path(blob.key) for blob in blobs]
        parts = [self._parts / secrets.token_hex(8) for _ in blobs]
        try:
            for blob, part, path in zip(blobs, parts, paths, strict=True):
                with _translate_errors(path):
                    part.write_bytes(blob.data)
            self._move_into_place(parts, blobs)
        except BaseException:
            for part in parts:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
            raise

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a blob, or None if the key does not exist. A folder or symbolic link
        at the key counts as absent.
        """
        with _translate_errors(self._build_path(key)):
            try:
                with _open_folder(self._root, key) as (folder, name):
                    descriptor = os.open(name, _READ_FLAGS, dir_fd=folder)
                with os.fdopen(descriptor, "rb") as file:
                    is_blob = stat.S_ISREG(os.fstat(descriptor).st_mode)
                    return file.read() if is_blob else None
            except OSError as error:
                if error.errno in _ABSENT_ERRNOS:
                    return None
                raise

    def filter_existing(self, keys: Sequence[str]) -> set[str]:
        """Return those of the blob keys `keys` that exist."""
        return set(self.get_sizes(keys))

    def get_sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each blob in `keys` that exists, by key, with one `stat` call
        per key.
        """
        known_folders: dict[str, bool] = {"": True}
        with _translate_errors(self._root):
            sizes = {key: self._get_size(key, known_folders) for key in keys}
        return {key: size_bytes for key, size_bytes in sizes.items() if size_bytes is not None}

    def purge(self) -> Sequence[str]:
        """Do nothing: the files of deleted blobs are gone. Return an empty list."""
        return ()

    def delete(self, keys: Sequence[str]) -> None:
        """Delete blobs; absent keys are ignored. Empty folders stay, because other processes may be
        writing to them.
        """
        for key in keys:
            with _translate_errors(self._build_path(key)):
                try:
                    with _open_folder(self._root, key) as (folder, name):
                        os.unlink(name, dir_fd=folder)
                except OSError as error:
                    if error.errno not in _ABSENT_ERRNOS:
                        raise

    def _get_size(self, key: str, known_folders: dict[str, bool]) -> int | None:
        """Return the size of a blob in bytes, or None if it is absent.

        `known_folders`: folders that were looked up before, and whether blobs can be in them.
        """
        check_key(key)
        if not self._is_folder(key.rpartition("/")[0], known_folders):
            return None
        status = self._look_up(key)
        return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None

    def _is_folder(self, folder: str, known_folders: dict[str, bool]) -> bool:
        """Return whether a folder of blobs and all folders above it exist and are no links."""
        if folder not in known_folders:
            status = None
            if self._is_folder(folder.rpartition("/")[0], known_folders):
                status = self._look_up(folder)
            known_folders[folder] = status is not None and stat.S_ISDIR(status.st_mode)
        return known_folders[folder]

    def _look_up(self, key: str) -> os.stat_result | None:
        """Return the status of the file or folder at a key, or None if it is absent."""
        try:
            return os.lstat(f"{self._root}/{key}")
        except OSError as error:
            if error.errno in _ABSENT_ERRNOS:
                return None
            raise

    def _move_into_place(self, parts: Sequence[Path], blobs: Sequence[Blob]) -> None:
        """Rename finished temporary files to their blob keys: sync the contents, rename, then sync
        the folders.
        """
        self._sync_all(parts, [self._build_path(blob.key) for blob in blobs])
        for part, blob in zip(parts, blobs, strict=True):
            with (
                _translate_errors(self._build_path(blob.key)),
                _open_folder(self._root, blob.key, make=True) as (folder, name),
            ):
                os.replace(part, name, dst_dir_fd=folder)
        for key in {blob.key.rpartition("/")[0]: blob.key for blob in blobs}.values():
            with (
                _translate_errors(self._build_path(key)),
                _open_folder(self._root, key) as (folder, _),
            ):
                os.fsync(folder)

    def _sync_all(self, parts: Sequence[Path], paths: Sequence[Path]) -> None:
        """Write the contents of files from memory to disk, so that they survive a power failure.

        More than three files are written in parallel, because most file systems combine these
        writes.
        """

        def sync(batch: Sequence[tuple[Path, Path]]) -> None:
            for part, path in batch:
                with _translate_errors(path):
                    _sync(part)

        pairs = list(zip(parts, paths, strict=True))
        if len(pairs) <= SEQUENTIAL_SYNC_MAX:
            sync(pairs)
            return
        with ThreadPoolExecutor(SYNC_THREADS, "sync") as pool:
            # Waits for all; raises the first error.
            list(pool.map(sync, (pairs[offset::SYNC_THREADS] for offset in range(SYNC_THREADS))))

    def _build_path(self, key: str) -> Path:
        check_key(key)
        return self._root / key


@contextmanager
def _open_folder(root: Path, key: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder that contains a blob, and yield its descriptor and the file name of the blob.

    Symbolic links below `root` are not followed. With `make`, missing folders are created and
    written to disk. Raises OSError if a folder is missing, is a link or cannot be opened.
    """
    *folders, name = key.split("/")
    descriptor = os.open(root, _FOLDER_FLAGS & ~os.O_NOFOLLOW)
    try:
        for folder in folders:
            try:
                inner = os.open(folder, _FOLDER_FLAGS, dir_fd=descriptor)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=descriptor)
                    os.fsync(descriptor)
                inner = os.open(folder, _FOLDER_FLAGS, dir_fd=descriptor)
            descriptor, outer = inner, descriptor
            os.close(outer)
        yield descriptor, name
    finally:
        os.close(descriptor)


def _sweep(parts: Path) -> None:
    """Remove temporary files of blobs that are older than a day. Killed processes left these files:
    writing one blob never takes a day.
    """
    oldest_s = time.time() - PART_LIFE_S
    for part in parts.iterdir():
        with suppress(FileNotFoundError):
            if part.stat().st_mtime < oldest_s:
                part.unlink()


def _sync(path: Path) -> None:
    """Write the contents of a file from memory to disk, so that they survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _explain(error, path) from error


def _explain(error: OSError, path: Path) -> FondsError:
    if error.errno in _FULL_ERRNOS:
        return StorageFullError(
            f"No space left to write {path}. Free some space and run the command again."
        )
    if error.errno in _MISCONFIGURED_ERRNOS:
        return ConfigurationError(
            f"Cannot use {path}: {error.strerror}. Check the folder and its permissions, "
            "and that no blob has the name of a folder."
        )
    return StoreUnavailableError(f"Cannot read or write {path}: {error.strerror}.")
