"""Repair of captures: corrects wrong capture ids in `cdx` and `file_meta`, and merges the `cdx` rows
of captures that have several.

Merging changes the wide table and the capture count in the cell `f:c` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fonds.archive.table_places import build_later_cells, is_indexed
from fonds.archive.warc_names import CaptureKey, WarcNames, build_capture_key, rank_name
from fonds.audit.captures import is_own_warc
from fonds.audit.fault import REPAIR, RepairAct
from fonds.audit.files import format_place_name
from fonds.audit.places import are_duplicates, build_cell_key
from fonds.audit.repair.context import PLACES_MAX, RepairContext, build_place, parse_table_key
from fonds.ingest.steps.persist_file import (
    update_capture_counts,
)
from fonds.model.capture import Capture, parse_datetime14
from fonds.model.disposition import Reason
from fonds.model.record_offset import format_record_place
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, FileMetaRow
from fonds.ports import Records
from fonds.stores.journal_table.cells import FILE_CDX, read_location
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key


def restore_capture_ids(context: RepairContext) -> None:
    """Correct the capture ids in `file_meta` and `cdx` that name no entry of the ledger.

    The right id is known from the wide table, or else from the only entry that describes the same
    record. The ids of captures whose own entry was lost are left. The SQL tables `file_meta` and
    `cdx` have one row per file, and one row per capture in a WARC.
    """
    records = context.stores.records
    for items in context.plan.iter_items(RepairAct.ENTRY):
        for key in sorted({item.subject for item in items}):
            if _has_entry(records, key):
                continue
            for file in list(records.find(FileMetaRow, {"capture_id": key}, count_max=PLACES_MAX)):
                _restore_primary_id(context, file)
            for row in list(records.find(CdxRow, {"capture_id": key}, count_max=PLACES_MAX)):
                _restore_capture_id(context, row)


def _has_entry(records: Records, key: str) -> bool:
    return next(records.find(EntryRow, {"entry_id": key}, count_max=1), None) is not None


def _restore_primary_id(context: RepairContext, file: FileMetaRow) -> None:
    """Correct the id of the primary capture in a `file_meta` row whose id names no entry.

    The SQL table `file_meta` has one row per file.
    """
    records = context.stores.records
    dispositions = list(records.find(DispositionRow, {"about": file.sha1hex}, count_max=PLACES_MAX))
    if any(row.entry_id == file.capture_id and row.step != REPAIR for row in dispositions):
        return  # The entry of this capture was lost.
    duplicates = {row.entry_id for row in dispositions if row.reason == Reason.DUPLICATE}
    primary_ids = {
        row.entry_id
        for row in dispositions
        if row.step != REPAIR and row.entry_id not in duplicates
    }
    if len(primary_ids) != 1 or not _has_entry(records, primary_id := primary_ids.pop()):
        return
    records.put([replace(file, capture_id=primary_id)])
    message = f"{file.sha1hex} has its primary capture {primary_id} again"
    context.record_act(RepairAct.FILE, primary_id, file.sha1hex, message)


def _restore_capture_id(context: RepairContext, row: CdxRow) -> None:
    """Correct the capture id of a `cdx` row whose id names no entry.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    records = context.stores.records
    key = _find_table_id(context, row)
    if key is None:
        entries = [
            entry
            for entry in find_entries_of_record(records, row)
            if next(records.find(CdxRow, {"capture_id": entry.entry_id}, count_max=1), None) is None
        ]
        key = entries[0].entry_id if len(entries) == 1 else None
    if key is None or key == row.capture_id or not _has_entry(records, key):
        return
    records.put([replace(row, capture_id=key)])
    location = format_record_place(row.warc_path, row.warc_offset)
    message = f"{row.sha1hex} at {location} has its capture id {key} again"
    context.record_act(RepairAct.PLACE, key, row.sha1hex, message)


def _find_table_id(context: RepairContext, row: CdxRow) -> str | None:
    """Return the capture id that the wide table has for the location of a `cdx` row; None if it has
    no such location.
    """
    stores = context.stores
    files = stores.records.get(FileMetaRow, [row.sha1hex])
    primary_captures = {file.sha1hex: file.capture_id for file in files}
    for key, cells in stores.table.scan(
        stores.journal, build_row_key(row.sha1hex), count_max=PLACES_MAX
    ):
        try:
            location = read_location(cells)
        except ValueError:
            continue
        if location is not None and (location.warc, location.offset) == (
            row.warc_path,
            row.warc_offset,
        ):
            return parse_table_key(key, primary_captures)[1] or None
    return None


