"""Writes captures, in the order of their files, into the records and the table."""

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
from fonds.urls.surt import lookup_key

BATCH = 500
FILES, CAPTURES, REVISITS = "files", "captures", "revisits"
SETTLING_MAX = 10
"""How often a place two indexes contradict each other about is looked at, should others write it too."""


@dataclass(frozen=True, slots=True)
class CaptureWriter:
    """The `write` of a backfill; the stores are opened where it is done."""

    open_table: Callable[[], Table]
    open_records: Callable[[], Records]
    journal: str
    started_at: datetime

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """One result for each count. Rows of `cdx` are there before the table speaks of them."""
        table, stored = self.open_table(), self.open_records()
        tallies = ExampleCounts()
        try:
            batch: list[IndexedCapture] = []
            for one in _iter_captures(records, tallies):
                batch.append(one)
                if len(batch) >= BATCH:
                    self._write_batch(table, stored, batch)
                    batch = []
            self._write_batch(table, stored, batch)
        finally:
            close(table, stored)
        yield from tallies.iter_records()

    def _write_batch(self, table: Table, records: Records, batch: Sequence[IndexedCapture]) -> None:
        batch = _drop_taken_down(records, batch)
        if not batch:
            return
        record_crawler_counts(table, records, self.journal, {one.sha1hex for one in batch})
        batch, dropped = _drop_known(records, batch)
        lost = self._write_rows(table, records, batch) | {row.sha1hex for row in dropped}
        records.delete(CdxRow, [_place_key(row) for row in dropped])
        by_file: dict[str, list[IndexedCapture]] = {}
        for one in batch:
            by_file.setdefault(one.sha1hex, []).append(one)
        keys = {build_row_key(sha1hex): sha1hex for sha1hex in by_file}
        there = table.get(self.journal, list(keys), COLUMNS)
        crawlers = find_crawler_files(records, [*by_file])
        others, own = [], {}
        for key, sha1hex in keys.items():
            before = _strip_dropped(there.get(key, {}), dropped)
            merged = merge(sha1hex, by_file[sha1hex], before)
            others += merged.alternate_rows
            own[sha1hex] = dict(merged.file_cells)
            note = merged.file_cells.get(F_C)
            if F_C in before and (sha1hex in crawlers or note is None):
                note = before[F_C]
            if note is not None:
                own[sha1hex][F_C] = note
        notes = {sha1hex: cells[F_C] for sha1hex, cells in own.items() if F_C in cells}
        for sha1hex, count in count_captures(records, notes).items():
            own[sha1hex][F_C] = set_dupe_count(notes[sha1hex], count)
        # Beside the file first: a death in between leaves a capture twice, and none out.
        table.put(self.journal, others)
        table.put(
            self.journal,
            [(build_row_key(sha1hex), cells) for sha1hex, cells in own.items() if cells],
        )
        table.delete(
            self.journal, [build_alternate_key(row.sha1hex, row.capture_id) for row in dropped]
        )
        update_capture_counts(table, records, self.journal, sorted(lost - by_file.keys()))

    def _write_rows(
        self, table: Table, records: Records, batch: Sequence[IndexedCapture]
    ) -> set[str]:
        """Write a row for each place, and give the SHA-1s that lost theirs.

        Of several lines about one place the better stays, whichever came first; what is known by more than
        an index stays as it is.
        """
        lost: set[str] = set()
        wanted: dict[tuple[str, int], IndexedCapture] = {}
        for one in batch:
            place = (one.location.warc, one.location.offset)
            if place not in wanted or ranks_above(one, wanted[place]):
                wanted[place] = one
        rows = {place: _build_row(one, self.started_at) for place, one in wanted.items()}
        records.put([*rows.values()], replace=False)
        for _ in range(SETTLING_MAX):
            held = records.get(CdxRow, [*rows])
            worse = [
                row
                for row in held
                if is_indexed(row.capture_id)
                and row.capture_id != rows[_place_key(row)].capture_id
                and ranks_above(wanted[_place_key(row)], _build_capture(row))
            ]
            if not worse:
                record_no_crawler(
                    records, {one.sha1hex for one in batch} - {row.sha1hex for row in held}
                )
                break
            lost |= {row.sha1hex for row in worse}
            leaving = Counter(
                row.sha1hex for row in worse if row.sha1hex != rows[_place_key(row)].sha1hex
            )
            record_no_crawler(records, leaving)
            update_capture_counts(table, records, self.journal, sorted(leaving), leaving)
            for row in worse:
                after = rows[_place_key(row)]
                changed = {one.name: getattr(after, one.name) for one in fields(after)}
                records.change(
                    CdxRow, [_place_key(row)], _strip_key(changed), {"capture_id": row.capture_id}
                )
        return lost


def _drop_taken_down(records: Records, batch: Sequence[IndexedCapture]) -> Sequence[IndexedCapture]:
    """Those of files that were not taken down."""
    gone = {row.sha1hex for row in records.get(TakedownRow, [one.sha1hex for one in batch])}
    return [one for one in batch if one.sha1hex not in gone]


