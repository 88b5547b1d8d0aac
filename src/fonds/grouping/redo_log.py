"""Redo log of collection changes: each change is logged before it is applied.

A change is a batch of added or deleted documents. It writes to several tables, which cannot be
written atomically. The holder of a collection's lease therefore
1. logs all writes in the table `changes`, under the next change number,
2. applies them,
3. records the change number in the collection's row (`main:sequence`).

If the holder dies, the next holder applies the change again. Repeating it is safe because the log
holds final values, not differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from fonds.grouping.checksums import build_changed_checksum_cell, sum_rows
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import (
    CHANGES,
    COLLECTIONS,
    EXCLUSIONS,
    THEMES,
    Cells,
    Tables,
    decode_cell,
    decode_int,
    encode_utf8,
)
from fonds.leases.lease import Lease
from fonds.leases.leases import Leases
from fonds.model.checksums import format_checksum, parse_checksum
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError

T = TypeVar("T")

REDO_MAX_BYTES = 9_000_000
"""Maximum size of a logged change; HBase accepts 10 MB per cell."""

_SEQUENCE_BYTES = 8


@dataclass(frozen=True, slots=True)
class IndexState:
    """State of the inverted index of a collection, which is used to find near-duplicates.

    - `timestamp`: timestamp of the clustering to which the index belongs.
    - `last_change`: number of the last collection change that the index certainly includes.
    - `language`: two-letter language assumed for texts that state none.
    - `checksum`: checksum of these values and of the ids of the indexed documents.
    """

    timestamp: int
    last_change: int
    language: str
    checksum: str = ""


def parse_index_state(cells: Cells) -> IndexState | None:
    """Return the state of a collection's inverted index from the cells of the collection's row.

    Return None if the collection has no complete index.
    """
    state_json = cells.get(Column.INDEXED)
    return decode_cell(state_json, Column.INDEXED, IndexState) if state_json else None


def build_index_cells(state: IndexState) -> dict[str, bytes]:
    """Return the cell for a collection's row with the state of its inverted index."""
    return {Column.INDEXED: msgspec.json.encode(state)}


@dataclass(slots=True)
class PendingWrites:
    """Writes to several tables that are not applied yet.

    - `removed`: by table and row key, the columns to remove; None removes the whole row.
    - `puts`: by table and row key, the cells to write. They are written after the removals.
    """

    removed: dict[str, dict[bytes, list[str] | None]] = field(default_factory=dict)
    puts: dict[str, dict[bytes, dict[str, bytes]]] = field(default_factory=dict)

    def put(self, table: str, row: bytes, cells: Cells) -> None:
        """Plan to write cells to a row. Planned removals in the row stay and are applied first."""
        self.puts.setdefault(table, {}).setdefault(row, {}).update(cells)

    def remove(self, table: str, row: bytes) -> None:
        """Plan to remove a row, and cancel the cells planned for it so far."""
        self.removed.setdefault(table, {})[row] = None
        self.puts.get(table, {}).pop(row, None)

    def remove_cell(self, table: str, row: bytes, column: str) -> None:
        """Plan to remove one cell of a row, and cancel a value planned for the cell so far."""
        self.puts.get(table, {}).get(row, {}).pop(column, None)
        names = self.removed.setdefault(table, {}).setdefault(row, [])
        if names is not None:
            names.append(column)

    def apply(
        self, tables: Tables, leases: Leases | None = None, lease: Lease | None = None
    ) -> None:
        """Apply the planned writes to the tables, removals first.

        `leases`, `lease`: lease to check before each table is written; None for no check.
        Raises LeaseConflictError if the lease may have expired; later writes are then not applied.
        """
        for table, rows in self.removed.items():
            _check(leases, lease)
            tables.delete(table, [row for row, names in rows.items() if names is None])
            for row, names in rows.items():
                if names is not None:
                    _remove_cells(tables, table, row, names)
        for table, cells_by_row in self.puts.items():
            _check(leases, lease)
            tables.put(table, list(cells_by_row.items()))


