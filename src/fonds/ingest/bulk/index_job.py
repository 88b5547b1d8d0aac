"""Backfill job: read captures from CDX indexes, group them by SHA-1, and write them to the SQL
table `cdx` and the wide table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import sha256

from fonds.archive.capture_merge import COLUMNS, merge, ranks_above
from fonds.archive.capture_rank import IndexedCapture, decode_record
from fonds.archive.table_places import compute_indexed_capture_id, is_indexed
from fonds.archive.warc_names import CaptureKey, build_capture_key
from fonds.bulk.tallies import MARK, ExampleCounts
from fonds.ingest.bulk.capture_filter import CaptureFilter
from fonds.ingest.bulk.index_reader import CaptureReader, IndexPart
from fonds.ingest.steps.persist_file import (
    count_captures,
    find_crawler_files,
    record_crawler_counts,
    record_no_crawler,
    update_capture_counts,
)
from fonds.model.disposition import Reason
from fonds.model.rows import CdxRow, TakedownRow
from fonds.ports import Job, Records, Table
from fonds.ports.stores import close
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_CDX,
    FILE_META,
    Location,
    read_location,
    set_dupe_count,
)
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key
from fonds.urls.surt import build_lookup_key

BATCH = 500
FILES, CAPTURES, REVISITS = "files", "captures", "revisits"
SETTLING_MAX = 10
"""Maximum attempts to write the `cdx` rows of a batch of CDX lines, while other processes change
the same rows.
"""


@dataclass(frozen=True, slots=True)
class CaptureWriter:
    """Function object that writes the captures of a backfill job to the stores.

    It is the `write` function of the job. It opens the wide table and the SQL records in the
    process that calls it.

    - `open_table`, `open_records`: functions that open the wide table and the SQL records.
    - `journal`: name of the wide table.
    - `started_at`: start of the job (aware UTC).
    """

    open_table: Callable[[], Table]
    open_records: Callable[[], Records]
    journal: str
    started_at: datetime

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Write the captures whose SHA-1 is in range `number` to the wide table and SQL records.

        `records` are the encoded captures of the range, sorted by SHA-1. When all are written,
        yields lines with the numbers of captures, files and refused index lines. Rows of `cdx` are
        written before the cells of the wide table that refer to them.
        """
        table, record_store = self.open_table(), self.open_records()
        tallies = ExampleCounts()
        try:
            batch: list[IndexedCapture] = []
            for capture in _iter_captures(records, tallies):
                batch.append(capture)
                if len(batch) >= BATCH:
                    self._write_batch(table, record_store, batch)
                    batch = []
            self._write_batch(table, record_store, batch)
        finally:
            close(table, record_store)
        yield from tallies.iter_records()

    def _write_batch(self, table: Table, records: Records, batch: Sequence[IndexedCapture]) -> None:
        batch = _drop_taken_down(records, batch)
        if not batch:
            return
        record_crawler_counts(table, records, self.journal, {capture.sha1hex for capture in batch})
        batch, dropped_rows = _drop_known(records, batch)
        files_losing_rows = self._write_rows(table, records, batch) | {
            row.sha1hex for row in dropped_rows
        }
        records.delete(CdxRow, [_place_key(row) for row in dropped_rows])
        by_file: dict[str, list[IndexedCapture]] = {}
        for capture in batch:
            by_file.setdefault(capture.sha1hex, []).append(capture)
        keys = {build_row_key(sha1hex): sha1hex for sha1hex in by_file}
        cells_by_key = table.get(self.journal, list(keys), COLUMNS)
        crawlers = find_crawler_files(records, [*by_file])
        alternate_rows, file_cells = [], {}
        for key, sha1hex in keys.items():
            old_cells = _strip_dropped(cells_by_key.get(key, {}), dropped_rows)
            merged_file = merge(sha1hex, by_file[sha1hex], old_cells)
            alternate_rows += merged_file.alternate_rows
            file_cells[sha1hex] = dict(merged_file.file_cells)
            note = merged_file.file_cells.get(F_C)
            if F_C in old_cells and (sha1hex in crawlers or note is None):
                note = old_cells[F_C]
            if note is not None:
                file_cells[sha1hex][F_C] = note
        notes = {sha1hex: cells[F_C] for sha1hex, cells in file_cells.items() if F_C in cells}
        for sha1hex, count in count_captures(records, notes).items():
            file_cells[sha1hex][F_C] = set_dupe_count(notes[sha1hex], count)
        # Alternate rows first: a crash in between leaves a capture twice, but loses none.
        table.put(self.journal, alternate_rows)
        table.put(
            self.journal,
            [(build_row_key(sha1hex), cells) for sha1hex, cells in file_cells.items() if cells],
        )
        table.delete(
            self.journal, [build_alternate_key(row.sha1hex, row.capture_id) for row in dropped_rows]
        )
        update_capture_counts(
            table, records, self.journal, sorted(files_losing_rows - by_file.keys())
        )

    def _write_rows(
        self, table: Table, records: Records, batch: Sequence[IndexedCapture]
    ) -> set[str]:
        """Write one `cdx` row for each WARC path and offset in the batch.

        Returns the SHA-1s of the files in existing rows that were replaced by a better row. If
        several index lines describe one location, the line that `ranks_above` prefers wins, in
        whatever order the lines arrive. Rows of captures that Fonds has read itself stay unchanged.
        """
        losing_files: set[str] = set()
        best: dict[tuple[str, int], IndexedCapture] = {}
        for capture in batch:
            location = (capture.location.warc, capture.location.offset)
            if location not in best or ranks_above(capture, best[location]):
                best[location] = capture
        rows = {
            location: _build_row(capture, self.started_at) for location, capture in best.items()
        }
        records.put([*rows.values()], replace=False)
        for _ in range(SETTLING_MAX):
            stored_rows = records.get(CdxRow, [*rows])
            outranked_rows = [
                row
                for row in stored_rows
                if is_indexed(row.capture_id)
                and row.capture_id != rows[_place_key(row)].capture_id
                and ranks_above(best[_place_key(row)], _build_capture(row))
            ]
            if not outranked_rows:
                record_no_crawler(
                    records,
                    {capture.sha1hex for capture in batch} - {row.sha1hex for row in stored_rows},
                )
                break
            losing_files |= {row.sha1hex for row in outranked_rows}
            moved_counts = Counter(
                row.sha1hex
                for row in outranked_rows
                if row.sha1hex != rows[_place_key(row)].sha1hex
            )
            record_no_crawler(records, moved_counts)
            update_capture_counts(table, records, self.journal, sorted(moved_counts), moved_counts)
            for row in outranked_rows:
                new_row = rows[_place_key(row)]
                changed_columns = {
                    capture.name: getattr(new_row, capture.name) for capture in fields(new_row)
                }
                records.change(
                    CdxRow,
                    [_place_key(row)],
                    _strip_key(changed_columns),
                    {"capture_id": row.capture_id},
                )
        return losing_files


