"""What keys and columns of a wide row may be, and the end of a range of keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fonds.model.errors import ConfigurationError

KEY_MAX_BYTES = 32_767


def check_key(key: bytes) -> None:
    """Raises ValueError for a key that is empty or longer than HBase takes."""
    if not 0 < len(key) <= KEY_MAX_BYTES:
        raise ValueError(f"a row key has 1 to {KEY_MAX_BYTES} bytes, not {len(key)}")


def check_families(table: str, families: Collection[str], columns: Iterable[str]) -> None:
    """Raises ConfigurationError for a column of a family the table does not have."""
    for column in columns:
        if column.partition(":")[0] not in families or ":" not in column:
            raise ConfigurationError(
                f"table {table!r} has no family for the column {column!r}; it has {sorted(families)}"
            )


def end_of_prefix(prefix: bytes) -> bytes | None:
    """The smallest key greater than all that begin with `prefix`; None when there is none such."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
