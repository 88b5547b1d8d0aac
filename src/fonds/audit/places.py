"""Audit of capture locations: compares each `cdx` row with the wide table and with its WARC.

For WARCs written by Fonds, it also compares the rows with the CDXJ index next to the WARC.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fonds.archive.table_places import find_end_offset, is_indexed
from fonds.archive.warc_names import CaptureKey, build_capture_key
from fonds.audit.captures import compare_line, has_wrong_mimetype, is_own_warc
from fonds.audit.entries import (
    build_unaccounted_condition,
    check_captures_without_entry,
    find_fetched_without_entry,
    find_open_entries,
)
from fonds.audit.fault import REPAIR, AuditCheck, AuditFault, RepairAct, build_act_prefix
from fonds.audit.files import format_place_name, is_same_place
from fonds.derivatives.visibility import find_takedowns
from fonds.ingest.steps.persist_file import (
    find_crawler_files,
)
from fonds.model.archive import IndexedRecord
from fonds.model.capture import REVISIT_MIME
from fonds.model.disposition import Verdict
from fonds.model.entry import CAPTURE
from fonds.model.record_offset import describe_offset, format_offset, format_record_place
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, FileMetaRow
from fonds.model.rows.row import InTable
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_chunks
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_CDX,
    read_first_seen,
    read_location,
)
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key

ARCHIVE_BODY = "archive_body"
NAMES_MAX = 3


@dataclass(slots=True)
class _WarcRows:
    """Summary of the `cdx` rows of one WARC.

    `path`: path of the WARC.
    `end`: largest end offset of a record, in bytes.
    `count`: number of rows.
    `rows`: the rows by start offset of their record; only for WARCs of Fonds, which have some
        thousand records.

    The SQL table `cdx` has one row per capture in a WARC.
    """

    path: str
    end: int = 0
    count: int = 0
    rows: dict[int, CdxRow] = field(default_factory=dict)

    def add_row(self, row: CdxRow) -> None:
        """Add one `cdx` row of the WARC to the summary.

        The SQL table `cdx` has one row per capture in a WARC.
        """
        self.count += 1
        self.end = max(self.end, find_end_offset(row))
        if is_own_warc(self.path):
            self.rows[row.warc_offset] = row


def check_places(stores: Stores) -> Iterator[AuditFault]:
    """Check the location of every capture in `cdx` and yield the faults.

    Goes WARC by WARC. Asks once for the size and the CDXJ index of each WARC; no WARC record is
    read. The SQL table `cdx` has one row per capture in a WARC.
    """
    warc: _WarcRows | None = None
    records = stores.records
    for page in _iter_pages(records, {}):
        yield from _check_table_places(stores, page)
        yield from _check_archived(records, page)
        yield from _check_entry_places(records, page)
        for row in page:
            if warc is None or warc.path != row.warc_path:
                yield from _check_warc(stores, warc) if warc else ()
                warc = _WarcRows(row.warc_path)
            warc.add_row(row)
    yield from _check_warc(stores, warc) if warc else ()
    for page in _iter_pages(records, {"capture_id": build_unaccounted_condition(records)}):
        owners = {
            row.capture_id: format_record_place(row.warc_path, row.warc_offset) for row in page
        }
        yield from check_captures_without_entry(records, owners)
    same_record = InTable(CdxRow, "sha1hex", {"warc_offset": "warc_offset", "datetime": "datetime"})
    for page in _iter_pages(records, {"sha1hex": same_record}):
        yield from _check_written_twice(records, page)


def _iter_pages(records: Records, where: Mapping[str, object]) -> Iterator[list[CdxRow]]:
    """Yield the `cdx` rows that match `where`, in pages.

    Captures known only from a CDX index are left out: they have no stored body and no entry. The
    SQL table `cdx` has one row per capture in a WARC.
    """
    return iter_chunks(row for row in records.find(CdxRow, where) if not is_indexed(row.capture_id))


def _check_table_places(stores: Stores, rows: Sequence[CdxRow]) -> Iterator[AuditFault]:
    """Compare `cdx` rows with the wide-column table and yield the faults.

    The cell `file:cdx` must give the same location as the row. For the primary capture of a file,
    the cell `f:c` must give it too. The SQL table `cdx` has one row per capture in a WARC. The
    table cell `f:c` describes the first capture of a file. The table cell `file:cdx` has the WARC
    location of a capture.
    """
    sha1hexes = sorted({row.sha1hex for row in rows})
    files = {row.sha1hex: row for row in stores.records.get(FileMetaRow, sha1hexes)}
    primary_captures = {sha1hex: file.capture_id for sha1hex, file in files.items()}
    yield from _check_mimetypes(rows, files)
    checked_rows = [
        row for row in rows if row.mimetype != REVISIT_MIME or is_own_warc(row.warc_path)
    ]
    keys = {
        (row.warc_path, row.warc_offset): build_cell_key(row, primary_captures)
        for row in checked_rows
        if row.sha1hex in primary_captures
    }
    table_rows = stores.table.get(stores.journal, sorted(set(keys.values())), [FILE_CDX, F_C])
    crawler_files = find_crawler_files(stores.records, primary_captures)
    mismatches = [
        (row, message)
        for row in checked_rows
        if (key := keys.get((row.warc_path, row.warc_offset))) is not None
        # If a file has no table row at all, `check_files` reports it once.
        if key in table_rows or primary_captures[row.sha1hex] != row.capture_id
        if (
            message := _compare_place(
                row,
                table_rows.get(key, {}),
                first=_is_in_note(row, primary_captures, crawler_files),
            )
        )
    ]
    ids = {row.capture_id for row, _ in mismatches}
    # A capture that was written twice has two rows and one cell.
    rows_by_capture = _find_multiple_rows(stores.records, ids)
    open_entries = find_open_entries(stores.records, ids)
    for row, message in mismatches:
        if row.capture_id not in open_entries and not _is_other_record(
            row, table_rows.get(keys[_place_key(row)], {}), rows_by_capture
        ):
            place = format_record_place(row.warc_path, row.warc_offset)
            yield AuditFault(
                AuditCheck.CELLS, row.sha1hex, f"file {row.sha1hex} at {place}: {message}"
            )


def _check_mimetypes(
    rows: Sequence[CdxRow], files: Mapping[str, FileMetaRow]
) -> Iterator[AuditFault]:
    for row in rows:
        if has_wrong_mimetype(row, files):
            place = format_record_place(row.warc_path, row.warc_offset)
            message = (
                f"the capture at {place} has in cdx the type {row.mimetype}, its file in file_meta "
                f"{files[row.sha1hex].mimetype}"
            )
            yield AuditFault(AuditCheck.CAPTURE, row.sha1hex, message)


def _is_in_note(row: CdxRow, owners: Mapping[str, str], crawlers: Collection[str]) -> bool:
    """Whether the cell `f:c` of a file should describe the capture of this `cdx` row.

    `owners`: ids of the primary captures, by SHA-1 of the file.
    `crawlers`: SHA-1s of files whose `f:c` a crawler wrote.

    It should if the capture is the primary one of its file, and no crawler wrote `f:c`. The table
    cell `f:c` describes the first capture of a file.
    """
    return owners[row.sha1hex] == row.capture_id and row.sha1hex not in crawlers


def build_cell_key(row: CdxRow, owners: Mapping[str, str]) -> bytes:
    """Return the key of the wide-column table row that has the location of a capture.

    `owners` maps SHA-1s to the ids of primary captures. A primary capture is in the row of its
    file; every other capture has a row of its own.
    """
    if owners.get(row.sha1hex) == row.capture_id:
        return build_row_key(row.sha1hex)
    return build_alternate_key(row.sha1hex, row.capture_id)


def _place_key(row: CdxRow) -> tuple[str, int]:
    return row.warc_path, row.warc_offset


def _compare_place(row: CdxRow, cells: Mapping[str, bytes], *, first: bool) -> str | None:
    try:
        location, first_seen = read_location(cells), read_first_seen(cells)
    except ValueError as error:
        return str(error)
    if location is None:
        return "the table has no location for it (file:cdx)"
    if not is_same_place(row, location):
        return (
            f"the table has {format_record_place(location.warc, location.offset)} of "
            f"{location.url} instead"
        )
    if first and (
        first_seen is None or (first_seen.url, first_seen.offset) != (row.url, row.warc_offset)
    ):
        return "f:c in the table has no such capture"
    return None


def _find_multiple_rows(records: Records, capture_ids: set[str]) -> dict[str, list[CdxRow]]:
    rows: dict[str, list[CdxRow]] = {}
    for row in records.find(CdxRow, {"capture_id": sorted(capture_ids)}) if capture_ids else ():
        rows.setdefault(row.capture_id, []).append(row)
    return rows


def _is_other_record(
    row: CdxRow, cells: Mapping[str, bytes], rows_by_capture: Mapping[str, Sequence[CdxRow]]
) -> bool:
    """Whether the cell `file:cdx` of a capture has the location of another `cdx` row of the same
    capture.

    `row`: the `cdx` row that does not agree with the cell.
    `cells`: cells of the capture in the wide-column table. If they cannot be parsed, the result is
        False.
    `rows_by_capture`: all `cdx` rows, by capture id.

    A capture that was written to WARCs twice has two `cdx` rows and one cell. The SQL table `cdx`
    has one row per capture in a WARC. The table cell `file:cdx` has the WARC location of a capture.
    """
    try:
        location = read_location(cells)
    except ValueError:
        return False
    other_rows = (
        other_row
        for other_row in rows_by_capture.get(row.capture_id, ())
        if _place_key(other_row) != _place_key(row)
    )
    return location is not None and any(
        is_same_place(other_row, location) for other_row in other_rows
    )


def _check_written_twice(records: Records, rows: Sequence[CdxRow]) -> Iterator[AuditFault]:
    """Check that each capture in a WARC not written by Fonds has only one `cdx` row, even if the
    WARC has several names.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    where = {
        "sha1hex": sorted({row.sha1hex for row in rows}),
        "warc_offset": sorted({row.warc_offset for row in rows}),
    }
    groups: dict[CaptureKey, list[CdxRow]] = {}
    for row in records.find(CdxRow, where):
        groups.setdefault(build_capture_key(row), []).append(row)
    reported_ids: set[str] = set()
    for row in rows:
        duplicates = groups.get(build_capture_key(row), [])
        read_places = [
            _place_key(duplicate)
            for duplicate in duplicates
            if not is_indexed(duplicate.capture_id)
        ]
        # Two rows of one capture in WARCs of Fonds are two records: it was written again.
        if (
            not are_duplicates(duplicates)
            or _place_key(row) != min(read_places)
            or row.sha1hex in reported_ids
        ):
            continue
        reported_ids.add(row.sha1hex)
        paths = ", ".join(sorted(duplicate.warc_path for duplicate in duplicates)[:NAMES_MAX])
        position = describe_offset(row.warc_offset)
        message = f"file {row.sha1hex}: one capture at byte {position} has {len(duplicates)} rows: {paths}"
        yield AuditFault(AuditCheck.CAPTURE_TWICE, row.sha1hex, message)


