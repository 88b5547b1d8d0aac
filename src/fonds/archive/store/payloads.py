"""Read bodies from every type of location: local files, WARC records, members of ZIP files, and
remote files.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from typing import BinaryIO

from fonds.archive.store.fetched_bodies import BodyFileCache
from fonds.archive.store.options import find_no_paths
from fonds.archive.store.remote import RemoteBodies
from fonds.archive.store.zip_members import ZipReader
from fonds.archive.warc.reader import RecordReader
from fonds.archive.warc.tombstone import is_tombstone
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import (
    DamagedInputError,
    LimitError,
    PermanentError,
    StoreUnavailableError,
    TransientError,
    cause_of,
)
from fonds.model.secrets import redact_secrets
from fonds.text.coding import decode_body

# Idle readers, positioned in compressed members that many records share. The next record of a
# member is read from there, without decompressing the member from its start.


_READERS_MAX = 8
_PATHS_MAX = 1_000
"""Maximum number of WARC names whose paths are remembered."""

_File = tuple[int, int, int, int]


class ReaderPool:
    """Pool of at most eight idle WARC readers that are kept open between calls.

    A reader is kept if its gzip member or zstd frame contains several records. Then reading the
    next record continues where the reader stopped, and the member is not decompressed again from
    its start. Each reader is used by one thread at a time. The pool is thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[_File, RecordReader, BinaryIO]] = []

    def read(self, stream: BinaryIO, offset: int, body_max_bytes: int) -> Payload:
        """Return the payload of the WARC record at `offset` of the open file `stream`.

        The pool becomes the owner of `stream` and closes it later. `body_max_bytes` is the maximum
        size of the body.
        """
        file = _identify_file(stream)
        reader, reader_stream = self._take_reader(file, offset) or (RecordReader(stream), stream)
        if reader_stream is not stream:
            stream.close()
        is_kept = False
        try:
            payload = reader.read(offset, body_max_bytes=body_max_bytes)
            is_kept = payload.size_bytes is None
        finally:
            if is_kept:
                self._return_reader(file, reader, reader_stream)
            else:
                reader_stream.close()
        return payload

    def close(self) -> None:
        """Close all idle WARC readers and their files. A later read opens the files again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, _, stream in idle:
            stream.close()

    def _take_reader(self, file: _File, offset: int) -> tuple[RecordReader, BinaryIO] | None:
        with self._lock:
            candidates = [
                entry
                for entry in self._idle
                if entry[0] == file and entry[1].can_continue_to(offset)
            ]
            if not candidates:
                return None
            nearest = max(candidates, key=lambda entry: entry[1].offset)
            self._idle.remove(nearest)
            return nearest[1], nearest[2]

    def _return_reader(self, file: _File, reader: RecordReader, stream: BinaryIO) -> None:
        with self._lock:
            self._idle.append((file, reader, stream))
            dropped_readers = self._idle[:-_READERS_MAX]
            del self._idle[:-_READERS_MAX]
        for _, _, old in dropped_readers:
            old.close()


def _identify_file(stream: BinaryIO) -> _File:
    status = os.fstat(stream.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


_MISSING_CODES = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})
_UNREADABLE_CODES = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENXIO, errno.EINVAL})
_GZIP_MAGIC = b"\x1f\x8b\x08"
MISSING_WARC_MESSAGE = "the WARC is not at its last known location. Put it back, or set warc.base"
ReadUploaded = Callable[[Place, int], Payload]
"""Function that reads a record from a WARC file that Fonds wrote and then moved to a bucket.

