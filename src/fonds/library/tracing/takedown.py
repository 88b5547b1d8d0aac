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

from fonds.collections.changing.writing import Changes
from fonds.formats.journal import row_key
from fonds.formats.spooled import spool_key
from fonds.kinds import indexed_kinds
from fonds.kinds.indexing import put_again, whole_documents
from fonds.library.chunks import chunks
from fonds.library.failures.deciding import accept
from fonds.library.failures.failed import Asked
from fonds.library.tracing.own_warcs import WarcPurge, left_of, names_everywhere, names_of
from fonds.library.tracing.traces import (
    blobs_of,
    documents_of,
    holders,
    key_of,
    rows_of,
    stories_of,
    traces,
)
from fonds.model.message import Subscription
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FaultRow,
    FetchedRow,
    FileMetaRow,
    HostFileRow,
    InputRow,
    TakedownRow,
)
from fonds.model.takedown import REDACTED
from fonds.ports import Blobs, Records, Stores
from fonds.ports.walking import walk_pages
from fonds.steps.intake.host_files import withdraw_files

NOTE_CHARACTERS_MAX = 500
ROUNDS_MAX = 3


@dataclass(frozen=True, slots=True)
class TakingDown:
    """Takes files down.

    `changes` is None without collections. `readers` read the topics, and messages may wait in their
    quarantine. `forget_views` removes the drawn pages of PDFs. With `everywhere`, the indexes of our WARCs
    are searched too, for WARCs that no row leads to.
    """

    stores: Stores
    changes: Changes | None
    readers: Sequence[Subscription]
    clock: Callable[[], datetime]
    warcs: WarcPurge
    forget_views: Callable[[Blobs], None]
    everywhere: bool = False

    def __call__(self, wanted: TakedownRow) -> TakedownRow:
        """Take one file down, or go on where it was broken off; the row as it stands then. `finished` is None
        while messages about the file are under way, or one of our WARCs that hold it cannot be written anew:
        it is said again when that is over."""
        records = self.stores.records
        # Before anything goes: from here on its bytes are refused, and its address is a tombstone.
        records.put([wanted], replace=False)
        (row,) = records.get(TakedownRow, [wanted.sha1hex])
        found = names_everywhere(self.stores.archive, row.sha1hex) if self.everywhere else ()
        warcs, left = set(found), None
        for _ in range(ROUNDS_MAX):
            row = self._noted(row, warcs)
            self._purge(row)
            left = traces(self.stores, self.changes.tables if self.changes else None, row.sha1hex)
            if not left.any or left.under_way:
                break
        row = self._purge_warcs(row)
        if left is None or left.any or left_of(row):
            return row
        ended = replace(row, rest={}, finished=self.clock())
        records.put([ended])
        return ended

    def _noted(self, row: TakedownRow, warcs: set[str]) -> TakedownRow:
        """The row with what leads to more than it names itself, before that goes."""
        records, sha1hex = self.stores.records, row.sha1hex
        documents = {
            *_documents(row),
            *documents_of(records, sha1hex),
            *stories_of(records, sha1hex),
        }
        names = warcs | names_of(self.stores, sha1hex)
        rest = {"documents": sorted(documents), "warcs": sorted(names)}
        row = replace(row, rest=rest, finished=None)
        records.put([row])
        return row

    def _purge_warcs(self, row: TakedownRow) -> TakedownRow:
        """The row with those of its WARCs that hold the file still."""
        for name in left_of(row):
            if self.warcs(row, name):
                left = [one for one in left_of(row) if one != name]
                row = replace(row, rest={**row.rest, "warcs": left})
                self.stores.records.put([row])
        return row

    def _purge(self, row: TakedownRow) -> None:
        stores, sha1hex = self.stores, row.sha1hex
        accept(stores, self.readers, Asked(keys=(sha1hex,)), self.clock, REDACTED)
        self._hide(row)
        self.forget_views(stores.blobs)
        stores.blobs.delete(blobs_of(stores.records, sha1hex))
        _forget_exchanges(stores, sha1hex)
        _redact(stores.records, sha1hex)
        for page in walk_pages(stores.table, stores.journal, row_key(sha1hex)):
            stores.table.delete(stores.journal, [key for key, _ in page])
        faults = stores.records.find(FaultRow, {"subject": sha1hex})
        stores.records.delete(FaultRow, [(one.subject, one.told) for one in faults])
        for files in chunks(stores.records.find(HostFileRow, {"sha1hex": sha1hex})):
            changed = withdraw_files(stores.records, files, self.clock())
            put_again(stores.records, stores.blobs, stores.index, sorted(changed))
        for some in chunks(rows_of(stores.records, sha1hex)):
            for table in dict.fromkeys(type(one) for one in some):
                keys = [key_of(one) for one in some if type(one) is table]
                stores.records.delete(table, keys)
        self._show_others(row)

    def _hide(self, row: TakedownRow) -> None:
        """Out of the index and of all collections. The document of a story goes too where an earlier version
        in it is this file; it is put again without."""
        found = self.stores.index.get(_documents(row))
        held = [
            id_
            for id_, one in found.items()
            if row.sha1hex in (one.sha1hex, *(version.sha1hex for version in one.earlier))
        ]
        self.stores.index.delete(held)
        if self.changes is not None:
            ids = documents_of(self.stores.records, row.sha1hex)
            for name in holders(self.changes.tables, ids):
                self.changes.delete(name, ids)

    def _show_others(self, row: TakedownRow) -> None:
        """Of a story another version is shown now, where there is one, without this file's text."""
        stores = self.stores
        for _, one in indexed_kinds():
            current = list(one.current(stores.records, _documents(row)).values())
            for document in whole_documents(one, stores.records, stores.blobs, current):
                stores.index.put([document])


