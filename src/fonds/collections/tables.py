"""The tables of collections: their names, families and columns, and how their cells are read.

Source: Grouperfish's HBase layout, v0.2, for `documents`, `clusters` and `collections`; docs/collections.md
for the tables and columns beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from fonds.collections.names import Name
from fonds.formats.grouping.keys import cluster_row, parts_of_collection
from fonds.model.errors import ConfigurationError
from fonds.ports import Table
from fonds.ports.walking import PAGE_ROWS, Page, walk_pages, walk_rows

DOCUMENTS = "documents"
CLUSTERS = "clusters"
COLLECTIONS = "collections"
CLUSTERINGS = "clusterings"
MEMBERS = "members"
ASSIGNMENTS = "assignments"
CHANGES = "changes"
CONFIGURATIONS = "configurations"
READINGS = "readings"
EXCLUSIONS = "exclusions"
THEMES = "themes"
FAMILIES = {
    DOCUMENTS: ("main", "processing"),
    CLUSTERS: ("main", "documents"),
    COLLECTIONS: ("main", "processing"),
    CLUSTERINGS: ("main", "processing"),
    MEMBERS: ("main",),
    ASSIGNMENTS: ("main",),
    CHANGES: ("main",),
    CONFIGURATIONS: ("main",),
    READINGS: ("main",),
    EXCLUSIONS: ("main",),
    THEMES: ("main",),
}
REMOVED = "main:removed"
"""Set before the rows of a collection are removed: nobody sees it from then on."""

RANK_BYTES = 4
_RANK_MAX = 2**32 - 1

Cells = Mapping[str, bytes]
MODIFIED = "main:modified"
COLLECTION_SIZE = "main:size"
SIZE, DISTINCT = "main:size", "main:distinct"


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of collections in one table store; `prefix` stands before the name of each."""

    store: Table
    prefix: str = ""

    def declare(self) -> None:
        """Make them all exist, `collections` last; again is harmless."""
        for name in sorted(FAMILIES, key=COLLECTIONS.__eq__):
            self.store.declare(self.prefix + name, FAMILIES[name])

    def are_there(self) -> bool:
        """Whether somebody made them: a home nobody grouped anything in has none, and may not be written."""
        try:
            self.page(COLLECTIONS, b"", ["main:size"], count_max=1)
        except ConfigurationError:
            return False
        return True

    def are_complete(self) -> bool:
        """Whether none of them is missing, as one may be in a home of before it was thought of."""
        try:
            self.page(THEMES, b"", ["main:id"], count_max=1)
        except ConfigurationError:
            return False
        return self.are_there()

    def row(self, table: str, key: bytes, columns: Sequence[str] | None = None) -> Cells | None:
        """One row, or None where there is none."""
        return self.store.get(self.prefix + table, [key], columns).get(key)

    def rows(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """The rows that exist, by key."""
        return self.store.get(self.prefix + table, keys, columns) if keys else {}

    def page(
        self,
        table: str,
        prefix: bytes,
        columns: Sequence[str] | None = None,
        *,
        after: bytes | None = None,
        count_max: int = PAGE_ROWS,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Rows in the order of their keys, up to `count_max`, behind `after`."""
        return self.store.scan(
            self.prefix + table, prefix, after=after, count_max=count_max, columns=columns
        )

    def scan(
        self,
        table: str,
        prefix: bytes,
        columns: Sequence[str] | None = None,
        *,
        after: bytes | None = None,
        page_rows: int = PAGE_ROWS,
    ) -> Iterator[tuple[bytes, dict[str, bytes]]]:
        """All rows of a prefix in the order of their keys, streamed."""
        return walk_rows(
            self.store, self.prefix + table, prefix,
            after=after, columns=columns, page_rows=page_rows,
        )  # fmt: skip

    def pages(
        self,
        table: str,
        prefix: bytes,
        columns: Sequence[str] | None = None,
        *,
        after: bytes | None = None,
        page_rows: int = PAGE_ROWS,
    ) -> Iterator[Page]:
        """The same rows, `page_rows` at once; each page is asked for when the one before was dealt with."""
        return walk_pages(
            self.store, self.prefix + table, prefix,
            after=after, columns=columns, page_rows=page_rows,
        )  # fmt: skip

    def put(self, table: str, rows: Sequence[tuple[bytes, Cells]]) -> None:
        """Write cells."""
        if rows:
            self.store.put(self.prefix + table, rows)

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Remove rows, or cells of them."""
        if keys:
            self.store.delete(self.prefix + table, keys, columns)

    def clear(self, table: str, prefix: bytes) -> int:
        """Remove every row of a prefix; how many there were. One column is enough to see a row by."""
        count, seen = 0, _A_CELL.get(table)
        while found := self.page(table, prefix, seen):
            self.delete(table, [key for key, _ in found])
            count += len(found)
        return count


_A_CELL = {
    MEMBERS: ["main:id"],
    ASSIGNMENTS: ["main:label"],
    CLUSTERS: ["main:"],
    CLUSTERINGS: ["main:"],
    COLLECTIONS: ["main:"],
    READINGS: ["main:slice"],
    EXCLUSIONS: ["main:id"],
    THEMES: ["main:id"],
}


def is_there(cells: Cells | None) -> bool:
    """Whether a row of `collections` is that of a collection, and not of one that is being removed."""
    return cells is not None and "main:namespace" in cells and REMOVED not in cells


def collections_there(
    tables: Tables,
    prefix: bytes = b"",
    more: Sequence[str] = ("main:",),
    *,
    after: bytes | None = None,
) -> Iterator[tuple[Name, Cells]]:
    """The collections whose rows begin so, each with its cells, behind the row `after`; streamed."""
    columns = more if "main:" in more else ("main:namespace", REMOVED, *more)
    for row, cells in tables.scan(COLLECTIONS, prefix, columns, after=after):
        if is_there(cells):
            yield Name(*parts_of_collection(row)), cells


def text(cells: Cells | None, column: str, otherwise: str = "") -> str:
    """A cell as text."""
    value = None if cells is None else cells.get(column)
    return otherwise if value is None else value.decode("utf-8", "replace")


def number(cells: Cells | None, column: str, otherwise: int = 0) -> int:
    """A cell as the whole number it tells in decimal digits."""
    value = None if cells is None else cells.get(column)
    return otherwise if value is None or not value.isdigit() else int(value)


def real(cells: Cells | None, column: str, otherwise: float = 0.0) -> float:
    """A cell as the number it tells in decimal digits."""
    value = None if cells is None else cells.get(column)
    try:
        return otherwise if value is None else float(value)
    except ValueError:
        return otherwise


def utf8(value: object) -> bytes:
    """Text or a number as a cell keeps it; a lone surrogate becomes a question mark."""
    return str(value).encode("utf-8", "replace")


def to_json(value: object) -> bytes:
    """A value as a cell of JSON."""
    return msgspec.json.encode(value)


def score_text(score: float) -> bytes:
    """A score as its cell says it: the cosine with four digits."""
    return f"{max(score, 0.0):.4f}".encode()


def member_row(name: Name, conf: str, timestamp: int, label: str, score: bytes, id_: str) -> bytes:
    """The row of a cluster's document among its members, the highest score first, then by id.

    The cluster's row, the score counted down from 1 in four bytes, the id's UTF-8.
    """
    down = round((1.0 - min(max(float(score), 0.0), 1.0)) * _RANK_MAX)
    head = cluster_row(name.namespace, name.key, conf, timestamp, label)
    return head + down.to_bytes(RANK_BYTES, "big") + id_.encode("utf-8")


def assignment_row(name: Name, conf: str, timestamp: int, id_: str) -> bytes:
    """The row of a document among all a clustering has assigned: f2 with the id in place of the label."""
    return cluster_row(name.namespace, name.key, conf, timestamp, id_)
