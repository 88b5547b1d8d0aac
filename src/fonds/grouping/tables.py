"""The tables of collections: their names, families and columns, and how their cells are read.

Source: Grouperfish's HBase layout, v0.2, for `documents`, `clusters` and `collections`; docs/collections.md
for the tables and columns beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from fonds.grouping.names import CollectionName
from fonds.grouping.stored.keys import build_cluster_row, parse_collection_row
from fonds.model.errors import ConfigurationError
from fonds.ports import Table
from fonds.ports.scan import PAGE_ROWS, Page, iter_pages, iter_rows

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

    def exist(self) -> bool:
        """Whether somebody made them: a home nobody grouped anything in has none, and may not be written."""
        try:
            self.get_page(COLLECTIONS, b"", ["main:size"], count_max=1)
        except ConfigurationError:
            return False
        return True

    def is_complete(self) -> bool:
        """Whether none of them is missing, as one may be in a home of before it was thought of."""
        try:
            self.get_page(THEMES, b"", ["main:id"], count_max=1)
        except ConfigurationError:
            return False
        return self.exist()

    def get_row(self, table: str, key: bytes, columns: Sequence[str] | None = None) -> Cells | None:
        """One row, or None where there is none."""
        return self.store.get(self.prefix + table, [key], columns).get(key)

    def get_rows(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """The rows that exist, by key."""
        return self.store.get(self.prefix + table, keys, columns) if keys else {}

    def get_page(
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

    def iter_rows(
        self,
        table: str,
        prefix: bytes,
        columns: Sequence[str] | None = None,
        *,
        after: bytes | None = None,
        page_rows: int = PAGE_ROWS,
    ) -> Iterator[tuple[bytes, dict[str, bytes]]]:
        """All rows of a prefix in the order of their keys, streamed."""
        return iter_rows(
            self.store, self.prefix + table, prefix,
            after=after, columns=columns, page_rows=page_rows,
        )  # fmt: skip

    def iter_pages(
        self,
        table: str,
        prefix: bytes,
        columns: Sequence[str] | None = None,
        *,
        after: bytes | None = None,
        page_rows: int = PAGE_ROWS,
    ) -> Iterator[Page]:
        """The same rows, `page_rows` at once; each page is asked for when the one before was dealt with."""
        return iter_pages(
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

    def delete_prefix(self, table: str, prefix: bytes) -> int:
        """Remove every row of a prefix; how many there were. One column is enough to see a row by."""
        count, seen = 0, _A_CELL.get(table)
        while found := self.get_page(table, prefix, seen):
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


def is_collection_row(cells: Cells | None) -> bool:
    """Whether a row of `collections` is that of a collection, and not of one that is being removed."""
    return cells is not None and "main:namespace" in cells and REMOVED not in cells


def iter_collection_rows(
    tables: Tables,
    prefix: bytes = b"",
    extra_columns: Sequence[str] = ("main:",),
    *,
    after: bytes | None = None,
) -> Iterator[tuple[CollectionName, Cells]]:
    """The collections whose rows begin so, each with its cells, behind the row `after`; streamed."""
    columns = (
        extra_columns if "main:" in extra_columns else ("main:namespace", REMOVED, *extra_columns)
    )
    for row, cells in tables.iter_rows(COLLECTIONS, prefix, columns, after=after):
        if is_collection_row(cells):
            yield CollectionName(*parse_collection_row(row)), cells


def decode_text(cells: Cells | None, column: str, default: str = "") -> str:
    """A cell as text."""
    value = None if cells is None else cells.get(column)
    return default if value is None else value.decode("utf-8", "replace")


def decode_int(cells: Cells | None, column: str, default: int = 0) -> int:
    """A cell as the whole number it tells in decimal digits."""
    value = None if cells is None else cells.get(column)
    return default if value is None or not value.isdigit() else int(value)


def decode_float(cells: Cells | None, column: str, default: float = 0.0) -> float:
    """A cell as the number it tells in decimal digits."""
    value = None if cells is None else cells.get(column)
    try:
        return default if value is None else float(value)
    except ValueError:
        return default


def encode_utf8(value: object) -> bytes:
    """Text or a number as a cell keeps it; a lone surrogate becomes a question mark."""
    return str(value).encode("utf-8", "replace")


def encode_json(value: object) -> bytes:
    """A value as a cell of JSON."""
    return msgspec.json.encode(value)


def format_score(score: float) -> bytes:
    """A score as its cell says it: the cosine with four digits."""
    return f"{max(score, 0.0):.4f}".encode()


def build_member_row(
    name: CollectionName, conf: str, timestamp: int, label: str, score: bytes, id_: str
) -> bytes:
    """The row of a cluster's document among its members, the highest score first, then by id.

    The cluster's row, the score counted down from 1 in four bytes, the id's UTF-8.
    """
    down = round((1.0 - min(max(float(score), 0.0), 1.0)) * _RANK_MAX)
    head = build_cluster_row(name.namespace, name.key, conf, timestamp, label)
    return head + down.to_bytes(RANK_BYTES, "big") + id_.encode("utf-8")


def build_assignment_row(name: CollectionName, conf: str, timestamp: int, id_: str) -> bytes:
    """The row of a document among all a clustering has assigned: f2 with the id in place of the label."""
    return build_cluster_row(name.namespace, name.key, conf, timestamp, id_)
