"""Payloads out of places on this machine: whole files, WARC records, members of ZIP files."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from fonds.formats.coding import decode_body
from fonds.formats.warc import read_record
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, PermanentError, TransientError
from fonds.stores.archive.ranges import RangeReader, is_url
from fonds.stores.archive.standing import StandingReaders
from fonds.stores.archive.zips import ZipReader

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})
_UNREADABLE = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENXIO, errno.EINVAL})
_GZIP_MAGIC = b"\x1f\x8b\x08"


class PlaceReader:
    """Reads the body at any place; relative paths lie below `home`. Safe for several threads."""

    def __init__(self, home: Path, ranges: RangeReader, *, body_max_bytes: int) -> None:
        self._home = home
        self._ranges = ranges
        self._zips = ZipReader()
        self._standing = StandingReaders()
        self._body_max_bytes = body_max_bytes

    def read(self, place: Place) -> Payload:
        """As the port Archive says; every message names the place."""
        try:
            return self._read(place)
        except PermanentError as fault:
            raise type(fault)(fault.reason, f"{place}: {fault.detail}") from fault
        except (TransientError, OSError) as fault:
            raise TransientError(f"{place}: {fault}") from fault

    def close(self) -> None:
        """Close files that were left open to be read on from; the next read opens them anew."""
        self._standing.close()

    def _read(self, place: Place) -> Payload:
        if is_url(place.path):
            return self._read_url(place)
        path = self._path(place.path)
        if place.kind is PlaceKind.WARC:
            return self._standing.read(open_regular(path), place.offset, self._body_max_bytes)
        with open_regular(path) as stream:
            if place.kind is PlaceKind.ZIP:
                packed = self._zips.read(stream, place.member or "", self._body_max_bytes)
            else:
                packed = Payload(_read_whole(stream, self._body_max_bytes))
            return replace(packed, body=_unpacked(packed.body, self._body_max_bytes))

    def _read_url(self, place: Place) -> Payload:
        if place.kind is not PlaceKind.WARC:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                "only WARC records can be read from a URL; download it first",
            )
        with self._ranges.open(place.path, place.offset, place.size_bytes) as stream:
            return read_record(stream, place.offset, body_max_bytes=self._body_max_bytes)

    def _path(self, path: str) -> Path:
        whole = self._home / path
        if "\x00" in path or (".." in Path(path).parts and not Path(path).is_absolute()):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE, "the path leads out of the home folder, or holds a NUL"
            )
        return whole


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open for reading. Pipes and devices are refused without being opened.

    Raises PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE) and TransientError.
    """
    try:
        _check_regular(path.stat().st_mode)
        # Should a pipe take the file's place just now, opening it does not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _translated(error) from error
    except ValueError as error:
        raise PermanentError(
            Reason.MISSING_SOURCE, f"no file can have this name: {error}"
        ) from error
    try:
        _check_regular(os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise PermanentError(Reason.UNREADABLE_SOURCE, "not a regular file")


def _translated(error: OSError) -> PermanentError | TransientError:
    if error.errno in _MISSING:
        return PermanentError(
            Reason.MISSING_SOURCE, "the file is not there; put it back, or add its folder anew"
        )
    if error.errno in _UNREADABLE:
        return PermanentError(
            Reason.UNREADABLE_SOURCE,
            f"the file cannot be opened ({error.strerror}); check its rights",
        )
    return TransientError(f"the file cannot be opened just now ({error.strerror})")


def _unpacked(body: bytes, body_max_bytes: int) -> bytes:
    """What a loose gzip file holds (`page.html.gz`): the body is what was packed, not the packing."""
    if not body.startswith(_GZIP_MAGIC):
        return body
    return decode_body(lambda: iter([body]), ["gzip"], body_max_bytes=body_max_bytes)


def _read_whole(stream: BinaryIO, body_max_bytes: int) -> bytes:
    """The whole file; its size is checked before and again after reading, since it may be growing."""
    size_bytes = os.fstat(stream.fileno()).st_size
    if size_bytes > body_max_bytes:
        raise LimitError(
            Reason.TOO_LARGE, f"the file has {size_bytes} bytes; at most {body_max_bytes} are read"
        )
    body = bytearray()
    while len(body) <= body_max_bytes and (
        piece := stream.read(min(1 << 20, body_max_bytes + 1 - len(body)))
    ):
        body += piece
    if len(body) > body_max_bytes:
        raise LimitError(Reason.TOO_LARGE, f"the file grew beyond {body_max_bytes} bytes")
    return bytes(body)
