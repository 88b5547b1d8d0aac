"""Rows with what files state about their use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fonds.model.rights import RAW_MAX_CHARS, STATEMENTS_MAX, StatedRights, Statement
from fonds.model.rows import FileRightsRow, Row
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records


def build_file_rights(row: DerivativeRow, statements: Iterable[Statement]) -> list[Row]:
    """Build the rights row of a file from its derivative's row; empty if the file states nothing.

    The same bounds apply to statements from messages of others as to our own.
    """
    distinct = list(dict.fromkeys(statements))[:STATEMENTS_MAX]
    bounded = [
        statement
        for statement in distinct
        if max(map(len, (statement.value, statement.raw, statement.name))) <= RAW_MAX_CHARS
    ]
    if not bounded:
        return []
    return [FileRightsRow(row.sha1hex, StatedRights(tuple(bounded)), row.extractor, row.updated)]


def remove_stale_rights(
    records: Records, rows: Sequence[DerivativeRow], promised_rows: Sequence[Row]
) -> None:
    """Delete the rows of files that state nothing any more after they were read again."""
    with_statements = {
        promised_row.sha1hex
        for promised_row in promised_rows
        if isinstance(promised_row, FileRightsRow)
    }
    without_statements = sorted({row.sha1hex for row in rows} - with_statements)
    stale = (
        [row.sha1hex for row in records.get(FileRightsRow, without_statements)]
        if without_statements
        else []
    )
    if stale:
        records.delete(FileRightsRow, stale)
