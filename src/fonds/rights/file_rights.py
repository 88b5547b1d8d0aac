"""Rows with the rights statements of files, such as licences in the metadata of a PDF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fonds.model.rights import RAW_MAX_CHARS, STATEMENTS_MAX, StatedRights, Statement
from fonds.model.rows import FileRightsRow, Row
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records


def build_file_rights(row: DerivativeRow, statements: Iterable[Statement]) -> list[Row]:
    """Build the rights row of a file, as a list. The list is empty if the file has no
    statements.

    `row` is the derivative row of the file. The limits on statements apply whether Fonds or another
    program extracted them.
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
    """Delete the stored rights rows of files that no longer have rights statements.

    - `rows`: derivative rows of files that were extracted again.
    - `promised_rows`: rows that result from the extraction. A file without a rights row among them
      has no statements.
    """
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
