"""Repair of missing bodies: copies the bytes from another location into a new WARC record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from fonds.archive.table_places import (
    build_cdx_row,
    build_first_cells,
    build_later_cells,
    find_end_offset,
    get_status,
)
from fonds.audit.fault import RepairAct
from fonds.audit.repair.context import RepairContext, build_place
from fonds.audit.repair.places import build_file_meta
from fonds.derivatives.kinds import find_warc_metadata
from fonds.ingest.steps.persist_file import (
    find_crawler_files,
    update_capture_counts,
)
from fonds.model.archive import ArchiveEntry, OriginalCapture, Payload, WarcFileState
from fonds.model.capture import REVISIT_MIME, Capture, Place, parse_datetime14
from fonds.model.record_offset import format_record_place
from fonds.model.rows import CdxRow, FileMetaRow, WarcFileRow
from fonds.ports.scan import iter_chunks
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key

BATCH_SIZE = 20
WRONG_PATHS = (
    "It was not repaired, because another program changed warc_files, which says where WARCs are: "
    "correct or accept this table first"
)


def restore_bodies(context: RepairContext) -> None:
    """Write each missing or damaged WARC record of the repair plan again, if its bytes can be
    found.

    Nothing is written if another program changed the table of the WARCs' paths. The records may be
    intact at another path.
    """
    has_wrong_paths = WarcFileRow.TABLE in context.plan.changed_tables
    for items in context.plan.iter_items(RepairAct.BODY):
        for item in items:
            if has_wrong_paths:
                context.give_up(item.subject, f"{item.message}. {WRONG_PATHS}")
                continue
            for row in _iter_broken_rows(context, item.subject):
                _restore_body(context, row)
    context.stores.archive.finish()


def _iter_broken_rows(context: RepairContext, subject: str) -> Iterator[CdxRow]:
    """Yield those `cdx` rows of a file, or of a WARC, that refer to an unreadable WARC record.

    `subject` is the SHA-1 of a file in hex, or the path of a WARC. For a WARC, only rows of records
    that extend beyond its end are yielded, or all rows if the WARC is missing. The SQL table `cdx`
    has one row per capture in a WARC.
    """
    records = context.stores.records
    if len(subject) == 40 and "/" not in subject and "." not in subject:
        for row in list(records.find(CdxRow, {"sha1hex": subject})):
            if (
                row.mimetype != REVISIT_MIME
                and context.read_if_intact(build_place(row), subject) is None
            ):
                yield row
        return
    state = context.stores.archive.inspect(subject)
    is_missing = partial(_is_truncated, state)
    for rows in iter_chunks(records.find(CdxRow, {"warc_path": subject}), BATCH_SIZE):
        yield from filter(is_missing, rows)


def _is_truncated(state: WarcFileState | None, row: CdxRow) -> bool:
    """Whether a WARC is missing, or too short to contain the record of a `cdx` row.

    `state` is None if the WARC is missing. The SQL table `cdx` has one row per capture in a WARC.
    """
    if state is None:
        return True
    return state.size_bytes is not None and find_end_offset(row) > state.size_bytes


def _restore_body(context: RepairContext, row: CdxRow) -> None:
    records = context.stores.records
    subject = f"{row.sha1hex} at {format_record_place(row.warc_path, row.warc_offset)}"
    copies = [
        copy
        for copy in records.find(CdxRow, {"capture_id": row.capture_id})
        if copy != row and copy.mimetype == row.mimetype
    ]
    if any(context.read_if_intact(build_place(copy), copy.sha1hex) for copy in copies):
        # An earlier repair wrote the record again, but has not deleted this row yet.
        records.delete(CdxRow, [(row.warc_path, row.warc_offset)])
        return
    payload = context.find_body(row.sha1hex, excluded_row=row)
    file = next(iter(records.get(FileMetaRow, [row.sha1hex])), None)
    if payload is None or file is None:
        context.give_up(
            format_record_place(row.warc_path, row.warc_offset),
            (f"no other location has the bytes of {subject}"),
        )
        return
    place = _rearchive(context, row, file, payload)
    context.record_act(
        RepairAct.BODY,
        row.capture_id,
        row.sha1hex,
        f"{subject} was missing: archived again as {place}",
    )


def _rearchive(context: RepairContext, row: CdxRow, file: FileMetaRow, payload: Payload) -> Place:
    """Write a new WARC record for the capture of a `cdx` row whose record is missing.

    `file` describes the file, and `payload` has its bytes. The new location is stored in the
    wide-column table and in `cdx` before the old `cdx` row is deleted. Returns the new location.
    The SQL table `cdx` has one row per capture in a WARC.
    """
    records = context.stores.records
    primary = _find_owner(context, file) if row.mimetype == REVISIT_MIME else None
    is_repeat = primary is not None and primary.capture_id != row.capture_id
    entry = ArchiveEntry(
        capture_id=row.capture_id,
        url=row.url,
        captured_at=parse_datetime14(row.datetime),
        mime=file.mimetype,
        body=payload.body,
        http=payload.http,
        metadata_json=None
        if is_repeat
        else find_warc_metadata(context.stores.records, row.sha1hex),
        original=_find_original(context, primary) if is_repeat and primary else None,
    )
    (archived_entry,) = context.stores.archive.write([entry])
    place = archived_entry.place
    capture = Capture(row.capture_id, "", place, row.url, entry.captured_at, "response")
    new_row = build_cdx_row(capture, build_file_meta(file), place, context.clock())
    new_row = replace(new_row, status=get_status(payload.http))
    if row.mimetype == REVISIT_MIME:
        new_row = replace(new_row, mimetype=REVISIT_MIME)
    if file.capture_id == row.capture_id:
        is_crawlers = bool(find_crawler_files(records, [row.sha1hex]))
        first_cells = build_first_cells(capture, place, archived_entry.record_id)
        own_cells = build_later_cells(capture, place) if is_crawlers else first_cells
        cells = (build_row_key(row.sha1hex), own_cells)
    else:
        cells = (
            build_alternate_key(row.sha1hex, row.capture_id),
            build_later_cells(capture, place),
        )
    context.stores.table.put(context.stores.journal, [cells])
    records.put([new_row])
    records.delete(CdxRow, [(row.warc_path, row.warc_offset)])
    update_capture_counts(context.stores.table, records, context.stores.journal, [row.sha1hex])
    return place


def _find_original(context: RepairContext, owner: CdxRow) -> OriginalCapture:
    """Describe the primary capture of a file, for a WARC revisit record that refers to it.

    `owner`: `cdx` row of the primary capture.

    The record id in the description is None if the WARC record cannot be read or has no valid id.
    The SQL table `cdx` has one row per capture in a WARC.
    """
    return OriginalCapture(
        owner.url, parse_datetime14(owner.datetime), context.find_record_id(owner)
    )


def _find_owner(context: RepairContext, file: FileMetaRow) -> CdxRow | None:
    rows = context.stores.records.find(CdxRow, {"capture_id": file.capture_id}, count_max=1)
    return next(rows, None)
