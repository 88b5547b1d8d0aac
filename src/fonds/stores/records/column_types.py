"""SQL column types for clean text, hexadecimal text, UTC times and JSON, with the same behaviour on
SQLite and PostgreSQL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedRowError, LimitError
from fonds.model.stored_json import clean_text, decode_stored, encode_stored

JSON_DEPTH_MAX = 64

# Byte order everywhere, so that an index serves prefixes and both databases sort alike.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON: TypeEngine[Any] = sa.JSON(none_as_null=True)
TIME = sa.DateTime(timezone=True)
SHORT_TIME = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")


def build_constant(text: str) -> sa.ColumnElement[str]:
    """Return a constant text as an SQL literal instead of a parameter. `text` must come from the
    code, never from users.

    A grouped expression must be identical in SELECT and GROUP BY, and PostgreSQL never treats two
    parameters as equal.
    """
    return sa.literal_column(f"'{text}'", sa.Text)


def clean_json(value: object, depth: int = 0) -> Any:
    """Copy a JSON value with NUL characters and lone surrogates removed from all texts. Mappings
    become dicts and sequences become lists.

    Numbers that JSON cannot express (NaN, infinities) become None. Raises LimitError if the value
    is nested deeper than 64 levels.
    """
    if depth > JSON_DEPTH_MAX:
        raise LimitError(Reason.TOO_LARGE, f"metadata is nested deeper than {JSON_DEPTH_MAX}")
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, int):
        return value
    # A test for an abstract class takes longer than one for a class.
    if isinstance(value, dict | Mapping):
        return {clean_text(str(k)): clean_json(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | Sequence) and not isinstance(value, (bytes, bytearray)):
        return [clean_json(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def check_text(value: Any) -> str | None:
    """Return a value that SQLite stores in a text column. Raises DamagedRowError if it is no
    text.
    """
    if value is None or type(value) is str:
        return value
    raise DamagedRowError(f"{describe_stored(value)} is no text")


def check_number(value: Any) -> int | None:
    """Return a value that SQLite stores in a column of whole numbers. Raises DamagedRowError if it
    is no such number.
    """
    if value is None or type(value) is int:
        return value
    raise DamagedRowError(f"{describe_stored(value)} is no whole number")


def check_real(value: Any) -> float | None:
    """Return a value that SQLite stores in a column of numbers. Raises DamagedRowError if it is no
    number.
    """
    if value is None or type(value) is float or type(value) is int:
        return value
    raise DamagedRowError(f"{describe_stored(value)} is no number")


STORED_TYPES: Mapping[Any, frozenset[type]] = {
    check_text: frozenset({str, NoneType}),
    check_number: frozenset({int, NoneType}),
    check_real: frozenset({float, int, NoneType}),
}
"""Types of the values that a function accepts which only checks values."""


NO_TYPES: frozenset[type] = frozenset()


def describe_stored(value: object) -> str:
    """Return a stored value for an error message, shortened."""
    return repr(value)[:STORED_CHARS]


STORED_CHARS = 40


class WholeNumber(TypeDecorator[int]):
    """Column of whole numbers with 4 bytes on PostgreSQL. SQLite stores any value in any column, so
    that values are checked when they are read.
    """

    impl = sa.Integer
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that checks stored values on SQLite."""
        return check_number if dialect.name == "sqlite" else None


class BigNumber(TypeDecorator[int]):
    """Column of whole numbers with 8 bytes on PostgreSQL, otherwise as `WholeNumber`."""

    impl = sa.BigInteger
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that checks stored values on SQLite."""
        return check_number if dialect.name == "sqlite" else None


class RealNumber(TypeDecorator[float]):
    """Column of numbers with a fraction, of single precision on PostgreSQL. SQLite stores any value
    in any column, so that values are checked when they are read.
    """

    impl = sa.REAL
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that checks stored values on SQLite."""
        return check_real if dialect.name == "sqlite" else None


