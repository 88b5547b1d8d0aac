"""A process writes a change and deletes its redo row only while it has the lease."""

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

OTHER_LEASE = LeaseRow(name_collection_lease(NEWS), "another:1:x", 99)


def test_a_process_without_its_lease_writes_no_change(store: CollectionStore) -> None:
    """Otherwise its change would have the number that the next process uses."""
    store.writer.put(NEWS, themed_documents(3))
    leases = store.writer.leases
    with leases.acquire(name_collection_lease(NEWS), 0.0) as lease:
        lease.lost.set()
        with pytest.raises(LeaseConflictError):
            perform(store.tables, NEWS, {}, ["d0"], PendingWrites(), leases, lease)
    assert list(store.tables.iter_rows(CHANGES, NEWS.row)) == []
    assert find_faults(store.tables, NEWS) == []


@dataclass
class WatchedTable:
    """A wide table that calls `on_write` after each write to one of its tables."""

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
def lose_lease_after_write(
    store: CollectionStore, table: str
) -> Iterator[tuple[Tables, Leases, Any]]:
    """Yield the arguments of `perform`. Another process takes the lease right after a write to `table`."""
    leases = store.writer.leases
    with leases.acquire(name_collection_lease(NEWS), 0.0) as lease:

        def lose() -> None:
            store.records.put([OTHER_LEASE])
            leases.renew(lease)

        yield Tables(WatchedTable(store.tables.store, table, lose)), leases, lease


def get_redo_row(store: CollectionStore, sequence: int) -> dict[str, bytes] | None:
    return store.tables.get_row(CHANGES, build_change_row(NEWS, sequence))


def build_change(store: CollectionStore, id_: str) -> tuple[dict[str, bytes], PendingWrites]:
    """Return the cells of the collection and a change of one document."""
    cells = dict(store.tables.get_row(COLLECTIONS, NEWS.row, ["main:"]) or {})
    writes = PendingWrites()
    writes.put(DOCUMENTS, NEWS.build_document_row(id_), {"main:title": b"changed"})
    return cells, writes


def test_a_lease_lost_during_a_change_leaves_its_redo_row_to_the_next_holder(
    store: CollectionStore,
) -> None:
    store.writer.put(NEWS, themed_documents(3))
    cells, writes = build_change(store, "d0")
    with (
        lose_lease_after_write(store, DOCUMENTS) as (tables, leases, lease),
        pytest.raises(LeaseConflictError),
    ):
        perform(tables, NEWS, cells, ["d0"], writes, leases, lease)
    assert "main:redo" in (get_redo_row(store, 2) or {})
    store.records.delete(LeaseRow, [OTHER_LEASE.name])
    store.writer.put(NEWS, themed_documents(1, seed=2))
    assert find_faults(store.tables, NEWS) == []


def test_a_lease_lost_after_a_change_leaves_its_redo_row_to_the_next_holder(
    store: CollectionStore,
) -> None:
    """The next holder can be using the redo row, so a process without the lease does not delete it."""
    store.writer.put(NEWS, themed_documents(3))
    cells, writes = build_change(store, "d0")
    with lose_lease_after_write(store, COLLECTIONS) as (tables, leases, lease):
        assert perform(tables, NEWS, cells, ["d0"], writes, leases, lease) == 2
        assert lease.lost.is_set()
    assert "main:redo" in (get_redo_row(store, 2) or {})
    store.records.delete(LeaseRow, [OTHER_LEASE.name])
    store.writer.put(NEWS, themed_documents(1, seed=2))
    assert get_redo_row(store, 2) is None
    assert find_faults(store.tables, NEWS) == []
