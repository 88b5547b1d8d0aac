"""What keys and columns of a wide row may be, and the end of a range of keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fonds.model.errors import ConfigurationError

KEY_MAX_BYTES = 32_767
COLUMNS_MAX = 1000


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """What is read of a row: whole `families`, and single `names` of others; each once, sorted."""

    families: tuple[str, ...]
    names: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.families or self.names)


def select_columns(
    table: str, families: Collection[str], columns: Sequence[str] | None
) -> ColumnSelection | None:
    """What `columns` name; None when they are None, that is all of the row.

    Raises ConfigurationError for a family the table does not have, ValueError for more than 1,000.
    """
    if columns is None:
        return None
    if len(columns) > COLUMNS_MAX:
        raise ValueError(f"{len(columns)} columns are more than {COLUMNS_MAX}: ask for families")
    check_families(table, families, columns)
    whole = {name.removesuffix(":") for name in columns if name.partition(":")[2] == ""}
    single = {name for name in columns if name.partition(":")[0] not in whole}
    return ColumnSelection(tuple(sorted(whole)), tuple(sorted(single)))


def check_cells(table: str, families: Collection[str], columns: Sequence[str]) -> tuple[str, ...]:
    """The cells that are to be removed, each once.

    Raises ConfigurationError for a family the table does not have, ValueError for a whole family or more
    than 1,000.
    """
    picked = select_columns(table, families, columns)
    if picked is None or picked.families:
        raise ValueError("cells are removed by their whole names, not by families")
    return picked.names


def check_key(key: bytes) -> None:
    """Raises ValueError for a key that is empty or longer than HBase takes."""
    if not 0 < len(key) <= KEY_MAX_BYTES:
        raise ValueError(f"a row key has 1 to {KEY_MAX_BYTES} bytes, not {len(key)}")


def reject_extra_families(table: str, existing: Collection[str], expected: Collection[str]) -> None:
    """Raises ConfigurationError when a table has families that are not among those wanted."""
    if set(existing) - set(expected):
        raise ConfigurationError(
            f"table {table!r} has the families {sorted(existing)}, not"
            f" {sorted(expected)}; use another table name,"
            " or declare them with table_families."
        )


def check_families(table: str, families: Collection[str], columns: Iterable[str]) -> None:
    """Raises ConfigurationError for a column of a family the table does not have."""
    for column in columns:
        if column.partition(":")[0] not in families or ":" not in column:
            raise ConfigurationError(
                f"table {table!r} has no family for the column {column!r}; it has {sorted(families)}"
            )


def check_conditions(where_equal: Mapping[bytes, bytes] | None) -> None:
    """Raises ValueError for an empty value: HBase takes it for no cell at all."""
    if where_equal is not None and not all(where_equal.values()):
        raise ValueError("a cell without bytes is not told from none: it cannot be compared")


def find_prefix_end(prefix: bytes) -> bytes | None:
    """The smallest key greater than all that begin with `prefix`; None when there is none such."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
