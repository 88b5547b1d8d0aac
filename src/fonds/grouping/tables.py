"""Tables of collections: names, families, access, and the encoding of cells and rows.

Source: Grouperfish's HBase layout, v0.2, for `documents`, `clusters` and `collections`.
`docs/collections.md` describes the other tables and columns.
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
"""Column that is set before the rows of a collection are deleted.

From then on, the collection is invisible.
"""

RANK_BYTES = 4
_RANK_MAX = 2**32 - 1

Cells = Mapping[str, bytes]
MODIFIED = "main:modified"
COLLECTION_SIZE = "main:size"
SIZE, DISTINCT = "main:size", "main:distinct"


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of collections in one table store. `prefix` precedes each table name."""

    store: Table
    prefix: str = ""

    def declare(self) -> None:
        """Create all missing tables, `collections` last. Idempotent."""
        for name in sorted(FAMILIES, key=COLLECTIONS.__eq__):
            self.store.declare(self.prefix + name, FAMILIES[name])

    def exist(self) -> bool:
        """Return whether the tables exist.

        A library folder (home) without groupings has no tables and may be read-only.
        """
        try:
            self.get_page(COLLECTIONS, b"", ["main:size"], count_max=1)
        except ConfigurationError:
            return False
        return True

    def is_complete(self) -> bool:
        """Return whether all tables exist; a home from an older version may lack some."""
        try:
            self.get_page(THEMES, b"", ["main:id"], count_max=1)
        except ConfigurationError:
            return False
        return self.exist()

    def get_row(self, table: str, key: bytes, columns: Sequence[str] | None = None) -> Cells | None:
        """Return one row; None if it does not exist."""
        return self.store.get(self.prefix + table, [key], columns).get(key)

    def get_rows(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """Return the rows that exist, by key."""
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
        """Return at most `count_max` rows after the key `after`, in order of key."""
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
        """Iterate over all rows with a prefix in order of key, streamed."""
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
        """Iterate over the same rows in pages of `page_rows`.

        A page is read only after the previous one is processed.
        """
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
        """Remove rows, or some of their cells."""
        if keys:
            self.store.delete(self.prefix + table, keys, columns)

    def delete_prefix(self, table: str, prefix: bytes) -> int:
        """Remove every row with a prefix; return their number.

        For most tables this reads few columns of each row.
        """
        count, columns = 0, _A_CELL.get(table)
        while page := self.get_page(table, prefix, columns):
            self.delete(table, [key for key, _ in page])
            count += len(page)
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
    """Return whether a row of `collections` is a collection that is not being removed."""
    return cells is not None and "main:namespace" in cells and REMOVED not in cells


def iter_collection_rows(
    tables: Tables,
    prefix: bytes = b"",
    extra_columns: Sequence[str] = ("main:",),
    *,
    after: bytes | None = None,
) -> Iterator[tuple[CollectionName, Cells]]:
    """Iterate over the collections with a row prefix and their cells, after the row `after`.

    Streamed.
    """
    columns = (
        extra_columns if "main:" in extra_columns else ("main:namespace", REMOVED, *extra_columns)
    )
    for row, cells in tables.iter_rows(COLLECTIONS, prefix, columns, after=after):
        if is_collection_row(cells):
            yield CollectionName(*parse_collection_row(row)), cells


def decode_text(cells: Cells | None, column: str, default: str = "") -> str:
    """Decode a cell as text."""
    value = None if cells is None else cells.get(column)
    return default if value is None else value.decode("utf-8", "replace")


def decode_int(cells: Cells | None, column: str, default: int = 0) -> int:
    """Decode a cell as an integer in decimal digits."""
    value = None if cells is None else cells.get(column)
    return default if value is None or not value.isdigit() else int(value)


def decode_float(cells: Cells | None, column: str, default: float = 0.0) -> float:
    """Decode a cell as a decimal number."""
    value = None if cells is None else cells.get(column)
    try:
        return default if value is None else float(value)
    except ValueError:
        return default


def encode_utf8(value: object) -> bytes:
    """Encode text or a number for a cell; a lone surrogate becomes a question mark."""
    return str(value).encode("utf-8", "replace")


def encode_json(value: object) -> bytes:
    """Encode a value as JSON for a cell."""
    return msgspec.json.encode(value)


def format_score(score: float) -> bytes:
    """Encode a score for its cell: the cosine with four digits."""
    return f"{max(score, 0.0):.4f}".encode()


def build_member_row(
    name: CollectionName, conf: str, timestamp: int, label: str, score: bytes, id_: str
) -> bytes:
    """Return the row key of a document in its cluster's list of members.

    The list sorts by descending score, then by id. It consists of the cluster's row key, four bytes
    that decrease with the score, and the id's UTF-8.
    """
    rank = round((1.0 - min(max(float(score), 0.0), 1.0)) * _RANK_MAX)
    cluster_row = build_cluster_row(name.namespace, name.key, conf, timestamp, label)
    return cluster_row + rank.to_bytes(RANK_BYTES, "big") + id_.encode("utf-8")


def build_assignment_row(name: CollectionName, conf: str, timestamp: int, id_: str) -> bytes:
    """Return the row key of a document's assignment in a clustering.

    It is f2 with the id instead of the label.
    """
    return build_cluster_row(name.namespace, name.key, conf, timestamp, id_)
