"""SQL statements that load and write rows of one type, compiled once and run by the database driver.

SQLAlchemy would analyse a statement and convert its values one by one at each call. That takes
several times as long as SQLite takes to run it. Here SQLAlchemy compiles each statement once, and
the values of many rows are converted column by column with the converters of SQLAlchemy's column
types.

PostgreSQL gets the values of a column as one array, so that one statement writes or finds many
rows. The driver would otherwise send one statement per row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Column, ColumnElement, Connection, Insert, Table
from sqlalchemy.engine import Dialect

from fonds.model.errors import DamagedRowError
from fonds.model.rows import Row
from fonds.ports.scan import iter_chunks
from fonds.stores.records.column_types import NO_TYPES, STORED_TYPES, clean_column, clean_value
from fonds.stores.records.tables import get_table

Converter = Callable[[Any], Any] | None
"""Function that converts one value for the database or from it; None if values need no change."""

Key = tuple[Any, ...]
R = TypeVar("R", bound=Row)

LOCATE_MAX_S = 20.0
"""Seconds after which the search for a damaged value ends."""

KEYS_PER_STATEMENT = ROWS_PER_STATEMENT = 500
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, KEYS_PER_STATEMENT)
"""Numbers of keys for which statements of SQLite exist. Smaller numbers are filled up with null, so
that the driver can keep all statements prepared.
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
        # Comparing the types takes a fifth of the time of a call per value.
        elif converter is not None and not STORED_TYPES.get(converter, NO_TYPES).issuperset(
            map(type, columns[number])
        ):
            converted_columns[number] = map(converter, columns[number])
    return converted_columns


def convert_stored(
    rows: Sequence[Sequence[Any]],
    converters: Sequence[Converter],
    table_name: str,
    names: Sequence[str],
    key_names: Sequence[str],
) -> list[Sequence[Any]]:
    """Return the values of stored rows by column, each converted by the converter of its column.

    Raises DamagedRowError, which names the first value that cannot be converted.

    - `names`: names of the columns.
    - `key_names`: names of the columns of the primary key.
    """
    try:
        return [
            column if isinstance(column, tuple) else list(column)
            for column in convert_columns(rows, converters)
        ]
    except DamagedRowError:
        for row in rows:
            _convert_row(row, converters, table_name, names, key_names)
        raise


def _convert_row(
    row: Sequence[Any],
    converters: Sequence[Converter],
    table_name: str,
    names: Sequence[str],
    key_names: Sequence[str],
) -> None:
    """Convert the values of one row, and raise DamagedRowError if one cannot be converted."""
    for name, value, converter in zip(names, row, converters, strict=True):
        try:
            if converter is not None:
                converter(value)
        except DamagedRowError as error:
            key = [
                f"{column}={stored.hex() if isinstance(stored, bytes) else stored}"
                for column, stored in zip(names, row, strict=True)
                if column in key_names
            ]
            located_error = DamagedRowError(
                f"The column {name} of the table {table_name} cannot be read in the row "
                f"{', '.join(key)}: {error}. Another program or a broken disk changed it. "
                "Restore the records from a backup."
            )
            located_error.is_located = True
            raise located_error from None


def locate_damage(connection: Connection, kinds: Iterable[type[Row]]) -> None:
    """Read the tables of row types, and raise DamagedRowError for the first value that cannot be
    read.

    Stops after some seconds without an error. Only for SQLite.
    """
    ends_at_s = time.monotonic() + LOCATE_MAX_S
    for kind in kinds:
        table = get_table(kind)
        statement = get_select_statement(connection, kind)
        names = [column.name for column in table.c]
        columns = ", ".join(map(connection.dialect.identifier_preparer.quote, names))
        sql = f"SELECT {columns} FROM {statement.table_name}"  # noqa: S608 (our names)
        cursor = connection.exec_driver_sql(sql).cursor
        while cursor is not None and (rows := cursor.fetchmany(ROWS_PER_STATEMENT)):
            convert_stored(rows, statement.converters, table.name, names, kind.KEY)
            if time.monotonic() > ends_at_s:
                return


