"""Takes a file down: first it is refused for good, then every store is purged, and the books name it no more.

The row of `takedowns` stands before anything is removed. Whoever is killed in between says it again: what
others are found by is removed last. Which WARCs of ours hold its bytes stands in the row before the rows go
that lead there, and until they were written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from fonds.derivatives.index_update import iter_complete_documents, reindex_files
from fonds.derivatives.kinds import indexed_kinds
from fonds.failures.decisions import accept
from fonds.failures.entries import FailureQuery
from fonds.grouping.changes.writer import CollectionWriter
from fonds.model.message import Subscription
from fonds.model.restrictions import REDACTED
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FaultRow,
    FetchedPageRow,
    FileMetaRow,
    HostFileRow,
    InputRow,
    TakedownRow,
)
from fonds.ports import Blobs, Records, Stores
from fonds.ports.scan import iter_chunks, iter_pages
from fonds.restrictions.traces import (
    build_key,
    find_holding_collections,
    find_traces,
    iter_file_rows,
    list_blob_keys,
    list_document_ids,
    list_story_ids,
)
from fonds.restrictions.warc_records import (
    WarcPurge,
    find_warc_names,
    list_remaining_warcs,
    scan_warc_names,
)
from fonds.rights.host_files import withdraw_files
from fonds.stores.journal_table.keys import build_row_key
from fonds.text.exchange import build_spool_key

NOTE_MAX_CHARS = 500
ROUNDS_MAX = 3


@dataclass(frozen=True, slots=True)
class TakedownService:
    """Takes files down.

    `changes` is None without collections. `readers` read the topics, and messages may wait in their
    quarantine. `forget_views` removes the drawn pages of PDFs. With `scans_all_warcs`, the indexes of our
    WARCs are searched too, for WARCs that no row leads to."""

    stores: Stores
    changes: CollectionWriter | None
    readers: Sequence[Subscription]
    clock: Callable[[], datetime]
    warcs: WarcPurge
    forget_views: Callable[[Blobs], None]
    scans_all_warcs: bool = False

    def __call__(self, takedown: TakedownRow) -> TakedownRow:
        """Take one file down, or go on where it was broken off; the row as it stands then. `finished` is None
        while messages about the file are under way, or one of our WARCs that hold it cannot be written anew:
        it is said again when that is over."""
        records = self.stores.records
        # Before anything goes: from here on its bytes are refused, and its address is a tombstone.
        records.put([takedown], replace=False)
        (row,) = records.get(TakedownRow, [takedown.sha1hex])
        found = scan_warc_names(self.stores.archive, row.sha1hex) if self.scans_all_warcs else ()
        warcs, left = set(found), None
        for _ in range(ROUNDS_MAX):
            row = self._record_traces(row, warcs)
            self._purge(row)
            left = find_traces(
                self.stores, self.changes.tables if self.changes else None, row.sha1hex
            )
            if not left.has_any or left.under_way:
                break
        row = self._purge_warcs(row)
        if left is None or left.has_any or list_remaining_warcs(row):
            return row
        ended = replace(row, rest={}, finished=self.clock())
        records.put([ended])
        return ended

    def _record_traces(self, row: TakedownRow, warcs: set[str]) -> TakedownRow:
        """The row with what leads to more than it names itself, before that goes."""
        records, sha1hex = self.stores.records, row.sha1hex
        documents = {
            *_list_documents(row),
            *list_document_ids(records, sha1hex),
            *list_story_ids(records, sha1hex),
        }
        names = warcs | find_warc_names(self.stores, sha1hex)
        rest = {"documents": sorted(documents), "warcs": sorted(names)}
        row = replace(row, rest=rest, finished=None)
        records.put([row])
        return row

    def _purge_warcs(self, row: TakedownRow) -> TakedownRow:
        """The row with those of its WARCs that hold the file still."""
        for name in list_remaining_warcs(row):
            if self.warcs(row, name):
                left = [one for one in list_remaining_warcs(row) if one != name]
                row = replace(row, rest={**row.rest, "warcs": left})
                self.stores.records.put([row])
        return row

    def _purge(self, row: TakedownRow) -> None:
        stores, sha1hex = self.stores, row.sha1hex
        accept(stores, self.readers, FailureQuery(keys=(sha1hex,)), self.clock, REDACTED)
        self._remove_from_index(row)
        self.forget_views(stores.blobs)
        stores.blobs.delete(list_blob_keys(stores.records, sha1hex))
        _remove_exchanges(stores, sha1hex)
        _redact(stores.records, sha1hex)
        for page in iter_pages(stores.table, stores.journal, build_row_key(sha1hex)):
            stores.table.delete(stores.journal, [key for key, _ in page])
        faults = stores.records.find(FaultRow, {"subject": sha1hex})
        stores.records.delete(FaultRow, [(one.subject, one.told) for one in faults])
        for files in iter_chunks(stores.records.find(HostFileRow, {"sha1hex": sha1hex})):
            changed = withdraw_files(stores.records, files, self.clock())
            reindex_files(stores.records, stores.blobs, stores.index, sorted(changed))
        for some in iter_chunks(iter_file_rows(stores.records, sha1hex)):
            for table in dict.fromkeys(type(one) for one in some):
                keys = [build_key(one) for one in some if type(one) is table]
                stores.records.delete(table, keys)
        self._show_other_versions(row)

    def _remove_from_index(self, row: TakedownRow) -> None:
        """Out of the index and of all collections. The document of a story goes too where an earlier version
        in it is this file; it is put again without."""
        found = self.stores.index.get(_list_documents(row))
        held = [
            id_
            for id_, one in found.items()
            if row.sha1hex in (one.sha1hex, *(version.sha1hex for version in one.earlier))
        ]
        self.stores.index.delete(held)
        if self.changes is not None:
            ids = list_document_ids(self.stores.records, row.sha1hex)
            for name in find_holding_collections(self.changes.tables, ids):
                self.changes.delete(name, ids)

    def _show_other_versions(self, row: TakedownRow) -> None:
        """Of a story another version is shown now, where there is one, without this file's text."""
        stores = self.stores
        for _, one in indexed_kinds():
            current = list(one.load_current(stores.records, _list_documents(row)).values())
            for document in iter_complete_documents(one, stores.records, stores.blobs, current):
                stores.index.put([document])


