"""Fixity: size and SHA-256 of each derivative row and blob, recorded when it was written.

The step that writes a row writes the fixity in the same transaction. The audit compares the fixity
with the contents of the stores.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache, lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any

import msgspec

from fonds.model.encoding import EXACT_MAX
from fonds.model.keys import build_tei_blob_key, build_text_blob_key, build_thumbnail_blob_key
from fonds.model.rows import FixityRow
from fonds.model.rows.row import DerivativeRow
from fonds.model.stored_json import clean_text, encode_stored

NUL = "\x00"
TEXT = "text"
TEI = "tei"
THUMBNAIL = "thumbnail "
CELL_FAMILIES = ("bib0", "grobid0", "match0")
"""Column families of the wide table whose cells have a fixity. They contain more than the rows of
their derivatives.
"""


def name_thumbnail_part(form: str) -> str:
    """Return the name under which the fixity of a thumbnail is stored.

    `form`: format of the thumbnail, such as `180px-jpg`. The name is the format with a prefix.
    """
    return THUMBNAIL + form


def get_blob_key(fixity: FixityRow) -> str | None:
    """Return the key of the blob that a fixity belongs to; None if it belongs to a row."""
    if fixity.part == TEXT:
        return build_text_blob_key(fixity.sha1hex)
    if fixity.part == TEI:
        return build_tei_blob_key(fixity.sha1hex)
    if fixity.part.startswith(THUMBNAIL):
        return build_thumbnail_blob_key(fixity.sha1hex, fixity.part.removeprefix(THUMBNAIL))
    return None


def build_fixity(sha1hex: str, part: str, data: bytes) -> FixityRow:
    """Compute the fixity (size and SHA-256) of a derivative row or blob.

    - `sha1hex`: SHA-1 of the file from which the row or blob was computed.
    - `part`: name of the row's table, or of the blob of the file, such as `text`.
    - `data`: content of the row or blob.
    """
    return FixityRow(sha1hex, part, len(data), sha256(data).hexdigest())


def build_cells_fixity(sha1hex: str, cells: Mapping[str, bytes]) -> FixityRow:
    """Compute the fixity (size and SHA-256) of all cells of one column family in the row of a file
    in the wide table.

    The name of its part is that of the family, such as `grobid0`.
    """
    (family,) = {column.partition(":")[0] for column in cells}
    return build_fixity(sha1hex, family, msgspec.msgpack.encode(cells, order="deterministic"))


def has_fixity(kind: type[DerivativeRow]) -> bool:
    """Return whether rows of this type have a fixity (recorded size and SHA-256)."""
    return hasattr(kind, "WITHOUT_FIXITY")


def build_row_fixity(row: DerivativeRow) -> FixityRow:
    """Compute the fixity (size and SHA-256) of a derivative row.

    The fixity is the same before the row is written and after it is read, in any database.
    """
    names, get_values = _get_columns(type(row))
    values = dict(zip(names, map(_normalize_column, get_values(row)), strict=True))
    data = msgspec.json.encode(values, order="deterministic")
    return build_fixity(row.sha1hex, row.TABLE, data)


@cache
def _get_columns(
    kind: type[DerivativeRow],
) -> tuple[list[str], Callable[[DerivativeRow], tuple[Any, ...]]]:
    """Return the names of the columns that the fixity of rows of this type includes, and a function
    that returns their values.
    """
    excluded_names = set(getattr(kind, "WITHOUT_FIXITY", ()))
    names = [column.name for column in fields(kind) if column.name not in excluded_names]  # type: ignore[arg-type]
    return names, attrgetter(*names)


def _normalize_column(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return _normalize_json(value)
    if isinstance(value, float):
        # A column of floats has four bytes on some databases and eight on others.
        return struct.pack(">f", value).hex()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return _normalize_json(encode_stored(value))


def _normalize_json(value: Any) -> Any:
    """Return a value in a form that is the same before it is written to a JSON column and after it
    is read.

    Texts have no characters that a database cannot store. NaN and infinity become None. Other
    numbers become text.
    """
    # Comparing types takes a tenth of the time of a test for an abstract class. Most items of a
    # dict are None or texts that need no call.
    kind = type(value)
    if kind is dict:
        return {
            _clean_name(name): item
            if item is None or (type(item) is str and item.isascii() and NUL not in item)
            else _normalize_json(item)
            for name, item in value.items()
        }
    if kind is list or kind is tuple:
        return [_normalize_json(item) for item in value]
    if isinstance(value, str):
        return clean_text(value)
    if value is None or kind is bool:
        return value
    if kind is int or kind is float:
        return _normalize_number(value)
    if isinstance(value, Mapping):
        return _normalize_json(dict(value))
    if isinstance(value, Sequence):
        return _normalize_json(list(value))
    return _normalize_number(value) if isinstance(value, int | float) else str(value)


def _normalize_number(value: float) -> str | None:
    # An integral float may come back as an integer with all its digits. No comparison holds for NaN.
    if abs(value) <= EXACT_MAX and value == int(value):
        return str(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        return repr(float(value))
    except OverflowError:
        return str(value)


@lru_cache(maxsize=1024, typed=True)
def _clean_name(name: Any) -> str:
    """Return the name of a JSON field as a database stores it. The same names occur in all rows."""
    return clean_text(str(name))
