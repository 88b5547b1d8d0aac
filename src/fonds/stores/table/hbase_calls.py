"""Calls of HBase's Thrift 1 server, each with a connection that is there; in batches of a bounded size.

Source: HBase 2.6 `Hbase.thrift`, as the happybase library speaks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import happybase
from Hbase_thrift import Mutation
from thriftpy2.thrift import TException

from fonds.stores.table.rows import Chosen

WRITE_MAX_BYTES, WRITE_MAX_ROWS = 8 * 1024 * 1024, 1000
SCAN_ROWS = 100


def create_table(
    one: happybase.Connection, table: str, families: dict[str, dict[str, Any]]
) -> None:
    """Make a table, unless another process was faster."""
    try:
        one.create_table(table, families)
    except TException as error:
        if "exist" not in told_by(error).lower():
            raise


def write_rows(
    table: str, rows: Sequence[tuple[bytes, Mapping[bytes, bytes]]], one: happybase.Connection
) -> None:
    """Write the cells of these rows in one call."""
    batch = one.table(table).batch()
    for key, cells in rows:
        batch.put(key, cells)
    batch.send()


def write_where(
    table: str,
    key: bytes,
    before: bytes,
    cells: Mapping[bytes, bytes],
    one: happybase.Connection,
) -> None:
    """Write cells of a row where each has the value `before` as yet."""
    for column, value in cells.items():
        wanted = Mutation(isDelete=False, column=column, value=value)
        one.client.checkAndPut(table.encode(), key, column, before, wanted, {})


def read_rows(
    table: str, keys: Sequence[bytes], columns: list[bytes] | None, one: happybase.Connection
) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """The rows with these keys that exist; of named columns or families only, if any are named."""
    return list(one.table(table).rows(keys, columns))


def column_names(picked: Chosen | None) -> list[bytes] | None:
    """As the server takes them: with a colon behind it, a family would be its column without a name."""
    return None if picked is None else [name.encode() for name in (*picked.families, *picked.names)]


def scan_rows(
    table: happybase.Table,
    start: bytes,
    end: bytes | None,
    count_max: int,
    columns: list[bytes] | None,
) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Rows from `start` on and before `end`, `count_max` at most."""
    rows = table.scan(
        row_start=start or None,
        row_stop=end,
        columns=columns,
        filter=f"PageFilter({count_max})",
        batch_size=min(count_max, SCAN_ROWS),
        limit=count_max,
    )
    return list(rows)


def delete_rows(table: happybase.Table, keys: Sequence[bytes], names: list[bytes] | None) -> None:
    """Remove whole rows, or these cells of them."""
    for key in keys:
        table.delete(key, columns=names)


def chunks(
    rows: Sequence[tuple[bytes, Mapping[bytes, bytes]]],
) -> Iterator[list[tuple[bytes, Mapping[bytes, bytes]]]]:
    """Rows together in calls that are not too large; a row is never cut in two."""
    chunk: list[tuple[bytes, Mapping[bytes, bytes]]] = []
    size_bytes = 0
    for key, cells in rows:
        row_bytes = sum(len(name) + len(value) for name, value in cells.items())
        if chunk and (size_bytes + row_bytes > WRITE_MAX_BYTES or len(chunk) >= WRITE_MAX_ROWS):
            yield chunk
            chunk, size_bytes = [], 0
        chunk.append((key, cells))
        size_bytes += row_bytes
    if chunk:
        yield chunk


def cells_by_name(cells: Mapping[bytes, bytes]) -> dict[str, bytes]:
    """The cells of a row with their names as text."""
    return {name.decode(): value for name, value in cells.items()}


def told_by(error: BaseException) -> str:
    """What an error says, in one line of 300 characters at most."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return text.strip().splitlines()[0][:300] if text.strip() else type(error).__name__
