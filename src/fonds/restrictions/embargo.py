"""Hides files until a date without removing them, and shows them again.

The row of `embargoes` says so first: from then on the index takes none of their documents and readers are
shown none of their rows. What is in the index and in collections goes behind it. Showing is the same the
other way round: first the row says that the file is hidden no more, then everything comes back, then the
row says that it did. Whoever is killed in between says it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from fonds.derivatives.index_update import index_documents_by_id
from fonds.derivatives.kinds import indexed_kinds
from fonds.derivatives.visibility import find_active_embargoes
from fonds.grouping.changes.writer import CollectionWriter
from fonds.model.rows import EmbargoRow
from fonds.ports import Stores
from fonds.restrictions.hidden_documents import restore_documents, withhold_documents


@dataclass(frozen=True, slots=True)
class EmbargoService:
    """What hides files. `changes`: None where there are no collections; `clock` gives aware UTC."""

    stores: Stores
    changes: CollectionWriter | None
    clock: Callable[[], datetime]

    def hide(self, embargo: EmbargoRow) -> EmbargoRow:
        """Hide one file, or say anew until when; the row as it stands then. The file need not be here yet:
        its bytes are taken in, and stay hidden."""
        row = replace(embargo, lifting=None, ended=None)
        self.stores.records.put([row])
        self._apply_row(row.sha1hex)
        return row

    def lift(self, sha1hex: str) -> bool:
        """Show one file again, before its date or behind it; whether there was anything to lift."""
        records = self.stores.records
        records.change(EmbargoRow, [sha1hex], {"lifting": self.clock()}, {"lifting": None})
        row = next(iter(records.get(EmbargoRow, [sha1hex])), None)
        if row is None or row.ended is not None:
            return False
        self._apply_row(sha1hex)
        # Who hides it again meanwhile has a row of another time, and ends later.
        records.change(EmbargoRow, [sha1hex], {"ended": self.clock()}, {"lifting": row.lifting})
        return True

    def lift_due(self, should_stop: Callable[[], bool] = lambda: False) -> int:
        """Lift what is due, and go on with what was broken off; how many files. It leaves off, between two
        files, when `should_stop`."""
        count = 0
        for row in iter_due_embargoes(self.stores, self.clock()):
            if should_stop():
                break
            count += self.lift(row.sha1hex)
        return count

    def _apply_row(self, sha1hex: str) -> None:
        """Bring index and collections to what the row says, whoever changes that meanwhile."""
        _reindex_file(self.stores, sha1hex)
        if self.changes is None:
            return
        stores = self.stores
        if not find_active_embargoes(stores.records, [sha1hex]):
            restore_documents(self.changes, stores.blobs, sha1hex)
        if find_active_embargoes(stores.records, [sha1hex]):
            withhold_documents(self.changes, stores.blobs, stores.records, sha1hex)


def iter_active_embargoes(stores: Stores) -> Iterator[EmbargoRow]:
    """What is hidden now, and what is not wholly back in its place yet, by SHA-1; streamed."""
    yield from stores.records.find(EmbargoRow, {"ended": None})


def iter_due_embargoes(stores: Stores, now: datetime) -> Iterator[EmbargoRow]:
    """What is to be lifted now, or was not lifted to the end."""
    return (
        row for row in iter_active_embargoes(stores) if row.until <= now or row.lifting is not None
    )


def _reindex_file(stores: Stores, sha1hex: str) -> None:
    """The file's documents as they are to be now; of a story that has other versions the newest shown, with
    the texts of earlier ones that are shown."""
    for kind, one in indexed_kinds():
        ids = sorted(
            {one.get_id(row) for row in stores.records.find(kind.row, {"sha1hex": sha1hex})}
        )
        if ids:
            index_documents_by_id(stores.records, stores.blobs, stores.index, one, ids)