Its arguments are the location and the maximum size of the body in bytes.
"""


class PlaceReader:
    """Reads the decoded body at any location. Thread-safe.

    If the WARC of a location has a name without a folder, it is a WARC file that Fonds wrote to
    `folder`. If that file is no longer there, the function `read_uploaded`, if one was given, reads
    it from a bucket.
    """

    def __init__(
        self,
        folder: Path,
        remote_bodies: RemoteBodies,
        read_uploaded: ReadUploaded | None = None,
        *,
        body_max_bytes: int,
        list_paths: Callable[[str], Iterable[str]] = find_no_paths,
    ) -> None:
        """Create a reader. `body_max_bytes` is the maximum size of a body.

        `list_paths` returns the paths and URLs where a WARC written by another program may be, by
        its name. When its result is iterated, it may raise PermanentError to explain why there are
        no more paths.
        """
        self._folder = folder
        self._read_moved = read_uploaded
        self._remote_bodies = remote_bodies
        self._zips = ZipReader()
        self._readers = ReaderPool()
        self._fetched = BodyFileCache()
        self._body_max_bytes = body_max_bytes
        self._list_paths = list_paths
        self._last_paths: dict[str, str] = {}

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the decoded body stored at a location.

        Raises PermanentError if the body cannot be read, DamagedInputError if the body does not
        have the SHA-1 `sha1hex`, and TransientError if a retry may help. The error messages name
        the location, without user names in URLs.
        """
        try:
            return self._read_checked(place, sha1hex)
        except PermanentError as error:
            payload, fault = self._try_by_name(place, sha1hex, error)
            if payload is not None:
                return payload
            raise type(fault)(fault.reason, f"{_format_place(place)}: {fault.detail}") from error
        except StoreUnavailableError:
            raise
        except (TransientError, OSError) as fault:
            raise TransientError(f"{_format_place(place)}: {cause_of(fault)}") from fault

    def _read_checked(self, place: Place, sha1hex: str | None) -> Payload:
        if (
            sha1hex is not None
            and (cached_payload := self._fetched.get(place, sha1hex)) is not None
        ):
            return cached_payload
        payload = self._read(place)
        if self._remote_bodies.is_remote(place):
            self._fetched.store(place, payload)
        if sha1hex is not None:
            _check_sha1(payload.body, sha1hex)
        return payload

    def _try_by_name(
        self, place: Place, sha1hex: str | None, fault: PermanentError
    ) -> tuple[Payload | None, PermanentError]:
        """Try to read a body whose WARC file is given by its name, after reading it directly failed
        with `fault`.

        Returns the payload, or None with the error to raise: the new error if `fault` says that the
        file is missing and the location has a WARC name, else `fault`.
        """
        try:
            return (self._read_by_name(place, sha1hex) if is_name(place) else None), fault
        except PermanentError as name_fault:
            exists = fault.reason is not Reason.MISSING_SOURCE
            return None, fault if exists else name_fault

    def _read_by_name(self, place: Place, sha1hex: str | None) -> Payload | None:
        """Read a body from a WARC written by another program, from any path where that WARC may be.

        If no file exists there and `sha1hex` is given, tries the WARC of the same file name that
        Fonds wrote. Returns None if that fails too. Raises the last error of a file that exists.
        """
        fault: PermanentError | TransientError | None = None
        for path in self._iter_paths(place.path, is_checked=sha1hex is not None):
            try:
                payload = self._read_checked(replace(place, path=path), sha1hex)
                if len(self._last_paths) == _PATHS_MAX:
                    self._last_paths.clear()
                self._last_paths[place.path] = path
                return payload
            except (PermanentError, TransientError) as error:
                is_missing = isinstance(error, PermanentError) and (
                    error.reason is Reason.MISSING_SOURCE
                )
                fault = fault if is_missing else error
        if fault is not None:
            raise fault
        if sha1hex is None or is_own(place):
            return None
        # Others may name a WARC of Fonds with a folder. The SHA-1 proves that it is the right one.
        own_place = replace(place, path=place.path.rpartition("/")[2])
        with suppress(PermanentError):
            return self._read_checked(own_place, sha1hex) if is_own(own_place) else None
        return None

    def _iter_paths(self, name: str, *, is_checked: bool) -> Iterator[str]:
        """Yield the paths where a WARC may be, by its name.

        If the SHA-1 of the body is checked, the path that was read last comes first. Finding the
        paths takes longer than reading a record.
        """
        if is_checked and name in self._last_paths:
            yield self._last_paths[name]
        yield from self._list_paths(name)

    def close(self) -> None:
        """Close the WARC files and cached bodies that are kept open for later reads. A later read
        opens them again.
        """
        self._readers.close()
        self._fetched.close()

    def _read(self, place: Place) -> Payload:
        if self._remote_bodies.is_remote(place):
            payload = self._remote_bodies.read(place, self._body_max_bytes)
        else:
            payload = self._read_own(place) if is_own(place) else self._read_local(place)
        if place.kind in (PlaceKind.WARC, PlaceKind.REPLAY):
            return payload
        return replace(payload, body=_unpack_body(payload.body, self._body_max_bytes))

    def _read_own(self, place: Place) -> Payload:
        """Read a record of a WARC file that Fonds wrote, from this machine first, then from the
        bucket of the archive.

        A WARC file stays on this machine until it was uploaded.
        """
        try:
            return _reject_tombstone(self._read_local(place))
        except PermanentError as error:
            if self._read_moved is None or error.reason is not Reason.MISSING_SOURCE:
                raise
        return _reject_tombstone(self._read_moved(place, self._body_max_bytes))

    def _read_local(self, place: Place) -> Payload:
        path = self._resolve_path(place)
        if place.kind is PlaceKind.WARC:
            # Records are read in blocks, so another buffer would only copy them.
            stream = open_regular(path, buffering=0)
            return self._readers.read(stream, place.offset, self._body_max_bytes)
        with open_regular(path) as stream:
            if place.kind is PlaceKind.ZIP:
                return self._zips.read(stream, place.member or "", self._body_max_bytes)
            return Payload(_read_file(stream, self._body_max_bytes))

    def _resolve_path(self, place: Place) -> Path:
        path = place.path
        if is_name(place) and not is_own(place):
            raise PermanentError(Reason.MISSING_SOURCE, MISSING_WARC_MESSAGE)
        if "\x00" in path or not (path.startswith("/") or is_own(place)):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                "not an absolute path or the name of a WARC written by Fonds, or contains a NUL",
            )
        return _join_path(self._folder, path)


