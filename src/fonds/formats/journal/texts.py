"""Rows of the table as JSON lines and as people write cells; nothing is lost on the way out and in again.

A line is `{"key": ..., "cells": {column: value}}`: integers are numbers, other cells text, and what is
neither is `{"base64": ...}`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from fonds.formats.journal.cells import decode_integer, encode_integer
from fonds.formats.journal.keys import key_from_text, key_text
from fonds.formats.journal.schema import CellType, Schema
from fonds.model.errors import ConfigurationError

INTEGER_BYTES = 8
INTEGER_MAX = 2**63


def cell_value(kind: CellType | None, cell: bytes) -> Any:
    """What a cell says, as JSON has it; `kind` None for a column nobody declared."""
    if kind is CellType.INTEGER and len(cell) == INTEGER_BYTES:
        return decode_integer(cell)
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(cell).decode("ascii")}


def cell_from_value(value: Any) -> bytes:
    """The cell a value of `cell_value` was made of. Raises ValueError for what it never gives."""
    if isinstance(value, str):
        return value.encode("utf-8", "strict")
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and -INTEGER_MAX <= value < INTEGER_MAX
    ):
        return encode_integer(value)
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise ValueError(f"a cell's base64 cannot be read: {error}") from error
    raise ValueError(
        f"a cell is a text, an integer of 8 bytes or a base64 object, not {value!r:.80}"
    )


def row_line(
    key: bytes, cells: Mapping[str, bytes], schema: Schema, *, base32: bool = False
) -> dict[str, Any]:
    """A row as JSON has it."""
    columns = schema.columns
    values = {
        name: cell_value(columns[name].type if name in columns else None, cell)
        for name, cell in sorted(cells.items())
    }
    return {"key": key_text(key, base32=base32), "cells": values}


def row_from_line(line: bytes, *, older: bool = False) -> tuple[bytes, dict[str, bytes]]:
    """The row of a line; with `older` keys with `sha1:` stay those of an older table. Raises ValueError."""
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error
    if not isinstance(row, dict) or not isinstance(row.get("key"), str):
        raise ValueError("it is no JSON object with a key")
    cells = row.get("cells")
    if not isinstance(cells, dict):
        raise ValueError("it has no object with cells")
    key = key_from_text(row["key"], older=older)
    return key, {name: cell_from_value(value) for name, value in cells.items()}


def written_cell(schema: Schema, name: str, text: bytes) -> bytes:
    """The cell a person means by a text. Raises ConfigurationError for a column there is not, and for
    what its type does not allow."""
    kind = schema.column(name).type
    try:
        if kind is CellType.INTEGER:
            return encode_integer(_integer(text))
        if kind is CellType.JSON:
            msgspec.json.decode(text)
        text.decode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{name} is {kind}: {error}") from error
    return text


def _integer(text: bytes) -> int:
    bare = text.strip()
    if len(bare) > len(str(INTEGER_MAX)) + 1 or not bare.removeprefix(b"-").isdigit():
        raise ValueError(f"{text[:40]!r} is no integer of 8 bytes")
    value = int(bare)
    if not -INTEGER_MAX <= value < INTEGER_MAX:
        raise ValueError(f"{text[:40]!r} is no integer of 8 bytes")
    return value
