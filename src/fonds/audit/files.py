"""Audit of files: compares their rows in the records with their cells in the wide table, and checks
the captures that they refer to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from fonds.archive.table_places import is_indexed
from fonds.audit.entries import (
    build_unaccounted_condition,
    check_captures_without_entry,
    find_open_entries,
)
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.derivatives.kinds import iter_kinds_with_rows
from fonds.derivatives.pdf import find_unavailable_pdfs
from fonds.model.disposition import Reason, Verdict
from fonds.model.record_offset import format_record_place, parse_record_place
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, FileMetaRow
from fonds.model.rows.row import InTable, NotInTable
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_chunks, iter_pages
from fonds.stores.journal_table.cells import (
    FILE_CDX,
    FILE_META,
    FILE_MIME,
    FILE_SIZE,
    Location,
    decode_integer,
    read_file,
    read_location,
)
from fonds.stores.journal_table.keys import build_alternate_key, split_key

FACTS = {"sha256": "sha256hex", "md5": "md5hex", "size": "size_bytes", "mime": "mimetype"}
Cells = dict[str, bytes]
_LATER = {"verdict": str(Verdict.DROPPED), "reason": str(Reason.DUPLICATE)}
"""Values of the dispositions of later captures, which are dropped as duplicates."""


def check_files(
    stores: Stores, started_at: datetime, archiving: Sequence[str] | None
) -> Iterator[AuditFault]:
    """Check all files and yield the faults.

    `started_at`: start of the audit; newer files are skipped.
    `archiving`: names of the pipelines whose files must all be in a WARC by now. None or an empty
        list skips that check.
    """
    records = stores.records

    def iter_pages_of_files(where: Mapping[str, object]) -> Iterator[list[FileMetaRow]]:
        rows = records.find(FileMetaRow, where)
        return iter_chunks(row for row in rows if row.row_created <= started_at)

    yield from _check_file_rows(stores)
    for page in iter_pages_of_files({}):
        yield from _check_table_cells(stores, page)
    for page in iter_pages_of_files({"capture_id": build_unaccounted_condition(records)}):
        references = {row.capture_id: f"the file {row.sha1hex}" for row in page}
        yield from check_captures_without_entry(records, references)
    for page in iter_pages_of_files({"sha1hex": InTable(DispositionRow, "about", where=_LATER)}):
        yield from _check_later_captures(stores, [row.sha1hex for row in page])
    if archiving:
        for page in iter_pages_of_files({"sha1hex": NotInTable(CdxRow, "sha1hex")}):
            yield from _check_unarchived(records, [row.sha1hex for row in page], archiving)
    yield from check_table_rows(stores)


def _check_file_rows(stores: Stores) -> Iterator[AuditFault]:
    """Yield a fault for each file that has a derivative row but no row in `file_meta`.

    A file with a row in the wide-column table is skipped, because `check_table_rows` reports it.
    Skipped too are derivative rows that record a missing PDF: another program sent a task for a
    PDF, but no PDF was found, so there is no file. The SQL table `file_meta` has one row per file.
    """
    for kind in iter_kinds_with_rows():
        without_row = {"sha1hex": NotInTable(FileMetaRow, "sha1hex")}
        for page in iter_chunks(stores.records.find(kind.row, without_row)):
            missing = [row.sha1hex for row in page]
            without_file = find_unavailable_pdfs(stores.records, missing)
            missing = [key for key in missing if key not in without_file]
            raw = [bytes.fromhex(key) for key in missing]
            # If the table has a row of the file, `check_table_rows` reports the file.
            table_rows = stores.table.get(stores.journal, raw, [FILE_SIZE]) if raw else {}
            for key in missing:
                if bytes.fromhex(key) not in table_rows:
                    yield AuditFault(AuditCheck.FILE, key, f"file {key} has no row in file_meta")


def _check_table_cells(stores: Stores, rows: Sequence[FileMetaRow]) -> Iterator[AuditFault]:
    """Compare the `file_meta` rows of files with their `file:` cells in the wide-column table.

    The SQL table `file_meta` has one row per file.
    """
    keys = {row.sha1hex: bytes.fromhex(row.sha1hex) for row in rows}
    columns = [FILE_SIZE, FILE_MIME, FILE_META]
    table_rows = stores.table.get(stores.journal, list(keys.values()), columns)
    missing = [row for row in rows if keys[row.sha1hex] not in table_rows]
    open_entries = find_open_entries(stores.records, {row.capture_id for row in missing})
    for row in missing:
        if row.capture_id not in open_entries:
            message = f"file {row.sha1hex} has no row in the table {stores.journal}"
            yield AuditFault(AuditCheck.CELLS, row.sha1hex, message)
    for row in rows:
        cells = table_rows.get(keys[row.sha1hex])
        if cells is not None and (difference := compare_file_cells(row, cells)):
            yield AuditFault(AuditCheck.FILE, row.sha1hex, f"file {row.sha1hex}: {difference}")


def _check_later_captures(stores: Stores, sha1hexes: Sequence[str]) -> Iterator[AuditFault]:
    """Check that each later capture of these files in a WARC has its own row in the wide-column
    table.

    Later captures are those dropped as duplicates. If several entries describe one WARC record,
    only one of them has the row.
    """
    later_captures = {
        build_alternate_key(sha1hex, entry.entry_id): (sha1hex, entry)
        for sha1hex, entry in iter_later_captures(stores.records, sha1hexes)
    }
    table_rows = (
        stores.table.get(stores.journal, sorted(later_captures), [FILE_CDX])
        if later_captures
        else {}
    )
    missing = {
        key: later_captures[key] for key in sorted(later_captures.keys() - table_rows.keys())
    }
    if not missing:
        return
    capture_ids = {
        (row.sha1hex, format_place_name(row.warc_path, row.warc_offset)): row.capture_id
        for row in stores.records.find(
            CdxRow, {"sha1hex": [key_sha1 for key_sha1, _ in missing.values()]}
        )
    }
    for sha1hex, entry in missing.values():
        place = parse_record_place(entry.place or "")
        known_id = capture_ids.get((sha1hex, format_place_name(*place))) if place else None
        if known_id is not None and known_id != entry.entry_id:
            continue
        message = (
            f"file {sha1hex} was captured again at {entry.place}, but the table has no such capture"
        )
        yield AuditFault(AuditCheck.CELLS, sha1hex, message)


def format_place_name(path: str, offset: int) -> str:
    """Return the location of a WARC record as file name and offset. Folders are omitted, because
    they differ between machines.
    """
    return format_record_place(path.rpartition("/")[2], offset)


def iter_later_captures(
    records: Records, sha1hexes: Sequence[str]
) -> Iterator[tuple[str, EntryRow]]:
    """Iterate over the later captures of these files: entries that were dropped as duplicates of a
    file.

    Yields the SHA-1 of the file and the entry. Includes only captures that are in a WARC and whose
    messages have all ended.
    """
    where = {"about": list(sha1hexes), **_LATER}
    sha1_by_entry = {row.entry_id: row.about or "" for row in records.find(DispositionRow, where)}
    if not sha1_by_entry:
        return
    for entry in records.find(EntryRow, {"entry_id": sorted(sha1_by_entry)}):
        if parse_record_place(entry.place or "") and not entry.open_count:
            yield sha1_by_entry[entry.entry_id], entry


def compare_file_cells(row: FileMetaRow, cells: Cells) -> str | None:
    """Compare the cells of a file in the wide-column table with its row in `file_meta`.

    Returns a sentence that describes the difference; None if they agree. The SQL table `file_meta`
    has one row per file.
    """
    try:
        meta = read_file(cells)
        size_bytes = decode_integer(cells[FILE_SIZE])
        mime = cells[FILE_MIME].decode()
    except (ValueError, KeyError) as error:
        return f"cannot read its cells in the table: {error}"
    if meta is None:
        return "its cells in the table have no file:meta"
    differences = [
        name for name, column in FACTS.items() if getattr(meta, name) != getattr(row, column)
    ]
    differences += ["sha1"] if meta.sha1 != row.sha1hex else []
    differences += ["file:size"] if size_bytes != meta.size else []
    differences += ["file:mime"] if mime != meta.mime else []
    return f"file_meta and the table differ in {', '.join(differences)}" if differences else None


def _check_unarchived(
    records: Records, sha1hexes: Sequence[str], archiving: Sequence[str]
) -> Iterator[AuditFault]:
    """Yield a fault for each file in no WARC that should be in one.

    `sha1hexes`: SHA-1s of files in no WARC.
    `archiving`: names of the pipelines that archive bodies.
    """
    for key in sha1hexes:
        if _should_be_archived(records, key, archiving):
            yield AuditFault(AuditCheck.PLACE, key, f"file {key} is in no WARC")


def _should_be_archived(records: Records, sha1hex: str, archiving: Sequence[str]) -> bool:
    """Whether a file without a WARC record should have one.

    True if a message about the file came into one of the pipelines `archiving`, which archive
    bodies, or if the ledger has no message about the file. False if a message about the file was
    quarantined, purged or accepted as a final failure, because that explains why the file is in no
    WARC.
    """
    if _has_disposition(records, sha1hex, verdict=str(Verdict.QUARANTINED)):
        return False
    if _has_disposition(records, sha1hex, reason=[str(Reason.PURGED), str(Reason.ACCEPTED)]):
        return False
    return _has_disposition(records, sha1hex, pipeline=list(archiving)) or not _has_disposition(
        records, sha1hex
    )


def _has_disposition(records: Records, sha1hex: str, **where: object) -> bool:
    """Whether the ledger has a disposition of a message about the file that matches the filter
    `where`.
    """
    rows = records.find(DispositionRow, {"about": sha1hex, **where}, count_max=1)
    return next(rows, None) is not None


def check_table_rows(stores: Stores) -> Iterator[AuditFault]:
    """Check the wide-column table: each file in it must be in the records, and each WARC location
    in it in `cdx`.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    for page in iter_pages(stores.table, stores.journal, columns=[FILE_SIZE, FILE_CDX]):
        yield from _check_known_files(stores.records, page)


