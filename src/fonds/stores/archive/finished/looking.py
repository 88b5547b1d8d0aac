"""What there is of a WARC file, by its length and its index; no record is read."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fonds.formats.cdx import CdxLine, IndexReader
from fonds.model.archive import Held, IndexedRecord
from fonds.model.capture import REVISIT_MIME
from fonds.model.keys import sha1_from_text
from fonds.stores.archive.volume import index_again, index_of, marker_of

INDEX_LINES_MAX = 1_000_000
"""A longer CDXJ is not one of ours: a WARC of ours holds some thousand records."""


def look_here(path: Path, *, ours: bool, mend: bool = False) -> Held | None:
    """A file of this machine; None when it is no file. With `mend` the index of one of ours is made again
    first, unless it is being written to. Raises OSError for what cannot be looked at."""
    size_bytes = _size(path)
    if size_bytes is None:
        return None
    if not ours:
        return Held(size_bytes)
    if marker_of(path).exists():
        return Held(size_bytes, None, is_open=True)
    if mend:
        index_again(path)
    index = index_of(path)
    if _size(index) is None:
        return Held(size_bytes)
    with index.open(encoding="utf-8", errors="replace") as lines:
        return Held(size_bytes, indexed(lines))


def indexed(lines: Iterable[str]) -> Sequence[IndexedRecord]:
    """The records a CDXJ of ours names; lines that cannot be understood name none."""
    return tuple(_records(lines))


def _records(lines: Iterable[str]) -> Iterator[IndexedRecord]:
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
                sha1hex=(sha1_from_text(line.digest or "") or b"").hex(),
                is_revisit=line.mime == REVISIT_MIME,
            )


def _size(path: Path) -> int | None:
    """The length of a regular file; None for what is none."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
