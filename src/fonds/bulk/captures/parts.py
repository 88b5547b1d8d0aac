"""Indexes cut into parts that are read side by side, and the lines of one part."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fonds.sources.indexes import GZIP_MAGIC, LINE_MAX_BYTES, lines_of

PART_BYTES = 32 * 1024**2
LEGEND = b" CDX "


@dataclass(frozen=True, slots=True)
class IndexPart:
    """Lines of an index that begin in a stretch of bytes; `end` None: all of a packed one.

    `legend` is the index's first line where it says the order of the fields, "" else.
    """

    path: str
    start: int
    end: int | None
    legend: str


def parts_of(paths: Sequence[Path], part_bytes: int = PART_BYTES) -> Iterator[IndexPart]:
    """Indexes in parts of about the same size; a packed one cannot be cut. Raises OSError."""
    for path in paths:
        with path.open("rb") as stream:
            first = stream.readline(LINE_MAX_BYTES)
        if first.startswith(GZIP_MAGIC):
            yield IndexPart(str(path), 0, None, "")
            continue
        legend = first.decode("utf-8", "replace") if first.startswith(LEGEND) else ""
        size_bytes = path.stat().st_size
        for start in range(0, size_bytes, part_bytes):
            yield IndexPart(str(path), start, min(start + part_bytes, size_bytes), legend)


def lines_in(part: IndexPart) -> Generator[bytes, None, None]:
    """The lines that begin in a part, each in one part; of bounded length, as `lines_of` says.

    Raises what `lines_of` raises, and OSError.
    """
    if part.end is None:
        yield from lines_of(Path(part.path))
        return
    with Path(part.path).open("rb") as stream:
        at = part.start
        if at:
            # What began before is the part before's, also when it is of no bounded length.
            stream.seek(at - 1)
            while (cut := stream.readline(LINE_MAX_BYTES)) and not cut.endswith(b"\n"):
                at += len(cut)
            at = stream.tell()
        while at < part.end and (line := stream.readline(LINE_MAX_BYTES)):
            at += len(line)
            yield line.rstrip(b"\r\n")
            while not line.endswith(b"\n") and (line := stream.readline(LINE_MAX_BYTES)):
                at += len(line)
                yield line.rstrip(b"\r\n")
