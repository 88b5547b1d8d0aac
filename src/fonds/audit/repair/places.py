"""Repair of capture locations: rebuilds `cdx` rows from the wide table and the CDXJ indexes.

A row is stored only if its WARC record can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fonds.archive.table_places import build_cdx_row, get_status
from fonds.audit.captures import compare_line, correct_row, is_own_warc
from fonds.audit.fault import RepairAct
from fonds.audit.repair.context import PLACES_MAX, RepairContext, build_place, parse_table_key
from fonds.derivatives.visibility import find_takedowns
from fonds.model.archive import IndexedRecord
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    Place,
    PlaceKind,
    format_datetime14,
    parse_datetime14,
)
from fonds.model.file import FileMeta
from fonds.model.record_offset import format_record_place
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.stores.journal_table.cells import read_location
from fonds.stores.journal_table.keys import build_row_key


def repair_places(context: RepairContext) -> None:
    """Restore missing or wrong locations (`cdx` rows) of the files in the repair plan.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    for items in context.plan.iter_items(RepairAct.PLACE):
        for item in items:
            if len(item.subject) == 40:
                _repair_file_places(context, item.subject)
            else:
                context.give_up(
                    item.subject, f"{item.message}: the record does not say whose bytes it has"
                )


def correct_captures(context: RepairContext) -> None:
    """Correct the URL, time and size in `cdx` rows that disagree with the wide table, if the table
    is right.

    The input of a capture, or the CDXJ of a WARC of Fonds, decides which of the two is right. The
    table is corrected later, from the `cdx` rows. The SQL table `cdx` has one row per capture in a
    WARC.
    """
    for items in context.plan.iter_items(RepairAct.TABLE):
        for sha1hex in sorted({item.subject for item in items}):
            _correct_file_captures(context, sha1hex)


def _correct_file_captures(context: RepairContext, sha1hex: str) -> None:
    records = context.stores.records
    rows = {
        (row.warc_path, row.warc_offset): row
        for row in records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX)
    }
    for table_row in list(_iter_table_rows(context, sha1hex)):
        row = rows.get((table_row.warc_path, table_row.warc_offset))
        if row is None or row.capture_id != table_row.capture_id:
            continue
        stated = _describe_capture(row)
        if stated == _describe_capture(table_row):
            continue
        if _find_true_description(context, row) != _describe_capture(table_row):
            continue
        records.put(
            [
                replace(
                    table_row,
                    mimetype=row.mimetype,
                    status=row.status,
                    row_created=row.row_created,
                )
            ]
        )
        location = format_record_place(row.warc_path, row.warc_offset)
        message = f"the capture at {location} has its URL, time and size again in cdx"
        context.record_act(RepairAct.PLACE, row.capture_id, sha1hex, message)


def correct_descriptions(context: RepairContext) -> None:
    """Correct HTTP status, media type and SURT in the `cdx` rows of the files in the repair plan,
    and rebuild CDXJ indexes that state another status than the records.

    Call it once the rows of `file_meta` are right. The SQL table `cdx` has one row per capture in a
    WARC.
    """
    for act in (RepairAct.PLACE, RepairAct.TABLE):
        for items in context.plan.iter_items(act):
            for sha1hex in sorted({item.subject for item in items}):
                _correct_descriptions(context, sha1hex)


def _correct_descriptions(context: RepairContext, sha1hex: str) -> None:
    records = context.stores.records
    for file in records.get(FileMetaRow, [sha1hex]):
        for row in list(records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX)):
            line = _find_index_line(context, row)
            is_revisit = line.is_revisit if line else row.mimetype == REVISIT_MIME
            payload = context.read_if_intact(build_place(row), None if is_revisit else sha1hex)
            correct = correct_row(row, file, line, payload)
            location = format_record_place(row.warc_path, row.warc_offset)
            if correct != row:
                records.put([correct])
                message = f"the capture at {location} has its status, type and SURT again in cdx"
                context.record_act(RepairAct.PLACE, row.capture_id, sha1hex, message)
            if line is not None and compare_line(correct, line):
                context.stores.archive.inspect(row.warc_path, repair=True)
                message = f"rebuilt the CDXJ of {row.warc_path}, whose line of {location} was wrong"
                context.record_act(RepairAct.CDXJ, row.capture_id, sha1hex, message)


