"""What every act of repair has at hand: the stores, what can be read again, and the books it writes to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from fonds.archive.warc_names import list_paths
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
"""So many places of one file are tried for its bytes."""


@dataclass(slots=True)
class RepairContext:
    """`open_source` opens a path, with a collection, as the intake would; `describe` says what bytes are.

    `lost` names what nothing brought back, `done` counts acts. `clock` gives aware UTC. `changes` are those
    of the collections there are, None where there is none.
    """

    stores: Stores
    plan: RepairPlan
    open_source: Callable[[Path, str], Source]
    describe: Callable[[bytes, str | None], FileMeta]
    clock: Callable[[], datetime]
    say: Callable[[str], None]
    changes: CollectionWriter | None = None
    done: int = 0
    lost: dict[str, str] = field(default_factory=dict)

    def record_act(self, act: RepairAct, entry_id: str, about: str | None, message: str) -> None:
        """Write an act down, with the entry it was done for, and say it."""
        self.done += 1
        self.say(message)
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
            about=about,
            attempt=0,
            promised_at=now,
            settled_at=now,
        )
        self.stores.ledger.write([row])

    def record_file_act(self, act: RepairAct, sha1hex: str, message: str) -> None:
        """The same for a file, with the entry that owns it."""
        owner = next(iter(self.stores.records.get(FileMetaRow, [sha1hex])), None)
        self.record_act(act, owner.capture_id if owner else "", sha1hex, message)

    def give_up(self, subject: str, reason: str) -> None:
        """Nothing brings this back."""
        if subject not in self.lost:
            self.say(f"lost: {reason}")
            # Named by the audit in the end, whatever is kept here.
            if len(self.lost) < PLACES_MAX:
                self.lost[subject] = reason

    # Bytes

    def read_if_intact(self, place: Place, sha1hex: str | None) -> Payload | None:
        """The bytes of a file at a place, or with None whatever lies there; None when they are not there."""
        try:
            return self.stores.archive.read(place, sha1hex)
        except StoreUnavailableError:
            raise
        except (PermanentError, TransientError):
            return None

    def find_record_id(self, row: CdxRow) -> str | None:
        """The id of the record a row of `cdx` leads to, as in `Archived`; None when it cannot be read."""
        whose = None if row.mimetype == REVISIT_MIME else row.sha1hex
        found = self.read_if_intact(build_place(row), whose)
        return parse_record_id(found.warc_headers.get("WARC-Record-ID", "")) if found else None

    def find_body(self, sha1hex: str, excluded: CdxRow | None = None) -> Payload | None:
        """The bytes of a file from wherever they lie: a WARC, else what brought them in."""
        rows = self.stores.records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX)
        for row in rows:
            if row.mimetype != REVISIT_MIME and row != excluded:
                found = self.read_if_intact(build_place(row), sha1hex)
                if found is not None:
                    return found
        for place in self.iter_table_places(sha1hex):
            if (found := self.read_if_intact(place, sha1hex)) is not None:
                return found
        return self._read_original(sha1hex)

    def iter_table_places(self, sha1hex: str) -> Iterator[Place]:
        """Where the table says the file lies."""
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
        """The bytes where they were found, if they are still there."""
        ids = self.list_entry_ids(sha1hex)
        for entry in self.reread_entries(ids):
            if isinstance(entry.item, Capture):
                found = self.read_if_intact(entry.item.place, sha1hex)
                if found is not None:
                    return found
        return None

    def list_entry_ids(self, sha1hex: str) -> list[str]:
        """The entries of which a message was about a file."""
        records = self.stores.records
        rows = records.find(DispositionRow, {"about": sha1hex}, count_max=PLACES_MAX)
        owners = [row.capture_id for row in records.get(FileMetaRow, [sha1hex])]
        captures = records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX)
        return sorted({row.entry_id for row in rows} | {*owners} | {c.capture_id for c in captures})

    # Entries, as their inputs say

    def reread_entries(self, entry_ids: Collection[str]) -> Iterator[Entry]:
        """These entries as their inputs give them now; those of inputs that are gone are left out."""
        wanted: dict[str, set[str]] = {}
        for key in entry_ids:
            wanted.setdefault(key.partition("-")[0], set()).add(key)
        for input_id, keys in sorted(wanted.items()):
            for path, collection in self._iter_paths(input_id, keys):
                yield from self._read_entries(path, collection, input_id, keys)
                if not keys:
                    break

    def _read_entries(
        self, path: str, collection: str, input_id: str, keys: set[str]
    ) -> Iterator[Entry]:
        """Takes from `keys` what it gives."""
        source = self.open_source(Path(path), collection)
        for row in source.iter_inputs():
            if row.input_id != input_id:
                continue
            for found in source.iter_entries(row):
                if isinstance(found, Entry) and found.id in keys:
                    keys.discard(found.id)
                    yield found
                if not keys:
                    return

    def _iter_paths(self, input_id: str, keys: Collection[str]) -> Iterator[tuple[str, str]]:
        """Where an input may lie, and the collection its entries belong to."""
        records = self.stores.records
        entered = list(records.find(EntryRow, {"input_id": input_id}, count_max=1))
        collection = entered[0].collection if entered else "default"
        for row in records.find(InputRow, {"input_id": input_id}, count_max=1):
            yield row.path, collection
        for cdx in records.find(CdxRow, {"capture_id": sorted(keys)}, count_max=1):
            paths = [cdx.warc_path]
            with suppress(PermanentError):
                paths += list_paths(records, cdx.warc_path)
            for path in paths:
                if path.startswith("/"):
                    yield path, collection
        for one in entered:
            yield strip_member(one.place or ""), collection


def strip_member(place: str) -> str:
    """The file a place lies in: without the member of a ZIP, or the offset in a WARC."""
    if found := parse_record_place(place):
        return found[0]
    return place.partition("#")[0]


def build_place(row: CdxRow) -> Place:
    """Where a row of `cdx` says its record lies."""
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def parse_table_key(key: bytes, owners: dict[str, str]) -> tuple[str, str]:
    """Of a key of the table the file, and the capture its cells are about."""
    sha1hex, capture_id = split_key(key)
    return sha1hex, capture_id or owners.get(sha1hex, "")
