"""Files: the row of each in the records against its cells in the table, and what refers to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from fonds.archive.table_places import is_indexed
from fonds.audit.entries import check_unfounded_captures, find_open_entries
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.derivatives.kinds import iter_kinds_with_rows
from fonds.derivatives.pdf import find_unavailable_pdfs
from fonds.model.disposition import Reason, Verdict
from fonds.model.record_offset import parse_record_place, record_place
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, FileMetaRow
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


def check_files(
    stores: Stores, started_at: datetime, archiving: Sequence[str] | None
) -> Iterator[AuditFault]:
    """`archiving` names the pipelines whose files should all lie in a WARC by now; None: nothing is said
    of that."""
    yield from _check_file_rows(stores)
    rows = (row for row in stores.records.find(FileMetaRow) if row.row_created <= started_at)
    for some in iter_chunks(rows):
        yield from _check_table_cells(stores, some)
        owners = {row.capture_id: f"the file {row.sha1hex}" for row in some}
        yield from check_unfounded_captures(stores.records, owners)
        yield from _check_later_captures(stores, [row.sha1hex for row in some])
        if archiving:
            yield from _check_unarchived(stores.records, [row.sha1hex for row in some], archiving)
    yield from check_table_rows(stores)


def _check_file_rows(stores: Stores) -> Iterator[AuditFault]:
    """Every derivative belongs to a file that has a row, unless a task led to no PDF."""
    for kind in iter_kinds_with_rows():
        for some in iter_chunks(stores.records.find(kind.row)):
            keys = [row.sha1hex for row in some]
            known = {row.sha1hex for row in stores.records.get(FileMetaRow, keys)}
            absent = [key for key in keys if key not in known]
            without_file = find_unavailable_pdfs(stores.records, absent)
            absent = [key for key in absent if key not in without_file]
            raw = [bytes.fromhex(key) for key in absent]
            # What the table knows is told with it.
            there = stores.table.get(stores.journal, raw, [FILE_SIZE]) if raw else {}
            for key in absent:
                if bytes.fromhex(key) not in there:
                    yield AuditFault(AuditCheck.FILE, key, f"file {key} has no row in file_meta")


def _check_table_cells(stores: Stores, rows: Sequence[FileMetaRow]) -> Iterator[AuditFault]:
    """`file_meta` and the table's `file:` cells say the same of each file."""
    keys = {row.sha1hex: bytes.fromhex(row.sha1hex) for row in rows}
    columns = [FILE_SIZE, FILE_MIME, FILE_META]
    there = stores.table.get(stores.journal, list(keys.values()), columns)
    absent = [row for row in rows if keys[row.sha1hex] not in there]
    busy = find_open_entries(stores.records, {row.capture_id for row in absent})
    for row in absent:
        if row.capture_id not in busy:
            told = f"file {row.sha1hex} has no row in the table {stores.journal}"
            yield AuditFault(AuditCheck.CELLS, row.sha1hex, told)
    for row in rows:
        cells = there.get(keys[row.sha1hex])
        if cells is not None and (how := compare_file_cells(row, cells)):
            yield AuditFault(AuditCheck.FILE, row.sha1hex, f"file {row.sha1hex}: {how}")


def _check_later_captures(stores: Stores, sha1hexes: Sequence[str]) -> Iterator[AuditFault]:
    """A file met again in a WARC has a row of its own in the table for that capture.

    Of several entries that are one capture one has the row.
    """
    found = {
        build_alternate_key(sha1hex, entry.entry_id): (sha1hex, entry)
        for sha1hex, entry in iter_later_captures(stores.records, sha1hexes)
    }
    there = stores.table.get(stores.journal, sorted(found), [FILE_CDX]) if found else {}
    missing = {key: found[key] for key in sorted(found.keys() - there.keys())}
    if not missing:
        return
    known = {
        (row.sha1hex, format_place_name(row.warc_path, row.warc_offset)): row.capture_id
        for row in stores.records.find(CdxRow, {"sha1hex": [one for one, _ in missing.values()]})
    }
    for sha1hex, entry in missing.values():
        place = parse_record_place(entry.place or "")
        other = known.get((sha1hex, format_place_name(*place))) if place else None
        if other is not None and other != entry.entry_id:
            continue
        told = f"file {sha1hex} was met again at {entry.place}, and the table does not say so"
        yield AuditFault(AuditCheck.CELLS, sha1hex, told)


def format_place_name(path: str, offset: int) -> str:
    """A place in a WARC without the folders of the file, which differ from machine to machine."""
    return record_place(path.rpartition("/")[2], offset)


def iter_later_captures(
    records: Records, sha1hexes: Sequence[str]
) -> Iterator[tuple[str, EntryRow]]:
    """The captures out of WARCs that were found to be duplicates of these files."""
    where = {
        "about": list(sha1hexes),
        "verdict": str(Verdict.DROPPED),
        "reason": str(Reason.DUPLICATE),
    }
    about = {row.entry_id: row.about or "" for row in records.find(DispositionRow, where)}
    if not about:
        return
    for entry in records.find(EntryRow, {"entry_id": sorted(about)}):
        if parse_record_place(entry.place or "") and not entry.open_count:
            yield about[entry.entry_id], entry


