"""A change of a collection, written down whole before any of it is done, so that it is done whole.

Rows in several tables cannot be written at once. The holder of a collection's lease first writes what is to
be written into the table `changes`, under the next number; then does it; then the collection's row says
so (`main:sequence`). Who comes after one that died does it again: all values are absolute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from fonds.grouping.names import CollectionName
from fonds.grouping.tables import (
    CHANGES,
    COLLECTIONS,
    Cells,
    Tables,
    decode_int,
    encode_utf8,
)
from fonds.leases.lease import Lease
from fonds.leases.leases import Leases
from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import LimitError

T = TypeVar("T")

SEQUENCE = "main:sequence"
INDEXED = "main:indexed"
"""What the inverted index of a collection is of; empty while it is written."""

REDO_MAX_BYTES = 9_000_000
"""HBase takes 10 MB a cell."""

_REDO = "main:redo"
_IDS = "main:ids"
_SEQUENCE_BYTES = 8


@dataclass(frozen=True, slots=True)
class IndexState:
    """The clustering an inverted index is of; the number of the last change it has for certain; the
    language of texts that say none."""

    timestamp: int
    last_change: int
    language: str


def parse_index_state(cells: Cells) -> IndexState | None:
    """What the index of a collection is of, by its row; None while it has none."""
    told = cells.get(INDEXED)
    return msgspec.json.decode(told, type=prepare_type(IndexState)) if told else None


def build_index_cells(state: IndexState) -> dict[str, bytes]:
    """The cell that says what an index is of."""
    return {INDEXED: msgspec.json.encode(state)}


@dataclass(slots=True)
class PendingWrites:
    """What is to be written to each table: cells and rows to be removed, then cells to be put."""

    removed: dict[str, dict[bytes, list[str] | None]] = field(default_factory=dict)
    puts: dict[str, dict[bytes, dict[str, bytes]]] = field(default_factory=dict)

    def put(self, table: str, row: bytes, cells: Cells) -> None:
        """Write these cells; what was to be removed of the same row stays removed."""
        self.puts.setdefault(table, {}).setdefault(row, {}).update(cells)

    def remove(self, table: str, row: bytes) -> None:
        """Remove the row; what was to be put into it is not."""
        self.removed.setdefault(table, {})[row] = None
        self.puts.get(table, {}).pop(row, None)

    def remove_cell(self, table: str, row: bytes, column: str) -> None:
        """Remove one cell."""
        self.puts.get(table, {}).get(row, {}).pop(column, None)
        names = self.removed.setdefault(table, {}).setdefault(row, [])
        if names is not None:
            names.append(column)

    def apply(
        self, tables: Tables, leases: Leases | None = None, lease: Lease | None = None
    ) -> None:
        """Do it. Raises LeaseConflictError when the lease may be another's by now, before the next write."""
        for table, rows in self.removed.items():
            _check(leases, lease)
            tables.delete(table, [row for row, names in rows.items() if names is None])
            for row, names in rows.items():
                if names is not None:
                    _remove_cells(tables, table, row, names)
        for table, put in self.puts.items():
            _check(leases, lease)
            tables.put(table, list(put.items()))


@dataclass(frozen=True, slots=True)
class _RedoRecord:
    """What a row of `changes` holds."""

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
    """Write a change down, do it, and say that it is done; its number. `cells` is the collection's row.

    `ids` are the documents it is about. Raises LimitError for a change of over 9 MB.
    """
    sequence = decode_int(cells, SEQUENCE) + 1
    redo = _encode_writes(writes)
    leases.check(lease)
    row = build_change_row(name, sequence)
    tables.put(CHANGES, [(row, {_REDO: redo, _IDS: msgspec.msgpack.encode(list(ids))})])
    _finish(tables, name, sequence, writes, leases, lease)
    if not leases.is_held(lease):
        # The next holder may read the change now. It is done, and removed with a later one.
        return sequence
    if find_oldest_needed(cells, sequence) == sequence:
        remove_changes(tables, name, sequence)
    else:
        tables.delete(CHANGES, [row], [_REDO])
    return sequence


