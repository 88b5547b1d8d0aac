"""Embargoes: hide files from readers until a date without deleting them, then show them again.

To hide a file, the row in the table `embargoes` is written first. From then on the index refuses
documents of the file, and readers do not see its rows. Then its documents are deleted from the
index and from collections. To show the file again, the row first says that the file is no longer
hidden, then everything is restored, then the row says that the embargo has ended. An interrupted
call can be repeated.
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
    """Service that hides files under embargo and shows them again.

    - `stores`: stores of the library.
    - `collection_writer`: writer of collections; None if the library has no collections.
    - `clock`: function that returns the current time in UTC.
    """

    stores: Stores
    collection_writer: CollectionWriter | None
    clock: Callable[[], datetime]

    def hide(self, embargo: EmbargoRow) -> EmbargoRow:
        """Hide one file, or change the end of its embargo. Return the stored row of `embargoes`.

        The library need not have the file. If its bytes are ingested later, they are hidden at
        once.
        """
        row = replace(embargo, lifting=None, ended=None)
        self.stores.records.put([row])
        self._apply_row(row.sha1hex)
        return row

    def lift(self, sha1hex: str) -> bool:
        """End the embargo of one file, before or after its date, and show the file again.

        Return whether there was an embargo to end.
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
        """End the embargoes that have expired, and resume those whose end was interrupted.

        Return the number of files shown again. `should_stop` is called between two files; True ends
        the call early.
        """
        count = 0
        for row in iter_due_embargoes(self.stores, self.clock()):
            if should_stop():
                break
            count += self.lift(row.sha1hex)
        return count

    def _apply_row(self, sha1hex: str) -> None:
        """Make index and collections agree with the stored embargo of a file.

        The embargo is read again after changes, because another process may have changed it.
        """
        _reindex_file(self.stores, sha1hex)
        if self.collection_writer is None:
            return
        stores = self.stores
        if not find_active_embargoes(stores.records, [sha1hex]):
            restore_documents(self.collection_writer, stores.blobs, sha1hex)
        if find_active_embargoes(stores.records, [sha1hex]):
            withhold_documents(self.collection_writer, stores.blobs, stores.records, sha1hex)


def iter_active_embargoes(stores: Stores) -> Iterator[EmbargoRow]:
    """Yield the embargoes that have not ended completely, in order of SHA-1. Rows are streamed."""
    yield from stores.records.find(EmbargoRow, {"ended": None})


def iter_due_embargoes(stores: Stores, now: datetime) -> Iterator[EmbargoRow]:
    """Yield the embargoes that have expired, and those whose end was interrupted."""
    return (
        row for row in iter_active_embargoes(stores) if row.until <= now or row.lifting is not None
    )


def _reindex_file(stores: Stores, sha1hex: str) -> None:
    """Rebuild the index documents that contain a file.

    The document of a story shows its newest visible version, with the texts of visible earlier
    versions.
    """
    for kind, indexed_kind in indexed_kinds():
        ids = sorted(
            {
                indexed_kind.get_id(row)
                for row in stores.records.find(kind.row, {"sha1hex": sha1hex})
            }
        )
        if ids:
            index_documents_by_id(stores.records, stores.blobs, stores.index, indexed_kind, ids)