def compare_file_cells(row: FileMetaRow, cells: Cells) -> str | None:
    """How the cells of a file say something else than its row; None when they do not."""
    try:
        meta = read_file(cells)
        size_bytes = decode_integer(cells[FILE_SIZE])
        mime = cells[FILE_MIME].decode()
    except (ValueError, KeyError) as error:
        return f"its cells in the table cannot be read: {error}"
    if meta is None:
        return "its cells in the table lack file:meta"
    wrong = [name for name, column in FACTS.items() if getattr(meta, name) != getattr(row, column)]
    wrong += ["sha1"] if meta.sha1 != row.sha1hex else []
    wrong += ["file:size"] if size_bytes != meta.size else []
    wrong += ["file:mime"] if mime != meta.mime else []
    return f"file_meta and the table differ in {', '.join(wrong)}" if wrong else None


def _check_unarchived(
    records: Records, sha1hexes: Sequence[str], archiving: Sequence[str]
) -> Iterator[AuditFault]:
    placed = {row.sha1hex for row in records.find(CdxRow, {"sha1hex": list(sha1hexes)})}
    for key in sha1hexes:
        if key not in placed and _should_be_archived(records, key, archiving):
            yield AuditFault(AuditCheck.PLACE, key, f"file {key} lies in no WARC")


def _should_be_archived(records: Records, sha1hex: str, archiving: Sequence[str]) -> bool:
    """Whether the file should lie in a WARC: it came into a pipeline that archives, as far as the books say,
    and no message about it is quarantined, was purged or accepted, which would account for its absence."""
    if _has_disposition(records, sha1hex, verdict=str(Verdict.QUARANTINED)):
        return False
    if _has_disposition(records, sha1hex, reason=[str(Reason.PURGED), str(Reason.ACCEPTED)]):
        return False
    return _has_disposition(records, sha1hex, pipeline=list(archiving)) or not _has_disposition(
        records, sha1hex
    )


def _has_disposition(records: Records, sha1hex: str, **where: object) -> bool:
    """Whether there is such a disposition of a message about the file."""
    rows = records.find(DispositionRow, {"about": sha1hex, **where}, count_max=1)
    return next(rows, None) is not None


def check_table_rows(stores: Stores) -> Iterator[AuditFault]:
    """Every row of the table belongs to a file of the records, every place in it to a row of `cdx`."""
    for page in iter_pages(stores.table, stores.journal, columns=[FILE_SIZE, FILE_CDX]):
        yield from _check_known_files(stores.records, page)


def _check_known_files(
    records: Records, page: Sequence[tuple[bytes, Cells]]
) -> Iterator[AuditFault]:
    named = [(split_key(key), cells) for key, cells in page]
    sha1hexes = sorted({sha1hex for (sha1hex, _), _ in named})
    owners = {row.sha1hex: row.capture_id for row in records.get(FileMetaRow, sha1hexes)}
    here = {sha1hex for (sha1hex, other), cells in named if not _is_indexed(other, cells)}
    for sha1hex in sha1hexes:
        if sha1hex not in owners and sha1hex in here:
            yield AuditFault(
                AuditCheck.FILE,
                sha1hex,
                f"file {sha1hex} has no row in file_meta, and is in the table",
            )
    places: dict[tuple[str, int], tuple[str, str]] = {}
    for (sha1hex, capture_id), cells in named:
        try:
            location = read_location(cells)
        except ValueError as error:
            yield AuditFault(AuditCheck.CELLS, sha1hex, f"file {sha1hex}: {error}")
            continue
        if location is not None:
            owner = capture_id or owners.get(sha1hex, "")
            places[location.warc, location.offset] = (sha1hex, owner)
    yield from _check_known_places(records, places)


def _is_indexed(capture_id: str | None, cells: Cells) -> bool:
    """Whether a row tells what an index told, and no more: nobody read the file as yet."""
    return FILE_SIZE not in cells if capture_id is None else is_indexed(capture_id)


def _check_known_places(
    records: Records, places: dict[tuple[str, int], tuple[str, str]]
) -> Iterator[AuditFault]:
    there = {
        (row.warc_path, row.warc_offset): row.sha1hex for row in records.get(CdxRow, [*places])
    }
    missing = {place: found for place, found in places.items() if there.get(place) != found[0]}
    busy = find_open_entries(records, {capture_id for _, capture_id in missing.values()})
    for (warc, offset), (sha1hex, capture_id) in sorted(missing.items()):
        if capture_id not in busy:
            place = record_place(warc, offset)
            told = f"file {sha1hex} lies at {place} as the table has it, and cdx does not say so"
            yield AuditFault(AuditCheck.PLACE, sha1hex, told)


def is_same_place(row: CdxRow, location: Location) -> bool:
    """Whether a cell says the place a row of `cdx` says."""
    return (row.warc_path, row.warc_offset, row.warc_csize, row.url, row.datetime) == (
        location.warc,
        location.offset,
        location.size_bytes,
        location.url,
        location.datetime14,
    )