def _check_known_files(
    records: Records, page: Sequence[tuple[bytes, Cells]]
) -> Iterator[AuditFault]:
    rows = [(split_key(key), cells) for key, cells in page]
    sha1hexes = sorted({sha1hex for (sha1hex, _), _ in rows})
    primary_captures = {row.sha1hex: row.capture_id for row in records.get(FileMetaRow, sha1hexes)}
    files_read = {
        sha1hex for (sha1hex, capture_id), cells in rows if not _is_indexed(capture_id, cells)
    }
    for sha1hex in sha1hexes:
        if sha1hex not in primary_captures and sha1hex in files_read:
            yield AuditFault(
                AuditCheck.FILE,
                sha1hex,
                f"file {sha1hex} has a row in the table but none in file_meta",
            )
    places: dict[tuple[str, int], tuple[str, str]] = {}
    for (sha1hex, capture_id), cells in rows:
        try:
            location = read_location(cells)
        except ValueError as error:
            yield AuditFault(AuditCheck.CELLS, sha1hex, f"file {sha1hex}: {error}")
            continue
        if location is not None:
            owner_id = capture_id or primary_captures.get(sha1hex, "")
            places[location.warc, location.offset] = (sha1hex, owner_id)
    yield from _check_known_places(records, places)


def _is_indexed(capture_id: str | None, cells: Cells) -> bool:
    """Whether a row of the wide-column table has only data from a CDX index, because Fonds never
    read the file.

    `capture_id` is None for the row of the file itself.
    """
    return FILE_SIZE not in cells if capture_id is None else is_indexed(capture_id)


