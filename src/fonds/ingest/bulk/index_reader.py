"""Read CDX indexes for a backfill: the accepted captures, and the number of refused lines by
reason.

An index is split into byte ranges (parts) that are read in parallel.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fonds.archive.capture_rank import encode_record
from fonds.archive.cdx import CdxLine, IndexReader, RejectedLine
from fonds.bulk.tallies import ExampleCounts
from fonds.ingest.bulk.capture_filter import (
    CaptureFilter,
    find_refusal_reason,
    normalize_mime_cached,
)
from fonds.ingest.sources.text_files import GZIP_MAGIC, LINE_MAX_BYTES, iter_lines
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError

PART_BYTES = 32 * 1024**2
HEADER_PREFIX = b" CDX "


@dataclass(frozen=True, slots=True)
class IndexPart:
    """Byte range of a CDX index. The lines that begin in the range belong to the part.

    - `path`: path of the index.
    - `start`: first byte of the range.
    - `end`: end of the range (exclusive); None if the part is a whole compressed index.
    - `header_line`: first line of the index if that line names the fields, otherwise ''.
    """

    path: str
    start: int
    end: int | None
    header_line: str


def iter_parts(paths: Sequence[Path], part_bytes: int = PART_BYTES) -> Iterator[IndexPart]:
    """Split CDX indexes into parts of at most `part_bytes` bytes. A compressed index is one part,
    and an empty index has none.

    Raises OSError if an index cannot be read.
    """
    for path in paths:
        with path.open("rb") as stream:
            first_line = stream.readline(LINE_MAX_BYTES)
        if first_line.startswith(GZIP_MAGIC):
            yield IndexPart(str(path), 0, None, "")
            continue
        header_line = (
            first_line.decode("utf-8", "replace") if first_line.startswith(HEADER_PREFIX) else ""
        )
        size_bytes = path.stat().st_size
        for start in range(0, size_bytes, part_bytes):
            yield IndexPart(str(path), start, min(start + part_bytes, size_bytes), header_line)


def iter_part_lines(part: IndexPart) -> Generator[bytes, None, None]:
    """Yield the lines that begin in a part of a CDX index, without line ends. Each line belongs to
    exactly one part.

    A line over 64 KiB is yielded in several pieces. Raises OSError if the index cannot be read. For
    a compressed index, raises EOFError, zlib.error or gzip.BadGzipFile if it is damaged, and
    LimitError if it expands too much.
    """
    if part.end is None:
        yield from iter_lines(Path(part.path))
        return
    with Path(part.path).open("rb") as stream:
        offset = part.start
        if offset:
            # A line that began earlier belongs to the previous part, even if it exceeds the maximum
            # length.
            stream.seek(offset - 1)
            while (piece := stream.readline(LINE_MAX_BYTES)) and not piece.endswith(b"\n"):
                pass
            offset = stream.tell()
        while offset < part.end and (line := stream.readline(LINE_MAX_BYTES)):
            offset += len(line)
            yield line.rstrip(b"\r\n")
            while not line.endswith(b"\n") and (line := stream.readline(LINE_MAX_BYTES)):
                offset += len(line)
                yield line.rstrip(b"\r\n")


LINES = "lines"


@dataclass(frozen=True, slots=True)
class CaptureReader:
    """Function object that reads one part of a CDX index: the `read` function of a backfill job.

    `filter` decides which lines are accepted.
    """

    filter: CaptureFilter

    def __call__(self, part: IndexPart) -> Iterator[bytes]:
        """Yield the encoded capture of each accepted line, then the number of refused lines by
        reason.

        Damage and limits of a compressed index are counted like refused lines. Raises OSError if
        the index cannot be read.
        """
        tallies = ExampleCounts()
        try:
            yield from self._iter_captures(part, tallies)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            tallies.count_one(Reason.DAMAGED_RECORD, f"{part.path}: decompression failed: {error}")
        except LimitError as error:
            tallies.count_one(error.reason, f"{part.path}: {error.detail}")
        yield from tallies.iter_records()

    def _iter_captures(self, part: IndexPart, tallies: ExampleCounts) -> Iterator[bytes]:
        reader, capture_filter = IndexReader(), self.filter
        if part.start and part.header_line:
            reader.parse(part.header_line)
        counts, parse = tallies.counts, reader.parse
        for number, encoded_line in enumerate(iter_part_lines(part), 1):
            counts[LINES] += 1
            line = parse(encoded_line.decode("utf-8", "replace"))
            reason = find_refusal_reason(line, capture_filter)
            if reason is None and isinstance(line, CdxLine):
                yield encode_record(line, normalize_mime_cached(line.mime) or line.mime)
            elif isinstance(line, RejectedLine):
                position = f"line {number}" + (f" after byte {part.start}" if part.start else "")
                tallies.count_one(Reason.BAD_INDEX_LINE, f"{part.path}, {position}: {line.detail}")
            elif reason is not None:
                counts[reason] += 1
