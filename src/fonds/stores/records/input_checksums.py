"""Checksums of the rows of `inputs`, by which the audit notices changes by other programs.

They are no seal of the table, because a repair can restore a row from its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import Connection

from fonds.model.checksums import hash_row
from fonds.model.rows import InputRow, Row
from fonds.stores.records.column_types import clean_value
from fonds.stores.records.row_statements import Key, fetch_rows, load_rows
from fonds.stores.records.row_writes import get_key, upsert
from fonds.stores.records.tables import get_table


def add_checksum(row: InputRow, stored_row: InputRow | None) -> InputRow:
    """Return a row with its checksum, to be written.

    `stored_row`: the row that it replaces; None if there is none. If its checksum is wrong, the new
    row gets a wrong checksum too, so that the change by another program is still noticed.
    """
    row = replace(row, path=clean_value(row.path) or "", error=clean_value(row.error))
    is_changed = stored_row is not None and stored_row.checksum != hash_row(stored_row)
    return replace(row, checksum=-1 if is_changed else hash_row(row))


@contextmanager
def update_checksums(
    connection: Connection, kind: type[Row], keys: Sequence[Key]
) -> Iterator[None]:
    """Context manager around a change of columns in rows of the type `kind` with these primary
    keys. It updates the checksums of rows of `inputs`, except wrong ones.
    """
    if kind is not InputRow:
        yield
        return
    unchanged_keys = [
        get_key(row)
        for row in load_rows(connection, InputRow, keys)
        if row.checksum == hash_row(row)
    ]
    yield
    rows = load_rows(connection, InputRow, unchanged_keys)
    upsert(connection, InputRow, [add_checksum(row, None) for row in rows])


def accept_inputs(connection: Connection) -> None:
    """Correct the wrong checksums of `inputs`: accept the rows as they are now."""
    rows = fetch_rows(connection, InputRow, sa.select(get_table(InputRow)))
    changed_rows = [row for row in rows if row.checksum != hash_row(row)]
    upsert(connection, InputRow, [add_checksum(row, None) for row in changed_rows])