def build_array(values: Iterable[Any], kind: type[Any]) -> list[Any]:
    """Return the values of a column for the PostgreSQL driver, which accepts only arrays of values
    of one type.

    `kind` is the type of the column's values in Python. Numbers and texts of other types, such as
    members of an enumeration, are converted to it.
    """
    array = list(values)
    kinds = set(map(type, array)) - {kind, NoneType}
    if kinds and kind in (str, int, float, bool):
        return [None if value is None else kind(value) for value in array]
    return array


def _get_kind(column: Column[Any]) -> type[Any]:
    """Return the type of a column's values in Python."""
    column_type = column.type
    if isinstance(column_type, sa.TypeDecorator):
        column_type = column_type.impl_instance
    return column_type.python_type


@dataclass(frozen=True, slots=True)
class WriteStatement:
    """Compiled SQL statement that writes many rows.

    - `sql`: the statement, with the parameter style of the driver.
    - `names`: names of its parameters, in order. There is one for each column.
    - `converters`: converter of each parameter.
    - `kinds`: types of the columns' values in Python if a parameter is the array of the values of a
      column. Empty if the statement is run once for each row.
    - `key_numbers`: numbers of the columns of the primary key.
    """

    sql: str
    names: tuple[str, ...]
    converters: tuple[Converter, ...]
    kinds: tuple[type[Any], ...]
    key_numbers: tuple[int, ...]

    def run(self, connection: Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows. A row has the values of the parameters, in their order."""
        if not rows:
            return
        columns = convert_columns(rows, self.converters)
        if not self.kinds:
            connection.exec_driver_sql(self.sql, list(zip(*columns, strict=True)))
            return
        arrays = list(map(build_array, columns, self.kinds))
        keys = set(zip(*(arrays[number] for number in self.key_numbers), strict=True))
        # One statement must not write a row twice. Different keys can become equal in conversion.
        size = ROWS_PER_STATEMENT if len(keys) == len(rows) else 1
        for start in range(0, len(rows), size):
            chunk = [array[start : start + size] for array in arrays]
            connection.exec_driver_sql(self.sql, dict(zip(self.names, chunk, strict=True)))


_WRITE_STATEMENTS: dict[tuple[str, object], WriteStatement] = {}


def get_write_statement(
    connection: Connection, key: object, table: Table, build: Callable[[], Insert]
) -> WriteStatement:
    """Return a compiled INSERT statement for the dialect of a connection. It is compiled at the
    first call.

    - `key`: identifies the statement among those of one dialect.
    - `table`: table whose columns are inserted.
    - `build`: function that builds the statement with SQLAlchemy.
    """
    dialect = connection.dialect
    statement = _WRITE_STATEMENTS.get((dialect.name, key))
    if statement is None:
        statement = _WRITE_STATEMENTS[dialect.name, key] = _compile_write(dialect, table, build())
    return statement


def _compile_write(dialect: Dialect, table: Table, insert: Insert) -> WriteStatement:
    columns = list(table.columns)
    kinds: tuple[type[Any], ...] = ()
    if dialect.name == "postgresql":
        insert = _insert_arrays(table, insert)
        kinds = tuple(map(_get_kind, columns))
    names = tuple(column.name for column in columns)
    compiled = insert.compile(dialect=dialect, column_keys=None if kinds else list(names))
    parameters = tuple(compiled.positiontup or compiled.binds)
    if parameters != names:
        raise AssertionError(f"parameters {parameters} instead of {names}")
    return WriteStatement(
        _use_binary_arrays(compiled.string) if kinds else compiled.string,
        names,
        tuple(column.type.bind_processor(dialect) for column in columns),
        kinds,
        tuple(number for number, column in enumerate(columns) if column.primary_key),
    )


def _insert_arrays(table: Table, insert: Insert) -> Insert:
    """Return an INSERT statement whose parameters are arrays with the values of a column."""
    from sqlalchemy.dialects.postgresql import ARRAY  # As slow to import as all other modules.

    names = table.columns.keys()
    arrays = [sa.bindparam(column.name, type_=ARRAY(column.type)) for column in table.columns]
    rows = sa.func.unnest(*arrays).table_valued(*names, name="new_rows").render_derived()
    return insert.from_select(names, sa.select(*rows.c), include_defaults=False)


@dataclass(frozen=True, slots=True)
class SelectStatement:
    """SQL statement that loads columns of the rows of one table by primary key.

    - `kind`: type of the rows.
    - `sql`: the statement. For SQLite it lacks the table `keys`, which it reads, and the condition
      on the keys.
    - `table_name`: quoted name of the table.
    - `key_names`: quoted names of the key columns, with the name of the table.
    - `key_converters`: converter of each key column, for the database.
    - `names`: names of the loaded columns.
    - `converters`: converter of each loaded column, from the database.
    - `key_kinds`: types of the key columns' values in Python if a parameter is the array of the
      values of a key column. Empty if a parameter is one value.
    """

    kind: type[Row]
    sql: str
    table_name: str
    key_names: tuple[str, ...]
    key_converters: tuple[Converter, ...]
    names: tuple[str, ...]
    converters: tuple[Converter, ...]
    key_kinds: tuple[type[Any], ...]

    def load(self, connection: Connection, keys: Sequence[Key]) -> list[Sequence[Any]]:
        """Return the values by column of the existing rows with these keys, which must be unique.

        Without a row, the result has no columns.
        """
        rows: list[Any] = []
        for chunk in iter_chunks(iter(keys), KEYS_PER_STATEMENT):
            sql, parameters = self.sql, self._convert_keys(chunk)
            if not self.key_kinds:
                sql = f"{self._list_keys(_choose_size(len(chunk)))} {sql} ON {self._match_key()}"
            rows += _fetch_all(connection, sql, parameters)
        return self.convert(rows)

    def convert(self, rows: Sequence[Any]) -> list[Sequence[Any]]:
        """Return the values by column of rows as the database driver returns them.

        Without a row, the result has no columns.
        """
        if not rows:
            return []
        return convert_stored(rows, self.converters, self.table_name, self.names, self.kind.KEY)

    def lacks_any(self, connection: Connection, keys: Sequence[Key]) -> bool:
        """Return whether at least one of these keys has no row, without loading rows. Only for
        SQLite, and for up to `KEYS_PER_STATEMENT` keys.
        """
        row = f"SELECT 1 FROM {self.table_name} WHERE {self._match_key()}"  # noqa: S608 (our names)
        condition = f"WHERE key_0 IS NOT NULL AND NOT EXISTS ({row}) LIMIT 1"
        sql = f"{self._list_keys(_choose_size(len(keys)))} SELECT 1 FROM keys {condition}"  # noqa: S608
        return bool(_fetch_all(connection, sql, self._convert_keys(keys)))

    def _convert_keys(self, keys: Sequence[Key]) -> Any:
        """Return the parameters of a statement for these keys.

        The keys fill a statement of one of the `SIZES`: null, which no row has, follows them.
        """
        columns = convert_columns(keys, self.key_converters)
        if self.key_kinds:
            return _name_arrays(map(build_array, columns, self.key_kinds))
        # Different keys can become equal in conversion.
        values = tuple(chain.from_iterable(dict.fromkeys(zip(*columns, strict=True))))
        return values + (None,) * (len(self.key_names) * _choose_size(len(keys)) - len(values))

    def _list_keys(self, size: int) -> str:
        """Return the SQL of a table `keys` with the values of `size` keys, for SQLite."""
        names = ", ".join(f"key_{number}" for number in range(len(self.key_names)))
        marks = f"({', '.join('?' * len(self.key_names))})"
        return f"WITH keys ({names}) AS (VALUES {', '.join([marks] * size)})"

    def _match_key(self) -> str:
        """Return the condition that a row has the key in the current row of `keys`."""
        return " AND ".join(f"{name} = key_{number}" for number, name in enumerate(self.key_names))


def _choose_size(count: int) -> int:
    """Return the smallest size of a statement for `count` keys."""
    return next(size for size in SIZES if size >= count)


def _fetch_all(connection: Connection, sql: str, parameters: Any) -> Sequence[Any]:
    result = connection.exec_driver_sql(sql, parameters)
    rows = result.cursor.fetchall() if result.cursor is not None else ()
    result.close()
    return rows


def _use_binary_arrays(sql: str) -> str:
    """Return a statement whose parameters the PostgreSQL driver sends in binary format.

    Arrays of texts take a third of the time in binary format, because nothing has to be quoted.
    """
    return sql.replace(")s::", ")b::")


def _name_arrays(arrays: Iterable[list[Any]]) -> Any:
    """Return arrays as the parameters of a statement, by name."""
    return {f"keys_{number}": array for number, array in enumerate(arrays)}


def _match_arrays(columns: Sequence[Column[Any]]) -> ColumnElement[bool]:
    """Return the condition on the keys in the arrays `keys_0`, `keys_1` and so on, one for each key
    column.
    """
    from sqlalchemy.dialects.postgresql import ARRAY

    arrays = [
        sa.bindparam(f"keys_{number}", type_=ARRAY(column.type))
        for number, column in enumerate(columns)
    ]
    if len(columns) == 1:
        return columns[0] == sa.any_(arrays[0])
    names = [column.name for column in columns]
    keys = sa.func.unnest(*arrays).table_valued(*names, name="keys").render_derived()
    return sa.tuple_(*columns).in_(sa.select(*keys.c))


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
    table_name = prepare.quote(table.name)
    select = sa.select(*columns)
    key_kinds: tuple[type[Any], ...] = ()
    if dialect.name == "postgresql":
        select = select.where(_match_arrays(key_columns))
        key_kinds = tuple(map(_get_kind, key_columns))
    sql = str(select.compile(dialect=dialect))
    if not key_kinds:
        # CROSS JOIN makes SQLite read the keys first, and find each in the index of the table. It
        # would scan the table for keys in `IN (VALUES …)`.
        sql = sql.replace(f"FROM {table_name}", f"FROM keys CROSS JOIN {table_name}")
    return SelectStatement(
        kind,
        _use_binary_arrays(sql) if key_kinds else sql,
        table_name,
        tuple(f"{table_name}.{prepare.quote(column.name)}" for column in key_columns),
        tuple(column.type.bind_processor(dialect) for column in key_columns),
        tuple(column.name for column in columns),
        tuple(column.type.result_processor(dialect, None) for column in columns),
        key_kinds,
    )


def load_rows(connection: Connection, kind: type[R], keys: Iterable[Key]) -> list[R]:
    """Return the existing rows of the type `kind` with these primary keys, in no particular order.

    A key that is given several times gives one row.
    """
    unique_keys = list(dict.fromkeys(keys))
    columns = get_select_statement(connection, kind).load(connection, unique_keys)
    return list(map(kind, *columns)) if columns else []


def find_missing_keys(connection: Connection, kind: type[Row], keys: Sequence[Key]) -> list[Key]:
    """Return those of the unique primary keys for which the table of the type `kind` has no row."""
    statement = get_select_statement(connection, kind, kind.KEY)
    missing_keys: list[Key] = []
    for chunk in iter_chunks(iter(keys), KEYS_PER_STATEMENT):
        # Loading keys takes SQLite twice as long as testing that all exist, as they usually do.
        if not statement.key_kinds and not statement.lacks_any(connection, chunk):
            continue
        existing_keys = set(zip(*statement.load(connection, chunk), strict=True))
        missing_keys += [key for key in chunk if key not in existing_keys]
    return missing_keys


def fetch_rows(connection: Connection, kind: type[R], query: Any, values: Any = None) -> list[R]:
    """Run an SQL query for all columns of the type `kind`, in their order; return its rows.

    - `query`: query of SQLAlchemy.
    - `values`: values of its parameters, by name; None without parameters.
    """
    result = connection.execute(query, values)
    rows = result.cursor.fetchall() if result.cursor is not None else ()
    result.close()
    columns = get_select_statement(connection, kind).convert(rows)
    return list(map(kind, *columns)) if columns else []


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
