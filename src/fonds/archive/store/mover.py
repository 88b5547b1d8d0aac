"""Upload finished WARC files and their CDXJ indexes from a local folder to a bucket.

A local file is removed only after its bytes were read back from the bucket. If a process is killed,
the file is complete in the folder, the bucket or both, and the next process uploads it. Several
processes may upload files from one folder.

The module also inspects WARC files by size and index, without reading records.
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
    """Interface of a bucket (such as an S3 bucket) that stores whole WARC files and indexes by key.

    All methods raise the errors of the class `S3Bucket`.
    """

    @property
    def display_url(self) -> str:
        """URL of the bucket to show to people, without keys."""

    def iter_keys(self) -> Iterator[str]:
        """Iterate over the keys of all files in the bucket, in any order."""

    def get_size(self, key: str) -> int | None:
        """Return the size in bytes of the file with this key, or None if it does not exist."""

    def compute_sha256(self, key: str, size_bytes: int) -> str:
        """Download the first `size_bytes` bytes of a file in the bucket and return their SHA-256 in
        hex.
        """

    def upload(self, key: str, path: Path, content_type: str) -> None:
        """Upload a local file to the bucket under a key. The file is durable in the bucket when the
        method returns.
        """

    def fetch(self, key: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """Return up to `size_bytes` bytes of a file in the bucket from the offset `start`, and the
        file's total size in bytes.
        """


def build_key(name: str) -> str:
    """Return the bucket key of a WARC file or index: `YYYY/MM/DD/NAME`.

    The date is the creation date in the file name. A name without a date is returned unchanged.
    """
    date = _DAY.search(name)
    return f"{date[1]}/{date[2]}/{date[3]}/{name}" if date else name


class WarcUploader:
    """Uploads the finished WARC files of `folder` to a bucket, and removes the local files
    afterwards.

    Uploads run in a thread that is started on demand, or in the calling thread.
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
        """Start to upload finished WARC files in the background. Returns at once."""
        self._wake_event.set()
        with self._starting:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="archive", daemon=True)
                self._thread.start()

    def list_waiting(self) -> list[Path]:
        """Return the paths of finished local WARC files and indexes that are not uploaded yet,
        sorted by name.

        Each WARC file comes after its CDXJ index.
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
        """Return the size in bytes of each WARC file that waits for upload, including its index, by
        the WARC's name.
        """
        sizes: dict[str, int] = {}
        for path in self.list_waiting():
            name = _get_warc_path(path).name
            sizes[name] = sizes.get(name, 0) + _get_size_bytes(path)
        return sizes

    def count_waiting_bytes(self) -> int:
        """Return the total size in bytes of the local WARC files and indexes that wait for
        upload.
        """
        return sum(self.get_waiting_sizes().values())

    def move_all(self) -> None:
        """Upload all finished WARC files one by one, and remove the local copies.

        Raises FondsError or OSError if a file cannot be uploaded. That file and the remaining files
        stay for the next attempt.
        """
        with self._move_lock:
            for warc in dict.fromkeys(_get_warc_path(path) for path in self.list_waiting()):
                with _lock_finished_warc(warc) as is_locked:
                    if is_locked:
                        self._move(warc)

    def move(self, name: str) -> bool:
        """Upload one finished local WARC file with its index, and remove the local copies.

        Returns False if another process is uploading the file, and True if it was uploaded or is no
        longer here. Raises FondsError or OSError if the upload fails.
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
        """Stop the upload thread without waiting for an upload in progress."""
        self._closing.set()
        self._wake_event.set()

    def _move(self, warc: Path) -> None:
        files = [path for path in (build_index_path(warc), warc) if path.exists()]
        for path in files:
            self.upload(path, path.name)
        # The index is removed last: an index without its WARC shows that the WARC was moved.
        for path in reversed(files):
            path.unlink(missing_ok=True)
            sync_folder(self._folder)

    def upload(self, path: Path, name: str) -> None:
        """Upload the local file `path` under the key of `name`, and compare the SHA-256 of the
        uploaded bytes.

        A file that is already uploaded is not sent again. Raises StoreUnavailableError if the bytes
        differ, other FondsErrors if the bucket fails, and OSError if the file cannot be read.
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
    """Return the size of a local file in bytes, or 0 if it was moved away in the meantime."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _lock_finished_warc(warc: Path) -> Iterator[bool]:
    """Lock a finished WARC file and its index while the context lasts.

    Yields True if this process may move them, and False if another process holds the lock or they
    are gone. If an index exists, the lock is on the index: it is removed last, so the lock is held
    until both files are gone.
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
    """Lock an open WARC file or index if no other process has locked it. Return whether this
    process now has the lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


INDEX_LINES_MAX = 1_000_000
"""Maximum lines read from a CDXJ index. The WARC files of Fonds have some thousand records, so a
longer index was written by another program.
"""


def inspect_local_warc(path: Path, *, is_own: bool, repair: bool = False) -> WarcFileState | None:
    """Return the size of a local WARC file and the records that its CDXJ index lists, or None if it
    is not a regular file.

    `is_own` says that Fonds wrote the file; only the indexes of such files are read. With `repair`,
    the index of such a file is rebuilt first, unless the file is open for writing. Raises OSError
    if the file cannot be inspected.
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
    """Return the records listed in the lines of a CDXJ index that Fonds wrote. Malformed lines are
    skipped.
    """
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
                status=line.status,
            )


def _get_size(path: Path) -> int | None:
    """Return the size of a regular file in bytes. Return None if it is missing or not a regular
    file.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
