"""Context that all repair actions share: the stores, ways to read bodies, and the log
of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path

from fonds.archive.warc_names import list_paths
from fonds.audit.conservation import is_path_of
from fonds.audit.fault import REPAIR, RepairAct, build_act_prefix
from fonds.audit.repair.plan import RepairPlan
from fonds.grouping.changes.writer import CollectionWriter
from fonds.model.archive import Payload
from fonds.model.capture import REVISIT_MIME, Capture, Place, PlaceKind
from fonds.model.disposition import Verdict
from fonds.model.entry import Entry
from fonds.model.errors import (
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.model.file import FileMeta
from fonds.model.keys import parse_record_id
from fonds.model.record_offset import parse_record_place
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
)
from fonds.ports import Source, Stores
from fonds.stores.journal_table.cells import read_location
from fonds.stores.journal_table.keys import build_row_key, split_key

PLACES_MAX = 1_000
"""Maximum number of locations of one file that are tried for its bytes."""
ENTRIES_SAMPLED_MAX = 20
"""Maximum number of entries of an input whose locations are tried as its path."""
INPUTS_SEARCHED_MAX = 10_000
"""Maximum number of files that are searched in one folder for an input of unknown path."""
FOLDERS_CACHED_MAX = 100


@dataclass(slots=True)
class RepairContext:
    """What all repair actions share: the stores, ways to read bodies, and the log of actions.

    `plan`: the faults to repair.
    `open_source`: opens an input path for a collection, as ingestion does.
    `describe`: returns the type and hashes of bytes, given the declared media type or None.
    `clock`: returns the current time, aware UTC.
    `report`: called with a sentence about each action.
    `collection_writer`: writer of the collections; None if the library has no collections.
    `act_count`: number of actions taken so far.
    `loss_reasons`: for each subject that cannot be restored, the reason.
    """

    stores: Stores
    plan: RepairPlan
    open_source: Callable[[Path, str], Source]
    describe: Callable[[bytes, str | None], FileMeta]
    clock: Callable[[], datetime]
    report: Callable[[str], None]
    collection_writer: CollectionWriter | None = None
    act_count: int = 0
    loss_reasons: dict[str, str] = field(default_factory=dict)
    _folder_paths: dict[str, dict[str, str]] = field(default_factory=dict)

    def record_act(self, act: RepairAct, entry_id: str, sha1hex: str | None, message: str) -> None:
        """Report a repair action, and record it in the ledger as a done message of the repaired
        entry.

        `entry_id`: id of the repaired entry. If there is no such entry, the action is only
            reported.
        `sha1hex`: SHA-1 of the repaired file; None if no file was repaired.
        `message`: sentence that describes the action.
        """
        self.act_count += 1
        self.report(message)
        entries = self.stores.records.find(EntryRow, {"entry_id": entry_id}, count_max=1)
        entry = next(entries, None)
        if entry is None:
            return
        now = self.clock()
        row = DispositionRow(
            message_id=f"{build_act_prefix(entry_id, act)}{now:%Y%m%d%H%M%S}",
            pipeline=entry.pipeline,
            step=REPAIR,
            entry_id=entry_id,
            parent_id=None,
            parent_step=None,
            verdict=str(Verdict.DONE),
            is_open=False,
            reason=None,
            detail=message[:2000],
            about=sha1hex,
            attempt=0,
            promised_at=now,
            settled_at=now,
        )
        self.stores.ledger.write([row])

    def record_file_act(self, act: RepairAct, sha1hex: str, message: str) -> None:
        """Report a repair action on a file, and record it in the ledger.

        It is recorded as a message of the file's primary capture.
        """
        file = next(iter(self.stores.records.get(FileMetaRow, [sha1hex])), None)
        self.record_act(act, file.capture_id if file else "", sha1hex, message)

    def give_up(self, subject: str, reason: str) -> None:
        """Report that a subject cannot be restored, and store the reason in `loss_reasons`."""
        if subject not in self.loss_reasons:
            self.report(f"lost: {reason}")
            # The list is bounded; the audit after the repair reports every fault anyway.
            if len(self.loss_reasons) < PLACES_MAX:
                self.loss_reasons[subject] = reason

    def read_if_intact(self, place: Place, sha1hex: str | None) -> Payload | None:
        """Return the body at a location, or None if it cannot be read or its SHA-1 is not
        `sha1hex`.

        If `sha1hex` is None, any body is accepted. Raises StoreUnavailableError if a store does not
        respond.
        """
        try:
            return self.stores.archive.read(place, sha1hex)
        except StoreUnavailableError:
            raise
        except (PermanentError, TransientError):
            return None

    def find_record_id(self, row: CdxRow) -> str | None:
        """Return the id of the WARC record of a `cdx` row; None if it cannot be read or has no
        valid id.

        The SQL table `cdx` has one row per capture in a WARC.
        """
        sha1hex = None if row.mimetype == REVISIT_MIME else row.sha1hex
        payload = self.read_if_intact(build_place(row), sha1hex)
        return parse_record_id(payload.warc_headers.get("WARC-Record-ID", "")) if payload else None

    def find_body(self, sha1hex: str, excluded_row: CdxRow | None = None) -> Payload | None:
        """Return the body of a file from the first location that still has it; None if no location
        has it.

        Tries the WARC records in `cdx` (except that of the row `excluded_row`), the locations in
        the wide-column table, and the original inputs. The SQL table `cdx` has one row per capture
        in a WARC.
        """
        rows = self.stores.records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX)
        for row in rows:
            if row.mimetype != REVISIT_MIME and row != excluded_row:
                payload = self.read_if_intact(build_place(row), sha1hex)
                if payload is not None:
                    return payload
        for place in self.iter_table_places(sha1hex):
            if (payload := self.read_if_intact(place, sha1hex)) is not None:
                return payload
        return self._read_original(sha1hex)

    def iter_table_places(self, sha1hex: str) -> Iterator[Place]:
        """Iterate over the WARC locations that the wide-column table has for a file."""
        stores = self.stores
        prefix = build_row_key(sha1hex)
        for _, cells in stores.table.scan(stores.journal, prefix, count_max=PLACES_MAX):
            try:
                location = read_location(cells)
            except ValueError:
                continue
            if location is not None:
                yield Place(PlaceKind.WARC, location.warc, location.offset, location.size_bytes)

    def _read_original(self, sha1hex: str) -> Payload | None:
        """Return the body of a file from the input it was ingested from; None if no input has it
        any more.
        """
        ids = self.list_entry_ids(sha1hex)
        for entry in self.reread_entries(ids):
            if isinstance(entry.item, Capture):
                payload = self.read_if_intact(entry.item.place, sha1hex)
                if payload is not None:
                    return payload
        return None

    def list_entry_ids(self, sha1hex: str) -> list[str]:
        """List the ids of entries that captured a file, or whose messages were about it."""
        records = self.stores.records
        rows = records.find(DispositionRow, {"about": sha1hex}, count_max=PLACES_MAX)
        primary_ids = [row.capture_id for row in records.get(FileMetaRow, [sha1hex])]
        captures = records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX)
        return sorted(
            {row.entry_id for row in rows} | {*primary_ids} | {c.capture_id for c in captures}
        )

    def reread_entries(self, entry_ids: Collection[str]) -> Iterator[Entry]:
        """Read the entries with these ids from their inputs again.

        Entries whose input is missing are left out. The order is that of the input ids.
        """
        ids_by_input: dict[str, set[str]] = {}
        for key in entry_ids:
            ids_by_input.setdefault(key.partition("-")[0], set()).add(key)
        for input_id, keys in sorted(ids_by_input.items()):
            for path, collection in self._iter_paths(input_id, keys):
                yield from self._read_entries(path, collection, input_id, keys)
                if not keys:
                    break

    def _read_entries(
        self, path: str, collection: str, input_id: str, keys: set[str]
    ) -> Iterator[Entry]:
        """Yield the entries of an input whose ids are in `keys`, and remove these ids
        from `keys`.
        """
        for source, row in self._open_path(path, collection, input_id):
            for entry in source.iter_entries(row):
                if isinstance(entry, Entry) and entry.id in keys:
                    keys.discard(entry.id)
                    yield entry
                if not keys:
                    return

    def find_input(self, input_id: str) -> tuple[Source, InputRow] | None:
        """Find the file of an input. Return its source and its row as if it had not been read;
        None if the file is missing or has changed.

        The id of an input is a hash of its path, size and modification time. So the row is that of
        the same file, whatever the ledger says.
        """
        for path, collection in self._iter_paths(input_id, ()):
            for found_input in self._open_path(path, collection, input_id):
                return found_input
        return None

    def _open_path(
        self, path: str, collection: str, input_id: str
    ) -> Iterator[tuple[Source, InputRow]]:
        source = self.open_source(Path(path), collection)
        for row in source.iter_inputs():
            if row.input_id == input_id:
                yield source, row

    def _iter_paths(self, input_id: str, keys: Collection[str]) -> Iterator[tuple[str, str]]:
        """Iterate over paths at which an input may be found, each with the collection of its
        entries.

        `input_id`: id of the input.
        `keys`: ids of entries of the input.

        The paths come from the row of the input, from the captures of the entries, and from the
        locations of some entries. If the row is missing or has another path than its id says, the
        folders of these locations are searched too, because an index is near its WARCs.
        """
        records = self.stores.records
        entries = list(
            records.find(EntryRow, {"input_id": input_id}, count_max=ENTRIES_SAMPLED_MAX)
        )
        collection = entries[0].collection if entries else "default"
        is_path_known = False
        for row in records.find(InputRow, {"input_id": input_id}, count_max=1):
            is_path_known = is_path_of(row.path, row)
            yield row.path, collection
        for cdx in records.find(CdxRow, {"capture_id": sorted(keys)}, count_max=1) if keys else ():
            paths = [cdx.warc_path]
            with suppress(PermanentError):
                paths += list_paths(records, cdx.warc_path)
            for path in paths:
                if path.startswith("/"):
                    yield path, collection
        places = list(dict.fromkeys(strip_member(entry.place or "") for entry in entries))
        for place in filter(None, places):
            yield place, collection
        if not is_path_known:
            path_found = self._search_folders(input_id, places)
            if path_found is not None:
                yield path_found, collection

    def _search_folders(self, input_id: str, places: Sequence[str]) -> str | None:
        """Search the folders around some WARCs for an input. Return its path; None if it was not
        found.

        `places`: paths of the WARCs. Their folders and the folders above are searched.
        """
        local_paths = [Path(place) for place in places if place.startswith("/")]
        folders = [path.parent for path in local_paths]
        folders += [path.parent.parent for path in local_paths]
        for folder in dict.fromkeys(map(str, folders)):
            path = self._list_folder(folder).get(input_id) if folder != "/" else None
            if path is not None:
                return path
        return None

    def _list_folder(self, folder: str) -> dict[str, str]:
        """Return the paths of the files in a folder and its subfolders, by their ids as inputs."""
        if folder not in self._folder_paths:
            if len(self._folder_paths) >= FOLDERS_CACHED_MAX:
                self._folder_paths.clear()
            inputs = self.open_source(Path(folder), "default").iter_inputs()
            self._folder_paths[folder] = {
                row.input_id: row.path for row in islice(inputs, INPUTS_SEARCHED_MAX)
            }
        return self._folder_paths[folder]


def strip_member(place: str) -> str:
    """Return the path of the file in a location, without the ZIP member or WARC offset after it."""
    if record_location := parse_record_place(place):
        return record_location[0]
    return place.partition("#")[0]


def build_place(row: CdxRow) -> Place:
    """Return the location of the WARC record that a `cdx` row describes.

    The SQL table `cdx` has one row per capture in a WARC.
    """
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def parse_table_key(key: bytes, owners: dict[str, str]) -> tuple[str, str]:
    """Return the SHA-1 of the file and the id of the capture to which a row of the wide-column
    table belongs.

    `key`: key of the row. It contains the capture id only if the row belongs to a later capture of
        the file.
    `owners`: ids of the primary captures, by SHA-1 of the file. They are used for rows of files
        themselves.

    The capture id is "" for a file that is not in `owners`. Raises ValueError for an invalid key.
    """
    sha1hex, capture_id = split_key(key)
    return sha1hex, capture_id or owners.get(sha1hex, "")
