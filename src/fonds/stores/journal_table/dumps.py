"""Read and write rows of the journal-extract table as JSON lines and as tab-separated dumps of
older HBase tables, without loss.

A JSON line is `{"key": ..., "cells": {column: value}}`. Integers are numbers, other cells are text,
and binary cells are `{"base64": ...}`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from fonds.model.errors import ConfigurationError
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_CDX,
    FILE_MIME,
    decode_integer,
    encode_compact_json,
    encode_integer,
    read_object,
)
from fonds.stores.journal_table.keys import (
    build_old_key,
    build_row_key,
    format_key,
    parse_key,
    split_key,
)
from fonds.stores.journal_table.schema import CellType, Schema

INTEGER_BYTES = 8
INTEGER_MAX = 2**63


def decode_cell(kind: CellType | None, cell: bytes) -> Any:
    """Convert a cell of the journal-extract table to a JSON value: an integer, text, or `{"base64":
    ...}` for bytes that are not UTF-8.

    `kind` is the type of the column, or None for a column that the schema does not have.
    """
    if kind is CellType.INTEGER and len(cell) == INTEGER_BYTES:
        return decode_integer(cell)
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(cell).decode("ascii")}


def encode_cell(value: Any) -> bytes:
    """Convert a JSON value that `decode_cell` returned to the bytes of the cell.

    Raises ValueError if the value is not text, an 8-byte integer or an object with valid base64.
    """
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
            raise ValueError(f"invalid base64 in a cell: {error}") from error
    raise ValueError(
        f"a cell must be text, an integer of 8 bytes or a base64 object, not {value!r:.80}"
    )


def build_row_line(
    key: bytes, cells: Mapping[str, bytes], schema: Schema, *, base32: bool = False
) -> dict[str, Any]:
    """Return a row of the journal-extract table as a JSON object with the fields `key` and `cells`.
    With `base32`, the SHA-1 in the key is in base32 instead of hex.
    """
    columns = schema.columns
    values = {
        name: decode_cell(columns[name].type if name in columns else None, cell)
        for name, cell in sorted(cells.items())
    }
    return {"key": format_key(key, base32=base32), "cells": values}


def parse_row_line(line: bytes, *, older: bool = False) -> tuple[bytes, dict[str, bytes]]:
    """Parse a row of the journal-extract table from a JSON line; return its key and its cells by
    column.

    With `older`, a key that starts with `sha1:` stays a key of the older table layout. Raises
    ValueError if the line is not JSON, or lacks a valid key or valid cells.
    """
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(row, dict) or not isinstance(row.get("key"), str):
        raise ValueError("not a JSON object with a key")
    cells = row.get("cells")
    if not isinstance(cells, dict):
        raise ValueError("no object with cells")
    key = parse_key(row["key"], older=older)
    return key, {name: encode_cell(value) for name, value in cells.items()}


def parse_cell(schema: Schema, name: str, text: bytes) -> bytes:
    """Convert a value that a user typed to the bytes of a cell in the column `name`.

    Raises ConfigurationError if the column is unknown or the value does not fit the column's type.
    """
    kind = schema.get_column(name).type
    try:
        if kind is CellType.INTEGER:
            return encode_integer(_parse_integer(text))
        if kind is CellType.JSON:
            msgspec.json.decode(text)
        text.decode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{name} is {kind}: {error}") from error
    return text


def _parse_integer(text: bytes) -> int:
    bare = text.strip()
    if len(bare) > len(str(INTEGER_MAX)) + 1 or not bare.removeprefix(b"-").isdigit():
        raise ValueError(f"{text[:40]!r} is not an integer of 8 bytes")
    value = int(bare)
    if not -INTEGER_MAX <= value < INTEGER_MAX:
        raise ValueError(f"{text[:40]!r} is not an integer of 8 bytes")
    return value


# Dumps of the HBase era have four tab-separated columns: key (`sha1:` and base32), `f:c`,
# `file:mime` and `file:cdx`, with sorted names in JSON. Their numbers in `file:cdx` are JSON
# numbers; here they are strings. `f:c` is kept byte for byte. `file:cdx` is converted where that is
# reversible, else it is kept unchanged. Readers understand both.


COLUMNS = (F_C, FILE_MIME, FILE_CDX)
NUMBERS = ("offset", "c_size")
ORDER = ("surt", "url", "dt", "warc", "offset", "c_size")
DIGITS_MAX = 19


def parse_dump_line(line: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Parse one tab-separated line of a dump of an older HBase table; return the row key and the
    cells by column.

    Raises ValueError if the line does not have four fields, the key is not a SHA-1, or a JSON cell
    is invalid.
    """
    parts = line.rstrip(b"\r\n").split(b"\t")
    if len(parts) != 1 + len(COLUMNS):
        raise ValueError(f"{len(parts)} fields separated by tabs instead of {1 + len(COLUMNS)}")
    try:
        key = build_row_key(parts[0].decode("ascii"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not a SHA-1: {parts[0][:80]!r}") from error
    cells = dict(zip(COLUMNS, parts[1:], strict=True))
    for name in (F_C, FILE_CDX):
        read_object(name, cells[name])
    cells[FILE_CDX] = _decode_new_cell(cells[FILE_CDX])
    return key, cells


def dump_line(key: bytes, cells: Mapping[str, bytes]) -> bytes | None:
    """Format a row of the journal-extract table as one line of the tab-separated dumps of older
    HBase tables, without a line end.

    Returns None if the format cannot express the row: if the row is for a later capture of a file,
    lacks `f:c`, `file:mime` or `file:cdx`, or has a tab or line end in a field.
    """
    sha1hex, capture_id = split_key(key)
    if capture_id is not None or any(name not in cells for name in COLUMNS):
        return None
    fields = [build_old_key(sha1hex), *(cells[name] for name in COLUMNS)]
    fields[-1] = _decode_old_cell(fields[-1])
    if any(mark in field for field in fields for mark in (b"\t", b"\n", b"\r")):
        return None
    return b"\t".join(fields)


def _decode_new_cell(cell: bytes) -> bytes:
    values = read_object(FILE_CDX, cell)
    if set(values) != set(ORDER):
        return cell
    converted_cell = encode_compact_json(
        {name: str(values[name]) if name in NUMBERS else values[name] for name in ORDER}
    )
    return converted_cell if _decode_old_cell(converted_cell) == cell else cell


def _decode_old_cell(cell: bytes) -> bytes:
    try:
        values = read_object(FILE_CDX, cell)
    except ValueError:
        return cell
    if encode_compact_json(values) != cell:
        return cell
    converted_values = {
        name: _to_number(value) if name in NUMBERS else value for name, value in values.items()
    }
    return json.dumps(converted_values, sort_keys=True).encode()


def _to_number(value: object) -> object:
    digits = isinstance(value, str) and value.isascii() and value.isdigit()
    return int(value) if digits and len(str(value)) <= DIGITS_MAX else value  # type: ignore[call-overload]
