"""Finished WARC files and their indexes moved from a folder of this machine to where they are kept.

A file is removed here when its bytes were read back from there: killed at any moment, it lies here, there
or in both places, whole, and is moved by whoever comes next. Several processes may move from one folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from fonds.archive.cdx import CdxLine, IndexReader
from fonds.archive.store.volume import (
    INDEX_SUFFIX,
    SUFFIX,
    index_path,
    marker_path,
    rebuild_index,
    sync_folder,
)
from fonds.model.archive import IndexedRecord, WarcFileState
from fonds.model.capture import REVISIT_MIME
from fonds.model.errors import FondsError, StoreUnavailableError
from fonds.model.keys import parse_sha1

CONTENT_TYPES = {SUFFIX: "application/warc", INDEX_SUFFIX: "application/x-cdxj"}
PAUSE_FIRST_S, PAUSE_MAX_S = 1.0, 60.0

_DAY = re.compile(r"-(\d{4})(\d{2})(\d{2})\d{6}-\d{5}-")

logger = logging.getLogger(__name__)


class WarcBucket(Protocol):
    """Where files are kept, by key, each whole or not at all; errors as `s3.bucket.S3Bucket` says."""

    @property
    def display_url(self) -> str:
        """What it is called to people."""

    def iter_keys(self) -> Iterator[str]:
        """The keys of all files, in no order, streamed."""

    def get_size(self, key: str) -> int | None:
        """How many bytes a file has there; None when there is none."""

    def compute_sha256(self, key: str, size_bytes: int) -> str:
        """The SHA-256 in hex of its first bytes, read back."""

    def upload(self, key: str, path: Path, content_type: str) -> None:
        """Keep a file; durable when it returns."""

    def fetch(self, key: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """Bytes from `start` on, and the whole length."""


def build_key(name: str) -> str:
    """Where a file of this name is kept: `YYYY/MM/DD/NAME`, by the day it was begun."""
    day = _DAY.search(name)
    return f"{day[1]}/{day[2]}/{day[3]}/{name}" if day else name


class WarcUploader:
    """Moves what is finished in `folder`, in a thread that starts when there is something to move."""

    def __init__(self, folder: Path, bucket: WarcBucket) -> None:
        self._folder = folder
        self._bucket = bucket
        self._move_lock = threading.Lock()
        self._starting = threading.Lock()
        self._wake_event = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble: FondsError | OSError | None = None

    def wake(self) -> None:
        """Something was finished: move it soon. Returns at once."""
        self._wake_event.set()
        with self._starting:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="archive", daemon=True)
                self._thread.start()

    def list_waiting(self) -> list[Path]:
        """What is finished and still lies here, each WARC with its index, in the order of names."""
        stems = {path.name.removesuffix(SUFFIX) for path in self._folder.glob(f"*{SUFFIX}")}
        stems |= {p.name.removesuffix(INDEX_SUFFIX) for p in self._folder.glob(f"*{INDEX_SUFFIX}")}
        warcs = (self._folder / f"{stem}{SUFFIX}" for stem in sorted(stems))
        return [
            path
            for warc in warcs
            if not marker_path(warc).exists()
            for path in (index_path(warc), warc)
            if path.exists()
        ]

    def get_waiting_sizes(self) -> dict[str, int]:
        """How much of it there is: the bytes of each WARC and its index, by the name of the WARC."""
        sizes: dict[str, int] = {}
        for path in self.list_waiting():
            name = _get_warc_path(path).name
            sizes[name] = sizes.get(name, 0) + _get_size_bytes(path)
        return sizes

    def count_waiting_bytes(self) -> int:
        """How much that is in all."""
        return sum(self.get_waiting_sizes().values())

    def move_all(self) -> None:
        """Move what is finished, one file after the other. Raises FondsError and OSError: what was not
        moved by then lies here, and is moved another time."""
        with self._move_lock:
            for warc in dict.fromkeys(_get_warc_path(path) for path in self.list_waiting()):
                with _lock_finished_warc(warc) as mine:
                    if mine:
                        self._move(warc)

    def move(self, name: str) -> bool:
        """Move one finished file, if it lies here; False where another process does. Raises as `move_all`."""
        warc = self._folder / name
        with self._move_lock:
            if not (warc.exists() or index_path(warc).exists()):
                return True
            with _lock_finished_warc(warc) as mine:
                if mine:
                    self._move(warc)
                return mine

    def close(self) -> None:
        """End the thread, without waiting for what it is sending."""
        self._closing.set()
        self._wake_event.set()

    def _move(self, warc: Path) -> None:
        files = [path for path in (index_path(warc), warc) if path.exists()]
        for path in files:
            self.upload(path, path.name)
        # The index goes last: alone, it says that its WARC was moved.
        for path in reversed(files):
            path.unlink(missing_ok=True)
            sync_folder(self._folder)

    def upload(self, path: Path, name: str) -> None:
        """Send a file, to be kept under a name, and read it back. Raises FondsError and OSError."""
        key, size_bytes = build_key(name), _get_size_bytes(path)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if self._is_uploaded(key, size_bytes, digest):
            return
        (content_type,) = (kind for end, kind in CONTENT_TYPES.items() if name.endswith(end))
        self._bucket.upload(key, path, content_type)
        if not self._is_uploaded(key, size_bytes, digest):
            raise StoreUnavailableError(
                f"{self._bucket.display_url} gives other bytes for {key} than were sent; it stays here"
            )

    def _is_uploaded(self, key: str, size_bytes: int, digest: str) -> bool:
        bucket = self._bucket
        same_size = bucket.get_size(key) == size_bytes
        return same_size and bucket.compute_sha256(key, size_bytes) == digest

    def _run(self) -> None:
        pause_s = PAUSE_FIRST_S
        while self._wake_event.wait() and not self._closing.is_set():
            self._wake_event.clear()
            try:
                self.move_all()
                self.trouble, pause_s = None, PAUSE_FIRST_S
            except (FondsError, OSError) as error:
                if self.trouble is None:
                    logger.warning("WARC files wait here to be moved: %s", error)
                self.trouble = error
                self._closing.wait(pause_s)
                pause_s = min(2 * pause_s, PAUSE_MAX_S)
                self._wake_event.set()


def _get_warc_path(path: Path) -> Path:
    stem = path.name.removesuffix(SUFFIX).removesuffix(INDEX_SUFFIX)
    return path.with_name(f"{stem}{SUFFIX}")


def _get_size_bytes(path: Path) -> int:
    """0 for a file that was moved meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _lock_finished_warc(warc: Path) -> Iterator[bool]:
    """Whether a WARC and its index are this process's to move, while the context lasts.

    The index is locked for both: it goes last, so whoever moves them holds it until nothing is left.
    """
    path = index_path(warc) if index_path(warc).exists() else warc
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        # Whoever had it before may have moved it away.
        yield _is_free(descriptor) and os.fstat(descriptor).st_nlink > 0
    finally:
        os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Lock it if nobody has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# What there is of a WARC file, by its length and its index; no record is read.