@dataclass(frozen=True, slots=True)
class _RedoRecord:
    """Writes of one logged change, as stored in a row of the table `changes`.

    `removed`: by table, the row keys with the columns to remove; None removes the whole row.
    `puts`: by table, the row keys with the cells to write.
    """

    removed: dict[str, list[tuple[bytes, list[str] | None]]]
    puts: dict[str, list[tuple[bytes, dict[str, bytes]]]]


def perform(
    tables: Tables,
    name: CollectionName,
    cells: Mapping[str, bytes],
    ids: Sequence[str],
    writes: PendingWrites,
    leases: Leases,
    lease: Lease,
) -> int:
    """Log a collection change, apply it and record its completion. Return the change's number.

    `cells`: cells of the collection's row.
    `ids`: ids of the documents that the change affects.
    `writes`: all writes of the change.
    Raises LimitError for a change over 9 MB. Raises LeaseConflictError if the lease may have
    expired.
    """
    _add_checksums(tables, name, cells, writes)
    sequence = decode_int(cells, Column.SEQUENCE) + 1
    redo = _encode_writes(writes)
    leases.check(lease)
    row = build_change_row(name, sequence)
    tables.put(CHANGES, [(row, {Column.REDO: redo, Column.IDS: msgspec.msgpack.encode(list(ids))})])
    _finish(tables, name, sequence, writes, leases, lease)
    if not leases.is_held(lease):
        # The next lease holder may be reading the logged change now. It is already applied, and a
        # later change deletes it.
        return sequence
    if find_last_removable(cells, sequence) == sequence:
        remove_changes(tables, name, sequence)
    else:
        tables.delete(CHANGES, [row], [Column.REDO])
    return sequence


def recover(
    tables: Tables, name: CollectionName, cells: Mapping[str, bytes], leases: Leases, lease: Lease
) -> bool:
    """Complete the logged change that a previous lease holder did not complete, if any.

    Return whether there was such a change.
    `cells`: cells of the collection's row.
    Raises LeaseConflictError if the lease may have expired.
    """
    sequence = decode_int(cells, Column.SEQUENCE) + 1
    row = tables.get_row(CHANGES, build_change_row(name, sequence), [Column.REDO])
    if row is None:
        return False
    _finish(tables, name, sequence, _decode_writes(row[Column.REDO]), leases, lease)
    return True


def list_changed_ids(
    tables: Tables, name: CollectionName, after: int, last_change: int | None = None
) -> tuple[list[str], int]:
    """Return the ids of documents in logged changes, and the number of the last change read.

    Each id is listed once, in the order of its first change.
    `after`: number of the change after which to start. If no change follows, it is also the number
        returned.
    `last_change`: number of the last change to include; None for no limit.
    """
    ids: dict[str, None] = {}
    last = after
    for row, cells in tables.iter_rows(
        CHANGES, name.row, [Column.IDS], after=build_change_row(name, after)
    ):
        number_ = int.from_bytes(row[-_SEQUENCE_BYTES:], "big")
        if last_change is not None and number_ > last_change:
            break
        last = number_
        ids.update(
            dict.fromkeys(decode_cell(cells[Column.IDS], Column.IDS, list[str], is_packed=True))
        )
    return list(ids), last


def remove_changes(tables: Tables, name: CollectionName, last_change: int) -> None:
    """Delete the logged changes of a collection up to the change number `last_change`.

    The caller must know that no rebuild needs them any more.
    """
    rows = []
    for row, _ in tables.iter_rows(CHANGES, name.row, [Column.IDS]):
        if int.from_bytes(row[-_SEQUENCE_BYTES:], "big") > last_change:
            break
        rows.append(row)
    tables.delete(CHANGES, rows)


def find_last_removable(cells: Cells, last: int) -> int:
    """Return the number of the last logged change that can be deleted, at most `last`.

    Return 0 if none can be deleted. A rebuild in progress needs all logged changes. The search for
    near-duplicates needs the changes that the collection's inverted index does not include.
    `cells`: cells of the collection's row.
    """
    if is_followed(cells):
        return 0
    if any(name.endswith(":rebuilt") and value for name, value in cells.items()):
        index_state = parse_index_state(cells)
        return 0 if index_state is None else min(index_state.last_change, last)
    return last


