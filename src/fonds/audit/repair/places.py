"""Places put right: rows of `cdx` from the table and the CDXJ, proved by reading what lies there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fonds.archive.table_places import build_cdx_row, get_status
from fonds.audit.fault import RepairAct
from fonds.audit.places import is_own_warc
from fonds.audit.repair.context import PLACES_MAX, RepairContext, build_place, parse_table_key
from fonds.derivatives.visibility import find_takedowns
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    Place,
    PlaceKind,
    parse_datetime14,
)
from fonds.model.file import FileMeta
from fonds.model.record_offset import record_place
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.stores.journal_table.cells import read_location
from fonds.stores.journal_table.keys import build_row_key


def repair_places(context: RepairContext) -> None:
    """For each file some of whose places are not on the books, or are and are wrong."""
    for some in context.plan.iter_items(RepairAct.PLACE):
        for one in some:
            if len(one.subject) == 40:
                _repair_file_places(context, one.subject)
            else:
                context.give_up(
                    one.subject, f"{one.told}: the record does not say whose bytes it is"
                )


def _repair_file_places(context: RepairContext, sha1hex: str) -> None:
    records = context.stores.records
    if find_takedowns(records, [sha1hex]):
        context.give_up(sha1hex, f"{sha1hex} was taken down")
        return
    rows = list(records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX))
    known = {(row.warc_path, row.warc_offset) for row in rows}
    candidates = {
        (row.warc_path, row.warc_offset): row
        for row in (*_iter_table_rows(context, sha1hex), *_iter_index_rows(context, sha1hex, rows))
    }
    right = [
        replace(row, status=_read_status(context, row))
        for place, row in sorted(candidates.items())
        if place not in known and _is_true(context, row)
    ]
    for row in right:
        wrong = [
            one for one in rows if one.capture_id == row.capture_id and not _is_true(context, one)
        ]
        records.put([row])
        records.delete(CdxRow, [(one.warc_path, one.warc_offset) for one in wrong])
        told = f"{sha1hex} lies at {record_place(row.warc_path, row.warc_offset)}: written down in cdx again"
        context.record_act(RepairAct.PLACE, row.capture_id, sha1hex, told)
        rows = [one for one in rows if one not in wrong]
        rows.append(row)
    if not rows:
        # In no WARC at all: its owner is sent through again, and archives it.
        owner = next(iter(records.get(FileMetaRow, [sha1hex])), None)
        if owner is not None:
            context.plan.add_item(
                RepairAct.SEND, owner.capture_id, message=f"{sha1hex} lies in no WARC"
            )


def _is_true(context: RepairContext, row: CdxRow) -> bool:
    """Whether what a row says lies there."""
    if row.mimetype != REVISIT_MIME:
        return context.read_if_intact(build_place(row), row.sha1hex) is not None
    held = context.stores.archive.inspect(row.warc_path)
    offsets = {one.offset for one in (held.records if held else None) or ()}
    return row.warc_offset in offsets or not is_own_warc(row.warc_path)


def _read_status(context: RepairContext, row: CdxRow) -> int | None:
    """What the record says that the server answered."""
    whose = None if row.mimetype == REVISIT_MIME else row.sha1hex
    found = context.read_if_intact(build_place(row), whose)
    return get_status(found.http) if found else None


def _iter_table_rows(context: RepairContext, sha1hex: str) -> Iterator[CdxRow]:
    stores = context.stores
    file = next(iter(stores.records.get(FileMetaRow, [sha1hex])), None)
    if file is None:
        return
    owners = {sha1hex: file.capture_id}
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
        _, capture_id = parse_table_key(key, owners)
        row = _build_row(context, file, capture_id, location.url, location.datetime14, place)
        yield _apply_index_line(context, row)


def _apply_index_line(context: RepairContext, row: CdxRow) -> CdxRow:
    """A record of ours may be a revisit: its index says so."""
    if not is_own_warc(row.warc_path):
        return row
    held = context.stores.archive.inspect(row.warc_path)
    lines = {one.offset: one for one in (held.records if held else None) or ()}
    line = lines.get(row.warc_offset)
    return replace(row, mimetype=REVISIT_MIME) if line is not None and line.is_revisit else row


def _iter_index_rows(context: RepairContext, sha1hex: str, rows: list[CdxRow]) -> Iterator[CdxRow]:
    """What the indexes of those of our WARCs say that the file is said to lie in."""
    records = context.stores.records
    file = next(iter(records.get(FileMetaRow, [sha1hex])), None)
    if file is None:
        return
    names = {row.warc_path for row in rows} | {
        one.path for one in context.iter_table_places(sha1hex)
    }
    for name in sorted(filter(is_own_warc, names)):
        held = context.stores.archive.inspect(name)
        for one in (held.records if held else None) or ():
            if one.sha1hex != sha1hex:
                continue
            capture_id = _find_capture_id(context, sha1hex, one.url, one.datetime14)
            if capture_id is None:
                continue
            place = Place(PlaceKind.WARC, name, one.offset, one.size_bytes)
            row = _build_row(context, file, capture_id, one.url, one.datetime14, place)
            yield replace(row, mimetype=REVISIT_MIME) if one.is_revisit else row


def _find_capture_id(context: RepairContext, sha1hex: str, url: str, datetime14: str) -> str | None:
    """The capture of this address and time that was about the file."""
    entries = context.stores.records.find(
        EntryRow, {"url": url, "seen": datetime14}, count_max=PLACES_MAX
    )
    there = {row.entry_id for row in entries}
    about = [key for key in context.list_entry_ids(sha1hex) if key in there]
    return about[0] if about else None


def _build_row(
    context: RepairContext,
    file: FileMetaRow,
    capture_id: str,
    url: str,
    datetime14: str,
    place: Place,
) -> CdxRow:
    moment = parse_datetime14(datetime14)
    capture = Capture(capture_id, "", place, url, moment, "response")
    return build_cdx_row(capture, build_file_meta(file), place, context.clock())


def build_file_meta(file: FileMetaRow, extra_fields: Mapping[str, str] | None = None) -> FileMeta:
    """What a row says of a file; what only libmagic would is empty unless `extra_fields` has it."""
    said = extra_fields or {}
    return FileMeta(
        size=file.size_bytes,
        mime=file.mimetype,
        magic=said.get("magic", ""),
        magic_mime=said.get("magic_mime", file.mimetype),
        sha1=file.sha1hex,
        md5=file.md5hex,
        sha256=file.sha256hex,
    )