def _find_index_line(context: RepairContext, row: CdxRow) -> IndexedRecord | None:
    """Return the line of a record in the CDXJ index next to its WARC; None without one."""
    if not is_own_warc(row.warc_path):
        return None
    state = context.stores.archive.inspect(row.warc_path)
    lines = (state.records if state else None) or ()
    return next((line for line in lines if line.offset == row.warc_offset), None)


_Description = tuple[str, str, int | None]


def _describe_capture(row: CdxRow) -> _Description:
    return row.url, row.datetime, row.warc_csize


def _find_true_description(context: RepairContext, row: CdxRow) -> _Description | None:
    """Return URL, time (YYYYMMDDhhmmss) and size in bytes of a capture from its input, or from the
    CDXJ of a WARC of Fonds.

    Returns None if neither has the capture. The SQL table `cdx` has one row per capture in a WARC.
    """
    if is_own_warc(row.warc_path):
        state = context.stores.archive.inspect(row.warc_path)
        for record in (state.records if state else None) or ():
            if record.offset == row.warc_offset:
                return record.url, record.datetime14, record.size_bytes
        return None
    for entry in context.reread_entries([row.capture_id]):
        if isinstance(entry.item, Capture):
            capture = entry.item
            return capture.url, format_datetime14(capture.captured_at), capture.place.size_bytes
    return None


def _repair_file_places(context: RepairContext, sha1hex: str) -> None:
    records = context.stores.records
    if find_takedowns(records, [sha1hex]):
        context.give_up(sha1hex, f"{sha1hex} was taken down")
        return
    rows = list(records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX))
    known_places = {(row.warc_path, row.warc_offset) for row in rows}
    candidates = {
        (row.warc_path, row.warc_offset): row
        for row in (*_iter_table_rows(context, sha1hex), *_iter_index_rows(context, sha1hex, rows))
    }
    valid_rows = [
        replace(row, status=_read_status(context, row))
        for place, row in sorted(candidates.items())
        if place not in known_places and _is_place_valid(context, row)
    ]
    for row in valid_rows:
        wrong_rows = [
            old_row
            for old_row in rows
            if old_row.capture_id == row.capture_id and not _is_place_valid(context, old_row)
        ]
        records.put([row])
        records.delete(CdxRow, [(old_row.warc_path, old_row.warc_offset) for old_row in wrong_rows])
        location = format_record_place(row.warc_path, row.warc_offset)
        message = f"restored the location {location} of {sha1hex} in cdx"
        context.record_act(RepairAct.PLACE, row.capture_id, sha1hex, message)
        rows = [old_row for old_row in rows if old_row not in wrong_rows]
        rows.append(row)
    if not rows:
        # The file is in no WARC. Its primary capture is processed again, which archives it.
        file = next(iter(records.get(FileMetaRow, [sha1hex])), None)
        if file is not None:
            context.plan.add_item(
                RepairAct.SEND, file.capture_id, message=f"{sha1hex} is in no WARC"
            )


def _is_place_valid(context: RepairContext, row: CdxRow) -> bool:
    """Whether a WARC contains the record that a `cdx` row describes.

    The bytes must have the SHA-1 of the row. For a revisit record in a WARC of Fonds, the CDXJ must
    list its offset. The SQL table `cdx` has one row per capture in a WARC.
    """
    if row.mimetype != REVISIT_MIME:
        return context.read_if_intact(build_place(row), row.sha1hex) is not None
    state = context.stores.archive.inspect(row.warc_path)
    offsets = {record.offset for record in (state.records if state else None) or ()}
    return row.warc_offset in offsets or not is_own_warc(row.warc_path)