def _drop_taken_down(records: Records, batch: Sequence[IndexedCapture]) -> Sequence[IndexedCapture]:
    """Return the captures of `batch` except those whose file was removed by a takedown."""
    removed_files = {
        row.sha1hex for row in records.get(TakedownRow, [capture.sha1hex for capture in batch])
    }
    return [capture for capture in batch if capture.sha1hex not in removed_files]


def _drop_known(
    records: Records, batch: Sequence[IndexedCapture]
) -> tuple[list[IndexedCapture], list[CdxRow]]:
    """Return the captures of `batch` to write, and the existing `cdx` rows to remove.

    A capture is omitted if Fonds has read it and its row has another path of the same WARC. If one
    index names a WARC `file` and another index names it `item/file`, only the row with `item/file`
    is kept.
    """
    where = {
        "sha1hex": sorted({capture.sha1hex for capture in batch}),
        "warc_offset": sorted({capture.location.offset for capture in batch}),
    }
    rows_by_key: dict[CaptureKey, list[CdxRow]] = {}
    for row in records.find(CdxRow, where) if batch else ():
        rows_by_key.setdefault(build_capture_key(row), []).append(row)
    full = {_capture_key(capture) for capture in batch if "/" in capture.location.warc}
    kept_captures: list[IndexedCapture] = []
    dropped_rows: dict[tuple[str, int], CdxRow] = {}
    for capture in batch:
        same_rows = rows_by_key.get(_capture_key(capture), [])
        indexed_rows = [row for row in same_rows if is_indexed(row.capture_id)]
        is_bare = "/" not in capture.location.warc
        if len(indexed_rows) < len(same_rows) and not any(
            row.warc_path == capture.location.warc for row in same_rows
        ):
            continue
        if is_bare and (
            _capture_key(capture) in full or any("/" in row.warc_path for row in same_rows)
        ):
            dropped_rows |= {
                _place_key(row): row for row in indexed_rows if "/" not in row.warc_path
            }
            continue
        kept_captures.append(capture)
        if not is_bare:
            dropped_rows |= {
                _place_key(row): row for row in indexed_rows if "/" not in row.warc_path
            }
    return kept_captures, list(dropped_rows.values())


