"""One WARC file while Fonds writes it: create, append, truncate, finish, and recover it after a
crash.

A marker `NAME.warc.gz.open` exists next to the file until its CDXJ index is written. The writing
process holds a lock on the marker, which shows other processes that it is alive.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

from fonds.archive.cdx import CdxLine, build_line, sort_cdxj_lines
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.archive.warc.tombstone import is_tombstone
from fonds.model.archive import ArchivedRecord, ArchiveEntry
from fonds.model.capture import REVISIT_MIME, Place, PlaceKind, format_datetime14
from fonds.urls.surt import build_surt

if TYPE_CHECKING:
    from fonds.archive.warc.media_cloud import MediaCloudWriter
    from fonds.archive.warc.writer import AppendableFile, RecordWriter


_PENDING_MAX_BYTES = 256 * 1024


class Appender:
    """Appends bytes to an open file, and can undo a failed write exactly. Only `cut` removes bytes.

    After a failed write it is unknown which of its bytes are in the file, until `cut` truncates the
    file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pending = bytearray()
        self._written_bytes = 0

    def write(self, data: bytes) -> int:
        """Append bytes to the file. They are on disk only after `sync`. Raises OSError."""
        self._pending += data
        if len(self._pending) >= _PENDING_MAX_BYTES:
            self.flush()
        return len(data)

    def tell(self) -> int:
        """Return the length of the file in bytes, including data that is not yet written."""
        return self._written_bytes + len(self._pending)

    def flush(self) -> None:
        """Pass all pending data to the operating system. Raises OSError."""
        while self._pending:
            written_bytes = os.write(self._descriptor, self._pending)
            self._written_bytes += written_bytes
            del self._pending[:written_bytes]

    def sync(self) -> None:
        """Write all appended data durably to disk. Raises OSError."""
        self.flush()
        os.fsync(self._descriptor)

    def cut(self, size_bytes: int) -> None:
        """Truncate the file to an earlier length in bytes, and discard pending data. Raises
        OSError.
        """
        self._pending.clear()
        os.ftruncate(self._descriptor, size_bytes)
        os.lseek(self._descriptor, size_bytes, os.SEEK_SET)
        self._written_bytes = size_bytes
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file. Data that is not yet written is discarded."""
        os.close(self._descriptor)


def sync_folder(folder: Path) -> None:
    """Make the creation and removal of file names in a folder durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


SUFFIX = ".warc.gz"
INDEX_SUFFIX = ".cdxj"
MARKER_SUFFIX = ".open"
NAME_ATTEMPTS_MAX = 100
COMPANIONS_MAX = 2
"""Maximum number of records that may follow the record of a body and belong to it: metadata and
request.
"""
COMPANION_TYPES = frozenset({"metadata", "request"})
_INVALID_NAME_CHARS = re.compile(r"[^A-Za-z0-9.-]+")
_serials = count()
_INDEXED_TYPES = frozenset({"response", "resource", "revisit"})


