"""Places: each row of `cdx` against the table, the WARC it names, and the CDXJ beside one of ours."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fonds.archive.table_places import find_end_offset, is_indexed
from fonds.archive.warc_names import CaptureKey, build_capture_key
from fonds.audit.entries import (
    check_unfounded_captures,
    find_fetched_without_entry,
    find_open_entries,
)
from fonds.audit.fault import REPAIR, AuditCheck, AuditFault, RepairAct, build_act_prefix
from fonds.audit.files import format_place_name, is_same_place
from fonds.derivatives.visibility import find_takedowns
from fonds.ingest.steps.persist_file import (
    find_crawler_files,
)
from fonds.model.archive import IndexedRecord
from fonds.model.capture import REVISIT_MIME
from fonds.model.disposition import Verdict
from fonds.model.entry import CAPTURE
from fonds.model.record_offset import offset_phrase, offset_text, record_place
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, FileMetaRow
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_chunks
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_CDX,
    read_first_seen,
    read_location,
)
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key

ARCHIVE_BODY = "archive_body"
NAMES_MAX = 3


def is_own_warc(path: str) -> bool:
    """Whether a WARC is one of ours, known by its bare name."""
    return "/" not in path


@dataclass(slots=True)
class _WarcRows:
    """What the rows say of one WARC; `offsets` are kept of ours alone, which hold some thousand records."""

    path: str
    end: int = 0
    count: int = 0
    offsets: set[int] = field(default_factory=set)

    def add_row(self, row: CdxRow) -> None:
        """Take a row in."""
        self.count += 1
        self.end = max(self.end, find_end_offset(row))
        if is_own_warc(self.path):
            self.offsets.add(row.warc_offset)


def check_places(stores: Stores) -> Iterator[AuditFault]:
    """The faults of all places, WARC by WARC; each file is looked at once, none is read."""
    warc: _WarcRows | None = None
    # Who took an index for all there is of a capture has no body here, and no entry.
    rows = (row for row in stores.records.find(CdxRow) if not is_indexed(row.capture_id))
    for some in iter_chunks(rows):
        yield from _check_table_places(stores, some)
        referring = {row.capture_id: record_place(row.warc_path, row.warc_offset) for row in some}
        yield from check_unfounded_captures(stores.records, referring)
        yield from _check_archived(stores.records, some)
        yield from _check_entry_places(stores.records, some)
        yield from _check_written_twice(stores.records, some)
        for row in some:
            if warc is None or warc.path != row.warc_path:
                yield from _check_warc(stores, warc) if warc else ()
                warc = _WarcRows(row.warc_path)
            warc.add_row(row)
    yield from _check_warc(stores, warc) if warc else ()


def _check_table_places(stores: Stores, rows: Sequence[CdxRow]) -> Iterator[AuditFault]:
    """`file:cdx` says the place of each, in the row of its file or of a later capture; `f:c` of the first."""
    shas = sorted({row.sha1hex for row in rows})
    owners = {row.sha1hex: row.capture_id for row in stores.records.get(FileMetaRow, shas)}
    noted = [row for row in rows if row.mimetype != REVISIT_MIME or is_own_warc(row.warc_path)]
    keys = {
        (row.warc_path, row.warc_offset): build_cell_key(row, owners)
        for row in noted
        if row.sha1hex in owners
    }
    there = stores.table.get(stores.journal, sorted(set(keys.values())), [FILE_CDX, F_C])
    crawlers = find_crawler_files(stores.records, owners)
    wrong = [
        (row, told)
        for row in noted
        if (key := keys.get((row.warc_path, row.warc_offset))) is not None
        # That a file has no row at all in the table is told of the file.
        if key in there or owners[row.sha1hex] != row.capture_id
        if (
            told := _compare_place(
                row, there.get(key, {}), first=_is_in_note(row, owners, crawlers)
            )
        )
    ]
    ids = {row.capture_id for row, _ in wrong}
    # What was written twice has two rows and one cell.
    several = _find_multiple_rows(stores.records, ids)
    busy = find_open_entries(stores.records, ids)
    for row, told in wrong:
        if row.capture_id not in busy and not _is_other_record(
            row, there.get(keys[_place_key(row)], {}), several
        ):
            place = record_place(row.warc_path, row.warc_offset)
            yield AuditFault(
                AuditCheck.CELLS, row.sha1hex, f"file {row.sha1hex} at {place}: {told}"
            )


def _is_in_note(row: CdxRow, owners: Mapping[str, str], crawlers: Collection[str]) -> bool:
    """Whether `f:c` should say this place: it is the first of its file, and no crawler wrote the note."""
    return owners[row.sha1hex] == row.capture_id and row.sha1hex not in crawlers


def build_cell_key(row: CdxRow, owners: Mapping[str, str]) -> bytes:
    """Where the table says the place of a capture."""
    if owners.get(row.sha1hex) == row.capture_id:
        return build_row_key(row.sha1hex)
    return build_alternate_key(row.sha1hex, row.capture_id)


def _place_key(row: CdxRow) -> tuple[str, int]:
    return row.warc_path, row.warc_offset


def _compare_place(row: CdxRow, cells: Mapping[str, bytes], *, first: bool) -> str | None:
    try:
        location, seen = read_location(cells), read_first_seen(cells)
    except ValueError as error:
        return str(error)
    if location is None:
        return "the table does not say its place (file:cdx)"
    if not is_same_place(row, location):
        return f"the table says {record_place(location.warc, location.offset)} of {location.url}"
    if first and (seen is None or (seen.url, seen.offset) != (row.url, row.warc_offset)):
        return "the table does not say so in f:c"
    return None


def _find_multiple_rows(records: Records, capture_ids: set[str]) -> dict[str, list[CdxRow]]:
    rows: dict[str, list[CdxRow]] = {}
    for row in records.find(CdxRow, {"capture_id": sorted(capture_ids)}) if capture_ids else ():
        rows.setdefault(row.capture_id, []).append(row)
    return rows


def _is_other_record(
    row: CdxRow, cells: Mapping[str, bytes], several: Mapping[str, Sequence[CdxRow]]
) -> bool:
    """Whether the cell says the place of another record of the same capture."""
    try:
        location = read_location(cells)
    except ValueError:
        return False
    others = (one for one in several.get(row.capture_id, ()) if _place_key(one) != _place_key(row))
    return location is not None and any(is_same_place(one, location) for one in others)


def _check_written_twice(records: Records, rows: Sequence[CdxRow]) -> Iterator[AuditFault]:
    """A capture has one row, whatever its WARC is called."""
    where = {
        "sha1hex": sorted({row.sha1hex for row in rows}),
        "warc_offset": sorted({row.warc_offset for row in rows}),
    }
    groups: dict[CaptureKey, list[CdxRow]] = {}
    for row in records.find(CdxRow, where):
        groups.setdefault(build_capture_key(row), []).append(row)
    named: set[str] = set()
    for row in rows:
        same = groups.get(build_capture_key(row), [])
        read_here = [_place_key(one) for one in same if not is_indexed(one.capture_id)]
        # Two rows of one capture of ours are two records: it was written again.
        if not are_doubles(same) or _place_key(row) != min(read_here) or row.sha1hex in named:
            continue
        named.add(row.sha1hex)
        paths = ", ".join(sorted(one.warc_path for one in same)[:NAMES_MAX])
        at = offset_phrase(row.warc_offset)
        told = f"file {row.sha1hex}: one capture at byte {at} has {len(same)} rows: {paths}"
        yield AuditFault(AuditCheck.CAPTURE_TWICE, row.sha1hex, told)


def are_doubles(rows: Sequence[CdxRow]) -> bool:
    """Whether these rows of one file, offset and time are one capture under several names of its WARC.

    Of WARCs of others alone: ours are known by one name.
    """
    others = [row for row in rows if not is_own_warc(row.warc_path) or is_indexed(row.capture_id)]
    return len(rows) > 1 and len(others) >= len(rows) - 1


def _check_archived(records: Records, rows: Sequence[CdxRow]) -> Iterator[AuditFault]:
    """What lies in a WARC of ours was written there by a message that is done, or by repair."""
    ids = sorted({row.capture_id for row in rows if is_own_warc(row.warc_path)})
    if not ids:
        return
    where = {"entry_id": ids, "step": [ARCHIVE_BODY, REPAIR]}
    said = [*records.find(DispositionRow, where)]
    accounted = {one.entry_id for one in said if _accounts_for_written_body(one)}
    suspects = [one for one in ids if one not in accounted]
    left = set(suspects) - find_open_entries(records, suspects)
    for key in sorted(left - find_fetched_without_entry(records, sorted(left))):
        told = f"entry {key} lies in a WARC of ours, and {ARCHIVE_BODY} is not done with it"
        pipeline = next((one.pipeline for one in said if one.entry_id == key), "")
        yield AuditFault(AuditCheck.ENDING, key, told, pipeline, ARCHIVE_BODY)


def _accounts_for_written_body(row: DispositionRow) -> bool:
    if row.step == REPAIR:
        return row.message_id.startswith(build_act_prefix(row.entry_id, RepairAct.BODY))
    return row.is_open or row.verdict != Verdict.DROPPED


def _check_entry_places(records: Records, rows: Sequence[CdxRow]) -> Iterator[AuditFault]:
    """A capture out of a WARC that is not ours entered with that place."""
    places: dict[str, set[str]] = {}
    for row in rows:
        if not is_own_warc(row.warc_path):
            name = format_place_name(row.warc_path, row.warc_offset)
            places.setdefault(row.capture_id, set()).add(name)
    entered = records.find(EntryRow, {"entry_id": sorted(places)}) if places else ()
    wrong = [
        one
        for one in entered
        if one.kind == CAPTURE and _strip_folders(one.place) not in places[one.entry_id]
    ]
    several = _find_multiple_rows(records, {one.entry_id for one in wrong})
    for one in wrong:
        rows = several[one.entry_id]
        if _strip_folders(one.place) not in {
            format_place_name(row.warc_path, row.warc_offset) for row in rows
        }:
            others = {record_place(row.warc_path, row.warc_offset) for row in rows}
            told = f"entry {one.entry_id} ({one.pipeline}) is said to lie at {one.place};"
            told += f" cdx has it at {', '.join(sorted(others))}"
            yield AuditFault(AuditCheck.ENTRY, one.entry_id, told, one.pipeline)


def _strip_folders(place: str | None) -> str:
    """An entry's place without the folders of its file."""
    return (place or "").rpartition("/")[2]