INDEX_LINES_MAX = 1_000_000
"""A longer CDXJ is not one of ours: a WARC of ours holds some thousand records."""


def inspect_local_warc(path: Path, *, is_own: bool, repair: bool = False) -> WarcFileState | None:
    """A file of this machine; None when it is no file. With `repair` the index of one of ours is made again
    first, unless it is being written to. Raises OSError for what cannot be looked at."""
    size_bytes = _get_size(path)
    if size_bytes is None:
        return None
    if not is_own:
        return WarcFileState(size_bytes)
    if marker_path(path).exists():
        return WarcFileState(size_bytes, None, is_open=True)
    if repair:
        rebuild_index(path)
    index = index_path(path)
    if _get_size(index) is None:
        return WarcFileState(size_bytes)
    with index.open(encoding="utf-8", errors="replace") as lines:
        return WarcFileState(size_bytes, list_index_records(lines))


def list_index_records(lines: Iterable[str]) -> Sequence[IndexedRecord]:
    """The records a CDXJ of ours names; lines that cannot be understood name none."""
    return tuple(_iter_records(lines))


def _iter_records(lines: Iterable[str]) -> Iterator[IndexedRecord]:
    reader = IndexReader()
    for number, text in enumerate(lines):
        if number >= INDEX_LINES_MAX:
            return
        line = reader.parse(text)
        if isinstance(line, CdxLine):
            yield IndexedRecord(
                offset=line.offset,
                size_bytes=line.size_bytes,
                url=line.url,
                datetime14=line.datetime14,
                sha1hex=(parse_sha1(line.digest or "") or b"").hex(),
                is_revisit=line.mime == REVISIT_MIME,
            )


def _get_size(path: Path) -> int | None:
    """The length of a regular file; None for what is none."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
