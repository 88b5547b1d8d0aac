"""Repair of file descriptions: the row in `file_meta` and the `file:` cells in the wide table.

They are rebuilt from the bytes of the file, or else from each other.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from fonds.archive.table_places import build_first_cells, build_later_cells, find_recorded_id
from fonds.audit.captures import is_own_warc
from fonds.audit.fault import RepairAct
from fonds.audit.files import compare_file_cells
from fonds.audit.places import build_cell_key
from fonds.audit.repair.context import PLACES_MAX, RepairContext, build_place
from fonds.audit.repair.places import build_file_meta
from fonds.audit.rights import find_changed_rights
from fonds.derivatives.index_update import reindex_files
from fonds.derivatives.visibility import find_takedowns
from fonds.fetching.robots import decode_robots_text
from fonds.ingest.steps.persist_file import (
    find_crawler_files,
    update_capture_counts,
)
from fonds.model.capture import REVISIT_MIME, Capture, parse_datetime14
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, TransientError
from fonds.model.file import FileMeta
from fonds.model.rows import (
    CaptureRightsRow,
    CdxRow,
    DispositionRow,
    FileMetaRow,
    HostCaptureRow,
    HostTextRow,
)
from fonds.ports.scan import iter_chunks
from fonds.rights.capture_rights import build_capture_rights_row
from fonds.rights.host_files import TYPES, HostRows, update_rights, write_host_rows
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_META,
    FILE_MIME,
    FILE_SIZE,
    build_file_cells,
    read_file,
    read_location,
)
from fonds.stores.journal_table.keys import build_row_key

FILE_COLUMNS = [FILE_SIZE, FILE_MIME, FILE_META]


def describe_files(context: RepairContext) -> None:
    """Restore the `file_meta` row and the wide-column table cells of each file in the repair plan.

    Row and cells are rebuilt from the bytes of the file, or else each from the other, if only one
    is left. The SQL table `file_meta` has one row per file.
    """
    for items in context.plan.iter_items(RepairAct.FILE):
        for item in items:
            _describe(context, item.subject)


def _describe(context: RepairContext, sha1hex: str) -> None:
    stores = context.stores
    row = next(iter(stores.records.get(FileMetaRow, [sha1hex])), None)
    cells = stores.table.get(stores.journal, [build_row_key(sha1hex)], FILE_COLUMNS)
    cell_meta = _parse_meta_cell(cells.get(build_row_key(sha1hex), {}), sha1hex)
    if find_takedowns(stores.records, [sha1hex]):
        context.give_up(sha1hex, f"{sha1hex} was taken down")
        return
    payload = context.find_body(sha1hex)
    if payload is not None:
        declared_type = payload.http.get("content-type") if payload.http else None
        meta = context.describe(payload.body, declared_type or (row.mimetype if row else None))
        if row is not None and row.mimetype in TYPES:
            meta = replace(meta, mime=row.mimetype)
            text = HostTextRow(sha1hex, decode_robots_text(payload.body))
            changed_files = write_host_rows(stores.records, HostRows(texts=[text]), context.clock())
            reindex_files(stores.records, stores.blobs, stores.index, sorted(changed_files))
    elif row is None and cell_meta is not None:
        meta = cell_meta
    elif row is not None and cell_meta is None:
        meta = build_file_meta(row)
    else:
        context.give_up(
            sha1hex,
            (f"the bytes of {sha1hex} are missing, so the correct one of two values is unknown"),
        )
        return
    primary_id = row.capture_id if row else _find_owner(context, sha1hex)
    if primary_id is None:
        context.give_up(sha1hex, f"no capture of {sha1hex} is known, so its source is unknown")
        return
    facts = (meta.sha256, meta.md5, meta.size, meta.mime, primary_id)
    created_at = row.row_created if row else context.clock()
    new_row = FileMetaRow(sha1hex, *facts, created_at)
    if row is None and payload is not None:
        _remove_altered_rows(context, new_row)
    if new_row != row:
        stores.records.put([new_row])
    stores.table.put(stores.journal, [(build_row_key(sha1hex), build_file_cells(meta))])
    _restore_rights(context, sha1hex)
    context.record_act(
        RepairAct.FILE,
        primary_id,
        sha1hex,
        f"{sha1hex}: restored file_meta and the table",
    )


def _remove_altered_rows(context: RepairContext, file: FileMetaRow) -> None:
    """Delete the `file_meta` rows that describe a file under another SHA-1, which no capture has.

    `file`: the row of the file, from its bytes.

    The SQL table `file_meta` has one row per file.
    """
    records = context.stores.records
    for row in list(records.find(FileMetaRow, {"capture_id": file.capture_id})):
        has_captures = next(records.find(CdxRow, {"sha1hex": row.sha1hex}, count_max=1), None)
        if (
            row.sha1hex != file.sha1hex
            and (row.sha256hex, row.size_bytes) == (file.sha256hex, file.size_bytes)
            and has_captures is None
        ):
            records.delete(FileMetaRow, [row.sha1hex])
            message = (
                f"removed {row.sha1hex} from file_meta: its bytes have the SHA-1 {file.sha1hex}"
            )
            context.record_act(RepairAct.FILE, file.capture_id, file.sha1hex, message)


def _restore_rights(context: RepairContext, sha1hex: str) -> None:
    """Correct the stored rights of a file by what the HTTP responses of its captures state.

    Captures whose WARC record cannot be read are skipped. Also updates the rights that robots.txt
    and tdmrep.json state. If any rights changed, the file is indexed again.
    """
    records, is_changed = context.stores.records, False
    for cdx in records.find(CdxRow, {"sha1hex": sha1hex}):
        try:
            payload = context.stores.archive.read(build_place(cdx))
        except (PermanentError, TransientError):
            continue
        stored_rows = records.get(CaptureRightsRow, [cdx.capture_id])
        rights = find_changed_rights(next(iter(stored_rows), None), cdx, payload)
        if rights is not None:
            is_changed = True
            rights_row = build_capture_rights_row(cdx.capture_id, sha1hex, rights, context.clock())
            if rights_row is None:
                records.delete(CaptureRightsRow, [cdx.capture_id])
            else:
                records.put([rights_row])
    for page in iter_chunks(records.find(HostCaptureRow, {"sha1hex": sha1hex})):
        is_changed = bool(update_rights(records, page, context.clock())) or is_changed
    if is_changed:
        reindex_files(records, context.stores.blobs, context.stores.index, [sha1hex])


def _parse_meta_cell(cells: dict[str, bytes], sha1hex: str) -> FileMeta | None:
    try:
        meta = read_file(cells)
    except ValueError:
        return None
    return meta if meta is not None and meta.sha1 == sha1hex else None


def _find_owner(context: RepairContext, sha1hex: str) -> str | None:
    """Return the id of the primary capture of a file whose `file_meta` row is missing; None if
    unknown.

    It is the capture whose WARC location the wide-column table has for the file, or else an entry
    that was not a duplicate. The SQL table `file_meta` has one row per file.
    """
    stores = context.stores
    cells = stores.table.get(stores.journal, [build_row_key(sha1hex)]).get(
        build_row_key(sha1hex), {}
    )
    try:
        location = read_location(cells)
    except ValueError:
        location = None
    if location is not None:
        for row in stores.records.get(CdxRow, [(location.warc, location.offset)]):
            return row.capture_id
    dispositions = list(
        stores.records.find(DispositionRow, {"about": sha1hex}, count_max=PLACES_MAX)
    )
    duplicates = {row.entry_id for row in dispositions if row.reason == Reason.DUPLICATE}
    originals = sorted({row.entry_id for row in dispositions} - duplicates)
    return originals[0] if originals else None


def write_cells(context: RepairContext) -> None:
    """Write the wide-column table cells of each file in the repair plan again: its description and
    the locations of its captures.
    """
    for items in context.plan.iter_items(RepairAct.TABLE):
        for sha1hex in {item.subject for item in items}:
            _write_cells(context, sha1hex)


def _write_cells(context: RepairContext, sha1hex: str) -> None:
    stores = context.stores
    file = next(iter(stores.records.get(FileMetaRow, [sha1hex])), None)
    if file is None:
        return
    key = build_row_key(sha1hex)
    current_cells = stores.table.get(stores.journal, [key], [*FILE_COLUMNS, F_C]).get(key, {})
    rows = []
    if compare_file_cells(file, current_cells):
        rows.append((key, build_file_cells(_build_meta(context, file))))
    for cdx in stores.records.find(CdxRow, {"sha1hex": sha1hex}, order=("-row_created",)):
        if cdx.mimetype == REVISIT_MIME and not is_own_warc(cdx.warc_path):
            continue
        place = build_place(cdx)
        captured_at = parse_datetime14(cdx.datetime)
        capture = Capture(cdx.capture_id, "", place, cdx.url, captured_at, "response")
        if cdx.capture_id == file.capture_id:
            recorded_id = find_recorded_id(current_cells, cdx.url, place)
            record_id = context.find_record_id(cdx) if is_own_warc(cdx.warc_path) else recorded_id
            cells = build_first_cells(capture, place, record_id)
            if F_C in current_cells and find_crawler_files(stores.records, [sha1hex]):
                del cells[F_C]
        else:
            cells = build_later_cells(capture, place)
        rows.append((build_cell_key(cdx, {sha1hex: file.capture_id}), cells))
    stores.table.put(stores.journal, rows)
    update_capture_counts(stores.table, stores.records, stores.journal, [sha1hex])
    context.record_act(RepairAct.TABLE, file.capture_id, sha1hex, f"{sha1hex}: rewrote its cells")


def _build_meta(context: RepairContext, file: FileMetaRow) -> FileMeta:
    """Build the description of a file from its row in `file_meta`, plus the file type that libmagic
    detects.

    The libmagic fields have default values if the bytes of the file cannot be read. The SQL table
    `file_meta` has one row per file.
    """
    payload = context.find_body(file.sha1hex)
    if payload is not None:
        declared_type = payload.http.get("content-type") if payload.http else None
        description = context.describe(payload.body, declared_type or file.mimetype)
        magic_fields = {
            name: value for name, value in asdict(description).items() if name.startswith("magic")
        }
        return build_file_meta(file, magic_fields)
    return build_file_meta(file)
