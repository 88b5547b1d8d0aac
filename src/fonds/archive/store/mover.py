"""Upload of finished WARC files and their indexes from a local folder to a bucket.

A local file is removed only after its bytes were read back from the bucket. If a process is killed,
the file is complete here, there or in both places, and is moved by the next process. Several
processes may move files from one folder.

Inspection of WARC files by size and index is here too. It reads no records.
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
    build_index_path,
    build_marker_path,
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
    """Store of whole files by key. Errors are those of `S3Bucket`."""

    @property
    def display_url(self) -> str:
        """The bucket's URL to show to people."""

    def iter_keys(self) -> Iterator[str]:
        """Stream the keys of all files, in no order."""

    def get_size(self, key: str) -> int | None:
        """Return the size of a file in bytes, or None if it does not exist."""

    def compute_sha256(self, key: str, size_bytes: int) -> str:
        """Read the first `size_bytes` bytes back and return their SHA-256 in hex."""

    def upload(self, key: str, path: Path, content_type: str) -> None:
        """Upload a file. It is durable on return."""

    def fetch(self, key: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """Return up to `size_bytes` bytes from `start`, and the total size."""


def build_key(name: str) -> str:
    """Return the key of a file: `YYYY/MM/DD/NAME`, by the date it was begun."""
    date = _DAY.search(name)
    return f"{date[1]}/{date[2]}/{date[3]}/{name}" if date else name


class WarcUploader:
    """Uploads finished WARC files of `folder` to a bucket, in a thread that is started on demand,
    and removes the local files.
    """

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
        """Start to upload finished files in the background. Returns at once."""
        self._wake_event.set()
        with self._starting:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="archive", daemon=True)
                self._thread.start()

    def list_waiting(self) -> list[Path]:
        """List the finished local files that are not uploaded yet, each WARC with its index, sorted
        by name.
        """
        stems = {path.name.removesuffix(SUFFIX) for path in self._folder.glob(f"*{SUFFIX}")}
        stems |= {p.name.removesuffix(INDEX_SUFFIX) for p in self._folder.glob(f"*{INDEX_SUFFIX}")}
        warcs = (self._folder / f"{stem}{SUFFIX}" for stem in sorted(stems))
        return [
            path
            for warc in warcs
            if not build_marker_path(warc).exists()
            for path in (build_index_path(warc), warc)
            if path.exists()
        ]

    def get_waiting_sizes(self) -> dict[str, int]:
        """Return the bytes of each waiting WARC with its index, by the WARC's name."""
        sizes: dict[str, int] = {}
        for path in self.list_waiting():
            name = _get_warc_path(path).name
            sizes[name] = sizes.get(name, 0) + _get_size_bytes(path)
        return sizes

    def count_waiting_bytes(self) -> int:
        """Return the total size of all waiting files in bytes."""
        return sum(self.get_waiting_sizes().values())

    def move_all(self) -> None:
        """Upload all finished files one by one and remove the local copies.

        Raises FondsError or OSError if a file cannot be uploaded; it and the remaining files stay
        for the next attempt.
        """
        with self._move_lock:
            for warc in dict.fromkeys(_get_warc_path(path) for path in self.list_waiting()):
                with _lock_finished_warc(warc) as is_locked:
                    if is_locked:
                        self._move(warc)

    def move(self, name: str) -> bool:
        """Upload one finished local WARC and remove the local copy. Return False if another process
        is uploading it.

        Raises FondsError or OSError if the upload fails.
        """
        warc = self._folder / name
        with self._move_lock:
            if not (warc.exists() or build_index_path(warc).exists()):
                return True
            with _lock_finished_warc(warc) as is_locked:
                if is_locked:
                    self._move(warc)
                return is_locked

    def close(self) -> None:
        """Stop the thread without waiting for an upload in progress."""
        self._closing.set()
        self._wake_event.set()

    def _move(self, warc: Path) -> None:
        files = [path for path in (build_index_path(warc), warc) if path.exists()]
        for path in files:
            self.upload(path, path.name)
        # The index is removed last: alone, it says that its WARC was moved.
        for path in reversed(files):
            path.unlink(missing_ok=True)
            sync_folder(self._folder)

    def upload(self, path: Path, name: str) -> None:
        """Upload a file under `name`, and check the upload by downloading it and comparing SHA-256.

        Raises StoreUnavailableError if the bytes differ, other FondsErrors if the bucket fails, and
        OSError if the file cannot be read.
        """
        key, size_bytes = build_key(name), _get_size_bytes(path)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if self._is_uploaded(key, size_bytes, digest):
            return
        (content_type,) = (
            media_type for suffix, media_type in CONTENT_TYPES.items() if name.endswith(suffix)
        )
        self._bucket.upload(key, path, content_type)
        if not self._is_uploaded(key, size_bytes, digest):
            raise StoreUnavailableError(
                f"{self._bucket.display_url} returned different bytes for {key} than were "
                "sent; the local file stays"
            )

    def _is_uploaded(self, key: str, size_bytes: int, digest: str) -> bool:
        bucket = self._bucket
        is_same_size = bucket.get_size(key) == size_bytes
        return is_same_size and bucket.compute_sha256(key, size_bytes) == digest

    def _run(self) -> None:
        pause_s = PAUSE_FIRST_S
        while self._wake_event.wait() and not self._closing.is_set():
            self._wake_event.clear()
            try:
                self.move_all()
                self.trouble, pause_s = None, PAUSE_FIRST_S
            except (FondsError, OSError) as error:
                if self.trouble is None:
                    logger.warning("WARC files are waiting to be moved: %s", error)
                self.trouble = error
                self._closing.wait(pause_s)
                pause_s = min(2 * pause_s, PAUSE_MAX_S)
                self._wake_event.set()


