"""Repair of captures that have several `cdx` rows: merges them into one row, in `cdx` and the wide
table.

The capture count in the cell `f:c` is corrected too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fonds.archive.table_places import build_later_cells, is_indexed
from fonds.archive.warc_names import CaptureKey, WarcNames, build_capture_key, rank_name
from fonds.audit.fault import RepairAct
from fonds.audit.places import are_duplicates, build_cell_key, is_own_warc
from fonds.audit.repair.context import RepairContext, build_place
from fonds.ingest.steps.persist_file import (
    update_capture_counts,
)
from fonds.model.capture import Capture, parse_datetime14
from fonds.model.record_offset import format_record_place
from fonds.model.rows import CdxRow, FileMetaRow
from fonds.stores.journal_table.cells import FILE_CDX
from fonds.stores.journal_table.keys import build_alternate_key


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
