"""The job of a backfill, made of indexes, of what is wanted, and of where the stores are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256

from fonds.bulk.captures.deciding import Wanted
from fonds.bulk.captures.parts import IndexPart
from fonds.bulk.captures.reading import ReadCaptures
from fonds.bulk.captures.writing import WriteCaptures
from fonds.ports import Job, Records, Table

RANGES_MAX = 256


def backfill_job(
    parts: Sequence[IndexPart],
    wanted: Wanted,
    range_count: int,
    stores: tuple[Callable[[], Table], Callable[[], Records], str],
    now: datetime,
    fingerprint: str,
) -> Job:
    """`stores` open the table and the records and name the journal; `fingerprint` stands for the indexes as
    they are now and the stores, so that a job that was ended goes on only where nothing has changed."""
    count = max(1, min(range_count, RANGES_MAX))
    told = repr((parts, sorted(wanted.mimes), wanted.filter, count, fingerprint))
    open_table, open_records, journal = stores
    return Job(
        name=f"backfill-{sha256(told.encode('utf-8', 'replace')).hexdigest()[:16]}",
        parts=tuple(parts),
        read=ReadCaptures(wanted),
        ranges=sha1_ranges(count),
        write=WriteCaptures(open_table, open_records, journal, now),
    )


def sha1_ranges(count: int) -> tuple[bytes, ...]:
    """The keys that divide SHA-1s in hex into so many ranges of about the same size."""
    return tuple(f"{number * 65536 // count:04x}".encode() for number in range(1, count))