def are_duplicates(rows: Sequence[CdxRow]) -> bool:
    """Whether `cdx` rows with the same file, offset and time describe one capture under several
    WARC names.

    They do if at most one of them names a WARC written by Fonds: only WARCs of others can have
    several names. The SQL table `cdx` has one row per capture in a WARC.
    """
    foreign_rows = [
        row for row in rows if not is_own_warc(row.warc_path) or is_indexed(row.capture_id)
    ]
    return len(rows) > 1 and len(foreign_rows) >= len(rows) - 1


def _check_archived(records: Records, rows: Sequence[CdxRow]) -> Iterator[AuditFault]:
    """Check that the ledger explains each capture in a WARC of Fonds.

    Either the step `archive_body` or a repair action must have written the capture.
    """
    ids = sorted({row.capture_id for row in rows if is_own_warc(row.warc_path)})
    if not ids:
        return
    where = {"entry_id": ids, "step": [ARCHIVE_BODY, REPAIR]}
    dispositions = [*records.find(DispositionRow, where)]
    explained_ids = {
        disposition.entry_id
        for disposition in dispositions
        if _accounts_for_written_body(disposition)
    }
    suspects = [disposition for disposition in ids if disposition not in explained_ids]
    unexplained_ids = set(suspects) - find_open_entries(records, suspects)
    for key in sorted(
        unexplained_ids - find_fetched_without_entry(records, sorted(unexplained_ids))
    ):
        message = (
            f"entry {key} is in a WARC written by Fonds, but {ARCHIVE_BODY} is not done with it"
        )
        pipeline = next(
            (disposition.pipeline for disposition in dispositions if disposition.entry_id == key),
            "",
        )
        yield AuditFault(AuditCheck.ENDING, key, message, pipeline, ARCHIVE_BODY)


