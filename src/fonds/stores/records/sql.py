"""The records in SQLite or PostgreSQL: one implementation in SQLAlchemy Core."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import URL, Connection, FromClause, Insert, Select

from fonds.model.rows import Row
from fonds.stores.records.accounting.ledger import SqlLedger
from fonds.stores.records.accounting.tallies import counting
from fonds.stores.records.conditions import column, conditions, keyed
from fonds.stores.records.engine import (
    open_engine,
    reading,
    reading_one_moment,
    translated,
    writing,
)
from fonds.stores.records.firsts import first_rows
from fonds.stores.records.prepared import Asked, Statement, count_of
from fonds.stores.records.revision import (
    NEWEST,
    current,
    newest,
    refuse_foreign,
    wait_for_turn,
)
from fonds.stores.records.rows_io import chunks, inserting_new, key_of, upserting, values_of
from fonds.stores.records.schema.tables import key_columns, table_of
from fonds.stores.records.shown import shown_now

R = TypeVar("R", bound=Row)

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
        with translated(self._engine):
            with self._engine.connect() as connection:
                if revision == NEWEST and current(connection) == newest():
                    return []
                refuse_foreign(connection)
            if self._engine.dialect.name == "sqlite":
                self._use_wal()
            # Loading the migrator takes as long as opening everything else.
            from fonds.stores.records.migration import upgrade

            with writing(self._engine) as connection, connection.begin():
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
        one_each = {(type(row), key_of(row)): row for row in (rows if replace else reversed(rows))}
        self._write(list(one_each.values()), upserting if replace else inserting_new)

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """The rows with these keys; keys may repeat."""
        wanted = list(dict.fromkeys(keys))
        found: list[R] = []
        with translated(self._engine), self._reading() as connection:
            for chunk in chunks(wanted):
                found.extend(kind(*row) for row in self._with_keys(connection, kind, chunk))
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
        asked = Asked(kind, where, order, after)
        plain = asked.of(table_of(kind))
        pages = self._stream if order else self._pages
        return pages(asked, plain, count_max)

    def first_of_each(
        self, kind: type[R], wheres: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """Raises ValueError for an unknown column."""
        if not wheres:
            return []
        with translated(self._engine), self._reading() as connection:
            return first_rows(connection, self._source(connection, kind), kind, wheres, order)

    def count(
        self,
        kind: type[Row],
        by: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """Raises ValueError for an unknown column."""
        with translated(self._engine), self._reading() as connection:
            found = count_of(self._source(connection, kind), by, where, count_max)
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
        table = table_of(kind)
        changed = {column(table, name).name: value for name, value in values.items()}
        if not changed:
            raise ValueError(f"nothing to change in {table.name}")
        still = conditions(table, where)
        if not keys:
            return 0
        changed_count = 0
        with translated(self._engine), writing(self._engine) as connection, connection.begin():
            for chunk in chunks(sorted(set(keys))):  # type: ignore[type-var]
                wanted = keyed(key_columns(kind), chunk)
                ran = connection.execute(sa.update(table).where(wanted, *still).values(changed))
                changed_count += ran.rowcount
        return changed_count

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """All in one transaction."""
        with (
            translated(self._engine),
            writing(self._engine) as connection,
            connection.begin(),
            counting(connection, {kind: keys}),
        ):
            for chunk in chunks(sorted(set(keys))):  # type: ignore[type-var]
                connection.execute(sa.delete(table_of(kind)).where(keyed(key_columns(kind), chunk)))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _write(self, rows: list[Row], statement: Callable[[str, type[Row]], Insert]) -> None:
        if not rows:
            return
        by_kind: dict[type[Row], list[Row]] = {}
        for row in rows:
            by_kind.setdefault(type(row), []).append(row)
        changed = {kind: keys_of(some) for kind, some in by_kind.items()}
        with (
            translated(self._engine),
            writing(self._engine) as connection,
            connection.begin(),
            counting(connection, changed),
        ):
            for kind in sorted(by_kind, key=attrgetter("TABLE")):
                values = values_of(kind, by_kind[kind])
                connection.execute(statement(self._engine.dialect.name, kind), values)

    def _pages(
        self, asked: Asked[R], plain: Sequence[Statement], count_max: int | None
    ) -> Iterator[R]:
        left, kind = count_max, asked.kind
        while left is None or left > 0:
            size = PAGE_ROWS if left is None else min(PAGE_ROWS, left)
            with translated(self._engine), self._reading() as connection:
                source = self._source(connection, kind)
                (page,) = plain if source is table_of(kind) else asked.of(source)
                rows = [kind(*row) for row in page.run(connection, size)]
            yield from rows
            if len(rows) < size:
                return
            left = None if left is None else left - size
            asked = replace(asked, after=dict(zip(kind.KEY, key_of(rows[-1]), strict=True)))
            plain = asked.of(table_of(kind))

    def _stream(
        self, asked: Asked[R], plain: Sequence[Statement], count_max: int | None
    ) -> Iterator[R]:
        """One part after the other, as of one moment."""
        left, kind = count_max, asked.kind
        with translated(self._engine), reading_one_moment(self._engine, PAGE_ROWS) as connection:
            source = self._source(connection, kind)
            for part in plain if source is table_of(kind) else asked.of(source):
                # Closed here, for who reads the first row alone leaves a cursor on the server open.
                with part.run(connection, left) as found:
                    for row in found:
                        left = None if left is None else left - 1
                        yield kind(*row)
                if left == 0:
                    return

    def _reading(self) -> Connection:
        return reading(self._engine, one_moment=self._for_readers)

    def _source(self, connection: Connection, kind: type[Row]) -> Any:
        return shown_now(connection, kind) if self._for_readers else table_of(kind)

    def _with_keys(
        self, connection: Connection, kind: type[Row], keys: Sequence[object]
    ) -> Iterable[Any]:
        source = self._source(connection, kind)
        if len(kind.KEY) > 1:
            columns = [source.c[name] for name in kind.KEY]
            return connection.execute(sa.select(*source.c).where(keyed(columns, keys)))
        return connection.execute(_by_key(source, kind.KEY[0]), {"keys": list(keys)})

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


def keys_of(rows: Sequence[Row]) -> list[object]:
    """The keys as `get` takes them."""
    return [key_of(row)[0] if len(row.KEY) == 1 else key_of(row) for row in rows]


@cache
def _by_key(source: FromClause, name: str) -> Select[Any]:
    """Made once for each table: making it takes longer than running it."""
    key = source.c[name]
    return sa.select(*source.c).where(key.in_(sa.bindparam("keys", type_=key.type, expanding=True)))