def _drop_known(
    records: Records, batch: Sequence[IndexedCapture]
) -> tuple[list[IndexedCapture], list[CdxRow]]:
    """Captures that are not known under another name of their WARC, and rows whose names are worse.

    What was read here keeps its row. Of an index that gives the bare name and one that gives `item/file`
    the second is kept.
    """
    where = {
        "sha1hex": sorted({one.sha1hex for one in batch}),
        "warc_offset": sorted({one.location.offset for one in batch}),
    }
    there: dict[CaptureKey, list[CdxRow]] = {}
    for row in records.find(CdxRow, where) if batch else ():
        there.setdefault(build_capture_key(row), []).append(row)
    full = {_capture_key(one) for one in batch if "/" in one.location.warc}
    kept: list[IndexedCapture] = []
    dropped: dict[tuple[str, int], CdxRow] = {}
    for one in batch:
        same = there.get(_capture_key(one), [])
        indexed = [row for row in same if is_indexed(row.capture_id)]
        is_bare = "/" not in one.location.warc
        if len(indexed) < len(same) and not any(row.warc_path == one.location.warc for row in same):
            continue
        if is_bare and (_capture_key(one) in full or any("/" in row.warc_path for row in same)):
            dropped |= {_place_key(row): row for row in indexed if "/" not in row.warc_path}
            continue
        kept.append(one)
        if not is_bare:
            dropped |= {_place_key(row): row for row in indexed if "/" not in row.warc_path}
    return kept, list(dropped.values())


def _capture_key(capture: IndexedCapture) -> CaptureKey:
    at = capture.location
    return capture.sha1hex, at.warc.rpartition("/")[2], at.offset, at.datetime14


def _strip_dropped(cells: Mapping[str, bytes], dropped: Sequence[CdxRow]) -> Mapping[str, bytes]:
    """The cells of a file without the place of a capture that has a better name now."""
    try:
        location = read_location(cells)
    except ValueError:
        return cells
    if location is None or FILE_META in cells:
        return cells
    if (location.warc, location.offset) not in map(_place_key, dropped):
        return cells
    return {name: value for name, value in cells.items() if name != FILE_CDX}


def _iter_captures(records: Iterator[bytes], tallies: ExampleCounts) -> Iterator[IndexedCapture]:
    """The captures, each once; counts go into `tallies`."""
    before, file = b"", b""
    for record in records:
        if record.startswith(MARK):
            tallies.add_record(record)
            continue
        if record == before:
            tallies.counts[Reason.REPEATED] += 1
            continue
        before = record
        one = decode_record(record)
        tallies.counts[REVISITS if one.is_revisit else CAPTURES] += 1
        if not one.is_revisit and record[:40] != file:
            file = record[:40]
            tallies.counts[FILES] += 1
        yield one


def _place_key(row: CdxRow) -> tuple[str, int]:
    return row.warc_path, row.warc_offset


def _strip_key(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in CdxRow.KEY}


def _build_row(capture: IndexedCapture, now: datetime) -> CdxRow:
    at = capture.location
    return CdxRow(
        capture_id=compute_indexed_capture_id(capture.sha1hex, at),
        sha1hex=capture.sha1hex,
        url=at.url,
        surt=at.surt,
        surt_key=lookup_key(at.surt),
        datetime=at.datetime14,
        mimetype=capture.mime,
        status=capture.status,
        warc_path=at.warc,
        warc_csize=at.size_bytes,
        warc_offset=at.offset,
        row_created=now,
    )


def _build_capture(row: CdxRow) -> IndexedCapture:
    at = Location(row.surt, row.url, row.datetime, row.warc_path, row.warc_offset, row.warc_csize)
    return IndexedCapture(row.sha1hex, at, row.mimetype, row.status)


# The job of a backfill, made of indexes, of what is wanted, and of where the stores are.


RANGES_MAX = 256


def build_backfill_job(
    parts: Sequence[IndexPart],
    capture_filter: CaptureFilter,
    range_count: int,
    stores: tuple[Callable[[], Table], Callable[[], Records], str],
    now: datetime,
    fingerprint: str,
) -> Job:
    """`stores` open the table and the records and name the journal; `fingerprint` stands for the indexes as
    they are now and the stores, so that a job that was ended goes on only where nothing has changed."""
    count = max(1, min(range_count, RANGES_MAX))
    told = repr((parts, sorted(capture_filter.mimes), capture_filter.filter, count, fingerprint))
    open_table, open_records, journal = stores
    return Job(
        name=f"backfill-{sha256(told.encode('utf-8', 'replace')).hexdigest()[:16]}",
        parts=tuple(parts),
        read=CaptureReader(capture_filter),
        ranges=split_sha1_ranges(count),
        write=CaptureWriter(open_table, open_records, journal, now),
    )


def split_sha1_ranges(count: int) -> tuple[bytes, ...]:
    """The keys that divide SHA-1s in hex into so many ranges of about the same size."""
    return tuple(f"{number * 65536 // count:04x}".encode() for number in range(1, count))