def _documents(row: TakedownRow) -> list[str]:
    found: Any = row.rest.get("documents", [])
    return [str(one) for one in found]


def _captures(records: Records, sha1hex: str) -> Iterable[str]:
    """The ids of all captures of a file; of one that entered it is the entry's."""
    yield from (row.capture_id for row in records.find(CdxRow, {"sha1hex": sha1hex}))
    yield from (row.capture_id for row in records.get(FileMetaRow, [sha1hex]))


def _forget_exchanges(stores: Stores, sha1hex: str) -> None:
    """What was fetched, and lies in the spool."""
    for ids in chunks(iter(_captures(stores.records, sha1hex))):
        stores.blobs.delete([spool_key(one) for one in ids])
        stores.records.delete(FetchedRow, sorted(set(ids)))


def _redact(records: Records, sha1hex: str) -> None:
    """The books keep how everything ended, and no more what it was: entries first, by which inputs are found,
    the messages that lead to both last."""
    for ids in chunks(iter(_captures(records, sha1hex))):
        _redact_entries(records, ids)
    for some in chunks(records.find(DispositionRow, {"about": sha1hex})):
        _redact_entries(records, [row.entry_id for row in some])
        ended = [key_of(row) for row in some if not row.is_open]
        records.change(DispositionRow, ended, {"about": None, "detail": REDACTED})


def _redact_entries(records: Records, entry_ids: Sequence[str]) -> None:
    rows = list(records.find(EntryRow, {"entry_id": sorted(set(entry_ids))}))
    said = {"url": REDACTED, "place": None, "about": None, "detail": REDACTED}
    records.change(EntryRow, [key_of(row) for row in rows], said)
    for input_id in sorted({row.input_id for row in rows}):
        of_input = {"input_id": input_id}
        total = records.count(EntryRow, (), of_input)[()]
        if total == records.count(EntryRow, (), {**of_input, "url": REDACTED})[()]:
            inputs = list(records.find(InputRow, of_input))
            records.change(InputRow, [key_of(row) for row in inputs], {"path": REDACTED})
            # Why reading ended early is told with the path.
            broken = [key_of(row) for row in inputs if row.error is not None]
            records.change(InputRow, broken, {"error": REDACTED})
