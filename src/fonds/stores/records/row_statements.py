"""SQL statements that load and write rows of one type, compiled once and run by the database driver.

SQLAlchemy would analyse a statement and convert its values one by one at each call. That takes
several times as long as SQLite takes to run it. Here SQLAlchemy compiles each statement once, and
the values of many rows are converted column by column with the converters of SQLAlchemy's column
types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.engine import Dialect

from fonds.model.rows import Row
from fonds.ports.scan import iter_chunks
from fonds.stores.records.column_types import clean_column, clean_value
from fonds.stores.records.tables import get_table

Converter = Callable[[Any], Any] | None
"""Function that converts one value for the database or from it; None if values need no change."""

Key = tuple[Any, ...]
R = TypeVar("R", bound=Row)

KEYS_PER_STATEMENT = 500
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, KEYS_PER_STATEMENT)
"""Numbers of keys for which statements exist. The last key is repeated to fill a statement, so that
the driver can keep all statements prepared.
"""


def convert_columns(
    rows: Sequence[Sequence[Any]], converters: Sequence[Converter]
) -> list[Iterable[Any]]:
    """Return the values of rows by column, each converted by the converter of its column."""
    columns = list(zip(*rows, strict=True))
    converted_columns: list[Iterable[Any]] = list(columns)
    for number, converter in enumerate(converters):
        if converter is clean_value:
            converted_columns[number] = clean_column(columns[number])
        elif converter is not None:
            converted_columns[number] = map(converter, columns[number])
    return converted_columns


@dataclass(frozen=True, slots=True)
class WriteStatement:
    """Compiled SQL statement that is run once for each of many rows.

    - `sql`: the statement, with the parameter style of the driver.
    - `names`: names of its parameters, in order.
    - `converters`: converter of each parameter.
    - `is_positional`: whether the driver expects the parameters of a row as a tuple instead of a
      mapping by name.
    """

    sql: str
    names: tuple[str, ...]
    converters: tuple[Converter, ...]
    is_positional: bool

    def run(self, connection: Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Run the statement for each row. A row has the values of the parameters, in their
        order.
        """
        if not rows:
            return
        converted_rows = zip(*convert_columns(rows, self.converters), strict=True)
        if self.is_positional:
            connection.exec_driver_sql(self.sql, list(converted_rows))
        else:
            parameters = [dict(zip(self.names, row, strict=True)) for row in converted_rows]
            connection.exec_driver_sql(self.sql, parameters)


_WRITE_STATEMENTS: dict[tuple[str, object], WriteStatement] = {}


def get_write_statement(
    connection: Connection, key: object, names: Sequence[str], build: Callable[[], Any]
) -> WriteStatement:
    """Return a compiled INSERT statement for the dialect of a connection. It is compiled at the
    first call.

    - `key`: identifies the statement among those of one dialect.
    - `names`: columns to insert, in the order of the values.
    - `build`: function that builds the statement with SQLAlchemy.
    """
    dialect = connection.dialect
    statement = _WRITE_STATEMENTS.get((dialect.name, key))
    if statement is None:
        compiled = build().compile(dialect=dialect, column_keys=list(names))
        parameters = tuple(compiled.positiontup or compiled.binds)
        types = {name: parameter.type for name, parameter in compiled.binds.items()}
        statement = WriteStatement(
            compiled.string,
            parameters,
            tuple(types[name].bind_processor(dialect) for name in parameters),
            bool(compiled.positional),
        )
        if parameters != tuple(names):
            raise AssertionError(f"parameters {parameters} instead of {tuple(names)}")
        _WRITE_STATEMENTS[dialect.name, key] = statement
    return statement


@dataclass(frozen=True, slots=True)
class SelectStatement:
    """SQL statements that load columns of the rows of one table by primary key, or find the keys
    without a row.

    - `start`: the statement up to the condition on the keys.
    - `key_names`: quoted names of the key columns.
    - `key_converters`: converter of each key column, for the database.
    - `converters`: converter of each loaded column, from the database.
    - `placeholder`: text that stands for one parameter.
    """

    start: str
    key_names: tuple[str, ...]
    key_converters: tuple[Converter, ...]
    converters: tuple[Converter, ...]
    placeholder: str

    def load(self, connection: Connection, keys: Sequence[Key]) -> list[Iterable[Any]]:
        """Return the values by column of the existing rows with these keys, which must be unique.

        Without a row, the result has no columns.
        """
        rows: list[Any] = []
        for padded_keys in _iter_padded(keys):
            columns = [list(column) for column in convert_columns(padded_keys, self.key_converters)]
            parameters = columns[0]
            if len(columns) > 1:
                parameters += [value for key in zip(*columns, strict=True) for value in key]
            condition = self._build_condition(len(padded_keys))
            rows += _fetch_all(connection, f"{self.start} WHERE {condition}", parameters)
        return convert_columns(rows, self.converters) if rows else []

    def find_missing(self, connection: Connection, keys: Sequence[Key]) -> list[Key]:
        """Return those of the keys, which must be unique, for which no row exists."""
        missing_keys: list[Key] = []
        key_marks = f"({', '.join([self.placeholder] * len(self.key_names))})"
        # Both databases name the columns of a list of values so.
        matches = [f"{name} = k.column{n}" for n, name in enumerate(self.key_names, 1)]
        row_query = f"{self.start} WHERE {' AND '.join(matches)}"
        for padded_keys in _iter_padded(keys):
            stored_keys = list(zip(*convert_columns(padded_keys, self.key_converters), strict=True))
            values = ", ".join([key_marks] * len(padded_keys))
            rows = _fetch_all(
                connection,
                f"SELECT * FROM ({_VALUES}{values}) AS k WHERE NOT EXISTS ({row_query})",  # noqa: S608 (names of ours)
                [value for key in stored_keys for value in key],
            )
            if rows:
                keys_by_stored = dict(zip(stored_keys, padded_keys, strict=True))
                missing_keys += {keys_by_stored[tuple(row)]: None for row in rows}
        return missing_keys

    def _build_condition(self, size: int) -> str:
        marks = ", ".join([self.placeholder] * size)
        condition = f"{self.key_names[0]} IN ({marks})"
        if len(self.key_names) == 1:
            return condition
        # Given only tuples, SQLite would scan the whole table; the first column leads it to the
        # index.
        key_marks = f"({', '.join([self.placeholder] * len(self.key_names))})"
        values = ", ".join([key_marks] * size)
        return f"{condition} AND ({', '.join(self.key_names)}) IN ({_VALUES}{values})"