class Flag(TypeDecorator[bool]):
    """Column of booleans. SQLite stores any value in any column, so that values are checked when
    they are read.
    """

    impl = sa.Boolean
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that converts the numbers that SQLite stores."""
        return _decode_flag if dialect.name == "sqlite" else None


def _decode_flag(value: Any) -> bool | None:
    try:
        return _FLAGS[value]
    except KeyError:
        raise DamagedRowError(f"{describe_stored(value)} is neither 0 nor 1") from None


_FLAGS = {0: False, 1: True, None: None}


class CleanText(TypeDecorator[str]):
    """Text column. NUL characters and lone surrogates are removed when a value is written or
    compared. SQLite stores any value in any column, so that values are checked when they are read.
    """

    impl = TEXT
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Remove the characters that the database rejects (NUL and lone surrogates) from a
        parameter value.
        """
        return clean_value(value)

    def bind_processor(self, dialect: Dialect) -> Callable[[str | None], str | None]:
        """Return the function that cleans parameter values, without the layers of calls that
        SQLAlchemy would put around `process_bind_param`.
        """
        return clean_value

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that checks stored values on SQLite."""
        return check_text if dialect.name == "sqlite" else None


def clean_value(value: str | None) -> str | None:
    """Remove the characters that the database rejects from a text; None stays None."""
    return None if value is None else clean_text(value)


def clean_column(values: Sequence[str | None]) -> Iterable[str | None]:
    """Remove the characters that the database rejects from the texts of a column.

    Most columns have only ASCII, which is found out for all texts together.
    """
    texts = "".join(filter(None, values))
    if texts.isascii() and "\x00" not in texts:
        return values
    return map(clean_value, values)


class HexBytes(TypeDecorator[str]):
    """Column of hexadecimal texts, which are stored as bytes: half as long. It is never null."""

    impl = sa.LargeBinary
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        """Return the function that converts hexadecimal texts to bytes."""
        return bytes.fromhex

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """Return the function that converts stored bytes to hexadecimal text."""
        return _decode_hex


def _decode_hex(value: Any) -> str:
    try:
        return bytes.hex(value)
    except TypeError:
        raise DamagedRowError(f"{describe_stored(value)} is no sequence of bytes") from None


class HexText(FunctionElement[str]):
    """SQL function that returns the hexadecimal text of a column of bytes."""

    inherit_cache = True
    type = TEXT


@compiles(HexText)
def _write_encode(element: HexText, compiler: Any, **options: Any) -> str:
    return f"encode({compiler.process(element.clauses, **options)}, 'hex')"


@compiles(HexText, "sqlite")
def _write_hex(element: HexText, compiler: Any, **options: Any) -> str:
    return f"lower(hex({compiler.process(element.clauses, **options)}))"


class UtcTime(TypeDecorator[datetime]):
    """Column of times with zone UTC. SQLite stores a time as text without the zone, in a sortable
    format.

    With `is_short`, SQLite stores the microseconds since 1970: 8 bytes instead of 26. Tables with a
    row or more per page have short times.
    """

    impl = TIME
    cache_ok = True

    def __init__(self, *, is_short: bool = False) -> None:
        """Create an SQL column type of times, which SQLite stores as numbers if `is_short`."""
        super().__init__()
        self.is_short = is_short

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Use numbers for short times on SQLite, and otherwise the time type of the database."""
        return dialect.type_descriptor(SHORT_TIME if self.is_short else TIME)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a time to UTC for the database. Raises ValueError if the time has no zone."""
        return _convert_to_utc(value)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a time from the database to a time with zone UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)

    def bind_processor(self, dialect: Dialect) -> Any:
        """Return the function that converts times for the database: on SQLite directly to the text
        that SQLAlchemy would store, or to a number.
        """
        if dialect.name == "sqlite":
            return _count_microseconds if self.is_short else _format_utc
        return super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that converts stored times: on SQLite directly from their text or
        number.
        """
        if dialect.name == "sqlite":
            return _parse_microseconds if self.is_short else _parse_utc
        return super().result_processor(dialect, coltype)


def _convert_to_utc(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    if value.tzinfo is None:
        raise ValueError(f"a time without a time zone: {value}")
    return value.astimezone(UTC)


def _format_utc(value: datetime | None) -> str | None:
    utc = _convert_to_utc(value)
    return None if utc is None else utc.isoformat(" ", "microseconds")[:_TIME_CHARS]


def _parse_utc(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(f"{text}+00:00")
    except ValueError:
        raise DamagedRowError(f"{describe_stored(text)} is no time") from None


_TIME_CHARS = len("2026-11-27 16:40:00.000000")


def _count_microseconds(value: datetime | None) -> int | None:
    utc = _convert_to_utc(value)
    return None if utc is None else (utc - _EPOCH) // _MICROSECOND


def _parse_microseconds(count: int | None) -> datetime | None:
    try:
        return None if count is None else _EPOCH + count * _MICROSECOND
    except (TypeError, OverflowError, ValueError):
        raise DamagedRowError(f"{describe_stored(count)} is no time") from None


_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class StoredJson(TypeDecorator[Any]):
    """Column of typed values that are stored as JSON. NUL characters and lone surrogates are
    removed when a value is written.

    `kind` is the Python type of the values, such as `PdfMetadata` or `Mapping[str, int]`.
    """

    impl = JSON
    cache_ok = True

    def __init__(self, kind: Any) -> None:
        """Create an SQL column type whose values have the Python type `kind` and are stored as
        JSON.
        """
        super().__init__()
        self.kind = kind

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Use JSONB on PostgreSQL and JSON on SQLite. PostgreSQL's dialect is imported only when it
        is in use.
        """
        if dialect.name != "postgresql":
            return JSON
        from sqlalchemy.dialects.postgresql import JSONB

        return dialect.type_descriptor(JSONB(none_as_null=True))

    def process_bind_param(self, value: object, dialect: Dialect) -> Any:
        """Convert a typed value to JSON data for the database, without NUL characters and lone
        surrogates.
        """
        return clean_json(encode_stored(value))

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Convert JSON data from the database to the typed value. Raises ValueError if a required
        field is missing.
        """
        return None if value is None else decode_stored(self.kind, value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that converts stored JSON to the typed value. It raises
        DamagedRowError if that is impossible.
        """
        return read_damaged(super().result_processor(dialect, coltype))


def read_damaged(convert: Any) -> Callable[[Any], Any]:
    """Return a function that converts a stored value with `convert`, and raises DamagedRowError if
    the value has a wrong type or format.
    """

    def convert_or_explain(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, TypeError, OverflowError):
            raise DamagedRowError(f"{describe_stored(value)} has a wrong format") from None

    return convert_or_explain


class ByteLength(FunctionElement[int]):
    """SQL function that returns the length of a text in bytes, for CHECK constraints."""

    inherit_cache = True
    type = sa.Integer()


@compiles(ByteLength)
def _write_octet_length(element: ByteLength, compiler: Any, **options: Any) -> str:
    return f"octet_length({compiler.process(element.clauses, **options)})"


@compiles(ByteLength, "sqlite")
def _write_blob_length(element: ByteLength, compiler: Any, **options: Any) -> str:
    # SQLite has octet_length only since 3.43.
    return f"length(CAST({compiler.process(element.clauses, **options)} AS BLOB))"