def _check_known_places(
    records: Records, places: dict[tuple[str, int], tuple[str, str]]
) -> Iterator[AuditFault]:
    known_places = {
        (row.warc_path, row.warc_offset): row.sha1hex for row in records.get(CdxRow, [*places])
    }
    missing_places = {
        place: owner for place, owner in places.items() if known_places.get(place) != owner[0]
    }
    open_entries = find_open_entries(
        records, {capture_id for _, capture_id in missing_places.values()}
    )
    for (warc, offset), (sha1hex, capture_id) in sorted(missing_places.items()):
        if capture_id not in open_entries:
            place = format_record_place(warc, offset)
            message = (
                f"file {sha1hex} is at {place} according to the table, but cdx has no such row"
            )
            yield AuditFault(AuditCheck.PLACE, sha1hex, message)


def is_same_place(row: CdxRow, location: Location) -> bool:
    """Whether a `cdx` row and a cell `file:cdx` describe the same capture at the same WARC
    location.

    The SQL table `cdx` has one row per capture in a WARC. The table cell `file:cdx` has the WARC
    location of a capture.
    """
    return (row.warc_path, row.warc_offset, row.warc_csize, row.url, row.datetime, row.surt) == (
        location.warc,
        location.offset,
        location.size_bytes,
        location.url,
        location.datetime14,
        location.surt,
    )
