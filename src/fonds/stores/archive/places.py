"""Payloads out of places: on this machine whole files, WARC records and members of ZIP files; elsewhere."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha1
from pathlib import Path
from typing import BinaryIO

from fonds.formats.coding import decode_body
from fonds.formats.warc.tombstone import is_tombstone
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
from fonds.model.secrets import without_secrets
from fonds.stores.archive.elsewhere.by_scheme import Elsewhere
from fonds.stores.archive.elsewhere.fetched_bodies import FetchedBodies
from fonds.stores.archive.open_readers import OpenReaders
from fonds.stores.archive.options import no_paths
from fonds.stores.archive.zips import ZipReader

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})
_UNREADABLE = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENXIO, errno.EINVAL})
_GZIP_MAGIC = b"\x1f\x8b\x08"
MISSING_NAME = "no WARC of this name is where it was seen before; put it back, or set warc.base"
ReadMoved = Callable[[Place, int], Payload]
"""The payload of a record in a file of ours that lies elsewhere, and of at most so many bytes."""


class PlaceReader:
    """Reads the body at any place. Safe for several threads.

    A bare name is a WARC of ours in `folder`; what is not there is read by `moved`, when there is such.
    """

    def __init__(
        self,
        folder: Path,
        elsewhere: Elsewhere,
        moved: ReadMoved | None = None,
        *,
        body_max_bytes: int,
        paths_of: Callable[[str], Iterable[str]] = no_paths,
    ) -> None:
        """`paths_of` gives the paths and URLs where a WARC of others may lie, by its name; behind them it may
        raise PermanentError, which says why there are no others."""
        self._folder = folder
        self._moved = moved
        self._elsewhere = elsewhere
        self._zips = ZipReader()
        self._standing = OpenReaders()
        self._fetched = FetchedBodies()
        self._body_max_bytes = body_max_bytes
        self._paths_of = paths_of

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port Archive says; every message names the place, without a URL's user."""
        try:
            return self._checked(place, sha1hex)
        except PermanentError as error:
            found, fault = self._by_name(place, sha1hex, error)
            if found is not None:
                return found
            raise type(fault)(fault.reason, f"{_shown(place)}: {fault.detail}") from error
        except StoreUnavailableError:
            raise
        except (TransientError, OSError) as fault:
            raise TransientError(f"{_shown(place)}: {cause_of(fault)}") from fault

    def _checked(self, place: Place, sha1hex: str | None) -> Payload:
        if sha1hex is not None and (kept := self._fetched.get(place, sha1hex)) is not None:
            return kept
        payload = self._read(place)
        if self._elsewhere.holds(place):
            self._fetched.keep(place, payload)
        if sha1hex is not None:
            _check_sha1(payload.body, sha1hex)
        return payload

    def _by_name(
        self, place: Place, sha1hex: str | None, fault: PermanentError
    ) -> tuple[Payload | None, PermanentError]:
        """The payload where the WARC is known by its name, else why it cannot be read; `fault` if it has no
        name."""
        try:
            return (self._read_by_name(place, sha1hex) if is_name(place) else None), fault
        except PermanentError as other:
            is_there = fault.reason is not Reason.MISSING_SOURCE
            return None, fault if is_there else other

    def _read_by_name(self, place: Place, sha1hex: str | None) -> Payload | None:
        """Read a WARC of others wherever it may lie; None where there is no path, or none is there any more.

        Raises the last error of a file that is there.
        """
        fault: PermanentError | TransientError | None = None
        for path in self._paths_of(place.path):
            try:
                return self._checked(replace(place, path=path), sha1hex)
            except (PermanentError, TransientError) as error:
                missing = isinstance(error, PermanentError) and (
                    error.reason is Reason.MISSING_SOURCE
                )
                fault = fault if missing else error
        if fault is not None:
            raise fault
        if sha1hex is None or is_own(place):
            return None
        # A WARC of ours that others name with a folder. Its bytes prove that it is meant.
        own = replace(place, path=place.path.rpartition("/")[2])
        with suppress(PermanentError):
            return self._checked(own, sha1hex) if is_own(own) else None
        return None

    def close(self) -> None:
        """Close files that were left open to be read on from; the next read opens them anew."""
        self._standing.close()
        self._fetched.close()

    def _read(self, place: Place) -> Payload:
        if self._elsewhere.holds(place):
            payload = self._elsewhere.read(place, self._body_max_bytes)
        else:
            payload = self._read_ours(place) if is_own(place) else self._read_here(place)
        if place.kind in (PlaceKind.WARC, PlaceKind.REPLAY):
            return payload
        return replace(payload, body=_unpacked(payload.body, self._body_max_bytes))

    def _read_ours(self, place: Place) -> Payload:
        """It lies here until it lies elsewhere, so it is looked for here first."""
        try:
            return _standing(self._read_here(place))
        except PermanentError as error:
            if self._moved is None or error.reason is not Reason.MISSING_SOURCE:
                raise
        return _standing(self._moved(place, self._body_max_bytes))

    def _read_here(self, place: Place) -> Payload:
        path = self._path(place)
        if place.kind is PlaceKind.WARC:
            return self._standing.read(open_regular(path), place.offset, self._body_max_bytes)
        with open_regular(path) as stream:
            if place.kind is PlaceKind.ZIP:
                return self._zips.read(stream, place.member or "", self._body_max_bytes)
            return Payload(_read_whole(stream, self._body_max_bytes))

    def _path(self, place: Place) -> Path:
        path = place.path
        if is_name(place) and not is_own(place):
            raise PermanentError(Reason.MISSING_SOURCE, MISSING_NAME)
        if "\x00" in path or not (path.startswith("/") or is_own(place)):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                "neither an absolute path nor the name of a WARC of ours, or it holds a NUL",
            )
        return self._folder / path


def is_name(place: Place) -> bool:
    """Whether a place gives its WARC by name, which never leads upwards."""
    if place.kind is not PlaceKind.WARC or "://" in place.path or "\x00" in place.path:
        return False
    parts = place.path.split("/")
    return parts[0] != "" and ".." not in parts


def is_own(place: Place) -> bool:
    """Whether a place is in a WARC of ours, known by its bare name."""
    named = bool(place.path) and "/" not in place.path and place.path not in (".", "..")
    return named and place.kind is PlaceKind.WARC


def _standing(payload: Payload) -> Payload:
    """A payload of ours, if nothing but a tombstone is left of it. Raises PermanentError."""
    if is_tombstone(payload.warc_headers.get("WARC-Target-URI", "")):
        raise PermanentError(Reason.UNREADABLE_SOURCE, "what stood here was taken down")
    return payload


def _check_sha1(body: bytes, sha1hex: str) -> None:
    if sha1(body).hexdigest() != sha1hex:  # noqa: S324 (a key, not a seal)
        raise DamagedInputError(
            Reason.DAMAGED_RECORD,
            f"the bytes here are no longer those of {sha1hex}: they changed since they were looked at."
            " Ingest the file again",
        )


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


def _shown(place: Place) -> str:
    return without_secrets(str(place))


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
