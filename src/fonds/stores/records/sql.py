"""Read and write typed rows in SQLite or PostgreSQL, with SQLAlchemy Core.

Implements the interface Records (`ports/records.py`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import URL, ColumnElement, Connection, FromClause, Select

from fonds.model.row_change import RowChange
from fonds.model.rows import Row
from fonds.ports.scan import iter_chunks
from fonds.stores.records.conditions import (
    GetSource,
    build_conditions,
    build_index_ranges,
    get_column,
    match_keys,
)
from fonds.stores.records.counters import COUNTED, Group
from fonds.stores.records.engine import (
    connect_snapshot,
    connect_to_write,
    open_engine,
    reading,
    translate_errors,
)
from fonds.stores.records.input_checksums import update_checksums
from fonds.stores.records.ledger import SqlLedger
from fonds.stores.records.revision import (
    NEWEST,
    find_newest_revision,
    read_revision,
    refuse_foreign,
    wait_for_turn,
)
from fonds.stores.records.row_statements import (
    KEYS_PER_STATEMENT,
    Key,
    find_missing_keys,
    load_rows,
)
from fonds.stores.records.row_writes import get_key, insert_new, upsert
from fonds.stores.records.seals import SEALED, update_seal
from fonds.stores.records.statements import BoundStatement, FindRequest, build_counts
from fonds.stores.records.tables import get_table, list_key_columns
from fonds.stores.records.tallies import (
    add,
    get_row_group,
    load_groups,
    lock_tallies,
    subtract,
)
from fonds.stores.records.visible_rows import visible_now
from fonds.stores.sqlite_file import describe_busy_log

# `load_first_rows` finds the first row of many conditions in few statements; each part reads one
# index row.


R = TypeVar("R", bound=Row)

CONDITIONS_PER_STATEMENT = 100
"""Maximum conditions in one SQL statement that finds the first row of each condition. SQLite allows
500 parts per UNION, and a condition has two parts if the sort column is nullable.
"""
SIZES = (1, 2, 4, 8, 16, 25, 32, 64, CONDITIONS_PER_STATEMENT)
STATEMENT_CACHE_SIZE = 64
LITERAL_ONE: ColumnElement[int] = sa.literal_column("1", sa.Integer)
"""SQL literal for LIMIT 1. As parameters, two hundred of these would take as long as the query
itself.
"""


def load_first_rows(
    connection: Connection,
    get_source: GetSource,
    kind: type[R],
    filters: Sequence[Mapping[str, object]],
    order: Sequence[str],
) -> list[R | None]:
    """Return for each filter the first matching row in the sort order `order`, or None if no row
    matches.

    A filter maps column names to the values to match. Raises ValueError for an unknown column.
    """
    source = get_source(kind)
    first_rows: list[R | None] = []
    for start in range(0, len(filters), CONDITIONS_PER_STATEMENT):
        chunk = filters[start : start + CONDITIONS_PER_STATEMENT]
        if _has_same_columns(chunk):
            statement, values = _prepare_statement(source, kind, chunk, tuple(order))
        else:
            conditions = [build_conditions(source, where, get_source) for where in chunk]
            statement, values = _build_statement(source, kind, conditions, order), {}
        rows = {number: kind(*row) for number, *row in connection.execute(statement, values)}
        first_rows += [
            rows.get(2 * number, rows.get(2 * number + 1)) for number in range(len(chunk))
        ]
    return first_rows


def _has_same_columns(filters: Sequence[Mapping[str, object]]) -> bool:
    """Return whether all filters compare the same columns, each with a single text.

    One cached SQL statement can then serve all of them.
    """
    return all(where.keys() == filters[0].keys() for where in filters) and all(
        isinstance(value, str) for where in filters for value in where.values()
    )


def _prepare_statement(
    source: Any, kind: type[R], filters: Sequence[Mapping[str, object]], order: tuple[str, ...]
) -> tuple[Any, dict[str, object]]:
    """Return a cached SQL statement that applies these filters, and its parameter values.

    Statements exist only for certain numbers of filters. If there are fewer filters, the last
    filter is repeated.
    """
    size = next(candidate for candidate in SIZES if candidate >= len(filters))
    names = tuple(filters[0])
    padded_filters = [*filters, *[filters[-1]] * (size - len(filters))]
    values = {
        _name_parameter(n, name): where[name]
        for n, where in enumerate(padded_filters)
        for name in names
    }
    return _build_cached_statement(source, kind, names, size, order), values


@lru_cache(maxsize=STATEMENT_CACHE_SIZE)
def _build_cached_statement(
    source: Any, kind: type[R], names: tuple[str, ...], size: int, order: tuple[str, ...]
) -> Any:
    """Return the SQL statement for `size` filters, each of which compares the columns `names`.

    The statement is cached, because building it takes several times as long as running it.
    """
    columns = [get_column(source, name) for name in names]
    conditions = [
        [
            column == sa.bindparam(_name_parameter(n, column.name), type_=column.type)
            for column in columns
        ]
        for n in range(size)
    ]
    return _build_statement(source, kind, conditions, order)


def _name_parameter(number: int, name: str) -> str:
    return f"{name}_{number}"


def _build_statement(
    source: Any,
    kind: type[R],
    conditions: Sequence[Sequence[ColumnElement[bool]]],
    order: Sequence[str],
) -> Any:
    """Build a UNION of queries that each find the first row of one condition.

    If the sort column is nullable, each condition has two queries: for rows in which the column is
    null, and for rows in which it is not.
    """
    parts = build_index_ranges(source, order, [source.c[name] for name in kind.KEY])
    selects = []
    for number, where in enumerate(conditions):
        for part_number, part in enumerate(parts):
            number_column = sa.literal_column(str(2 * number + part_number), sa.Integer)
            select = sa.select(number_column.label("at"), *source.c).where(*where, *part.conditions)
            selects.append(sa.select(select.order_by(*part.order).limit(LITERAL_ONE).subquery()))
    return sa.union_all(*selects)


PAGE_ROWS = 1000

logger = logging.getLogger(__name__)


class SqlRecords:
    """Typed rows in the SQL database `sqlite:///PATH` or `postgresql://…`.

    Implements the interface Records (`ports/records.py`). Opening migrates the database to the
    newest schema revision; `migrated` lists the revisions that ran.
    """

    def __init__(self, url: str | URL) -> None:
        """Connect to the SQL database and run missing migrations.

        Raises ConfigurationError if another program or a newer Fonds made the database, or the URL
        cannot be used.
        """
        self._engine = open_engine(url)
        self._for_readers = False
        try:
            self.migrated = self.migrate()
        except BaseException:
            self._engine.dispose()
            raise

    def migrate(self, revision: str = NEWEST) -> list[str]:
        """Run the missing migrations of the SQL database up to `revision`, all or none; return the
        revisions that ran.
        """
        with translate_errors(self._engine):
            with self._engine.connect() as connection:
                if revision == NEWEST and read_revision(connection) == find_newest_revision():
                    return []
                refuse_foreign(connection)
            if self._engine.dialect.name == "sqlite":
                # A write-ahead log, so that readers never wait for a writer.
                self._run_outside_transaction("PRAGMA journal_mode = WAL")
            # Importing the migrator takes as long as all other steps of opening.
            from fonds.stores.records.migration import upgrade

            with connect_to_write(self._engine) as connection, connection.begin():
                wait_for_turn(connection)
                refuse_foreign(connection)
                ran = upgrade(connection, revision)
        if ran:
            logger.info("%r: ran the migrations %s", self._engine.url, ", ".join(ran))
        return ran

    def for_readers(self) -> SqlRecords:
        """Return a view of this SQL database that hides the rows about files under embargo.

        Closing the original also closes the view.
        """
        reader = copy(self)
        reader._for_readers = True
        return reader

    @property
    def ledger(self) -> SqlLedger:
        """Ledger in this SQL database: what entered a pipeline, and how each message ended."""
        return SqlLedger(self._engine)

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Write rows to the SQL database in one transaction. With `replace`, existing rows with the
        same key are replaced, otherwise kept.

        Rows are written in the order of tables and keys, so that two writers never deadlock.
        """
        rows_by_key = {
            (type(row), get_key(row)): row for row in (rows if replace else reversed(rows))
        }
        self._write(rows_by_key, replace)

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """Return the existing rows of the type `kind` with these primary keys, in the order of
        the keys.

        A key that is given several times gives one row.
        """
        key_tuples = _to_tuples(kind, keys)
        with translate_errors(self._engine), self._connect_to_read() as connection:
            if self._choose_sources(connection)(kind) is get_table(kind):
                rows = load_rows(connection, kind, key_tuples)
                if self._engine.dialect.name == "sqlite":
                    return rows  # It reads the keys one after the other.
            else:
                rows = self._load_chosen(connection, kind, keys)
        return _sort_like(rows, key_tuples)

    def find_missing(self, kind: type[Row], keys: Sequence[object]) -> list[object]:
        """Return those of the primary keys for which the table of the type `kind` has no row."""
        unique_keys = _to_tuples(kind, dict.fromkeys(keys))
        with translate_errors(self._engine), self._connect_to_read() as connection:
            if self._choose_sources(connection)(kind) is get_table(kind):
                missing_keys = find_missing_keys(connection, kind, unique_keys)
            else:
                existing_keys = {get_key(row) for row in self._load_chosen(connection, kind, keys)}
                missing_keys = [key for key in unique_keys if key not in existing_keys]
        return [key if len(kind.KEY) > 1 else key[0] for key in missing_keys]

    def find(
        self,
        kind: type[R],
        where: Mapping[str, object] | None = None,
        *,
        order: Sequence[str] = (),
        after: Mapping[str, object] | None = None,
        count_max: int | None = None,
    ) -> Iterator[R]:
        """Yield the rows of one table that match `where`, sorted by `order` or else by key.

        `after` are the values of the row after which to start. At most `count_max` rows are
        yielded.

        Without `order`, rows are read in pages with separate transactions: a long iteration holds
        no transaction open, and sees later writes to rows not yet read. With `order`, all rows are
        from one snapshot. Raises ValueError for an unknown column, before the first row is read.
        """
        request = FindRequest(kind, where, order, after)
        statements = request.build_statements()
        pages = self._iter_snapshot if order else self._iter_pages
        return pages(request, statements, count_max)

    def first_of_each(
        self, kind: type[R], filters: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """Return, for each of `filters`, the first row that matches it in the order `order`.

        The result has None for a filter that no row matches. Raises ValueError for an unknown
        column.
        """
        if not filters:
            return []
        with translate_errors(self._engine), self._connect_to_read() as connection:
            get_source = self._choose_sources(connection)
            return load_first_rows(connection, get_source, kind, filters, order)

    def count(
        self,
        kind: type[Row],
        columns: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """Count the rows of one table that match `where`, for each combination of values of
        `columns`.

        Returns the counts by the tuple of these values. With `count_max`, counting stops at that
        number of rows. Raises ValueError for an unknown column.
        """
        with translate_errors(self._engine), self._connect_to_read() as connection:
            get_source = self._choose_sources(connection)
            statement = build_counts(kind, columns, where, count_max, get_source)
            return {row[:-1]: row[-1] for row in statement.run(connection)}

    def change(
        self,
        kind: type[Row],
        keys: Sequence[object],
        values: Mapping[str, object],
        where: Mapping[str, object] | None = None,
    ) -> int:
        """Set columns to `values` in the rows of one table with these keys that still match
        `where`.

        Returns the number of changed rows. If another writer is changing a row, the method waits
        and then checks the row again. Raises ValueError for an unknown column, and if `values` is
        empty.
        """
        table = get_table(kind)
        new_values = {get_column(table, name).name: value for name, value in values.items()}
        if not new_values:
            raise ValueError(f"nothing to change in {table.name}")
        conditions = build_conditions(table, where)
        if not keys:
            return 0
        changed_count = 0
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
        ):
            for chunk in iter_chunks(iter(sorted(set(keys))), KEYS_PER_STATEMENT):  # type: ignore[type-var]
                key_condition = match_keys(list_key_columns(kind), chunk)
                tuples = _to_tuples(kind, chunk)
                with (
                    update_seal(connection, kind, tuples),
                    update_checksums(connection, kind, tuples),
                ):
                    result = connection.execute(
                        sa.update(table).where(key_condition, *conditions).values(new_values)
                    )
                changed_count += result.rowcount
        return changed_count

    def change_each(self, kind: type[Row], changes: Sequence[RowChange]) -> list[bool]:
        """Apply each change to its row, if the row still matches the change's condition; return for
        each change whether it was applied. A change without values deletes the row.

        Rows are changed in key order, so that two writers never deadlock.
        """
        if not changes:
            return []
        table, key_columns = get_table(kind), list_key_columns(kind)
        order = sorted(range(len(changes)), key=lambda index: changes[index].key)  # type: ignore[arg-type,return-value]
        changed_keys = _to_tuples(kind, dict.fromkeys(change.key for change in changes))
        removed_keys = _to_tuples(kind, (change.key for change in changes if change.values is None))
        is_applied = [False] * len(changes)
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
        ):
            old_groups = load_groups(connection, kind, removed_keys)
            with (
                update_seal(connection, kind, changed_keys),
                update_checksums(connection, kind, changed_keys),
            ):
                for index in order:
                    change = changes[index]
                    conditions = (
                        match_keys(key_columns, [change.key]),
                        *build_conditions(table, change.where),
                    )
                    if change.values is None:
                        result = connection.execute(sa.delete(table).where(*conditions))
                    else:
                        values = {
                            get_column(table, name).name: v for name, v in change.values.items()
                        }
                        result = connection.execute(
                            sa.update(table).where(*conditions).values(values)
                        )
                    is_applied[index] = result.rowcount == 1
                    if not is_applied[index]:
                        old_groups.pop(_to_tuples(kind, [change.key])[0], None)
            subtract(connection, old_groups.values())
        return is_applied

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """Delete the rows of the type `kind` with these primary keys in one transaction."""
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
        ):
            old_groups = load_groups(connection, kind, _to_tuples(kind, keys))
            for chunk in iter_chunks(iter(sorted(set(keys))), KEYS_PER_STATEMENT):  # type: ignore[type-var]
                with update_seal(connection, kind, _to_tuples(kind, chunk)):
                    connection.execute(
                        sa.delete(get_table(kind)).where(match_keys(list_key_columns(kind), chunk))
                    )
            subtract(connection, old_groups.values())

    def purge(self) -> Sequence[str]:
        """Remove the bytes of deleted rows from the files of the SQL database.

        SQLite rewrites its file. PostgreSQL frees the space of deleted rows in its files, and
        writes other rows there over time.
        """
        if self._engine.dialect.name == "sqlite":
            with translate_errors(self._engine):
                self._run_outside_transaction("VACUUM")
                (is_busy, *_) = self._run_outside_transaction("PRAGMA wal_checkpoint(TRUNCATE)")
            return describe_busy_log(Path(self._engine.url.database or "")) if is_busy else ()
        with translate_errors(self._engine), self._engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql("VACUUM")
        return (
            "PostgreSQL keeps deleted rows in its files until other rows replace them (`VACUUM FULL` "
            "removes them at once), and in its log (WAL) and backups.",
        )

    def close(self) -> None:
        """Close all connections to the SQL database."""
        self._engine.dispose()

    def _write(self, rows_by_key: Mapping[tuple[type[Row], Key], Row], replace: bool) -> None:
        if not rows_by_key:
            return
        by_kind: dict[type[Row], dict[Key, Row]] = {}
        for (kind, key), row in rows_by_key.items():
            by_kind.setdefault(kind, {})[key] = row
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
        ):
            kinds = sorted(by_kind, key=attrgetter("TABLE"))
            # All counts are locked before the first row: otherwise two writers could deadlock.
            if SEALED.intersection(kinds):
                lock_tallies(connection)
            groups = {kind: load_groups(connection, kind, list(by_kind[kind])) for kind in kinds}
            deltas: Counter[Group] = Counter()
            for kind in kinds:
                rows, old_groups = by_kind[kind], groups[kind]
                with update_seal(connection, kind, list(rows)):
                    (upsert if replace else insert_new)(connection, kind, rows.values())
                if kind in COUNTED:
                    new_rows = (
                        row for key, row in rows.items() if replace or key not in old_groups
                    )
                    deltas.update(map(get_row_group, new_rows))
                    deltas.subtract(old_groups.values() if replace else ())
            add(connection, deltas)

    def _iter_pages(
        self, request: FindRequest[R], statements: Sequence[BoundStatement], count_max: int | None
    ) -> Iterator[R]:
        remaining, kind = count_max, request.kind
        while remaining is None or remaining > 0:
            size = PAGE_ROWS if remaining is None else min(PAGE_ROWS, remaining)
            with translate_errors(self._engine), self._connect_to_read() as connection:
                if self._for_readers:
                    statements = request.build_statements(self._choose_sources(connection))
                (page,) = statements
                rows = page.fetch(connection, kind, size)
            yield from rows
            if len(rows) < size:
                return
            remaining = None if remaining is None else remaining - size
            request = replace(request, after=dict(zip(kind.KEY, get_key(rows[-1]), strict=True)))
            statements = request.build_statements()

    def _iter_snapshot(
        self, request: FindRequest[R], statements: Sequence[BoundStatement], count_max: int | None
    ) -> Iterator[R]:
        """Yield the rows that all statements find, read from one snapshot of the database."""
        remaining, kind = count_max, request.kind
        with (
            translate_errors(self._engine),
            connect_snapshot(self._engine, PAGE_ROWS) as connection,
        ):
            if self._for_readers:
                statements = request.build_statements(self._choose_sources(connection))
            for part in statements:
                # Closed here, because a caller that stops early would leave a cursor open on the
                # server.
                with part.run(connection, remaining) as result:
                    for row in result:
                        remaining = None if remaining is None else remaining - 1
                        yield kind(*row)
                if remaining == 0:
                    return

    def _connect_to_read(self) -> Connection:
        return reading(self._engine, is_snapshot=self._for_readers)

    def _choose_sources(self, connection: Connection) -> GetSource:
        """Return the function that finds the tables to read: all rows, or the visible ones."""
        return partial(visible_now, connection) if self._for_readers else get_table

    def _load_chosen(
        self, connection: Connection, kind: type[R], keys: Sequence[object]
    ) -> list[R]:
        """Load rows by key from the source that is chosen for readers instead of the table."""
        rows: list[R] = []
        for chunk in iter_chunks(iter(dict.fromkeys(keys)), KEYS_PER_STATEMENT):
            rows.extend(kind(*row) for row in self._iter_by_keys(connection, kind, chunk))
        return rows

    def _iter_by_keys(
        self, connection: Connection, kind: type[Row], keys: Sequence[object]
    ) -> Iterable[Any]:
        source: Any = self._choose_sources(connection)(kind)
        if len(kind.KEY) > 1:
            columns = [source.c[name] for name in kind.KEY]
            return connection.execute(sa.select(*source.c).where(match_keys(columns, keys)))
        return connection.execute(_select_by_key(source, kind.KEY[0]), {"keys": list(keys)})

    def _run_outside_transaction(self, statement: str) -> tuple[Any, ...]:
        """Run a statement that SQLite refuses within a transaction. Return its first row."""
        connection = self._engine.raw_connection()
        try:
            cursor = connection.cursor()
            row = cursor.execute(statement).fetchone()
            cursor.close()
        finally:
            connection.close()
        return row or ()


def open_sqlite(path: Path) -> SqlRecords:
    """Open the SQL database in one SQLite file, creating or migrating it."""
    return SqlRecords(URL.create("sqlite", database=str(path)))


def _to_tuples(kind: type[Row], keys: Iterable[Any]) -> list[Key]:
    """Return primary keys as tuples, also if they consist of a single column."""
    return [(key,) for key in keys] if len(kind.KEY) == 1 else [tuple(key) for key in keys]


def _sort_like(rows: Iterable[R], keys: Iterable[Key]) -> list[R]:
    """Sort rows like their keys."""
    positions = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    # A key can become another one in conversion.
    return sorted(rows, key=lambda row: positions.get(get_key(row), len(positions)))


@cache
def _select_by_key(source: FromClause, name: str) -> Select[Any]:
    """Return an SQL query for the rows of a table by a key of one column. Cached per table, because
    building the query takes longer than running it.
    """
    key = source.c[name]
    return sa.select(*source.c).where(key.in_(sa.bindparam("keys", type_=key.type, expanding=True)))