@lru_cache(maxsize=8)
def _join_path(folder: Path, path: str) -> Path:
    """Return a path in a folder. Cached, because most reads are of the file that was read last."""
    return folder / path


def is_name(place: Place) -> bool:
    """Return whether a location gives its WARC file by name, rather than by an absolute path or
    URL.

    A name never contains `..`.
    """
    if place.kind is not PlaceKind.WARC or "://" in place.path or "\x00" in place.path:
        return False
    parts = place.path.split("/")
    return parts[0] != "" and ".." not in parts


def is_own(place: Place) -> bool:
    """Return whether a location is in a WARC file that Fonds wrote. Such a WARC has a name without
    a folder.
    """
    is_bare_name = bool(place.path) and "/" not in place.path and place.path not in (".", "..")
    return is_bare_name and place.kind is PlaceKind.WARC


def _reject_tombstone(payload: Payload) -> Payload:
    """Return the payload of a WARC record. Raise PermanentError if the record is a tombstone.

    A tombstone is a record that replaces a record of a file under takedown.
    """
    if is_tombstone(payload.warc_headers.get("WARC-Target-URI", "")):
        raise PermanentError(Reason.UNREADABLE_SOURCE, "the record was taken down")
    return payload


def _check_sha1(body: bytes, sha1hex: str) -> None:
    if sha1(body).hexdigest() != sha1hex:  # noqa: S324 (a key, not a seal)
        raise DamagedInputError(
            Reason.DAMAGED_RECORD,
            f"the bytes no longer match {sha1hex}: the file has changed. Ingest it again",
        )


def open_regular(path: Path, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading. Pipes and devices are rejected without being opened.

    `buffering` is the size of the stream's buffer as for `open`: 0 for none. Raises PermanentError
    (MISSING_SOURCE, UNREADABLE_SOURCE) if the file cannot be opened, and TransientError if a retry
    may help.
    """
    try:
        _check_regular(path.stat().st_mode)
        # If a pipe has just replaced the file, opening it must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _translate_error(error) from error
    except ValueError as error:
        raise PermanentError(Reason.MISSING_SOURCE, f"not a valid file name: {error}") from error
    try:
        _check_regular(os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb", buffering)
    except BaseException:
        os.close(descriptor)
        raise


def _format_place(place: Place) -> str:
    return redact_secrets(str(place))


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise PermanentError(Reason.UNREADABLE_SOURCE, "not a regular file")


def _translate_error(error: OSError) -> PermanentError | TransientError:
    if error.errno in _MISSING_CODES:
        return PermanentError(
            Reason.MISSING_SOURCE, ("the file does not exist. Put it back, or add its folder again")
        )
    if error.errno in _UNREADABLE_CODES:
        return PermanentError(
            Reason.UNREADABLE_SOURCE,
            f"cannot open the file ({error.strerror}). Check its permissions",
        )
    return TransientError(f"cannot open the file right now ({error.strerror})")


def _unpack_body(body: bytes, body_max_bytes: int) -> bytes:
    """Return the body of a file that is stored outside WARC files, decompressed if it is a gzip
    file (`page.html.gz`).

    The body of a gzip file is its content, not the gzip data.
    """
    if not body.startswith(_GZIP_MAGIC):
        return body
    return decode_body(lambda: iter([body]), ["gzip"], body_max_bytes=body_max_bytes)


def _read_file(stream: BinaryIO, body_max_bytes: int) -> bytes:
    """Read a whole open file. Raise LimitError (TOO_LARGE) if it has more than `body_max_bytes`
    bytes.

    The size is checked before and while reading, since the file may be growing.
    """
    size_bytes = os.fstat(stream.fileno()).st_size
    if size_bytes > body_max_bytes:
        raise LimitError(
            Reason.TOO_LARGE, (f"the file has {size_bytes} bytes; the limit is {body_max_bytes}")
        )
    body = bytearray()
    while len(body) <= body_max_bytes and (
        piece := stream.read(min(1 << 20, body_max_bytes + 1 - len(body)))
    ):
        body += piece
    if len(body) > body_max_bytes:
        raise LimitError(Reason.TOO_LARGE, f"the file grew beyond {body_max_bytes} bytes")
    return bytes(body)