def recover(
    tables: Tables, name: CollectionName, cells: Mapping[str, bytes], leases: Leases, lease: Lease
) -> bool:
    """Do what somebody wrote down and did not finish; whether there was anything."""
    sequence = decode_int(cells, SEQUENCE) + 1
    left = tables.get_row(CHANGES, build_change_row(name, sequence), [_REDO])
    if left is None:
        return False
    _finish(tables, name, sequence, _decode_writes(left[_REDO]), leases, lease)
    return True


def list_changed_ids(
    tables: Tables, name: CollectionName, after: int, last_change: int | None = None
) -> tuple[list[str], int]:
    """The ids of documents changed since the change `after`, up to that of `last_change`, each once, and
    the last one's number."""
    ids: dict[str, None] = {}
    last = after
    for row, cells in tables.iter_rows(
        CHANGES, name.row, [_IDS], after=build_change_row(name, after)
    ):
        number_ = int.from_bytes(row[-_SEQUENCE_BYTES:], "big")
        if last_change is not None and number_ > last_change:
            break
        last = number_
        ids.update(dict.fromkeys(msgspec.msgpack.decode(cells[_IDS], type=list[str])))
    return list(ids), last


def remove_changes(tables: Tables, name: CollectionName, last_change: int) -> None:
    """Changes up to this number are needed by nobody any more."""
    rows = []
    for row, _ in tables.iter_rows(CHANGES, name.row, [_IDS]):
        if int.from_bytes(row[-_SEQUENCE_BYTES:], "big") > last_change:
            break
        rows.append(row)
    tables.delete(CHANGES, rows)


def find_oldest_needed(cells: Cells, last: int) -> int:
    """Up to which change, of those up to `last`, nobody needs to know what changed any more: who builds a
    clustering does, and who looks for near-duplicates of what came after the index was made."""
    if is_followed(cells):
        return 0
    if any(name.endswith(":rebuilt") and value for name, value in cells.items()):
        told = parse_index_state(cells)
        return 0 if told is None else min(told.last_change, last)
    return last


def is_followed(cells: Cells) -> bool:
    """Whether a clustering is being built of the collection, so that changes have to be kept for it."""
    return any(name.endswith(":building") and value for name, value in cells.items())


def build_change_row(name: CollectionName, sequence: int) -> bytes:
    """The row of a change: f3, its number in eight bytes."""
    return name.row + sequence.to_bytes(_SEQUENCE_BYTES, "big")


def _finish(
    tables: Tables,
    name: CollectionName,
    sequence: int,
    writes: PendingWrites,
    leases: Leases,
    lease: Lease,
) -> None:
    own = writes.puts.pop(COLLECTIONS, {}).get(name.row, {})
    writes.apply(tables, leases, lease)
    leases.check(lease)
    tables.put(COLLECTIONS, [(name.row, {**own, SEQUENCE: encode_utf8(sequence)})])


def _encode_writes(writes: PendingWrites) -> bytes:
    redo = _RedoRecord(
        {table: list(rows.items()) for table, rows in writes.removed.items()},
        {table: list(rows.items()) for table, rows in writes.puts.items()},
    )
    coded = msgspec.msgpack.encode(redo)
    if len(coded) > REDO_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"a change of {len(coded):,} bytes; put fewer at once")
    return coded


def _decode_writes(redo: bytes) -> PendingWrites:
    read = msgspec.msgpack.decode(redo, type=prepare_type(_RedoRecord))
    return PendingWrites(
        {table: dict(rows) for table, rows in read.removed.items()},
        {table: dict(rows) for table, rows in read.puts.items()},
    )


def _remove_cells(tables: Tables, table: str, row: bytes, names: Sequence[str]) -> None:
    for at in range(0, len(names), 1000):
        tables.delete(table, [row], names[at : at + 1000])


def _check(leases: Leases | None, lease: Lease | None) -> None:
    if leases is not None and lease is not None:
        leases.check(lease)


def iter_chunks(ids: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Ids, or what goes by them, in runs of at most `size`."""
    for at in range(0, len(ids), size):
        yield ids[at : at + size]