class Volume:
    """WARC file that is open for appending entries (archived bodies), with the CDXJ lines of these
    entries.

    For one thread at a time.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        created_at: datetime,
        make_writer: Callable[[AppendableFile], RecordWriter | MediaCloudWriter],
    ) -> None:
        """Create a WARC file with an unused name in `folder`, and write its warcinfo record.

        `prefix` begins the name. `make_writer` creates the writer of its records. On an error,
        nothing is left in the folder. Raises OSError.
        """
        hostname = get_host_name()
        folder.mkdir(parents=True, exist_ok=True)
        name_start = f"{prefix}-{format_datetime14(created_at)}"
        self.path, self._lock, descriptor = _create(folder, name_start, hostname)
        self._lines: list[CdxLine] = []
        self._out = Appender(descriptor)
        try:
            self._writer = make_writer(self._out)
            self._writer.write_warcinfo(self.path.name, created_at, hostname)
            sync_folder(folder)
        except BaseException:
            self.discard()
            raise

    @property
    def entry_count(self) -> int:
        """Number of entries (archived bodies) written to the WARC file."""
        return len(self._lines)

    @property
    def size_bytes(self) -> int:
        """Length of the WARC file in bytes, including data that is not yet on disk."""
        return self._out.tell()

    def append(self, entry: ArchiveEntry) -> ArchivedRecord:
        """Write the WARC records of an entry. Return the location and WARC-Record-ID of the first
        record.

        The data is on disk only after `sync`. Raises OSError.
        """
        offset, name = self._out.tell(), self.path.name
        record = self._writer.write_entry(entry)
        self._lines.append(build_line(entry, offset, record.size_bytes, name))
        place = Place(PlaceKind.WARC, name, offset, record.size_bytes)
        return ArchivedRecord(entry.capture_id, place, record.record_id)

    def sync(self) -> None:
        """Write all appended records durably to disk. Raises OSError."""
        self._out.sync()

    def cut(self, size_bytes: int, stories: int) -> None:
        """Truncate the WARC file to an earlier size in bytes and number of entries, even after a
        failed write.

        Raises OSError.
        """
        del self._lines[stories:]
        self._out.cut(size_bytes)

    def discard(self) -> None:
        """Remove the WARC file and its marker `NAME.warc.gz.open`."""
        self.path.unlink(missing_ok=True)
        build_marker_path(self.path).unlink(missing_ok=True)
        self._close()

    def finish(self) -> None:
        """Write the CDXJ index of the WARC file and remove its marker `NAME.warc.gz.open`.

        Raises OSError; the method may then be called again.
        """
        self.sync()
        write_index(self.path, self._lines)
        build_marker_path(self.path).unlink(missing_ok=True)
        sync_folder(self.path.parent)
        self._close()

    def _close(self) -> None:
        self._out.close()
        os.close(self._lock)


def _create(folder: Path, beginning: str, hostname: str) -> tuple[Path, int, int]:
    """Create a WARC file and its locked marker `NAME.warc.gz.open`, with a NAME that begins with
    `beginning`.

    Returns the path of the WARC file, the file descriptor of the marker, and that of the WARC file.
    Raises OSError.
    """
    for _ in range(NAME_ATTEMPTS_MAX):
        # Another machine with this name may create a file in the same second. The random part
        # avoids a clash.
        serial, random_part = next(_serials) % 100_000, secrets.token_hex(4)
        path = folder / f"{beginning}-{serial:05d}-{hostname}-{random_part}{SUFFIX}"
        with suppress(FileExistsError):
            lock = _create_marker(path)
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                return path, lock, os.open(path, flags, 0o644)
            except BaseException:
                build_marker_path(path).unlink(missing_ok=True)
                os.close(lock)
                raise
    raise FileExistsError(
        errno.EEXIST, (f"all {NAME_ATTEMPTS_MAX} names tried for {beginning}-… are taken")
    )


def get_host_name() -> str:
    """Return the name of this machine as used in the names of WARC files. Characters other than
    ASCII letters, digits, `.` and `-` become `-`.
    """
    return _INVALID_NAME_CHARS.sub("-", socket.gethostname()) or "localhost"


def is_written_here(name: str) -> bool:
    """Return whether the WARC file `name` was written on this machine, judging by the host in its
    name.
    """
    return name.removesuffix(SUFFIX).rpartition("-")[0].endswith(f"-{get_host_name()}")


def _create_marker(path: Path) -> int:
    """Create the marker `NAME.warc.gz.open` of a WARC file that is being written, already locked.
    Return the descriptor that holds the lock.

    Raises FileExistsError if the marker exists.
    """
    marker = build_marker_path(path)
    part = marker.with_name(f".{marker.name}.{os.getpid()}.{threading.get_ident()}.part")
    lock = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        marker.hardlink_to(part)
    except BaseException:
        os.close(lock)
        raise
    finally:
        part.unlink(missing_ok=True)
    return lock


@contextmanager
def lock_marker(path: Path) -> Iterator[bool]:
    """Lock the marker of a WARC file that exists only in the bucket, so that the file can be
    downloaded to the folder.

    `path` is where the file will be in the folder. The marker is locked while the context lasts.
    Yields True if this process has the lock and the file is not in the folder, else False. A marker
    left by a killed process is reused. Locks of other machines are not seen.
    """
    try:
        lock = _create_marker(path)
    except FileExistsError:
        lock = os.open(build_marker_path(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if path.exists() or not _is_marker_acquired(lock):
            os.close(lock)
            yield False
            return
    try:
        yield not path.exists()
    finally:
        build_marker_path(path).unlink(missing_ok=True)
        os.close(lock)


def _is_marker_acquired(lock: int) -> bool:
    """Lock the open marker of a WARC file without waiting. Return whether this process now has a
    lock on an existing marker.

    Returns False if another process has the lock, or if the previous holder of the lock removed the
    marker.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(lock).st_nlink > 0


