"""Captures with several rows, merged into one: in `cdx`, in the table, and in the count of `f:c`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fonds.formats.journal import FILE_CDX, alternate_key
from fonds.formats.placing import is_indexed, later_cells
from fonds.library.checks.fault import Act
from fonds.library.checks.places import are_doubles, cell_key, is_ours
from fonds.library.repair.workshop import Workshop, place_of
from fonds.model.capture import Capture, from_datetime14
from fonds.model.record_offset import record_place
from fonds.model.rows import CdxRow, FileMetaRow
from fonds.steps.intake.capture_count import note_capture_counts
from fonds.steps.intake.warc_names import CaptureKey, WarcNames, capture_key, name_rank


def merge_captures(shop: Workshop) -> None:
    """Leave one row of each capture that has several."""
    for some in shop.plan.wanted(Act.MERGE):
        for sha1hex in sorted({one.subject for one in some}):
            _merge(shop, sha1hex)


def _merge(shop: Workshop, sha1hex: str) -> None:
    records = shop.stores.records
    file = next(iter(records.get(FileMetaRow, [sha1hex])), None)
    groups: dict[CaptureKey, list[CdxRow]] = {}
    for row in records.find(CdxRow, {"sha1hex": sha1hex}):
        groups.setdefault(capture_key(row), []).append(row)
    for rows in groups.values():
        if are_doubles(rows):
            _merge_rows(shop, rows, file.capture_id if file else "")
    note_capture_counts(shop.stores.table, records, shop.stores.journal, [sha1hex])


def _merge_rows(shop: Workshop, rows: Sequence[CdxRow], owner: str) -> None:
    """The owner's capture stays, else the one read here first; the best name of the WARC stays.

    The table is written first, then the row that stays, and the others go last: killed in between, the
    same is done again.
    """
    stores = shop.stores
    first = min(rows, key=lambda row: (row.capture_id != owner, *_age(row)))
    kept = replace(first, warc_path=_name(shop, rows))
    place, moment = place_of(kept), from_datetime14(kept.datetime)
    cells = later_cells(Capture(kept.capture_id, "", place, kept.url, moment, "response"), place)
    gone = [row for row in rows if row.capture_id != kept.capture_id]
    key = cell_key(kept, {kept.sha1hex: owner})
    there = stores.table.get(stores.journal, [key], [FILE_CDX])
    if there:
        stores.table.put(stores.journal, [(key, cells)])
    stores.table.delete(
        stores.journal, [alternate_key(row.sha1hex, row.capture_id) for row in gone]
    )
    for row in rows:
        WarcNames(stores.records, stores.archive, shop.clock).remember(
            kept.warc_path, row.warc_path
        )
    stores.records.put([kept])
    places = {(row.warc_path, row.warc_offset) for row in rows}
    stores.records.delete(CdxRow, sorted(places - {(kept.warc_path, kept.warc_offset)}))
    at = record_place(kept.warc_path, kept.warc_offset)
    told = f"{kept.sha1hex} at {at}: {len(rows)} rows were one capture"
    shop.note(Act.MERGE, kept.capture_id, kept.sha1hex, told)


def _age(row: CdxRow) -> tuple[bool, str, str]:
    return is_indexed(row.capture_id), row.row_created.isoformat(), row.capture_id


def _name(shop: Workshop, rows: Sequence[CdxRow]) -> str:
    """The name that stays: of a record of ours its own, else the best of those given."""
    ours = [
        row.warc_path for row in rows if is_ours(row.warc_path) and not is_indexed(row.capture_id)
    ]
    best = ours[0] if ours else min((row.warc_path for row in rows), key=name_rank)
    if not best.startswith("/"):
        return best
    stores = shop.stores
    row = next(row for row in rows if row.warc_path == best)
    return WarcNames(stores.records, stores.archive, shop.clock).named(place_of(row)).path
