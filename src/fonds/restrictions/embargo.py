"""Embargoes: hide files until a date without removing them, then show them again.

To hide a file, the row in `embargoes` is written first. From then on the index refuses its
documents and readers do not see its rows. Then its documents are removed from the index and from
collections. To show the file again, the row first says that it is no longer hidden, then everything
is restored, then the row says that the embargo ended. An interrupted call can be repeated.
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
    """Service that hides files. `changes` is None without collections; `clock` returns aware UTC."""

    stores: Stores
    changes: CollectionWriter | None
    clock: Callable[[], datetime]

    def hide(self, embargo: EmbargoRow) -> EmbargoRow:
        """Hide one file, or change the date of its embargo. Return the new row.

        The file may be unknown. Its bytes are then accepted later, and stay hidden.
        """
        row = replace(embargo, lifting=None, ended=None)
        self.stores.records.put([row])
        self._apply_row(row.sha1hex)
        return row

    def lift(self, sha1hex: str) -> bool:
        """Show one file again, before or after its date.

        Return whether there was an embargo to lift.
        """
        records = self.stores.records
        records.change(EmbargoRow, [sha1hex], {"lifting": self.clock()}, {"lifting": None})
        row = next(iter(records.get(EmbargoRow, [sha1hex])), None)
        if row is None or row.ended is not None:
            return False
        self._apply_row(sha1hex)
        # If the file is hidden again meanwhile, the row has another `lifting` time and is ended
        # later.
        records.change(EmbargoRow, [sha1hex], {"ended": self.clock()}, {"lifting": row.lifting})
        return True

    def lift_due(self, should_stop: Callable[[], bool] = lambda: False) -> int:
        """Lift expired embargoes and resume interrupted lifts. Return the number of files.

        Stops between two files when `should_stop` returns true.
        """
        count = 0
        for row in iter_due_embargoes(self.stores, self.clock()):
            if should_stop():
                break
            count += self.lift(row.sha1hex)
        return count

    def _apply_row(self, sha1hex: str) -> None:
        """Bring index and collections in line with the row, even if it changes meanwhile."""
        _reindex_file(self.stores, sha1hex)
        if self.changes is None:
            return
        stores = self.stores
        if not find_active_embargoes(stores.records, [sha1hex]):
            restore_documents(self.changes, stores.blobs, sha1hex)
        if find_active_embargoes(stores.records, [sha1hex]):
            withhold_documents(self.changes, stores.blobs, stores.records, sha1hex)


def iter_active_embargoes(stores: Stores) -> Iterator[EmbargoRow]:
    """Yield the embargoes in force and those not fully lifted, by SHA-1; streamed."""
    yield from stores.records.find(EmbargoRow, {"ended": None})


def iter_due_embargoes(stores: Stores, now: datetime) -> Iterator[EmbargoRow]:
    """Yield the embargoes that have expired or were not fully lifted."""
    return (
        row for row in iter_active_embargoes(stores) if row.until <= now or row.lifting is not None
    )


def _reindex_file(stores: Stores, sha1hex: str) -> None:
    """Reindex the file's documents.

    A story shows its newest visible version and the texts of visible earlier ones.
    """
    for kind, indexed in indexed_kinds():
        ids = sorted(
            {indexed.get_id(row) for row in stores.records.find(kind.row, {"sha1hex": sha1hex})}
        )
        if ids:
            index_documents_by_id(stores.records, stores.blobs, stores.index, indexed, ids)
