"""Fixity: what was made of a file, by size and SHA-256 as it was when it was written, row and blobs alike.

A sink writes them in one transaction with its row; the audit holds what is there against them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec

from fonds.derivatives.documents import clean_text
from fonds.model.encoding import EXACT_MAX
from fonds.model.keys import build_tei_blob_key, build_text_blob_key, build_thumbnail_blob_key
from fonds.model.rows import FixityRow
from fonds.model.rows.row import DerivativeRow

FLOAT_MAX = 10**308
TEXT = "text"
TEI = "tei"
THUMBNAIL = "thumbnail "


def name_thumbnail_part(form: str) -> str:
    """The part a thumbnail of this form is: `thumbnail 180px-jpg`."""
    return THUMBNAIL + form


def get_blob_key(fixity: FixityRow) -> str | None:
    """The key of the blob a fixity is about; None for the fixity of a row."""
    if fixity.part == TEXT:
        return build_text_blob_key(fixity.sha1hex)
    if fixity.part == TEI:
        return build_tei_blob_key(fixity.sha1hex)
    if fixity.part.startswith(THUMBNAIL):
        return build_thumbnail_blob_key(fixity.sha1hex, fixity.part.removeprefix(THUMBNAIL))
    return None


def build_fixity(sha1hex: str, part: str, data: bytes) -> FixityRow:
    """The fixity of a part that is these bytes."""
    return FixityRow(sha1hex, part, len(data), sha256(data).hexdigest())


def has_fixity(kind: type[DerivativeRow]) -> bool:
    """Whether who writes rows of this table notes their fixity."""
    return hasattr(kind, "WITHOUT_FIXITY")


def build_row_fixity(row: DerivativeRow) -> FixityRow:
    """The fixity of a row, the same for what is to be written and for what any database gives back."""
    left = set(getattr(row, "WITHOUT_FIXITY", ()))
    names = [one.name for one in fields(row) if one.name not in left]  # type: ignore[arg-type]
    values = {name: _normalize_column(getattr(row, name)) for name in names}
    data = msgspec.json.encode(values, order="deterministic")
    return build_fixity(row.sha1hex, row.TABLE, data)


def _normalize_column(value: Any) -> Any:
    if isinstance(value, float):
        # A column of reals has four bytes on some databases and eight on others.
        return struct.pack(">f", value).hex()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return _normalize_json(value)


def _normalize_json(value: Any) -> Any:
    """As it comes back out of a JSON column: clean texts, no NaN, whole numbers without a point."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int | float):
        # A float that is whole may come back as an integer, with as many digits as it has.
        if abs(value) <= EXACT_MAX and value == int(value):
            return str(int(value))
        return repr(float(value)) if abs(value) < FLOAT_MAX else str(value)
    if isinstance(value, Mapping):
        return {clean_text(str(name)): _normalize_json(one) for name, one in value.items()}
    if isinstance(value, Sequence):
        return [_normalize_json(one) for one in value]
    return str(value)
