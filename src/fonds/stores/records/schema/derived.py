"""The table of a row by its fields alone: types, what may be absent, the key; for rows that need no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Table

from fonds.model.rows import Row
from fonds.stores.records.schema.column_types import CleanJson, CleanText, UtcTime

SHA1HEX = "sha1hex"
_TYPES: Mapping[type, Any] = {
    str: CleanText,
    int: BigInteger,
    float: sa.REAL,
    bool: Boolean,
    datetime: UtcTime,
    Mapping: CleanJson,
}


def derive(kind: type[Row], metadata: sa.MetaData) -> Table:
    """The table of this row, made in `metadata`.

    `str` is text, `int` a big integer, `float` a real, `bool` a boolean, `datetime` a time in UTC, `Mapping`
    JSON; with `| None` a column may be absent. A column `sha1hex` has 40 characters. Raises TypeError for
    a field of another type.
    """
    hints = get_type_hints(kind)
    columns = [_column(kind, one.name, hints[one.name]) for one in fields(kind)]  # type: ignore[arg-type]
    return Table(kind.TABLE, metadata, *columns)


def _column(kind: type[Row], name: str, hint: Any) -> Column[Any]:
    options = [one for one in get_args(hint) if one is not NoneType]
    optional = isinstance(hint, UnionType) and len(options) < len(get_args(hint))
    plain = options[0] if optional and len(options) == 1 else hint
    sort = _TYPES.get(get_origin(plain) or plain)
    if sort is None:
        raise TypeError(f"{kind.TABLE}.{name}: there is no column for {hint}")
    checks = [CheckConstraint("length(sha1hex) = 40")] if name == SHA1HEX else []
    # A number that is a key is given, not counted up by the database.
    return Column(
        name,
        sort,
        *checks,
        primary_key=name in kind.KEY,
        nullable=optional,
        autoincrement=False,
    )
