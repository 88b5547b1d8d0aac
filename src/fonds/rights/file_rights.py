"""Rows of `file_rights` with the statements of files, such as licences in the metadata of a PDF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fonds.model.rights import RAW_MAX_CHARS, STATEMENTS_MAX, StatedRights, Statement
from fonds.model.rows import FileRightsRow, Row
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records


def build_file_rights(row: DerivativeRow, statements: Iterable[Statement]) -> list[Row]:
    """Build the row of `file_rights` for a file, as a list; an empty list if the file has no
    statements.

    `row` is the row with the data extracted from the file. At most 100 statements of at most 2,000
    characters are kept, whichever program extracted them.
    """
    distinct = list(dict.fromkeys(statements))[:STATEMENTS_MAX]
    short_statements = [
        statement
        for statement in distinct
        if max(map(len, (statement.value, statement.raw, statement.name))) <= RAW_MAX_CHARS
    ]
    if not short_statements:
        return []
    return [
        FileRightsRow(
            row.sha1hex, StatedRights(tuple(short_statements)), row.extractor, row.updated
        )
    ]


def remove_stale_rights(
    records: Records, rows: Sequence[DerivativeRow], promised_rows: Sequence[Row]
) -> None:
    """Delete the rows of `file_rights` of files that no longer have rights statements.

    - `rows`: rows with the data that was extracted again, one per file.
    - `promised_rows`: all rows that the new extraction gives. A file without a row of `file_rights`
      among them has no statements.
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
