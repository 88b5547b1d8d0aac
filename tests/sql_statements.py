"""SQL that the records run, and the query plans of SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import URL, Engine

from fonds.stores.records.engine import open_engine


@contextmanager
def open_file(path: Path) -> Iterator[Engine]:
    """Context manager that yields connections of our own to a file of SQL records."""
    engine = open_engine(URL.create("sqlite", database=str(path)))
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def listen_to_engines(event: str, listener: Callable[..., None]) -> Iterator[None]:
    """Context manager that calls a function at each event of every SQLAlchemy engine."""
    sa.event.listen(Engine, event, listener)
    try:
        yield
    finally:
        sa.event.remove(Engine, event, listener)


@contextmanager
def record_queries() -> Iterator[list[tuple[str, Any]]]:
    """Context manager that yields the SELECT statements that run meanwhile, with their values."""
    queries: list[tuple[str, Any]] = []

    def add(_connection: Any, _cursor: Any, statement: str, values: Any, *_: object) -> None:
        if statement.startswith(("SELECT", "WITH")):
            queries.append((statement, values))

    with listen_to_engines("before_cursor_execute", add):
        yield queries


def explain_query(path: Path, query: str, values: Sequence[object] = ()) -> list[str]:
    """Return the steps of SQLite's plan for a query on a file of SQL records."""
    with open_file(path) as engine, engine.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", tuple(values))
        return [str(row[-1]) for row in rows]