def build_part_path(path: Path) -> Path:
    """Return the path at which a file is written until it is complete: `.NAME.part` in the same
    folder.

    The name is fixed, so that it can be removed after a crash. No search for WARC files or indexes
    finds a file with this name.
    """
    return path.with_name(f".{path.name}.part")


def build_marker_path(path: Path) -> Path:
    """Return the path of the marker that exists while the WARC file `path` is being written."""
    return path.with_name(path.name + MARKER_SUFFIX)


def build_index_path(path: Path) -> Path:
    """Return the path of the CDXJ index of the WARC file `path`."""
    return path.with_name(path.name.removesuffix(SUFFIX) + INDEX_SUFFIX)


def write_index(path: Path, lines: Sequence[CdxLine]) -> None:
    """Write the CDXJ index of the WARC file `path` next to it, atomically. Raises OSError."""
    index = build_index_path(path)
    part = build_part_path(index)
    with part.open("wb") as stream:
        stream.writelines(sort_cdxj_lines(lines))
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(index)


def iter_abandoned(folder: Path) -> Iterator[Path]:
    """Iterate over the WARC files in a folder that killed processes left open.

    The marker of each file is locked while the file is yielded. Raises OSError.
    """
    for marker in sorted(folder.glob(f"*{SUFFIX}{MARKER_SUFFIX}")):
        try:
            lock = os.open(marker, os.O_WRONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            # Another process has recovered the file meanwhile.
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            if marker.exists():
                yield marker.with_name(marker.name.removesuffix(MARKER_SUFFIX))
        finally:
            os.close(lock)


def recover_file(path: Path, known_end: int | None) -> None:
    """Finish a WARC file that was left open, after truncating the file to `known_end`, the offset
    where its last recorded entry ends.

    The file is removed if `known_end` is None. Complete metadata and request records just after the
    known end belong to the record before them, so they are kept. Raises OSError.
    """
    if path.exists():
        if known_end is None:
            path.unlink()
            build_index_path(path).unlink(missing_ok=True)
        else:
            _truncate(path, known_end)
            write_index(path, list(_scan(path)))
    build_marker_path(path).unlink(missing_ok=True)
    sync_folder(path.parent)


def rebuild_index(path: Path) -> None:
    """Rebuild the CDXJ index of a finished WARC file from its records.

    Damaged records are left out. Raises OSError.
    """
    write_index(path, list(_scan(path)))
    sync_folder(path.parent)


def _truncate(path: Path, known_end: int) -> None:
    with path.open("r+b") as stream:
        for following in islice(read_heads(stream, known_end), COMPANIONS_MAX):
            if not (isinstance(following, RecordHead) and _is_companion(following, known_end)):
                break
            known_end += following.size_bytes or 0
        if known_end < stream.seek(0, os.SEEK_END):
            stream.truncate(known_end)
        os.fsync(stream.fileno())


def _is_companion(head: RecordHead, position: int) -> bool:
    is_complete = head.offset == position and head.size_bytes is not None and not head.is_truncated
    return is_complete and head.type in COMPANION_TYPES


def _is_capture(head: RecordHead) -> bool:
    return head.type in _INDEXED_TYPES and not head.is_truncated and not is_tombstone(head.url)


def _scan(path: Path) -> Iterator[CdxLine]:
    with path.open("rb") as stream:
        for head in read_heads(stream):
            if isinstance(head, RecordHead) and _is_capture(head):
                yield CdxLine(
                    surt=build_surt(head.url),
                    datetime14=format_datetime14(head.captured_at),
                    url=head.url,
                    mime=REVISIT_MIME if head.type == "revisit" else head.mime or "unk",
                    status=head.status,
                    digest=head.digest,
                    size_bytes=head.size_bytes,
                    offset=head.offset,
                    filename=path.name,
                )
