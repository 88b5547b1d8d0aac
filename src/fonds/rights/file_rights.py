"""What files state about their use, as a row beside that of the kind that was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fonds.model.rights import RAW_MAX_CHARS, STATEMENTS_MAX, Statement
from fonds.model.rows import FileRightsRow, Row
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records
from fonds.rights.capture_rights import encode_statements


def build_file_rights(row: DerivativeRow, statements: Iterable[Statement]) -> list[Row]:
    """Return the row a derivative's row promises; none for a file that states nothing.

    What others wrote into messages is bounded here as ours is where it is read.
    """
    some = list(dict.fromkeys(statements))[:STATEMENTS_MAX]
    kept = [one for one in some if max(map(len, (one.value, one.raw, one.name))) <= RAW_MAX_CHARS]
    if not kept:
        return []
    return [FileRightsRow(row.sha1hex, encode_statements(kept), row.extractor, row.updated)]


def parse_statements(stored_value: Any) -> list[Statement]:
    """Return the statements in a list out of metadata; what is none is left out."""
    found = []
    for one in stored_value if isinstance(stored_value, list) else ():
        try:
            statement = Statement.from_json(one)
        except (KeyError, TypeError, ValueError):
            continue
        if all(isinstance(text, str) for text in (statement.value, statement.raw, statement.name)):
            found.append(statement)
    return found


def remove_stale_rights(
    records: Records, rows: Sequence[DerivativeRow], promised_rows: Sequence[Row]
) -> None:
    """Remove the rows of files that state nothing any more, as they are read again."""
    stating = {one.sha1hex for one in promised_rows if isinstance(one, FileRightsRow)}
    silent = sorted({row.sha1hex for row in rows} - stating)
    there = [row.sha1hex for row in records.get(FileRightsRow, silent)] if silent else []
    if there:
        records.delete(FileRightsRow, there)
