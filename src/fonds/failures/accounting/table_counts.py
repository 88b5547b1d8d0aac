"""Counts over the wide-column table, which has one row per file: files, captures, media types,
GROBID statuses and missing columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec

from fonds.ports import Job, Table
from fonds.ports.scan import iter_rows
from fonds.ports.stores import close
from fonds.stores.journal_table.cells import (
    FILE_MIME,
    GROBID_STATUS_CODE,
    decode_integer,
)
from fonds.stores.journal_table.keys import split_key
from fonds.stores.journal_table.schema import Schema

VALUES_MAX = 1000
OTHER_LABEL = "(others)"
UNREADABLE = "(unreadable)"
CAPTURE_STEPS = (1, 2, 5, 10, 100, 1000)
"""Upper bounds of the histogram buckets for captures per file. One more bucket is for files with
more captures than the last bound.
"""

ROWS, FILES, CAPTURES = "rows", "files", "captures"
MIME, STATUS_CODE, MISSING, PER_FILE = "mime", "status_code", "missing", "captures per file"


@dataclass(frozen=True, slots=True)
class RowCounter:
    """Counts the rows in one of the 256 parts of the wide-column table. The number of a part, 0 to
    255, is the first byte of its row keys.

    `open_table`: opens the table store.
    `table`: table name.
    `columns`: columns to read.
    """

    open_table: Callable[[], Table]
    table: str
    columns: tuple[str, ...]

    def __call__(self, part: int) -> Iterator[bytes]:
        """Yield the counts of one part of the table, one record per counted value.

        A record is the JSON array `[counter, value]`, a blank and the count, such as
        `["mime","text/html"] 12`.
        """
        table = self.open_table()
        counts: Counter[tuple[str, str]] = Counter()
        try:
            for _, rows in groupby(self._iter_rows(table, bytes([part])), key=lambda row: row[0]):
                _count(counts, [(capture_id, cells) for _, capture_id, cells in rows], self.columns)
        finally:
            close(table)
        for key, count in sorted(counts.items()):
            yield msgspec.json.encode(key) + b" %d" % count

    def _iter_rows(
        self, table: Table, prefix: bytes
    ) -> Iterator[tuple[str, str | None, dict[str, bytes]]]:
        for key, cells in iter_rows(table, self.table, prefix, columns=self.columns):
            try:
                sha1hex, capture_id = split_key(key)
            except ValueError:
                sha1hex, capture_id = key.hex(), None
            yield sha1hex, capture_id, cells


def build_counting_job(
    open_table: Callable[[], Table], table: str, schema: Schema, *, large: bool, fingerprint: str
) -> Job:
    """Return the bulk job that counts the rows of the wide-column table, and the values and missing
    columns in them.

    `large`: whether to also count the rows that lack a large column (such as TEI XML), which
        requires reading large cells.
    `fingerprint`: makes the name of the job unique, so that it does not resume an older job.
    """
    columns = tuple(name for name, column in schema.columns.items() if large or not column.is_large)
    return Job(
        name=f"stats-{fingerprint}",
        parts=tuple(range(256)),
        read=RowCounter(open_table, table, columns),
        ranges=(),
        write=sum_counts,
    )


def sum_counts(number: int, records: Iterator[bytes]) -> Iterator[bytes]:
    """Sum the counts that were made for all parts of the wide-column table.

    `number`: number of the output range of the bulk job, which is not used.
    `records`: sorted records of the parts. Each is the JSON array `[counter, value]`, a blank and a
        count.

    Yields one JSON array `[counter, value, sum]` for each counted value.
    """
    for key, group in groupby(records, key=lambda record: record.rpartition(b" ")[0]):
        total = sum(int(record.rpartition(b" ")[2]) for record in group)
        counter_name, value = msgspec.json.decode(key)
        yield msgspec.json.encode([counter_name, value, total])


def _count(
    counts: Counter[tuple[str, str]],
    rows: Sequence[tuple[str | None, dict[str, bytes]]],
    columns: Sequence[str],
) -> None:
    """Add the table rows of one file to the counts: the row of the file, and one row for each later
    capture.
    """
    file_cells = next((cells for capture_id, cells in rows if capture_id is None), None)
    counts[ROWS, ""] += len(rows)
    counts[CAPTURES, ""] += len(rows)
    counts[PER_FILE, _bucket_count(len(rows))] += 1
    if file_cells is None:
        return
    counts[FILES, ""] += 1
    if FILE_MIME in file_cells:
        _count_value(counts, MIME, file_cells[FILE_MIME].decode("utf-8", "replace"))
    if GROBID_STATUS_CODE in file_cells:
        _count_value(counts, STATUS_CODE, _decode_number(file_cells[GROBID_STATUS_CODE]))
    for name in columns:
        if name not in file_cells:
            counts[MISSING, name] += 1


def _count_value(counts: Counter[tuple[str, str]], counter_name: str, value: str) -> None:
    """Add 1 to the count of a value, such as a media type.

    At most 1,000 values of all counters are kept; further values count as `(others)`.
    """
    is_listed = (counter_name, value) in counts or len(counts) < VALUES_MAX
    counts[counter_name, value if is_listed else OTHER_LABEL] += 1


def _decode_number(cell: bytes) -> str:
    try:
        return str(decode_integer(cell))
    except ValueError:
        return UNREADABLE


def _bucket_count(captures: int) -> str:
    previous = 0
    for upper in CAPTURE_STEPS:
        if captures <= upper:
            return str(upper) if upper - previous == 1 else f"{previous + 1} to {upper}"
        previous = upper
    return f"over {previous}"