def find_entries_of_record(records: Records, row: CdxRow) -> list[EntryRow]:
    """Return the entries of other captures than that of a `cdx` row that describe the same WARC
    record.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    entries = records.find(EntryRow, {"url": row.url, "seen": row.datetime}, count_max=PLACES_MAX)
    place = format_place_name(row.warc_path, row.warc_offset)
    return [
        entry
        for entry in entries
        if entry.entry_id != row.capture_id
        and (is_own_warc(row.warc_path) or (entry.place or "").rpartition("/")[2] == place)
    ]


def merge_captures(context: RepairContext) -> None:
    """Merge the `cdx` rows of each capture in the repair plan that has several, so that one is
    left.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    for items in context.plan.iter_items(RepairAct.MERGE):
        for sha1hex in sorted({item.subject for item in items}):
            _merge(context, sha1hex)


def _merge(context: RepairContext, sha1hex: str) -> None:
    records = context.stores.records
    file = next(iter(records.get(FileMetaRow, [sha1hex])), None)
    groups: dict[CaptureKey, list[CdxRow]] = {}
    for row in records.find(CdxRow, {"sha1hex": sha1hex}):
        groups.setdefault(build_capture_key(row), []).append(row)
    for rows in groups.values():
        if are_duplicates(rows):
            _merge_rows(context, rows, file.capture_id if file else "")
    update_capture_counts(context.stores.table, records, context.stores.journal, [sha1hex])


def _merge_rows(context: RepairContext, rows: Sequence[CdxRow], owner: str) -> None:
    """Merge several `cdx` rows of one capture into one.

    `rows`: the rows to merge.
    `owner`: id of the file's primary capture. Its row is kept, or else the row that was read first.

    The kept row gets the name of a WARC written by Fonds, if one of the rows has such a name. The
    wide-column table is written first, then the kept row, and the other rows are deleted last. If
    the process is killed in between, the next repair does the same merge again.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    stores = context.stores
    first = min(rows, key=lambda row: (row.capture_id != owner, *_age_key(row)))
    kept_row = replace(first, warc_path=_choose_name(context, rows))
    place, captured_at = build_place(kept_row), parse_datetime14(kept_row.datetime)
    cells = build_later_cells(
        Capture(kept_row.capture_id, "", place, kept_row.url, captured_at, "response"), place
    )
    removed_rows = [row for row in rows if row.capture_id != kept_row.capture_id]
    key = build_cell_key(kept_row, {kept_row.sha1hex: owner})
    existing_cells = stores.table.get(stores.journal, [key], [FILE_CDX])
    if existing_cells:
        stores.table.put(stores.journal, [(key, cells)])
    stores.table.delete(
        stores.journal, [build_alternate_key(row.sha1hex, row.capture_id) for row in removed_rows]
    )
    for row in rows:
        WarcNames(stores.records, stores.archive, context.clock).record_path(
            kept_row.warc_path, row.warc_path
        )
    stores.records.put([kept_row])
    places = {(row.warc_path, row.warc_offset) for row in rows}
    stores.records.delete(CdxRow, sorted(places - {(kept_row.warc_path, kept_row.warc_offset)}))
    location = format_record_place(kept_row.warc_path, kept_row.warc_offset)
    message = f"{kept_row.sha1hex} at {location}: merged {len(rows)} rows of one capture"
    context.record_act(RepairAct.MERGE, kept_row.capture_id, kept_row.sha1hex, message)


def _age_key(row: CdxRow) -> tuple[bool, str, str]:
    return is_indexed(row.capture_id), row.row_created.isoformat(), row.capture_id


def _choose_name(context: RepairContext, rows: Sequence[CdxRow]) -> str:
    """Choose which WARC name the merged `cdx` row of a capture gets.

    `rows`: the rows that are merged.

    The name of a WARC written by Fonds is preferred. Otherwise the order is: `item/file`, a URL, a
    name without a folder, an absolute path. An absolute path is replaced by a new name for the
    WARC. The SQL table `cdx` has one row per capture in a WARC.
    """
    own_names = [
        row.warc_path
        for row in rows
        if is_own_warc(row.warc_path) and not is_indexed(row.capture_id)
    ]
    best = own_names[0] if own_names else min((row.warc_path for row in rows), key=rank_name)
    if not best.startswith("/"):
        return best
    stores = context.stores
    row = next(row for row in rows if row.warc_path == best)
    return (
        WarcNames(stores.records, stores.archive, context.clock).name_place(build_place(row)).path
    )
