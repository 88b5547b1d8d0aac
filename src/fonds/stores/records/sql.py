"""The records in SQLite or PostgreSQL: one implementation in SQLAlchemy Core."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import URL, ColumnElement, Connection, FromClause, Insert, Select

from fonds.model.row_change import RowChange
from fonds.model.rows import Row
from fonds.stores.records.conditions import (
    build_conditions,
    build_index_ranges,
    get_column,
    match_keys,
)
from fonds.stores.records.engine import (
    connect_snapshot,
    connect_to_write,
    open_engine,
    reading,
    translate_errors,
)
from fonds.stores.records.ledger import SqlLedger
from fonds.stores.records.revision import (
    NEWEST,
    find_newest_revision,
    read_revision,
    refuse_foreign,
    wait_for_turn,
)
from fonds.stores.records.row_writes import (
    build_insert_new,
    build_upsert,
    build_values,
    get_key,
    iter_chunks,
)
from fonds.stores.records.statements import BoundStatement, FindRequest, build_counts
from fonds.stores.records.tables import get_table, list_key_columns
from fonds.stores.records.tallies import keep_tallies
from fonds.stores.records.visible_rows import visible_now

# The first row of each of many conditions, in few statements: each part reads one row of an index.


R = TypeVar("R", bound=Row)

CONDITIONS_A_STATEMENT = 100
"""SQLite takes 500 parts in one statement, and a condition has two where a column may be absent."""
SIZES = (1, 2, 4, 8, 16, 25, 32, 64, CONDITIONS_A_STATEMENT)
STATEMENT_CACHE_SIZE = 64
LITERAL_ONE: ColumnElement[int] = sa.literal_column("1", sa.Integer)
"""Said in the statement itself: two hundred further values take as long as what is looked for."""


def load_first_rows(
    connection: Connection,
    source: FromClause,
    kind: type[R],
    filters: Sequence[Mapping[str, object]],
    order: Sequence[str],
) -> list[R | None]:
    """The first row of each condition in this order, None where none fits.

    Raises ValueError for an unknown column.
    """
    found: list[R | None] = []
    for start in range(0, len(filters), CONDITIONS_A_STATEMENT):
        some = filters[start : start + CONDITIONS_A_STATEMENT]
        if _has_same_columns(some):
            statement, values = _prepare_statement(source, kind, some, tuple(order))
        else:
            asked = [build_conditions(source, where) for where in some]  # type: ignore[arg-type]
            statement, values = _build_statement(source, kind, asked, order), {}
        rows = {at: kind(*row) for at, *row in connection.execute(statement, values)}
        found += [rows.get(2 * at, rows.get(2 * at + 1)) for at in range(len(some))]
    return found


def _has_same_columns(filters: Sequence[Mapping[str, object]]) -> bool:
    """Whether all ask one value of the same columns: one statement then serves any values."""
    return all(where.keys() == filters[0].keys() for where in filters) and all(
        isinstance(value, str) for where in filters for value in where.values()
    )


def _prepare_statement(
    source: Any, kind: type[R], filters: Sequence[Mapping[str, object]], order: tuple[str, ...]
) -> tuple[Any, dict[str, object]]:
    """A statement made before, and the values for it; what it has places for beyond these is asked twice."""
    size = next(one for one in SIZES if one >= len(filters))
    names = tuple(filters[0])
    padded = [*filters, *[filters[-1]] * (size - len(filters))]
    values = {
        _name_parameter(n, name): where[name] for n, where in enumerate(padded) for name in names
    }
    return _build_cached_statement(source, kind, names, size, order), values


@lru_cache(maxsize=STATEMENT_CACHE_SIZE)
def _build_cached_statement(
    source: Any, kind: type[R], names: tuple[str, ...], size: int, order: tuple[str, ...]
) -> Any:
    """Made once for each size: making it takes several times as long as running it."""
    columns = [get_column(source, name) for name in names]
    asked = [
        [one == sa.bindparam(_name_parameter(n, one.name), type_=one.type) for one in columns]
        for n in range(size)
    ]
    return _build_statement(source, kind, asked, order)


def _name_parameter(number: int, name: str) -> str:
    return f"{name}_{number}"


def _build_statement(
    source: Any,
    kind: type[R],
    conditions: Sequence[Sequence[ColumnElement[bool]]],
    order: Sequence[str],
) -> Any:
    """Two places for each condition, the second for rows in which what is ordered by is absent, or not."""
    parts = build_index_ranges(source, order, [source.c[name] for name in kind.KEY])
    selects = []
    for number, where in enumerate(conditions):
        for place, part in enumerate(parts):
            at = sa.literal_column(str(2 * number + place), sa.Integer)
            one = sa.select(at.label("at"), *source.c).where(*where, *part.conditions)
            selects.append(sa.select(one.order_by(*part.order).limit(LITERAL_ONE).subquery()))
    return sa.union_all(*selects)


PAGE_ROWS = 1000

logger = logging.getLogger(__name__)


class SqlRecords:
    """Implements the port Records on `sqlite:///PATH` or `postgresql://…`.

    Opening brings the database to the newest revision; `migrated` names the revisions that ran.
    """

    def __init__(self, url: str | URL) -> None:
        """Raises ConfigurationError for a database that is not ours or was made by a newer Fonds."""
        self._engine = open_engine(url)
        self._for_readers = False
        try:
            self.migrated = self.migrate()
        except BaseException:
            self._engine.dispose()
            raise

    def migrate(self, revision: str = NEWEST) -> list[str]:
        """Run the migrations that are missing, all or none of them; the revisions that ran."""
        with translate_errors(self._engine):
            with self._engine.connect() as connection:
                if revision == NEWEST and read_revision(connection) == find_newest_revision():
                    return []
                refuse_foreign(connection)
            if self._engine.dialect.name == "sqlite":
                self._use_wal()
            # Loading the migrator takes as long as opening everything else.
            from fonds.stores.records.migration import upgrade

            with connect_to_write(self._engine) as connection, connection.begin():
                wait_for_turn(connection)
                refuse_foreign(connection)
                ran = upgrade(connection, revision)
        if ran:
            logger.info("%r: ran the migrations %s", self._engine.url, ", ".join(ran))
        return ran

    def for_readers(self) -> SqlRecords:
        """The same database without what is under embargo; closed with this one."""
        found = copy(self)
        found._for_readers = True
        return found

    @property
    def ledger(self) -> SqlLedger:
        """The ledger of the same database."""
        return SqlLedger(self._engine)

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Rows are written in the order of tables and keys, so that two writers never wait in a ring."""
        one_each = {(type(row), get_key(row)): row for row in (rows if replace else reversed(rows))}
        self._write(list(one_each.values()), build_upsert if replace else build_insert_new)

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """The rows with these keys; keys may repeat."""
        wanted = list(dict.fromkeys(keys))
        found: list[R] = []
        with translate_errors(self._engine), self._connect_to_read() as connection:
            for chunk in iter_chunks(wanted):
                found.extend(kind(*row) for row in self._iter_by_keys(connection, kind, chunk))
        return found

    def find(
        self,
        kind: type[R],
        where: Mapping[str, object] | None = None,
        *,
        order: Sequence[str] = (),
        after: Mapping[str, object] | None = None,
        count_max: int | None = None,
    ) -> Iterator[R]:
        """Rows in the order of keys are read in pages of their own, so that the longest walk holds no
        transaction open and sees what is written meanwhile ahead of it; in another order all are of one
        moment. Raises ValueError for an unknown column, at once.
        """
        asked = FindRequest(kind, where, order, after)
        plain = asked.build_statements(get_table(kind))
        pages = self._iter_snapshot if order else self._iter_pages
        return pages(asked, plain, count_max)

    def first_of_each(
        self, kind: type[R], filters: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """Raises ValueError for an unknown column."""
        if not filters:
            return []
        with translate_errors(self._engine), self._connect_to_read() as connection:
            return load_first_rows(
                connection, self._get_source(connection, kind), kind, filters, order
            )

    def count(
        self,
        kind: type[Row],
        columns: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """Raises ValueError for an unknown column."""
        with translate_errors(self._engine), self._connect_to_read() as connection:
            found = build_counts(self._get_source(connection, kind), columns, where, count_max)
            return {tuple(row[:-1]): row[-1] for row in found.run(connection)}

    def change(
        self,
        kind: type[Row],
        keys: Sequence[object],
        values: Mapping[str, object],
        where: Mapping[str, object] | None = None,
    ) -> int:
        """A row another is changing is waited for, then looked at anew. Raises ValueError for an unknown
        column, and for no columns to set."""
        table = get_table(kind)
        changed = {get_column(table, name).name: value for name, value in values.items()}
        if not changed:
            raise ValueError(f"nothing to change in {table.name}")
        still = build_conditions(table, where)
        if not keys:
            return 0
        changed_count = 0
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
        ):
            for chunk in iter_chunks(sorted(set(keys))):  # type: ignore[type-var]
                wanted = match_keys(list_key_columns(kind), chunk)
                ran = connection.execute(sa.update(table).where(wanted, *still).values(changed))
                changed_count += ran.rowcount
        return changed_count

    def change_each(self, kind: type[Row], changes: Sequence[RowChange]) -> list[bool]:
        """Rows are taken in the order of their keys, so that two who change the same ones never block each
        other."""
        if not changes:
            return []
        table, key_columns = get_table(kind), list_key_columns(kind)
        order = sorted(range(len(changes)), key=lambda index: changes[index].key)  # type: ignore[arg-type,return-value]
        removed = [one.key for one in changes if one.values is None]
        applied = [False] * len(changes)
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
            keep_tallies(connection, {kind: removed}),
        ):
            for index in order:
                one = changes[index]
                wanted = (match_keys(key_columns, [one.key]), *build_conditions(table, one.where))
                if one.values is None:
                    ran = connection.execute(sa.delete(table).where(*wanted))
                else:
                    values = {get_column(table, name).name: v for name, v in one.values.items()}
                    ran = connection.execute(sa.update(table).where(*wanted).values(values))
                applied[index] = ran.rowcount == 1
        return applied

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """All in one transaction."""
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
            keep_tallies(connection, {kind: keys}),
        ):
            for chunk in iter_chunks(sorted(set(keys))):  # type: ignore[type-var]
                connection.execute(
                    sa.delete(get_table(kind)).where(match_keys(list_key_columns(kind), chunk))
                )

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _write(self, rows: list[Row], statement: Callable[[str, type[Row]], Insert]) -> None:
        if not rows:
            return
        by_kind: dict[type[Row], list[Row]] = {}
        for row in rows:
            by_kind.setdefault(type(row), []).append(row)
        changed = {kind: list_keys(some) for kind, some in by_kind.items()}
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
            keep_tallies(connection, changed),
        ):
            for kind in sorted(by_kind, key=attrgetter("TABLE")):
                values = build_values(kind, by_kind[kind])
                connection.execute(statement(self._engine.dialect.name, kind), values)

    def _iter_pages(
        self, asked: FindRequest[R], plain: Sequence[BoundStatement], count_max: int | None
    ) -> Iterator[R]:
        left, kind = count_max, asked.kind
        while left is None or left > 0:
            size = PAGE_ROWS if left is None else min(PAGE_ROWS, left)
            with translate_errors(self._engine), self._connect_to_read() as connection:
                source = self._get_source(connection, kind)
                (page,) = plain if source is get_table(kind) else asked.build_statements(source)
                rows = [kind(*row) for row in page.run(connection, size)]
            yield from rows
            if len(rows) < size:
                return
            left = None if left is None else left - size
            asked = replace(asked, after=dict(zip(kind.KEY, get_key(rows[-1]), strict=True)))
            plain = asked.build_statements(get_table(kind))

    def _iter_snapshot(
        self, asked: FindRequest[R], plain: Sequence[BoundStatement], count_max: int | None
    ) -> Iterator[R]:
        """One part after the other, as of one moment."""
        left, kind = count_max, asked.kind
        with (
            translate_errors(self._engine),
            connect_snapshot(self._engine, PAGE_ROWS) as connection,
        ):
            source = self._get_source(connection, kind)
            for part in plain if source is get_table(kind) else asked.build_statements(source):
                # Closed here, for who reads the first row alone leaves a cursor on the server open.
                with part.run(connection, left) as found:
                    for row in found:
                        left = None if left is None else left - 1
                        yield kind(*row)
                if left == 0:
                    return

    def _connect_to_read(self) -> Connection:
        return reading(self._engine, is_snapshot=self._for_readers)

    def _get_source(self, connection: Connection, kind: type[Row]) -> Any:
        return visible_now(connection, kind) if self._for_readers else get_table(kind)

    def _iter_by_keys(
        self, connection: Connection, kind: type[Row], keys: Sequence[object]
    ) -> Iterable[Any]:
        source = self._get_source(connection, kind)
        if len(kind.KEY) > 1:
            columns = [source.c[name] for name in kind.KEY]
            return connection.execute(sa.select(*source.c).where(match_keys(columns, keys)))
        return connection.execute(_select_by_key(source, kind.KEY[0]), {"keys": list(keys)})

    def _use_wal(self) -> None:
        """Readers then never wait for a writer. Outside any transaction, else SQLite refuses."""
        connection = self._engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA journal_mode = WAL").close()
        finally:
            connection.close()


def open_sqlite(path: Path) -> SqlRecords:
    """The records in one SQLite file."""
    return SqlRecords(URL.create("sqlite", database=str(path)))


def list_keys(rows: Sequence[Row]) -> list[object]:
    """The keys as `get` takes them."""
    return [get_key(row)[0] if len(row.KEY) == 1 else get_key(row) for row in rows]


@cache
def _select_by_key(source: FromClause, name: str) -> Select[Any]:
    """Made once for each table: making it takes longer than running it."""
    key = source.c[name]
    return sa.select(*source.c).where(key.in_(sa.bindparam("keys", type_=key.type, expanding=True)))
