"""The records in files: JSON lines, or one JSON value that holds many, packed by gzip or not.

Bound: a line has 16 MiB, a value that fills a file 256 MiB, and a file unpacks to 200 times its size at most.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from fonds.catalog.works.reading import Refusal, Refused, decoded, records_in

LINE_MAX_BYTES, WHOLE_MAX_BYTES = 16 * 1024**2, 256 * 1024**2
RATIO_MAX, UNPACKED_MIN_BYTES = 200, 16 * 1024**2
GZIP_MAGIC = b"\x1f\x8b"
ENDS = (".json", ".jsonl", ".ndjson", ".bibjson", ".json.gz", ".jsonl.gz", ".ndjson.gz", ".gz")
"""What files below a folder are called that are read; one that is named is read however it is called."""


def records_of(path: Path) -> Iterator[tuple[str, Any]]:
    """Each record with where it stands: the value that was read, or why there is none. Raises OSError."""
    with _opened(path) as stream:
        bounded = _Bounded(stream, max(UNPACKED_MIN_BYTES, RATIO_MAX * path.stat().st_size))
        number = 0
        try:
            for number, line in enumerate(bounded.lines(), 1):
                yield from _of_line(f"line {number}", line)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield f"line {number + 1}", Refused(Refusal.UNPACKING, f"unpacking fails: {error}")


class _Bounded:
    """Lines of a stream; the first one may be as long as a whole file, and what it begins is read whole where
    it is no value by itself."""

    def __init__(self, stream: IO[bytes], unpacked_max_bytes: int) -> None:
        self._stream = stream
        self._left_bytes = unpacked_max_bytes

    def lines(self) -> Iterator[bytes | Refused]:
        first = self._stream.readline(WHOLE_MAX_BYTES)
        if first[:1] in b"{[" and first.endswith(b"\n") and not _is_json(first):
            rest = self._stream.read(WHOLE_MAX_BYTES)
            if _is_json(first + rest):
                yield first + rest
                return
            yield first
            yield from self._taken(rest.splitlines(keepends=True))
        elif first:
            yield first
        self._left_bytes -= len(first)
        yield from self._taken(iter(lambda: self._stream.readline(LINE_MAX_BYTES + 1), b""))

    def _taken(self, lines: Any) -> Iterator[bytes | Refused]:
        is_rest = False
        for line in lines:
            self._left_bytes -= len(line)
            if self._left_bytes < 0:
                yield Refused(
                    Refusal.TOO_LONG, f"the file unpacks to over {RATIO_MAX} times its size"
                )
                return
            too_long = len(line) > LINE_MAX_BYTES
            if too_long and not is_rest:
                yield Refused(Refusal.TOO_LONG, f"a line of over {LINE_MAX_BYTES:,} bytes")
            if not too_long and not is_rest:
                yield line
            is_rest = too_long and not line.endswith(b"\n")


def _of_line(where: str, line: bytes | Refused) -> Iterator[tuple[str, Any]]:
    if isinstance(line, Refused):
        yield where, line
        return
    if not line.strip():
        return
    try:
        value = decoded(line)
    except ValueError as error:
        yield where, Refused(Refusal.NOT_JSON, str(error))
        return
    records = list(records_in(value))
    for number, record in enumerate(records, 1):
        yield (f"{where}, record {number}" if len(records) > 1 else where), record


def _is_json(data: bytes) -> bool:
    try:
        decoded(data)
    except ValueError:
        return False
    return True


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        packed = stream.read(2) == GZIP_MAGIC
    return cast(IO[bytes], gzip.open(path, "rb") if packed else path.open("rb"))
