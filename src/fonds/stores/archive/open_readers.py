"""Readers left standing in members that many records share, so that the next one need not start anew."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from fonds.formats.warc import RecordReader
from fonds.model.archive import Payload

_STANDING_MAX = 8

_File = tuple[int, int, int, int]


class OpenReaders:
    """At most eight readers; each is used by one thread at a time. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: list[tuple[_File, RecordReader, BinaryIO]] = []

    def read(self, stream: BinaryIO, offset: int, body_max_bytes: int) -> Payload:
        """The payload of the record at `offset`; takes the stream over, and closes it in the end."""
        with self._reader(stream, offset) as (reader, keep):
            payload = reader.read(offset, body_max_bytes=body_max_bytes)
            keep.append(payload.size_bytes is None)
            return payload

    def close(self) -> None:
        """Close what stands open; the next read opens anew."""
        with self._lock:
            standing, self._standing = self._standing, []
        for _, _, stream in standing:
            stream.close()

    @contextmanager
    def _reader(self, stream: BinaryIO, offset: int) -> Iterator[tuple[RecordReader, list[bool]]]:
        file = _identity(stream)
        reader, own = self._take(file, offset) or (RecordReader(stream), stream)
        if own is not stream:
            stream.close()
        keep: list[bool] = []
        try:
            yield reader, keep
        finally:
            if any(keep):
                self._leave(file, reader, own)
            else:
                own.close()

    def _take(self, file: _File, offset: int) -> tuple[RecordReader, BinaryIO] | None:
        with self._lock:
            fitting = [
                entry
                for entry in self._standing
                if entry[0] == file and entry[1].can_go_on_to(offset)
            ]
            if not fitting:
                return None
            nearest = max(fitting, key=lambda entry: entry[1].offset)
            self._standing.remove(nearest)
            return nearest[1], nearest[2]

    def _leave(self, file: _File, reader: RecordReader, stream: BinaryIO) -> None:
        with self._lock:
            self._standing.append((file, reader, stream))
            dropped = self._standing[:-_STANDING_MAX]
            del self._standing[:-_STANDING_MAX]
        for _, _, old in dropped:
            old.close()


def _identity(stream: BinaryIO) -> _File:
    status = os.fstat(stream.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