def is_followed(cells: Cells) -> bool:
    """Return whether any clustering of a collection is being built.

    While one is being built, the logged changes of the collection must be kept for it.
    `cells`: cells of the collection's row.
    """
    return any(name.endswith(":building") and value for name, value in cells.items())


def build_change_row(name: CollectionName, sequence: int) -> bytes:
    """Return the row key of a logged change in the table `changes`.

    It is the collection's row key (f3) and the change number in eight bytes, big-endian.
    """
    return name.row + sequence.to_bytes(_SEQUENCE_BYTES, "big")


def _add_checksums(
    tables: Tables, name: CollectionName, cells: Cells, writes: PendingWrites
) -> None:
    """Add to `writes` the checksum of the collection's row, and the sum over its curation.

    Both are final values like all others of a change, so that a change can be applied twice.
    `cells`: cells of the collection's row before the change.
    """
    if Column.NAMESPACE not in cells:
        cells = {}
    if difference := sum(_sum_difference(tables, table, writes) for table in (EXCLUSIONS, THEMES)):
        total = parse_checksum(cells.get(Column.CURATION)) + difference
        writes.put(COLLECTIONS, name.row, {Column.CURATION: format_checksum(total)})
    changed_cells = writes.puts.get(COLLECTIONS, {}).get(name.row, {})
    checksum_cell = build_changed_checksum_cell(COLLECTIONS, name.row, cells, changed_cells)
    if checksum_cell:
        writes.put(COLLECTIONS, name.row, checksum_cell)


def _sum_difference(tables: Tables, table: str, writes: PendingWrites) -> int:
    """Return by how much the planned writes change the sum of the hashes of a table's rows."""
    removed, puts = writes.removed.get(table, {}), writes.puts.get(table, {})
    rows = tables.get_rows(table, [*{**removed, **puts}], [MAIN_FAMILY])
    difference = -sum_rows(rows.items())
    for row, columns in removed.items():
        kept_cells = rows.pop(row, {})
        rows[row] = (
            {}
            if columns is None
            else {column: value for column, value in kept_cells.items() if column not in columns}
        )
    for row, cells in puts.items():
        rows[row] = rows.get(row, {}) | cells
    return difference + sum_rows(rows.items())


def _finish(
    tables: Tables,
    name: CollectionName,
    sequence: int,
    writes: PendingWrites,
    leases: Leases,
    lease: Lease,
) -> None:
    collection_cells = writes.puts.pop(COLLECTIONS, {}).get(name.row, {})
    writes.apply(tables, leases, lease)
    leases.check(lease)
    tables.put(
        COLLECTIONS, [(name.row, {**collection_cells, Column.SEQUENCE: encode_utf8(sequence)})]
    )


def _encode_writes(writes: PendingWrites) -> bytes:
    redo = _RedoRecord(
        {table: list(rows.items()) for table, rows in writes.removed.items()},
        {table: list(rows.items()) for table, rows in writes.puts.items()},
    )
    encoded_writes = msgspec.msgpack.encode(redo)
    if len(encoded_writes) > REDO_MAX_BYTES:
        raise LimitError(
            Reason.TOO_LARGE,
            f"a change of {len(encoded_writes):,} bytes is too large. Put fewer documents at once",
        )
    return encoded_writes


def _decode_writes(redo: bytes) -> PendingWrites:
    record = decode_cell(redo, Column.REDO, _RedoRecord, is_packed=True)
    return PendingWrites(
        {table: dict(rows) for table, rows in record.removed.items()},
        {table: dict(rows) for table, rows in record.puts.items()},
    )


def _remove_cells(tables: Tables, table: str, row: bytes, names: Sequence[str]) -> None:
    for start in range(0, len(names), 1000):
        tables.delete(table, [row], names[start : start + 1000])


def _check(leases: Leases | None, lease: Lease | None) -> None:
    if leases is not None and lease is not None:
        leases.check(lease)


def iter_chunks(ids: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Iterate over a sequence in consecutive slices of at most `size` items."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
