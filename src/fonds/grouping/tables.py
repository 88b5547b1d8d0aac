"""Tables that store collections and clusterings: names, column families, access and encoding.

Source: Grouperfish's HBase layout, v0.2, for `documents`, `clusters` and `collections`.
`docs/collections.md` describes the other tables and the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import CollectionName
from fonds.grouping.stored.keys import build_cluster_row, parse_collection_row
from fonds.model.encoding import prepare_type
from fonds.model.errors import ConfigurationError, DamagedRowError
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
REGISTER = "register"
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
    REGISTER: ("main",),
}

RANK_BYTES = 4
_RANK_MAX = 2**32 - 1

Cells = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Tables:
    """Access to the tables of collections and clusterings in one table store.

    `store`: the table store.
    `prefix`: text that precedes each table name in the store.
    """

    store: Table
    prefix: str = ""

    def declare(self) -> None:
        """Create the tables that are missing, `collections` last. Repeated calls change nothing."""
        for name in sorted(FAMILIES, key=COLLECTIONS.__eq__):
            self.store.declare(self.prefix + name, FAMILIES[name])

    def exist(self) -> bool:
        """Return whether the table `collections` exists.

        It is created last, so the other tables of the Fonds version that created it exist too. A
        library folder (home) that was never used for grouping has no tables and may be read-only.
        """
        try:
            self.get_page(COLLECTIONS, b"", [Column.SIZE], count_max=1)
        except ConfigurationError:
            return False
        return True

    def is_complete(self) -> bool:
        """Return whether all tables of this version of Fonds exist.

        A library folder (home) from an older version may lack some of them.
        """
        try:
            self.get_page(REGISTER, b"", [Column.NAME], count_max=1)
        except ConfigurationError:
            return False
        return self.exist()

    def get_row(self, table: str, key: bytes, columns: Sequence[str] | None = None) -> Cells | None:
        """Return the cells of one row, by column; None if the row does not exist.

        `columns`: columns or column prefixes to read; None for all.
        """
        return self.store.get(self.prefix + table, [key], columns).get(key)

    def get_rows(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """Return the cells of several rows, by row key and column. Missing rows are left out.

        `columns`: columns or column prefixes to read; None for all.
        """
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
        """Return one page of a table's rows whose key begins with `prefix`, in order of key.

        `after`: row key after which the page begins; None for the start.
        `count_max`: maximum number of rows.
        """
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
        """Iterate over the rows of a table whose key begins with `prefix`, in order of key.

        Rows are read in pages of `page_rows`, so they need not fit in memory.
        `after`: row key after which to start; None for the first row.
        """
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
        """Iterate over a table's rows whose key begins with `prefix`, in pages, in order of key.

        A page has at most `page_rows` rows. It is read only after the previous page is processed.
        `after`: row key after which to start; None for the first row.
        """
        return iter_pages(
            self.store, self.prefix + table, prefix,
            after=after, columns=columns, page_rows=page_rows,
        )  # fmt: skip

    def put(self, table: str, rows: Sequence[tuple[bytes, Cells]]) -> None:
        """Write cells to rows of a table. Cells of the rows that are not given stay as they are."""
        if rows:
            self.store.put(self.prefix + table, rows)

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Delete rows of a table, or only some columns of these rows.

        `columns`: columns to delete; None deletes whole rows.
        """
        if keys:
            self.store.delete(self.prefix + table, keys, columns)

    def delete_prefix(self, table: str, prefix: bytes) -> int:
        """Delete all rows of a table whose key begins with `prefix`; return their number.

        To save time, only a few columns of each row are read, except in a few tables.
        """
        count, columns = 0, _A_CELL.get(table)
        while page := self.get_page(table, prefix, columns):
            self.delete(table, [key for key, _ in page])
            count += len(page)
        return count


_A_CELL = {
    MEMBERS: [Column.ID],
    ASSIGNMENTS: [Column.LABEL],
    CLUSTERS: [MAIN_FAMILY],
    CLUSTERINGS: [MAIN_FAMILY],
    COLLECTIONS: [MAIN_FAMILY],
    READINGS: [Column.SLICE],
    EXCLUSIONS: [Column.ID],
    THEMES: [Column.ID],
}


