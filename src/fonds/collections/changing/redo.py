"""A change of a collection, written down whole before any of it is done, so that it is done whole.

Rows in several tables cannot be written at once. Whoever holds a collection's claim first writes what is to
be written into the table `changes`, under the next number; then does it; then the collection's row says
so (`main:sequence`). Who comes after one that died does it again: all values are absolute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from fonds.collections.claims import Claim, Claims
from fonds.collections.names import Name
from fonds.collections.tables import CHANGES, COLLECTIONS, Cells, Tables, number, utf8
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError
from fonds.model.prepared import prepared

T = TypeVar("T")

SEQUENCE = "main:sequence"
INDEXED = "main:indexed"
"""What the inverted index of a collection is of; empty while it is written."""

REDO_BYTES_MAX = 9_000_000
"""HBase takes 10 MB a cell."""

_REDO = "main:redo"
_IDS = "main:ids"
_SEQUENCE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Indexed:
    """The clustering an inverted index is of; the number of the last change it has for certain; the
    language of texts that say none."""

    timestamp: int
    until: int
    language: str


def indexed(cells: Cells) -> Indexed | None:
    """What the index of a collection is of, by its row; None while it has none."""
    told = cells.get(INDEXED)
    return msgspec.json.decode(told, type=prepared(Indexed)) if told else None


def indexed_cells(told: Indexed) -> dict[str, bytes]:
    """The cell that says what an index is of."""
    return {INDEXED: msgspec.json.encode(told)}


@dataclass(slots=True)
class Writes:
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
        self, tables: Tables, claims: Claims | None = None, claim: Claim | None = None
    ) -> None:
        """Do it. Raises TakenError when the claim may be another's by now, before the next write."""
        for table, rows in self.removed.items():
            _check(claims, claim)
            tables.delete(table, [row for row, names in rows.items() if names is None])
            for row, names in rows.items():
                if names is not None:
                    _remove_cells(tables, table, row, names)
        for table, put in self.puts.items():
            _check(claims, claim)
            tables.put(table, list(put.items()))


@dataclass(frozen=True, slots=True)
class _Redo:
    """What a row of `changes` holds."""

    removed: dict[str, list[tuple[bytes, list[str] | None]]]
    puts: dict[str, list[tuple[bytes, dict[str, bytes]]]]


def perform(
    tables: Tables,
    name: Name,
    cells: Mapping[str, bytes],
    ids: Sequence[str],
    writes: Writes,
    claims: Claims,
    claim: Claim,
) -> int:
    """Write a change down, do it, and say that it is done; its number. `cells` is the collection's row.

    `ids` are the documents it is about. Raises LimitError for a change of over 9 MB.
    """
    sequence = number(cells, SEQUENCE) + 1
    redo = _encoded(writes)
    claims.check(claim)
    row = change_row(name, sequence)
    tables.put(CHANGES, [(row, {_REDO: redo, _IDS: msgspec.msgpack.encode(list(ids))})])
    _finish(tables, name, sequence, writes, claims, claim)
    if needed_after(cells, sequence) == sequence:
        forget(tables, name, sequence)
    else:
        tables.delete(CHANGES, [row], [_REDO])
    return sequence


def recover(
    tables: Tables, name: Name, cells: Mapping[str, bytes], claims: Claims, claim: Claim
) -> bool:
    """Do what somebody wrote down and did not finish; whether there was anything."""
    sequence = number(cells, SEQUENCE) + 1
    left = tables.row(CHANGES, change_row(name, sequence), [_REDO])
    if left is None:
        return False
    _finish(tables, name, sequence, _decoded(left[_REDO]), claims, claim)
    return True


def changed_ids(
    tables: Tables, name: Name, after: int, until: int | None = None
) -> tuple[list[str], int]:
    """The ids of documents changed since the change `after`, up to that of `until`, each once, and the last
    one's number."""
    ids: dict[str, None] = {}
    last = after
    for row, cells in tables.scan(CHANGES, name.row, [_IDS], after=change_row(name, after)):
        number_ = int.from_bytes(row[-_SEQUENCE_BYTES:], "big")
        if until is not None and number_ > until:
            break
        last = number_
        ids.update(dict.fromkeys(msgspec.msgpack.decode(cells[_IDS], type=list[str])))
    return list(ids), last


def forget(tables: Tables, name: Name, until: int) -> None:
    """Changes up to this number are needed by nobody any more."""
    rows = []
    for row, _ in tables.scan(CHANGES, name.row, [_IDS]):
        if int.from_bytes(row[-_SEQUENCE_BYTES:], "big") > until:
            break
        rows.append(row)
    tables.delete(CHANGES, rows)


def needed_after(cells: Cells, last: int) -> int:
    """Up to which change, of those up to `last`, nobody needs to know what changed any more: who builds a
    clustering does, and who looks for near-duplicates of what came after the index was made."""
    if is_followed(cells):
        return 0
    if any(name.endswith(":rebuilt") and value for name, value in cells.items()):
        told = indexed(cells)
        return 0 if told is None else min(told.until, last)
    return last


def is_followed(cells: Cells) -> bool:
    """Whether a clustering is being built of the collection, so that changes have to be kept for it."""
    return any(name.endswith(":building") and value for name, value in cells.items())


def change_row(name: Name, sequence: int) -> bytes:
    """The row of a change: f3, its number in eight bytes."""
    return name.row + sequence.to_bytes(_SEQUENCE_BYTES, "big")


def _finish(
    tables: Tables, name: Name, sequence: int, writes: Writes, claims: Claims, claim: Claim
) -> None:
    own = writes.puts.pop(COLLECTIONS, {}).get(name.row, {})
    writes.apply(tables, claims, claim)
    claims.check(claim)
    tables.put(COLLECTIONS, [(name.row, {**own, SEQUENCE: utf8(sequence)})])


def _encoded(writes: Writes) -> bytes:
    redo = _Redo(
        {table: list(rows.items()) for table, rows in writes.removed.items()},
        {table: list(rows.items()) for table, rows in writes.puts.items()},
    )
    coded = msgspec.msgpack.encode(redo)
    if len(coded) > REDO_BYTES_MAX:
        raise LimitError(Reason.TOO_LARGE, f"a change of {len(coded):,} bytes; put fewer at once")
    return coded


def _decoded(redo: bytes) -> Writes:
    read = msgspec.msgpack.decode(redo, type=prepared(_Redo))
    return Writes(
        {table: dict(rows) for table, rows in read.removed.items()},
        {table: dict(rows) for table, rows in read.puts.items()},
    )


def _remove_cells(tables: Tables, table: str, row: bytes, names: Sequence[str]) -> None:
    for at in range(0, len(names), 1000):
        tables.delete(table, [row], names[at : at + 1000])


def _check(claims: Claims | None, claim: Claim | None) -> None:
    if claims is not None and claim is not None:
        claims.check(claim)


def chunks(ids: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Ids, or what goes by them, in runs of at most `size`."""
    for at in range(0, len(ids), size):
        yield ids[at : at + size]
