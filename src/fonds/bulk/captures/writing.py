"""Writes captures, in the order of their files, into the records and the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from fonds.bulk.captures.merging import COLUMNS, better, merge
from fonds.bulk.captures.ranking import IndexedCapture, from_record
from fonds.bulk.captures.tallies import MARK, Tallies
from fonds.formats.journal import (
    F_C,
    FILE_CDX,
    FILE_META,
    Location,
    alternate_key,
    read_location,
    recounted,
    row_key,
)
from fonds.formats.placing import indexed_capture_id, is_indexed
from fonds.formats.surt import lookup_key
from fonds.model.disposition import Reason
from fonds.model.rows import CdxRow, TakedownRow
from fonds.ports import Records, Table
from fonds.ports.closing import close
from fonds.steps.intake.capture_count import (
    adopt_crawler_notes,
    capture_counts,
    crawler_files,
    note_capture_counts,
    note_no_crawler,
)
from fonds.steps.intake.warc_names import CaptureKey, capture_key

BATCH = 500
FILES, CAPTURES, REVISITS = "files", "captures", "revisits"
SETTLING_MAX = 10
"""How often a place two indexes contradict each other about is looked at, should others write it too."""


@dataclass(frozen=True, slots=True)
class WriteCaptures:
    """The `write` of a backfill; the stores are opened where it is done."""

    open_table: Callable[[], Table]
    open_records: Callable[[], Records]
    journal: str
    now: datetime

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """One result for each count. Rows of `cdx` are there before the table speaks of them."""
        table, stored = self.open_table(), self.open_records()
        tallies = Tallies()
        try:
            batch: list[IndexedCapture] = []
            for one in _captures(records, tallies):
                batch.append(one)
                if len(batch) >= BATCH:
                    self._put(table, stored, batch)
                    batch = []
            self._put(table, stored, batch)
        finally:
            close(table, stored)
        yield from tallies.records()

    def _put(self, table: Table, records: Records, batch: Sequence[IndexedCapture]) -> None:
        batch = _allowed(records, batch)
        if not batch:
            return
        adopt_crawler_notes(table, records, self.journal, {one.sha1hex for one in batch})
        batch, dropped = _without_known(records, batch)
        lost = self._note_rows(table, records, batch) | {row.sha1hex for row in dropped}
        records.delete(CdxRow, [_place(row) for row in dropped])
        by_file: dict[str, list[IndexedCapture]] = {}
        for one in batch:
            by_file.setdefault(one.sha1hex, []).append(one)
        keys = {row_key(sha1hex): sha1hex for sha1hex in by_file}
        there = table.get(self.journal, list(keys), COLUMNS)
        crawlers = crawler_files(records, [*by_file])
        others, own = [], {}
        for key, sha1hex in keys.items():
            before = _without_dropped(there.get(key, {}), dropped)
            merged = merge(sha1hex, by_file[sha1hex], before)
            others += merged.others
            own[sha1hex] = dict(merged.own)
            note = merged.own.get(F_C)
            if F_C in before and (sha1hex in crawlers or note is None):
                note = before[F_C]
            if note is not None:
                own[sha1hex][F_C] = note
        notes = {sha1hex: cells[F_C] for sha1hex, cells in own.items() if F_C in cells}
        for sha1hex, count in capture_counts(records, notes).items():
            own[sha1hex][F_C] = recounted(notes[sha1hex], count)
        # Beside the file first: a death in between leaves a capture twice, and none out.
        table.put(self.journal, others)
        table.put(
            self.journal, [(row_key(sha1hex), cells) for sha1hex, cells in own.items() if cells]
        )
        table.delete(self.journal, [alternate_key(row.sha1hex, row.capture_id) for row in dropped])
        note_capture_counts(table, records, self.journal, sorted(lost - by_file.keys()))

    def _note_rows(
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
            if place not in wanted or better(one, wanted[place]):
                wanted[place] = one
        rows = {place: _row(one, self.now) for place, one in wanted.items()}
        records.put([*rows.values()], replace=False)
        for _ in range(SETTLING_MAX):
            held = records.get(CdxRow, [*rows])
            worse = [
                row
                for row in held
                if is_indexed(row.capture_id)
                and row.capture_id != rows[_place(row)].capture_id
                and better(wanted[_place(row)], _told(row))
            ]
            if not worse:
                note_no_crawler(
                    records, {one.sha1hex for one in batch} - {row.sha1hex for row in held}
                )
                break
            lost |= {row.sha1hex for row in worse}
            leaving = Counter(
                row.sha1hex for row in worse if row.sha1hex != rows[_place(row)].sha1hex
            )
            note_no_crawler(records, leaving)
            note_capture_counts(table, records, self.journal, sorted(leaving), leaving)
            for row in worse:
                after = rows[_place(row)]
                changed = {one.name: getattr(after, one.name) for one in fields(after)}
                records.change(
                    CdxRow, [_place(row)], _without_key(changed), {"capture_id": row.capture_id}
                )
        return lost


def _allowed(records: Records, batch: Sequence[IndexedCapture]) -> Sequence[IndexedCapture]:
    """Those of files that were not taken down."""
    gone = {row.sha1hex for row in records.get(TakedownRow, [one.sha1hex for one in batch])}
    return [one for one in batch if one.sha1hex not in gone]


def _without_known(
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
        there.setdefault(capture_key(row), []).append(row)
    full = {_key(one) for one in batch if "/" in one.location.warc}
    kept: list[IndexedCapture] = []
    dropped: dict[tuple[str, int], CdxRow] = {}
    for one in batch:
        same = there.get(_key(one), [])
        indexed = [row for row in same if is_indexed(row.capture_id)]
        is_bare = "/" not in one.location.warc
        if len(indexed) < len(same) and not any(row.warc_path == one.location.warc for row in same):
            continue
        if is_bare and (_key(one) in full or any("/" in row.warc_path for row in same)):
            dropped |= {_place(row): row for row in indexed if "/" not in row.warc_path}
            continue
        kept.append(one)
        if not is_bare:
            dropped |= {_place(row): row for row in indexed if "/" not in row.warc_path}
    return kept, list(dropped.values())


def _key(one: IndexedCapture) -> CaptureKey:
    at = one.location
    return one.sha1hex, at.warc.rpartition("/")[2], at.offset, at.datetime14


def _without_dropped(cells: Mapping[str, bytes], dropped: Sequence[CdxRow]) -> Mapping[str, bytes]:
    """The cells of a file without the place of a capture that has a better name now."""
    try:
        location = read_location(cells)
    except ValueError:
        return cells
    if location is None or FILE_META in cells:
        return cells
    if (location.warc, location.offset) not in map(_place, dropped):
        return cells
    return {name: value for name, value in cells.items() if name != FILE_CDX}


def _captures(records: Iterator[bytes], tallies: Tallies) -> Iterator[IndexedCapture]:
    """The captures, each once; counts go into `tallies`."""
    before, file = b"", b""
    for record in records:
        if record.startswith(MARK):
            tallies.take(record)
            continue
        if record == before:
            tallies.counts[Reason.REPEATED] += 1
            continue
        before = record
        one = from_record(record)
        tallies.counts[REVISITS if one.is_revisit else CAPTURES] += 1
        if not one.is_revisit and record[:40] != file:
            file = record[:40]
            tallies.counts[FILES] += 1
        yield one


def _place(row: CdxRow) -> tuple[str, int]:
    return row.warc_path, row.warc_offset


def _without_key(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in CdxRow.KEY}


def _row(one: IndexedCapture, now: datetime) -> CdxRow:
    at = one.location
    return CdxRow(
        capture_id=indexed_capture_id(one.sha1hex, at),
        sha1hex=one.sha1hex,
        url=at.url,
        surt=at.surt,
        surt_key=lookup_key(at.surt),
        datetime=at.datetime14,
        mimetype=one.mime,
        status=one.status,
        warc_path=at.warc,
        warc_csize=at.size_bytes,
        warc_offset=at.offset,
        row_created=now,
    )


def _told(row: CdxRow) -> IndexedCapture:
    at = Location(row.surt, row.url, row.datetime, row.warc_path, row.warc_offset, row.warc_csize)
    return IndexedCapture(row.sha1hex, at, row.mimetype, row.status)
