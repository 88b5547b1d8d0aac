"""What files are: rows in the records and cells in the table, from the bytes or from each other."""

from __future__ import annotations

from dataclasses import asdict, replace

from fonds.crawl.robots import robots_text
from fonds.formats.journal import (
    F_C,
    FILE_META,
    FILE_MIME,
    FILE_SIZE,
    file_cells,
    read_file,
    read_location,
    row_key,
)
from fonds.formats.placing import first_cells, later_cells, noted_record_id
from fonds.kinds.indexing import put_again
from fonds.library.checks.fault import Act
from fonds.library.checks.files import unlike
from fonds.library.checks.places import cell_key, is_ours
from fonds.library.checks.rights import stated_otherwise
from fonds.library.chunks import chunks
from fonds.library.repair.placing import meta_of
from fonds.library.repair.workshop import PLACES_MAX, Workshop, place_of
from fonds.library.tracing.taken_down import taken_down
from fonds.model.capture import REVISIT_MIME, Capture, from_datetime14
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
from fonds.ports.rights import capture_rights_row
from fonds.steps.intake.capture_count import crawler_files, note_capture_counts
from fonds.steps.intake.host_files import TYPES, HostRows, note_hosts, settle

FILE_COLUMNS = [FILE_SIZE, FILE_MIME, FILE_META]


def describe_files(shop: Workshop) -> None:
    """Each file's row and cells, from its bytes; from what is left of the two where those are gone."""
    for some in shop.plan.wanted(Act.FILE):
        for one in some:
            _describe(shop, one.subject)


def _describe(shop: Workshop, sha1hex: str) -> None:
    stores = shop.stores
    row = next(iter(stores.records.get(FileMetaRow, [sha1hex])), None)
    cells = stores.table.get(stores.journal, [row_key(sha1hex)], FILE_COLUMNS)
    said = _said(cells.get(row_key(sha1hex), {}), sha1hex)
    if taken_down(stores.records, [sha1hex]):
        shop.give_up(sha1hex, f"{sha1hex} was taken down")
        return
    payload = shop.body(sha1hex)
    if payload is not None:
        declared = payload.http.get("content-type") if payload.http else None
        meta = shop.describe(payload.body, declared or (row.mimetype if row else None))
        if row is not None and row.mimetype in TYPES:
            meta = replace(meta, mime=row.mimetype)
            text = HostTextRow(sha1hex, robots_text(payload.body))
            restated = note_hosts(stores.records, HostRows(texts=[text]), shop.clock())
            put_again(stores.records, stores.blobs, stores.index, sorted(restated))
    elif row is None and said is not None:
        meta = said
    elif row is not None and said is None:
        meta = meta_of(row)
    else:
        shop.give_up(
            sha1hex, f"the bytes of {sha1hex} lie nowhere, and nothing tells which of two is right"
        )
        return
    owner = row.capture_id if row else _owner(shop, sha1hex)
    if owner is None:
        shop.give_up(sha1hex, f"no capture of {sha1hex} is known, so nobody knows who brought it")
        return
    facts = (meta.sha256, meta.md5, meta.size, meta.mime, owner)
    created = row.row_created if row else shop.clock()
    fresh = FileMetaRow(sha1hex, *facts, created)
    if fresh != row:
        stores.records.put([fresh])
    stores.table.put(stores.journal, [(row_key(sha1hex), file_cells(meta))])
    _restate(shop, sha1hex)
    shop.note(Act.FILE, owner, sha1hex, f"{sha1hex}: file_meta and the table say again what it is")