def _capture_key(capture: IndexedCapture) -> CaptureKey:
    location = capture.location
    return capture.sha1hex, location.warc.rpartition("/")[2], location.offset, location.datetime14


def _strip_dropped(
    cells: Mapping[str, bytes], dropped_rows: Sequence[CdxRow]
) -> Mapping[str, bytes]:
    """Return the cells of a file in the wide table, without `file:cdx` (the file's location) if
    this cell names a dropped `cdx` row.

    The cells are returned unchanged if Fonds has read the file (`file:meta` exists), or if
    `file:cdx` is missing or cannot be parsed.
    """
    try:
        location = read_location(cells)
    except ValueError:
        return cells
    if location is None or FILE_META in cells:
        return cells
    if (location.warc, location.offset) not in map(_place_key, dropped_rows):
        return cells
    return {name: value for name, value in cells.items() if name != FILE_CDX}


def _iter_captures(records: Iterator[bytes], tallies: ExampleCounts) -> Iterator[IndexedCapture]:
    """Yield each distinct capture once, from sorted encoded captures.

    Adds to `tallies` the numbers of captures, revisits, files and repeated captures. Some of the
    `records` are lines in which the index reader counted refused lines. These counts are added too.
    """
    previous, previous_file = b"", b""
    for record in records:
        if record.startswith(MARK):
            tallies.add_record(record)
            continue
        if record == previous:
            tallies.counts[Reason.REPEATED] += 1
            continue
        previous = record
        capture = decode_record(record)
        tallies.counts[REVISITS if capture.is_revisit else CAPTURES] += 1
        if not capture.is_revisit and record[:40] != previous_file:
            previous_file = record[:40]
            tallies.counts[FILES] += 1
        yield capture


def _place_key(row: CdxRow) -> tuple[str, int]:
    return row.warc_path, row.warc_offset


def _strip_key(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in CdxRow.KEY}


def _build_row(capture: IndexedCapture, now: datetime) -> CdxRow:
    location = capture.location
    return CdxRow(
        capture_id=compute_indexed_capture_id(capture.sha1hex, location),
        sha1hex=capture.sha1hex,
        url=location.url,
        surt=location.surt,
        surt_key=build_lookup_key(location.surt),
        datetime=location.datetime14,
        mimetype=capture.mime,
        status=capture.status,
        warc_path=location.warc,
        warc_csize=location.size_bytes,
        warc_offset=location.offset,
        row_created=now,
    )


def _build_capture(row: CdxRow) -> IndexedCapture:
    location = Location(
        row.surt, row.url, row.datetime, row.warc_path, row.warc_offset, row.warc_csize
    )
    return IndexedCapture(row.sha1hex, location, row.mimetype, row.status)


RANGES_MAX = 256


def build_backfill_job(
    parts: Sequence[IndexPart],
    capture_filter: CaptureFilter,
    range_count: int,
    stores: tuple[Callable[[], Table], Callable[[], Records], str],
    now: datetime,
    fingerprint: str,
) -> Job:
    """Build the job that writes the captures in these parts of CDX indexes to a library.

    - `range_count`: number of SHA-1 ranges to write in parallel.
    - `stores`: functions that open the wide table and the SQL records, and the name of the table.
    - `now`: start of the job (aware UTC).
    - `fingerprint`: identifies the stores and the present content of the indexes. An interrupted
      job resumes only if its fingerprint is unchanged.
    """
    count = max(1, min(range_count, RANGES_MAX))
    identity = repr(
        (parts, sorted(capture_filter.mimes), capture_filter.filter, count, fingerprint)
    )
    open_table, open_records, journal = stores
    return Job(
        name=f"backfill-{sha256(identity.encode('utf-8', 'replace')).hexdigest()[:16]}",
        parts=tuple(parts),
        read=CaptureReader(capture_filter),
        ranges=split_sha1_ranges(count),
        write=CaptureWriter(open_table, open_records, journal, now),
    )


def split_sha1_ranges(count: int) -> tuple[bytes, ...]:
    """Return the `count` - 1 prefixes of hexadecimal SHA-1s that divide all SHA-1s into `count`
    ranges of about equal size.
    """
    return tuple(f"{number * 65536 // count:04x}".encode() for number in range(1, count))