def _accounts_for_written_body(row: DispositionRow) -> bool:
    if row.step == REPAIR:
        return row.message_id.startswith(build_act_prefix(row.entry_id, RepairAct.BODY))
    return row.is_open or row.verdict != Verdict.DROPPED


def _check_entry_places(records: Records, rows: Sequence[CdxRow]) -> Iterator[AuditFault]:
    """Check that entries of captures in WARCs not written by Fonds have the location that `cdx`
    has.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    places: dict[str, set[str]] = {}
    for row in rows:
        if not is_own_warc(row.warc_path):
            name = format_place_name(row.warc_path, row.warc_offset)
            places.setdefault(row.capture_id, set()).add(name)
    entries = records.find(EntryRow, {"entry_id": sorted(places)}) if places else ()
    mismatches = [
        entry
        for entry in entries
        if entry.kind == CAPTURE and _strip_folders(entry.place) not in places[entry.entry_id]
    ]
    rows_by_capture = _find_multiple_rows(records, {entry.entry_id for entry in mismatches})
    for entry in mismatches:
        rows = rows_by_capture[entry.entry_id]
        if _strip_folders(entry.place) not in {
            format_place_name(row.warc_path, row.warc_offset) for row in rows
        }:
            places_found = {format_record_place(row.warc_path, row.warc_offset) for row in rows}
            message = f"entry {entry.entry_id} ({entry.pipeline}) has the location {entry.place};"
            message += f" cdx has it at {', '.join(sorted(places_found))}"
            yield AuditFault(AuditCheck.ENTRY, entry.entry_id, message, entry.pipeline)


def _strip_folders(place: str | None) -> str:
    """Return the location of an entry without the folders of its file."""
    return (place or "").rpartition("/")[2]


def _check_warc(stores: Stores, warc: _WarcRows) -> Iterator[AuditFault]:
    """Check one WARC and yield its faults.

    `warc`: summary of the `cdx` rows of the WARC.

    The WARC must exist, and must not end before the last of its records in `cdx`. For a finished
    WARC written by Fonds, the CDXJ index must list exactly the records that `cdx` lists. Records of
    files that were taken down must not be listed. The SQL table `cdx` has one row per capture in a
    WARC.
    """
    state = stores.archive.inspect(warc.path)
    if state is None:
        message = f"{warc.path} is missing; {warc.count} of its records are referred to"
        yield AuditFault(AuditCheck.BODY, warc.path, message)
        return
    if state.size_bytes is not None and state.size_bytes < warc.end:
        message = (
            f"{warc.path} ends at byte {state.size_bytes}, but its records extend to {warc.end}"
        )
        yield AuditFault(AuditCheck.BODY, warc.path, message)
    if not is_own_warc(warc.path) or state.is_open:
        return
    if state.records is None:
        yield AuditFault(AuditCheck.CDXJ, warc.path, (f"{warc.path} has no CDXJ index next to it"))
        return
    indexed_offsets = {record.offset for record in state.records}
    if missing_offsets := sorted(warc.rows.keys() - indexed_offsets):
        examples = ", ".join(map(format_offset, missing_offsets[:NAMES_MAX]))
        message = (
            f"the CDXJ of {warc.path} has no line for {len(missing_offsets)} of its "
            f"records (at {examples})"
        )
        yield AuditFault(AuditCheck.CDXJ, warc.path, message)
    for record in state.records:
        row = warc.rows.get(record.offset)
        if row is not None and (differences := compare_line(row, record)):
            place = format_record_place(warc.path, record.offset)
            message = f"the capture at {place} has in cdx {differences}, says the CDXJ"
            yield AuditFault(AuditCheck.CAPTURE, row.sha1hex, message)
    unreferenced_records = [record for record in state.records if record.offset not in warc.rows]
    for record in iter_unrecorded(stores.records, warc.path, unreferenced_records):
        place = format_record_place(warc.path, record.offset)
        message = f"{record.url} of {record.datetime14} is at {place} but has no row in cdx"
        yield AuditFault(AuditCheck.PLACE, record.sha1hex or warc.path, message)
    for sha1hex in sorted(
        find_takedowns(stores.records, {record.sha1hex for record in unreferenced_records})
    ):
        message = f"{sha1hex} was taken down, but the CDXJ of {warc.path} still lists it"
        yield AuditFault(AuditCheck.TAKEN_DOWN, sha1hex, message)


def iter_unrecorded(
    records: Records, path: str, remaining: Sequence[IndexedRecord]
) -> Iterator[IndexedRecord]:
    """Iterate over those records of a WARC written by Fonds that `cdx` does not list.

    `path`: name of the WARC.
    `remaining`: the records to check.

    A record is not yielded if `cdx` lists another copy: the same file with the same URL and time,
    in any WARC. Records of files that were taken down are skipped. The SQL table `cdx` has one row
    per capture in a WARC.
    """
    for page in iter_chunks(iter(remaining)):
        known_offsets = {
            row.warc_offset
            for row in records.get(CdxRow, [(path, record.offset) for record in page])
        }
        sha1hexes = sorted({record.sha1hex for record in page if record.sha1hex})
        copies = (
            {
                (row.sha1hex, row.url, row.datetime)
                for row in records.find(CdxRow, {"sha1hex": sha1hexes})
            }
            if sha1hexes
            else set()
        )
        removed_files = find_takedowns(records, sha1hexes)
        for record in page:
            if record.sha1hex in removed_files:
                continue
            if (
                record.offset not in known_offsets
                and (record.sha1hex, record.url, record.datetime14) not in copies
            ):
                yield record