def _restate(shop: Workshop, sha1hex: str) -> None:
    """What the responses state that brought a file, where their records can be read."""
    records, is_changed = shop.stores.records, False
    for cdx in records.find(CdxRow, {"sha1hex": sha1hex}):
        try:
            payload = shop.stores.archive.read(place_of(cdx))
        except (PermanentError, TransientError):
            continue
        rights = stated_otherwise(records, cdx, payload)
        if rights is not None:
            is_changed = True
            made = capture_rights_row(cdx.capture_id, sha1hex, rights, shop.clock())
            if made is None:
                records.delete(CaptureRightsRow, [cdx.capture_id])
            else:
                records.put([made])
    for some in chunks(records.find(HostCaptureRow, {"sha1hex": sha1hex})):
        is_changed = bool(settle(records, some, shop.clock())) or is_changed
    if is_changed:
        put_again(records, shop.stores.blobs, shop.stores.index, [sha1hex])


def _said(cells: dict[str, bytes], sha1hex: str) -> FileMeta | None:
    try:
        said = read_file(cells)
    except ValueError:
        return None
    return said if said is not None and said.sha1 == sha1hex else None


def _owner(shop: Workshop, sha1hex: str) -> str | None:
    """Who brought a file whose row is gone: the capture its cells speak of, else one that is no duplicate."""
    stores = shop.stores
    cells = stores.table.get(stores.journal, [row_key(sha1hex)]).get(row_key(sha1hex), {})
    try:
        location = read_location(cells)
    except ValueError:
        location = None
    if location is not None:
        for row in stores.records.get(CdxRow, [(location.warc, location.offset)]):
            return row.capture_id
    said = list(stores.records.find(DispositionRow, {"about": sha1hex}, count_max=PLACES_MAX))
    repeats = {row.entry_id for row in said if row.reason == Reason.DUPLICATE}
    firsts = sorted({row.entry_id for row in said} - repeats)
    return firsts[0] if firsts else None


def write_cells(shop: Workshop) -> None:
    """The cells of each file again: what it is, and where each of its captures lies."""
    for some in shop.plan.wanted(Act.TABLE):
        for sha1hex in {one.subject for one in some}:
            _write_cells(shop, sha1hex)


def _write_cells(shop: Workshop, sha1hex: str) -> None:
    stores = shop.stores
    file = next(iter(stores.records.get(FileMetaRow, [sha1hex])), None)
    if file is None:
        return
    key = row_key(sha1hex)
    there = stores.table.get(stores.journal, [key], [*FILE_COLUMNS, F_C]).get(key, {})
    rows = []
    if unlike(file, there):
        rows.append((key, file_cells(_meta(shop, file))))
    for cdx in stores.records.find(CdxRow, {"sha1hex": sha1hex}, order=("-row_created",)):
        if cdx.mimetype == REVISIT_MIME and not is_ours(cdx.warc_path):
            continue
        place = place_of(cdx)
        moment = from_datetime14(cdx.datetime)
        capture = Capture(cdx.capture_id, "", place, cdx.url, moment, "response")
        if cdx.capture_id == file.capture_id:
            known = noted_record_id(there, cdx.url, place)
            own = shop.record_id(cdx) if is_ours(cdx.warc_path) else known
            cells = first_cells(capture, place, own)
            if F_C in there and crawler_files(stores.records, [sha1hex]):
                del cells[F_C]
        else:
            cells = later_cells(capture, place)
        rows.append((cell_key(cdx, {sha1hex: file.capture_id}), cells))
    stores.table.put(stores.journal, rows)
    note_capture_counts(stores.table, stores.records, stores.journal, [sha1hex])
    shop.note(Act.TABLE, file.capture_id, sha1hex, f"{sha1hex}: its cells were written again")


def _meta(shop: Workshop, file: FileMetaRow) -> FileMeta:
    """With what libmagic says, if the bytes can be read and are those of the row."""
    payload = shop.body(file.sha1hex)
    if payload is not None:
        declared = payload.http.get("content-type") if payload.http else None
        found = shop.describe(payload.body, declared or file.mimetype)
        said = {name: value for name, value in asdict(found).items() if name.startswith("magic")}
        return meta_of(file, said)
    return meta_of(file)
