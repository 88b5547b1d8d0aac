"""Connect to the SQL database at a URL, and translate errors of the database client to errors of
Fonds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import URL, Connection, Engine, event

from fonds.model.encoding import decode_json
from fonds.model.errors import (
    ConfigurationError,
    DamagedRowError,
    FondsError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.model.optional_libraries import build_missing_extra_error
from fonds.model.rows import ROWS
from fonds.stores.records.row_statements import locate_damage
from fonds.stores.sqlite_file import (
    BUSY_TIMEOUT_S,
    WAL_LIMIT_BYTES,
    connect_read_only,
    explain,
    is_read_only,
)

# Each connection has its own page cache of 8 MiB. With 32 MiB, an ingest of 50,000 pages takes as
# much CPU, but 35 MB more memory.
_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = OFF",
    "PRAGMA synchronous = FULL",
    f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}",
    "PRAGMA cache_size = -8192",
)

POOL_SIZE = 24
"""Database connections that web pages may use at once: 16 for reading and 8 for writing.

Connections beyond this number are opened for one query and then closed. The most recently used
connection is taken first, so that no more connections are opened than are in use at once.
"""
_POOL: dict[str, Any] = {"pool_size": POOL_SIZE, "max_overflow": -1, "pool_use_lifo": True}

# A server that vanished is given up after about 20 seconds.
_CONNECT_OPTIONS = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
}

# SQLSTATE values: complete states, and classes (the first two characters).
_FULL_STATE = "53100"
_TRANSIENT_CLASSES = frozenset({"08", "40", "53", "55", "57", "58"})
_MISCONFIGURED_CLASSES = frozenset({"28", "3D", "3F", "42"})


def open_engine(url: str | URL) -> Engine:
    """Return the SQLAlchemy engine for `sqlite:///PATH` or `postgresql://…`. The engine connects on
    first use.

    Raises ConfigurationError if the URL is invalid, has another scheme, or names a SQLite file
    whose folder cannot be created, and if the PostgreSQL driver is not installed.
    """
    try:
        parsed_url = sa.make_url(url)
    except sa.exc.ArgumentError:
        # The URL may contain a password, and the client's message the URL.
        raise ConfigurationError("The setting `records` is not a database URL.") from None
    backend = parsed_url.get_backend_name()
    if backend == "sqlite":
        return _open_sqlite(parsed_url)
    if backend == "postgresql":
        return _open_postgresql(parsed_url)
    raise ConfigurationError(
        f"The setting `records` must start with sqlite: or postgresql:, not {backend!r}."
    )


def _open_sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise ConfigurationError("The setting `records` needs a file: sqlite:///PATH")
    path = Path(url.database)
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_TIMEOUT_S}}
    if is_read_only(path):
        options = {"creator": partial(connect_read_only, path, check_same_thread=False)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot create the folder of {url.database}: {error.strerror}"
        ) from error
    engine = sa.create_engine(
        url,
        **_POOL,
        json_serializer=_to_json,
        json_deserializer=decode_json,
        hide_parameters=True,
        **options,
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    _guard_forks(engine)
    return engine


def _open_postgresql(url: URL) -> Engine:
    try:
        engine = sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            **_POOL,
            connect_args=_CONNECT_OPTIONS,
            json_serializer=_to_json,
            hide_parameters=True,
        )
    except ModuleNotFoundError as error:
        raise build_missing_extra_error("PostgreSQL", "postgresql", error.name) from error
    _guard_forks(engine)
    return engine


def connect_to_write(engine: Engine) -> Connection:
    """Return a connection to the SQL database for writing. On SQLite its transactions take the
    write lock when they begin, not at the first write.
    """
    return engine.connect().execution_options(fonds_writes=True)


def connect_snapshot(engine: Engine, rows_at_once: int) -> Connection:
    """Return a connection to the SQL database for reading, whose statements in one transaction
    share one snapshot. Results are fetched `rows_at_once` rows at a time.
    """
    if engine.dialect.name == "sqlite":
        return engine.connect().execution_options(yield_per=rows_at_once)
    return engine.connect().execution_options(
        yield_per=rows_at_once, isolation_level="REPEATABLE READ"
    )


def reading(engine: Engine, *, is_snapshot: bool) -> Connection:
    """Return a connection to the SQL database for reading. With `is_snapshot`, all statements in
    one transaction share one snapshot.
    """
    if not is_snapshot or engine.dialect.name == "sqlite":
        return engine.connect()
    return engine.connect().execution_options(isolation_level="REPEATABLE READ")


_to_json = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _prepare_sqlite(connection: Any, record: object) -> None:
    # Transactions are started by `_begin_sqlite`; the driver itself would start them too late.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(pragma)


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("fonds_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _guard_forks(engine: Engine) -> None:
    """Make a forked process open its own database connections instead of using those of its parent
    process.
    """
    owner = os.getpid()

    def check(connection: object, record: object, proxy: object) -> None:
        nonlocal owner
        if os.getpid() != owner:
            owner = os.getpid()
            engine.dispose(close=False)
            raise sa.exc.DisconnectionError("this connection belongs to the parent process")

    event.listen(engine, "checkout", check)


@contextmanager
def translate_errors(engine: Engine) -> Iterator[None]:
    """Translate database errors inside the context.

    Raises StoreUnavailableError if the database does not answer or is busy, StorageFullError if no
    space is left, and ConfigurationError if the database cannot be used as configured. Other errors
    are raised as they are. A damaged value is searched, so that the message names its row.
    """
    try:
        yield
    except DamagedRowError as error:
        if not error.is_located:
            with engine.connect() as connection:
                locate_damage(connection, ROWS)
        raise
    except sa.exc.DBAPIError as error:
        translated_error = _explain(error, engine)
        if translated_error is None:
            raise
        raise translated_error from error
    except sa.exc.StatementError as error:
        # Our own error about a value, wrapped by SQLAlchemy.
        if isinstance(error.orig, FondsError):
            raise error.orig from error
        raise
    except sa.exc.TimeoutError as error:
        raise StoreUnavailableError(f"{engine.url!r}: all connections are in use") from error


def _explain(error: sa.exc.DBAPIError, engine: Engine) -> FondsError | None:
    if engine.dialect.name == "sqlite":
        return explain(error.orig, Path(str(engine.url.database))) if error.orig else None
    state = getattr(error.orig, "sqlstate", None)
    database, message = repr(engine.url), str(error.orig).strip()
    if state == _FULL_STATE:
        return StorageFullError(
            f"No space left for {database}: {message}. Free some space on the server."
        )
    if state is None and not isinstance(error, sa.exc.OperationalError):
        return None
    if state is None or state[:2] in _TRANSIENT_CLASSES:
        return StoreUnavailableError(f"{database} does not answer or refuses for now: {message}")
    if state[:2] in _MISCONFIGURED_CLASSES:
        return ConfigurationError(f"Cannot use {database}: {message}")
    return None