def is_collection_row(cells: Cells | None) -> bool:
    """Return whether a row of the table `collections` holds a collection that is not being removed.

    `cells`: cells of the row; None for a missing row, which gives False.
    """
    return cells is not None and Column.NAMESPACE in cells and Column.REMOVED not in cells


def iter_collection_rows(
    tables: Tables,
    prefix: bytes = b"",
    extra_columns: Sequence[str] = (MAIN_FAMILY,),
    *,
    after: bytes | None = None,
) -> Iterator[tuple[CollectionName, Cells]]:
    """Iterate over collections that are not being removed: their names and the cells of their rows.

    Rows are read in pages, in order of key.
    `prefix`: prefix of the row keys, for example of a namespace.
    `extra_columns`: further columns to read; `main:` reads the whole family.
    `after`: row key after which to start; None for the first row.
    """
    columns = (
        extra_columns
        if MAIN_FAMILY in extra_columns
        else (Column.NAMESPACE, Column.REMOVED, *extra_columns)
    )
    for row, cells in tables.iter_rows(COLLECTIONS, prefix, columns, after=after):
        if is_collection_row(cells):
            yield CollectionName(*parse_collection_row(row)), cells


def decode_text(cells: Cells | None, column: str, default: str = "") -> str:
    """Return a row's cell as text; `default` if row or cell is missing. Replace invalid UTF-8."""
    value = None if cells is None else cells.get(column)
    return default if value is None else value.decode("utf-8", "replace")


def decode_int(cells: Cells | None, column: str, default: int = 0) -> int:
    """Return one cell of a row, written in decimal digits, as an integer.

    Return `default` if the row or cell is missing or has anything but digits.
    """
    value = None if cells is None else cells.get(column)
    return default if value is None or not value.isdigit() else int(value)


def decode_float(cells: Cells | None, column: str, default: float = 0.0) -> float:
    """Return one cell of a row, written as a decimal number, as a float.

    Return `default` if the row or cell is missing or is not a number.
    """
    value = None if cells is None else cells.get(column)
    try:
        return default if value is None else float(value)
    except ValueError:
        return default


def decode_cell(value: bytes, column: str, kind: Any, *, is_packed: bool = False) -> Any:
    """Return a cell with JSON, or with msgpack if `is_packed`, as a value of the type `kind`.

    Raises DamagedRowError, which names the column, if the cell has another format.
    """
    decoder = msgspec.msgpack if is_packed else msgspec.json
    try:
        return decoder.decode(value, type=prepare_type(kind))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DamagedRowError(
            f"A cell in the column {column} of a collection cannot be read: {error}. Another program "
            "or a broken disk changed it. `fonds audit` names the collection."
        ) from None


def encode_utf8(value: object) -> bytes:
    """Encode text or a number as UTF-8 for a cell; a lone surrogate becomes a question mark."""
    return str(value).encode("utf-8", "replace")


def encode_json(value: object) -> bytes:
    """Encode a value as JSON for a cell."""
    return msgspec.json.encode(value)


def format_score(score: float) -> bytes:
    """Encode a document's score for its cell: a cosine with four decimals; below 0 becomes 0."""
    return f"{max(score, 0.0):.4f}".encode()


def build_member_row(
    name: CollectionName, conf: str, timestamp: int, label: str, score: bytes, id_: str
) -> bytes:
    """Return the row key of a document in the table `members`.

    The table lists the documents of each cluster. Rows of a cluster sort by descending score, then
    by document id. The key consists of the cluster's row key, four bytes that decrease with the
    score, and the id in UTF-8.
    """
    cluster_row = build_cluster_row(name.namespace, name.key, conf, timestamp, label)
    return cluster_row + build_member_suffix(float(score), id_)


def build_member_suffix(score: float, id_: str) -> bytes:
    """Return the end of a row key in the table `members`, which follows the cluster's row key."""
    rank = round((1.0 - min(max(score, 0.0), 1.0)) * _RANK_MAX)
    return rank.to_bytes(RANK_BYTES, "big") + id_.encode("utf-8")


def build_assignment_row(name: CollectionName, conf: str, timestamp: int, id_: str) -> bytes:
    """Return the row key of a document's assignment to a cluster, in the table `assignments`.

    It is built like the row key of a cluster (function f2 of Grouperfish), with the document id
    instead of the cluster's label.
    """
    return build_cluster_row(name.namespace, name.key, conf, timestamp, id_)