def _get_warc_path(path: Path) -> Path:
    stem = path.name.removesuffix(SUFFIX).removesuffix(INDEX_SUFFIX)
    return path.with_name(f"{stem}{SUFFIX}")


def _get_size_bytes(path: Path) -> int:
    """Return the size of a file, or 0 if it was moved meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _lock_finished_warc(warc: Path) -> Iterator[bool]:
    """Lock a finished WARC and its index while the context lasts.

    Yields whether this process may move them.

    The index is locked for both. It is removed last, so the lock is held until both are gone.
    """
    path = build_index_path(warc) if build_index_path(warc).exists() else warc
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        # A previous holder of the lock may have moved the file away.
        yield _is_free(descriptor) and os.fstat(descriptor).st_nlink > 0
    finally:
        os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Lock the file if it is not locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


INDEX_LINES_MAX = 1_000_000
"""A longer CDXJ was not written by Fonds: its WARCs have some thousand records."""


def inspect_local_warc(path: Path, *, is_own: bool, repair: bool = False) -> WarcFileState | None:
    """Return size and index records of a local WARC file, or None if it is not a regular file.

    With `repair`, the index of a WARC written by Fonds is rebuilt first, unless the WARC is open
    for writing. Raises OSError if it cannot be inspected.
    """
    size_bytes = _get_size(path)
    if size_bytes is None:
        return None
    if not is_own:
        return WarcFileState(size_bytes)
    if build_marker_path(path).exists():
        return WarcFileState(size_bytes, None, is_open=True)
    if repair:
        rebuild_index(path)
    index = build_index_path(path)
    if _get_size(index) is None:
        return WarcFileState(size_bytes)
    with index.open(encoding="utf-8", errors="replace") as lines:
        return WarcFileState(size_bytes, list_index_records(lines))


def list_index_records(lines: Iterable[str]) -> Sequence[IndexedRecord]:
    """Return the records listed in a CDXJ written by Fonds. Malformed lines are skipped."""
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
    """Return the size of a regular file in bytes, or None for anything else."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