def _list_documents(row: TakedownRow) -> list[str]:
    found: Any = row.rest.get("documents", [])
    return [str(one) for one in found]


def _list_captures(records: Records, sha1hex: str) -> Iterable[str]:
    """The ids of all captures of a file; of one that entered it is the entry's."""
    yield from (row.capture_id for row in records.find(CdxRow, {"sha1hex": sha1hex}))
    yield from (row.capture_id for row in records.get(FileMetaRow, [sha1hex]))


def _remove_exchanges(stores: Stores, sha1hex: str) -> None:
    """What was fetched, and lies in the spool."""
    for ids in iter_chunks(iter(_list_captures(stores.records, sha1hex))):
        stores.blobs.delete([build_spool_key(one) for one in ids])
        stores.records.delete(FetchedPageRow, sorted(set(ids)))


def _redact(records: Records, sha1hex: str) -> None:
    """The books keep how everything ended, and no more what it was: entries first, by which inputs are found,
    the messages that lead to both last."""
    for ids in iter_chunks(iter(_list_captures(records, sha1hex))):
        _redact_entries(records, ids)
    for some in iter_chunks(records.find(DispositionRow, {"about": sha1hex})):
        _redact_entries(records, [row.entry_id for row in some])
        ended = [build_key(row) for row in some if not row.is_open]
        records.change(DispositionRow, ended, {"about": None, "detail": REDACTED})


def _redact_entries(records: Records, entry_ids: Sequence[str]) -> None:
    rows = list(records.find(EntryRow, {"entry_id": sorted(set(entry_ids))}))
    said = {"url": REDACTED, "place": None, "about": None, "detail": REDACTED}
    records.change(EntryRow, [build_key(row) for row in rows], said)
    for input_id in sorted({row.input_id for row in rows}):
        of_input = {"input_id": input_id}
        total = records.count(EntryRow, (), of_input)[()]
        if total == records.count(EntryRow, (), {**of_input, "url": REDACTED})[()]:
            inputs = list(records.find(InputRow, of_input))
            records.change(InputRow, [build_key(row) for row in inputs], {"path": REDACTED})
            # Why reading ended early is told with the path.
            broken = [build_key(row) for row in inputs if row.error is not None]
            records.change(InputRow, broken, {"error": REDACTED})