def _read_status(context: RepairContext, row: CdxRow) -> int | None:
    """Return the HTTP status in the WARC record of a `cdx` row; None if it cannot be read or has
    none.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    sha1hex = None if row.mimetype == REVISIT_MIME else row.sha1hex
    payload = context.read_if_intact(build_place(row), sha1hex)
    return get_status(payload.http) if payload else None


def _iter_table_rows(context: RepairContext, sha1hex: str) -> Iterator[CdxRow]:
    stores = context.stores
    file = next(iter(stores.records.get(FileMetaRow, [sha1hex])), None)
    if file is None:
        return
    primary_captures = {sha1hex: file.capture_id}
    for key, cells in stores.table.scan(
        stores.journal, build_row_key(sha1hex), count_max=PLACES_MAX
    ):
        try:
            location = read_location(cells)
        except ValueError:
            continue
        if location is None:
            continue
        place = Place(PlaceKind.WARC, location.warc, location.offset, location.size_bytes)
        _, capture_id = parse_table_key(key, primary_captures)
        row = _build_row(context, file, capture_id, location.url, location.datetime14, place)
        yield _apply_index_line(context, row)


def _apply_index_line(context: RepairContext, row: CdxRow) -> CdxRow:
    """Return a `cdx` row, changed to a revisit if the CDXJ index of its WARC lists the record as
    one.

    Rows of WARCs not written by Fonds are returned unchanged, because these WARCs have no CDXJ
    index. The SQL table `cdx` has one row per capture in a WARC.
    """
    if not is_own_warc(row.warc_path):
        return row
    state = context.stores.archive.inspect(row.warc_path)
    lines = {record.offset: record for record in (state.records if state else None) or ()}
    line = lines.get(row.warc_offset)
    return replace(row, mimetype=REVISIT_MIME) if line is not None and line.is_revisit else row


def _iter_index_rows(context: RepairContext, sha1hex: str, rows: list[CdxRow]) -> Iterator[CdxRow]:
    """Build `cdx` rows of a file from the CDXJ indexes of the WARCs of Fonds that should contain
    it.

    `rows` are the existing rows of the file; they and the wide-column table name these WARCs. The
    SQL table `cdx` has one row per capture in a WARC.
    """
    records = context.stores.records
    file = next(iter(records.get(FileMetaRow, [sha1hex])), None)
    if file is None:
        return
    names = {row.warc_path for row in rows} | {
        record.path for record in context.iter_table_places(sha1hex)
    }
    for name in sorted(filter(is_own_warc, names)):
        state = context.stores.archive.inspect(name)
        for record in (state.records if state else None) or ():
            if record.sha1hex != sha1hex:
                continue
            capture_id = _find_capture_id(context, sha1hex, record.url, record.datetime14)
            if capture_id is None:
                continue
            place = Place(PlaceKind.WARC, name, record.offset, record.size_bytes)
            row = _build_row(context, file, capture_id, record.url, record.datetime14, place)
            yield replace(row, mimetype=REVISIT_MIME) if record.is_revisit else row


def _find_capture_id(context: RepairContext, sha1hex: str, url: str, datetime14: str) -> str | None:
    """Return the id of the capture of a file with this URL and time; None if there is none.

    `datetime14` is the capture time in UTC as YYYYMMDDhhmmss.
    """
    entries = context.stores.records.find(
        EntryRow, {"url": url, "seen": datetime14}, count_max=PLACES_MAX
    )
    entry_ids = {row.entry_id for row in entries}
    capture_ids = [key for key in context.list_entry_ids(sha1hex) if key in entry_ids]
    return capture_ids[0] if capture_ids else None


def _build_row(
    context: RepairContext,
    file: FileMetaRow,
    capture_id: str,
    url: str,
    datetime14: str,
    place: Place,
) -> CdxRow:
    captured_at = parse_datetime14(datetime14)
    capture = Capture(capture_id, "", place, url, captured_at, "response")
    return build_cdx_row(capture, build_file_meta(file), place, context.clock())


def build_file_meta(file: FileMetaRow, extra_fields: Mapping[str, str] | None = None) -> FileMeta:
    """Build the description of a file (size, type and hashes) from its `file_meta` row.

    `extra_fields` has the results of libmagic, `magic` and `magic_mime`. Without them, `magic` is
    empty and `magic_mime` is the media type of the row. The SQL table `file_meta` has one row per
    file.
    """
    magic_fields = extra_fields or {}
    return FileMeta(
        size=file.size_bytes,
        mime=file.mimetype,
        magic=magic_fields.get("magic", ""),
        magic_mime=magic_fields.get("magic_mime", file.mimetype),
        sha1=file.sha1hex,
        md5=file.md5hex,
        sha256=file.sha256hex,
    )
