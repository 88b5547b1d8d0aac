"""Checks of row keys and column names of wide-row tables, and the ends of key ranges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fonds.model.errors import ConfigurationError

KEY_MAX_BYTES = 32_767
COLUMNS_MAX = 1000


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """Columns to read from a wide-row table; names are unique and sorted.

    `families`: column families to read completely.
    `names`: single columns (`family:name`) of other families.
    """

    families: tuple[str, ...]
    names: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.families or self.names)


def select_columns(
    table: str, families: Collection[str], columns: Sequence[str] | None
) -> ColumnSelection | None:
    """Split `columns` into whole column families (`family:`) and single columns. None means all
    cells of a row and is returned unchanged.

    Raises ConfigurationError for an unknown family, and ValueError for more than 1,000 columns.
    """
    if columns is None:
        return None
    if len(columns) > COLUMNS_MAX:
        raise ValueError(
            f"{len(columns)} columns are more than {COLUMNS_MAX}; request families instead"
        )
    check_families(table, families, columns)
    whole_families = {name.removesuffix(":") for name in columns if name.partition(":")[2] == ""}
    names = {name for name in columns if name.partition(":")[0] not in whole_families}
    return ColumnSelection(tuple(sorted(whole_families)), tuple(sorted(names)))


def select_cells(table: str, families: Collection[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns whose cells are to be deleted, without duplicates.

    Raises ConfigurationError for an unknown family, and ValueError for a whole family or more than
    1,000 columns.
    """
    selection = select_columns(table, families, columns)
    if selection is None or selection.families:
        raise ValueError("cells are deleted by column, not by family")
    return selection.names


def check_key(key: bytes) -> None:
    """Check a row key of a wide-row table. Raises ValueError if it is empty or over 32,767 bytes,
    HBase's limit.
    """
    if not 0 < len(key) <= KEY_MAX_BYTES:
        raise ValueError(f"a row key must have 1 to {KEY_MAX_BYTES} bytes, not {len(key)}")


def reject_extra_families(
    table: str, existing_families: Collection[str], expected_families: Collection[str]
) -> None:
    """Check the column families of an existing table. Raises ConfigurationError if it has families
    that are not in `expected_families`.
    """
    if set(existing_families) - set(expected_families):
        raise ConfigurationError(
            f"Table {table!r} has the families {sorted(existing_families)}, not "
            f"{sorted(expected_families)}. Use another table name, or declare the families with "
            "table_families."
        )


def check_families(table: str, families: Collection[str], columns: Iterable[str]) -> None:
    """Check column names `family:name` of a wide-row table. Raises ConfigurationError for a name
    without a colon, and for a column whose family the table does not have.
    """
    for column in columns:
        if column.partition(":")[0] not in families or ":" not in column:
            raise ConfigurationError(
                f"Table {table!r} has no family for the column {column!r}; it has "
                f"{sorted(families)}"
            )


def check_conditions(where_equal: Mapping[bytes, bytes] | None) -> None:
    """Check the expected values of a conditional write. Raises ValueError for an empty value, which
    HBase treats as a missing cell.
    """
    if where_equal is not None and not all(where_equal.values()):
        raise ValueError("an empty cell is the same as a missing one and cannot be compared")


def find_prefix_end(prefix: bytes) -> bytes | None:
    """Return the smallest row key that sorts after all keys beginning with `prefix`; None if no
    such key exists.
    """
    trimmed_prefix = prefix.rstrip(b"\xff")
    return trimmed_prefix[:-1] + bytes([trimmed_prefix[-1] + 1]) if trimmed_prefix else None
