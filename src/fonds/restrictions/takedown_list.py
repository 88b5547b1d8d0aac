"""List of takedowns in a file outside the library, so that a restored backup does not bring removed
files back.

The file has one JSON object per line. It is only ever appended to, and several libraries may share
it. A takedown is in the list before anything is removed from the library.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from fonds.model.encoding import prepare_type
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.keys import parse_sha1
from fonds.model.restrictions import ListedTakedown, ReasonClass
from fonds.model.rows import TakedownRow
from fonds.ports import Records
from fonds.ports.scan import iter_chunks

LIST_MODE = 0o600


def read_takedown_list(path: Path) -> list[TakedownRow]:
    """Read the takedowns of a list, without what is left to do. A missing file is an empty list.

    A file that is listed twice is returned once, as listed first. Raises ConfigurationError if the
    list cannot be read, or if a line is invalid.
    """
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read the takedown list {path}: {cause_of(error)}"
        ) from error
    rows: dict[str, TakedownRow] = {}
    for number, line in enumerate(lines, 1):
        try:
            listed = msgspec.json.decode(line, type=prepare_type(ListedTakedown))
        except msgspec.MsgspecError as error:
            raise ConfigurationError(f"Takedown list {path}, line {number}: {error}") from error
        raw = parse_sha1(listed.sha1hex)
        if raw is None or listed.row_created.tzinfo is None:
            raise ConfigurationError(
                f"Takedown list {path}, line {number}: it needs a SHA-1 and a time with its zone"
            )
        row = TakedownRow(
            raw.hex(), listed.reason_class, listed.note, listed.made_by, listed.row_created
        )
        rows.setdefault(row.sha1hex, row)
    return list(rows.values())


def list_takedown(records: Records, path: Path, takedown: TakedownRow) -> None:
    """Append a takedown to the list, durably, unless it is there. Creates the file, which only its
    owner can read.

    Also appends the takedowns of the library that were made before the list was set up. Raises
    ConfigurationError if the list is invalid or cannot be written.
    """
    listed = {row.sha1hex for row in read_takedown_list(path)}
    rows = {row.sha1hex: row for row in (*records.find(TakedownRow), takedown)}
    lines = [
        msgspec.json.encode(
            ListedTakedown(
                row.sha1hex, ReasonClass(row.reason_class), row.note, row.made_by, row.row_created
            )
        )
        for row in rows.values()
        if row.sha1hex not in listed
    ]
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, LIST_MODE)
        try:
            os.write(descriptor, b"".join(line + b"\n" for line in lines))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write the takedown list {path}: {cause_of(error)}"
        ) from error


def find_missing_takedowns(records: Records, path: Path) -> list[TakedownRow]:
    """Return the takedowns of a list that the library does not have, as it was restored from a
    backup, for example.

    Raises ConfigurationError for an invalid list.
    """
    missing_rows: list[TakedownRow] = []
    for rows in iter_chunks(iter(read_takedown_list(path))):
        missing = set(records.find_missing(TakedownRow, [row.sha1hex for row in rows]))
        missing_rows += [row for row in rows if row.sha1hex in missing]
    return missing_rows
