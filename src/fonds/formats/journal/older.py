"""Rows as the tools of the HBase era dumped them: four columns with tabs between, JSON with sorted names.

Key (`sha1:` and base32), `f:c`, `file:mime`, `file:cdx`. There the numbers of `file:cdx` are JSON numbers,
here they are strings. `f:c` stays byte for byte as it is; `file:cdx` is brought to the form of today where
that can be undone, else it stays too: readers understand both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from fonds.formats.journal.cells import F_C, FILE_CDX, FILE_MIME, compact_json, read_object
from fonds.formats.journal.keys import older_key, row_key, split_key

COLUMNS = (F_C, FILE_MIME, FILE_CDX)
NUMBERS = ("offset", "c_size")
ORDER = ("surt", "url", "dt", "warc", "offset", "c_size")
DIGITS_MAX = 19


def row_from_dump(line: bytes) -> tuple[bytes, dict[str, bytes]]:
    """The row of one line of a dump. Raises ValueError for what is none."""
    parts = line.rstrip(b"\r\n").split(b"\t")
    if len(parts) != 1 + len(COLUMNS):
        raise ValueError(
            f"it has {len(parts)} fields with tabs between instead of {1 + len(COLUMNS)}"
        )
    try:
        key = row_key(parts[0].decode("ascii"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not a SHA-1: {parts[0][:80]!r}") from error
    cells = dict(zip(COLUMNS, parts[1:], strict=True))
    for name in (F_C, FILE_CDX):
        read_object(name, cells[name])
    cells[FILE_CDX] = _of_today(cells[FILE_CDX])
    return key, cells


def dump_line(key: bytes, cells: Mapping[str, bytes]) -> bytes | None:
    """One line of a dump without its end; None for a row that lacks one of the three columns, or has a tab
    or line end in one."""
    sha1hex, capture_id = split_key(key)
    if capture_id is not None or any(name not in cells for name in COLUMNS):
        return None
    fields = [older_key(sha1hex), *(cells[name] for name in COLUMNS)]
    fields[-1] = _of_then(fields[-1])
    if any(mark in field for field in fields for mark in (b"\t", b"\n", b"\r")):
        return None
    return b"\t".join(fields)


def _of_today(cell: bytes) -> bytes:
    values = read_object(FILE_CDX, cell)
    if set(values) != set(ORDER):
        return cell
    today = compact_json(
        {name: str(values[name]) if name in NUMBERS else values[name] for name in ORDER}
    )
    return today if _of_then(today) == cell else cell


def _of_then(cell: bytes) -> bytes:
    try:
        values = read_object(FILE_CDX, cell)
    except ValueError:
        return cell
    if compact_json(values) != cell:
        return cell
    numbered = {
        name: _number(value) if name in NUMBERS else value for name, value in values.items()
    }
    return json.dumps(numbered, sort_keys=True).encode()


def _number(value: object) -> object:
    digits = isinstance(value, str) and value.isascii() and value.isdigit()
    return int(value) if digits and len(str(value)) <= DIGITS_MAX else value  # type: ignore[call-overload]
