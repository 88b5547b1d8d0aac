"""What SQL columns hold: clean text, aware times and JSON, alike on SQLite and PostgreSQL."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from fonds.model.disposition import Reason
from fonds.model.errors import LimitError

JSON_DEPTH_MAX = 64

# Byte order everywhere: prefixes then are ranges an index serves, and two stores list alike.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON: TypeEngine[Any] = sa.JSON(none_as_null=True)
TIME = sa.DateTime(timezone=True)

_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text without NUL and lone surrogates, which PostgreSQL refuses."""
    if text.isascii() and "\x00" not in text:
        return text
    return _FORBIDDEN.sub("", text)


def clean_json(value: object, depth: int = 0) -> Any:
    """The value with all its texts clean, mappings as dicts and sequences as lists.

    Numbers JSON has no word for (NaN, infinities) become None. Raises LimitError beyond a depth of 64.
    """
    if depth > JSON_DEPTH_MAX:
        raise LimitError(Reason.TOO_LARGE, f"metadata is nested deeper than {JSON_DEPTH_MAX}")
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(k)): clean_json(v, depth + 1) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [clean_json(one, depth + 1) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class CleanText(TypeDecorator[str]):
    """Text, cleaned on its way in and where it is compared."""

    impl = TEXT
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Text for the database."""
        return None if value is None else clean_text(value)


class UtcTime(TypeDecorator[datetime]):
    """Aware UTC times; SQLite keeps them without the zone, in a form that sorts."""

    impl = TIME
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Raises ValueError for a time without a zone: nobody could say when it was."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a zone: {value}")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """An aware UTC time."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CleanJson(TypeDecorator[Any]):
    """A JSON value, cleaned on its way in."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """PostgreSQL's own kind of it, loaded where there is one."""
        if dialect.name != "postgresql":
            return JSON
        from sqlalchemy.dialects.postgresql import JSONB

        return dialect.type_descriptor(JSONB(none_as_null=True))

    def process_bind_param(self, value: object, dialect: Dialect) -> Any:
        """Plain data for the database."""
        return clean_json(value)


class ByteLength(FunctionElement[int]):
    """Length of a text in bytes, for CHECK constraints."""

    inherit_cache = True
    type = sa.Integer()


@compiles(ByteLength)
def _write_octet_length(element: ByteLength, compiler: Any, **options: Any) -> str:
    return f"octet_length({compiler.process(element.clauses, **options)})"


@compiles(ByteLength, "sqlite")
def _write_blob_length(element: ByteLength, compiler: Any, **options: Any) -> str:
    # SQLite has octet_length only since 3.43.
    return f"length(CAST({compiler.process(element.clauses, **options)} AS BLOB))"