def _iter_padded(keys: Sequence[Key]) -> Iterator[list[Key]]:
    """Yield the keys in lists of the sizes in `SIZES`. The last key is repeated to fill a list."""
    for chunk in iter_chunks(iter(keys), KEYS_PER_STATEMENT):
        size = next(candidate for candidate in SIZES if candidate >= len(chunk))
        yield [*chunk, *[chunk[-1]] * (size - len(chunk))]


def _fetch_all(connection: Connection, sql: str, parameters: Sequence[Any]) -> Sequence[Any]:
    """Run an SQL statement with the database driver; return all rows as the driver gives them."""
    result = connection.exec_driver_sql(sql, tuple(parameters))
    rows: Sequence[Any] = result.cursor.fetchall() if result.cursor is not None else ()
    result.close()
    return rows


_VALUES = "VALUES "
"""SQLite accepts a list of tuples only with this word, and PostgreSQL accepts it too."""

_SELECT_STATEMENTS: dict[tuple[str, type[Row], tuple[str, ...]], SelectStatement] = {}


def get_select_statement(
    connection: Connection, kind: type[Row], names: tuple[str, ...] = ()
) -> SelectStatement:
    """Return the compiled SELECT statement that loads rows of the type `kind` by primary key, for
    the dialect of a connection. It is compiled at the first call.

    `names` are the columns to load; all columns if it is empty.
    """
    dialect = connection.dialect
    statement = _SELECT_STATEMENTS.get((dialect.name, kind, names))
    if statement is None:
        statement = _compile_select(dialect, kind, names)
        _SELECT_STATEMENTS[dialect.name, kind, names] = statement
    return statement


def _compile_select(dialect: Dialect, kind: type[Row], names: tuple[str, ...]) -> SelectStatement:
    table = get_table(kind)
    columns = [table.c[name] for name in names] if names else list(table.c)
    key_columns = [table.c[name] for name in kind.KEY]
    prepare = dialect.identifier_preparer
    return SelectStatement(
        str(sa.select(*columns).compile(dialect=dialect)),
        tuple(prepare.quote(column.name) for column in key_columns),
        tuple(column.type.bind_processor(dialect) for column in key_columns),
        tuple(column.type.result_processor(dialect, None) for column in columns),
        "?" if dialect.paramstyle == "qmark" else "%s",
    )


def load_rows(connection: Connection, kind: type[R], keys: Iterable[Key]) -> list[R]:
    """Return the existing rows of the type `kind` with these primary keys, in no particular order.

    A key that is given several times gives one row.
    """
    unique_keys = list(dict.fromkeys(keys))
    columns = get_select_statement(connection, kind).load(connection, unique_keys)
    return list(map(kind, *columns)) if columns else []


def fetch_rows(connection: Connection, kind: type[R], query: Any, values: Any = None) -> list[R]:
    """Run an SQL query for all columns of the type `kind`, in their order; return its rows.

    - `query`: query of SQLAlchemy.
    - `values`: values of its parameters, by name; None without parameters.
    """
    result = connection.execute(query, values)
    rows = result.cursor.fetchall() if result.cursor is not None else ()
    result.close()
    if not rows:
        return []
    return list(
        map(kind, *convert_columns(rows, get_select_statement(connection, kind).converters))
    )


@cache
def get_value_reader(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns the values of a row of the type `kind`, in the order of its
    columns.
    """
    return _build_reader([column.name for column in get_table(kind).columns])


@cache
def get_key_reader(kind: type[Row]) -> Callable[[Any], Key]:
    """Return a function that returns the primary key of a row of the type `kind`."""
    return _build_reader(kind.KEY)


def _build_reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*names) if len(names) > 1 else lambda row: (getattr(row, names[0]),)