def _check_warc(stores: Stores, warc: _WarcRows) -> Iterator[AuditFault]:
    """The file is there, as long as its last record, and what its index says are its records."""
    held = stores.archive.inspect(warc.path)
    if held is None:
        told = f"{warc.path} is gone, with {warc.count} records that are referred to"
        yield AuditFault(AuditCheck.BODY, warc.path, told)
        return
    if held.size_bytes is not None and held.size_bytes < warc.end:
        told = f"{warc.path} ends at byte {held.size_bytes}; its records reach to {warc.end}"
        yield AuditFault(AuditCheck.BODY, warc.path, told)
    if not is_own_warc(warc.path) or held.is_open:
        return
    if held.records is None:
        yield AuditFault(AuditCheck.CDXJ, warc.path, f"{warc.path} has no CDXJ index beside it")
        return
    known = {one.offset for one in held.records}
    if lost := sorted(warc.offsets - known):
        among = ", ".join(map(offset_text, lost[:NAMES_MAX]))
        told = f"the CDXJ of {warc.path} lacks {len(lost)} of its records (at {among})"
        yield AuditFault(AuditCheck.CDXJ, warc.path, told)
    rest = [one for one in held.records if one.offset not in warc.offsets]
    for one in iter_unrecorded(stores.records, warc.path, rest):
        place = record_place(warc.path, one.offset)
        told = f"{one.url} of {one.datetime14} lies at {place} and has no row in cdx"
        yield AuditFault(AuditCheck.PLACE, one.sha1hex or warc.path, told)
    for sha1hex in sorted(find_takedowns(stores.records, {one.sha1hex for one in rest})):
        told = f"{sha1hex} was taken down, and the CDXJ of {warc.path} names it still"
        yield AuditFault(AuditCheck.TAKEN_DOWN, sha1hex, told)


def iter_unrecorded(
    records: Records, path: str, remaining: Sequence[IndexedRecord]
) -> Iterator[IndexedRecord]:
    """Records of a WARC of ours that `cdx` does not know: neither they nor another copy of them. What was
    taken down is not meant to be known."""
    for some in iter_chunks(iter(remaining)):
        there = {
            row.warc_offset for row in records.get(CdxRow, [(path, one.offset) for one in some])
        }
        shas = sorted({one.sha1hex for one in some if one.sha1hex})
        copies = (
            {
                (row.sha1hex, row.url, row.datetime)
                for row in records.find(CdxRow, {"sha1hex": shas})
            }
            if shas
            else set()
        )
        gone = find_takedowns(records, shas)
        for one in some:
            if one.sha1hex in gone:
                continue
            if one.offset not in there and (one.sha1hex, one.url, one.datetime14) not in copies:
                yield one
