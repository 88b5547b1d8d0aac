"""A change is written, and its redo row removed, only while its process has the lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from fonds.grouping.names import name_collection_lease
from fonds.grouping.redo_log import PendingWrites, build_change_row, perform
from fonds.grouping.tables import CHANGES, COLLECTIONS, DOCUMENTS, Tables
from fonds.leases.lease import LeaseConflictError
from fonds.leases.leases import Leases
from fonds.model.rows import LeaseRow
from kept_collections import NEWS, CollectionStore, find_faults, themed_documents

OTHER = LeaseRow(name_collection_lease(NEWS), "another:1:x", 99)


def test_a_process_that_lost_its_lease_writes_no_change_down(kept: CollectionStore) -> None:
    """Otherwise its change would stand under the number that the next process gives to its own."""
    kept.changes.put(NEWS, themed_documents(3))
    leases = kept.changes.leases
    with leases.acquire(name_collection_lease(NEWS), 0.0) as lease:
        lease.lost.set()
        with pytest.raises(LeaseConflictError):
            perform(kept.tables, NEWS, {}, ["d0"], PendingWrites(), leases, lease)
    assert list(kept.tables.iter_rows(CHANGES, NEWS.row)) == []
    assert find_faults(kept.tables, NEWS) == []


@dataclass
class WatchedTable:
    """A wide table that reports each write to one of its tables, once it is done."""

    store: Any
    table: str
    on_write: Callable[[], None]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def put(self, table: str, *args: Any) -> None:
        self.store.put(table, *args)
        if table == self.table:
            self.on_write()


@contextmanager
def losing_the_lease(kept: CollectionStore, table: str) -> Iterator[tuple[Tables, Leases, Any]]:
    """What `perform` needs; another process takes the lease right after a write to `table`."""
    leases = kept.changes.leases
    with leases.acquire(name_collection_lease(NEWS), 0.0) as lease:

        def lose() -> None:
            kept.records.put([OTHER])
            leases.renew(lease)

        yield Tables(WatchedTable(kept.tables.store, table, lose)), leases, lease


def redo_row(kept: CollectionStore, sequence: int) -> dict[str, bytes] | None:
    return kept.tables.get_row(CHANGES, build_change_row(NEWS, sequence))


def change_of(kept: CollectionStore, id_: str) -> tuple[dict[str, bytes], PendingWrites]:
    """The cells of the collection, and a change of one document."""
    cells = dict(kept.tables.get_row(COLLECTIONS, NEWS.row, ["main:"]) or {})
    writes = PendingWrites()
    writes.put(DOCUMENTS, NEWS.build_document_row(id_), {"main:title": b"changed"})
    return cells, writes


def test_a_lease_lost_during_a_change_leaves_its_redo_row_to_the_next_holder(
    kept: CollectionStore,
) -> None:
    kept.changes.put(NEWS, themed_documents(3))
    cells, writes = change_of(kept, "d0")
    with (
        losing_the_lease(kept, DOCUMENTS) as (tables, leases, lease),
        pytest.raises(LeaseConflictError),
    ):
        perform(tables, NEWS, cells, ["d0"], writes, leases, lease)
    assert "main:redo" in (redo_row(kept, 2) or {})
    kept.records.delete(LeaseRow, [OTHER.name])
    kept.changes.put(NEWS, themed_documents(1, seed=2))
    assert find_faults(kept.tables, NEWS) == []


def test_a_lease_lost_after_a_change_leaves_its_redo_row_to_the_next_holder(
    kept: CollectionStore,
) -> None:
    """The change is done, and the next holder may be at its redo row: who lost the lease removes nothing."""
    kept.changes.put(NEWS, themed_documents(3))
    cells, writes = change_of(kept, "d0")
    with losing_the_lease(kept, COLLECTIONS) as (tables, leases, lease):
        assert perform(tables, NEWS, cells, ["d0"], writes, leases, lease) == 2
        assert lease.lost.is_set()
    assert "main:redo" in (redo_row(kept, 2) or {})
    kept.records.delete(LeaseRow, [OTHER.name])
    kept.changes.put(NEWS, themed_documents(1, seed=2))
    assert redo_row(kept, 2) is None
    assert find_faults(kept.tables, NEWS) == []
