"""Alterations of a home: one per column, family, blob kind and index field, and one removal of each row.

They are generated from the schemas that exist in the home, so that a new table is altered too. Each
is an alteration by another program: it uses no lease, seal or fixity.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec
import sqlalchemy as sa

from fonds.model.archive import Blob
from fonds.model.document import IndexDocument
from fonds.model.rows import ROWS, Row
from fonds.ports import Stores
from fonds.stores.local_blobs import FILE_NAME
from fonds.stores.records.tables import get_table
from home_texts import flip_bit_of
from row_values import build_value

ROW = "(row)"
"""Name of the alteration that removes a row, instead of a column."""
STABLE_COLUMNS = ("url", "path", "robots_url", "step", "about", "sha1hex")
"""Columns that order the rows of a table alike in each run. Many keys are random."""
_HEX = re.compile("(?:[0-9a-f]{2})+|[0-9a-f]{10}")
_ID = re.compile(r"[0-9a-f]{40,64}|[0-9a-f]{8}-[0-9]+|(?<=:)[A-Z]+(?=:)")
"""The id of a document or theme, or the name of a configuration, in a column of the wide table."""
_INTEGER = re.compile("-?[0-9]+")


@dataclass(frozen=True, slots=True)
class Alteration:
    """One alteration.

    `name`: store, table and column, such as `records cdx.status`. A removed row has `ROW` as column.
    `alter`: context manager that alters the home, and restores it at the end.
    `is_structural`: whether stores must be opened after the alteration to see it.
    """

    name: str
    alter: Callable[[], Any]
    is_structural: bool = False


def list_alterations(home: Path, stores: Stores) -> list[Alteration]:
    """Return all alterations; structural ones last, because they need other stores than `stores`."""
    kinds = {kind.TABLE for kind in ROWS}
    return [
        *_iter_record_alterations(home / "records.sqlite"),
        *_iter_cell_alterations(home / "table.sqlite"),
        *_iter_blob_alterations(home / "blobs", stores),
        *_iter_document_alterations(home, stores),
        *_iter_sqlite_alterations(home / "records.sqlite", "records", kinds),
        *_iter_sqlite_alterations(home / "table.sqlite", "table", {"cells"}),
        *_iter_sqlite_alterations(home / "queue.sqlite", "queue", set()),
    ]


def list_empty_tables(home: Path) -> set[str]:
    """Return the names of all tables without rows, as in the names of alterations."""
    empty = set()
    for name in ("records", "table", "queue"):
        with connect(home / f"{name}.sqlite") as connection:
            empty |= {
                f"{name} {table}"
                for table in list_tables(connection)
                if not connection.execute(f'SELECT 1 FROM "{table}" LIMIT 1').fetchone()
            }
    with connect(home / "table.sqlite") as connection:
        query = "SELECT name FROM tables WHERE number NOT IN (SELECT number FROM cells)"
        return empty | {f"table {shorten(name)}" for (name,) in connection.execute(query)}


def iter_other_values(
    name: str, hint: Any, value: Any, column_values: Sequence[Any]
) -> Iterator[Any]:
    """Yield other values for a column or field, the most natural first.

    `column_values` are the values of other rows.
    """
    if NoneType in get_args(hint) and len(get_args(hint)) == 2:
        (hint,) = (option for option in get_args(hint) if option is not NoneType)
    if value is None:
        yield from (other for other in column_values if other is not None)
        yield from (build_value(name, hint, number) for number in (3, 7))
    elif isinstance(value, Enum):
        yield from (member for member in type(value) if member != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield from _iter_other_texts(value)
    elif isinstance(value, date):
        # Earlier, because the audit skips rows that are newer than its start.
        yield value - timedelta(days=1)
    else:
        for other in _iter_other_json(msgspec.to_builtins(value)):
            try:
                yield msgspec.convert(other, hint)
            except (msgspec.ValidationError, TypeError):
                continue
    yield from (other for other in column_values if other is not None and other != value)


def _iter_other_texts(text: str) -> Iterator[str]:
    if text and _HEX.fullmatch(text):
        yield text[:-1] + ("0" if text[-1] != "0" else "1")
    elif _INTEGER.fullmatch(text):
        yield text[:-1] + ("1" if text[-1] != "1" else "2")
    elif _is_float(text):
        yield f"{float(text) / 2 + 0.01:.4f}"
    else:
        yield f"{text}x"


def _iter_other_json(value: Any) -> Iterator[Any]:  # noqa: C901 (one case per JSON type)
    """Yield copies of a JSON value in each of which one part is changed."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from ({**value, name: other} for other in _iter_other_json(part))
        if not value:
            yield {"x": 1}
            yield {"x": "y"}
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from (
                [*value[:number], other, *value[number + 1 :]] for other in _iter_other_json(part)
            )
        if not value:
            yield ["x"]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str):
        yield from _iter_other_texts(value)
    elif value is None:
        yield "x"
        yield 1


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def connect(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file, commit at the end, and close it."""
    connection = sqlite3.connect(path, timeout=30)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def list_tables(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the tables of a SQLite file."""
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    return sorted(name for (name,) in connection.execute(query))


def _iter_record_alterations(path: Path) -> Iterator[Alteration]:
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
    for kind in ROWS:
        table = get_table(kind)
        with engine.connect() as connection:
            order = [*(name for name in STABLE_COLUMNS if name in table.c), *kind.KEY]
            rows = [row._asdict() for row in connection.execute(sa.select(table).order_by(*order))]
        if not rows:
            continue
        for column in fields(kind):  # type: ignore[arg-type]
            yield Alteration(
                f"records {kind.TABLE}.{column.name}",
                partial(_alter_record, engine, kind, column.name, rows),
            )
        yield Alteration(
            f"records {kind.TABLE}.{ROW}",
            partial(_alter_record, engine, kind, ROW, rows),
        )


@contextmanager
def _alter_record(
    engine: sa.Engine, kind: type[Row], name: str, rows: Sequence[Mapping[str, Any]]
) -> Iterator[None]:
    table = get_table(kind)
    row = next((row for row in rows if name != ROW and row[name] not in (None, "")), rows[0])
    if name == ROW:
        altered: Mapping[str, Any] = {}
        with engine.begin() as connection:
            connection.execute(sa.delete(table).where(*_match(table, kind, row)))
    else:
        altered = _update_record(engine, kind, name, row, [other[name] for other in rows])
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(sa.delete(table).where(*_match(table, kind, altered or row)))
            # The deep audit may have written the row anew.
            connection.execute(sa.insert(table).prefix_with("OR REPLACE"), [dict(row)])


def _update_record(
    engine: sa.Engine,
    kind: type[Row],
    name: str,
    row: Mapping[str, Any],
    column_values: Sequence[Any],
) -> Mapping[str, Any]:
    """Change one column of a row to the first other value that the table accepts."""
    table = get_table(kind)
    hint = get_type_hints(kind)[name]
    for value in iter_other_values(name, hint, row[name], column_values):
        update = sa.update(table).where(*_match(table, kind, row)).values({name: value})
        try:
            with engine.begin() as connection:
                connection.execute(update)
        except sa.exc.IntegrityError:
            continue
        return {**row, name: value}
    raise AssertionError(f"{kind.TABLE}.{name} has no other value than {row[name]!r}")


def _match(table: sa.Table, kind: type[Row], row: Mapping[str, Any]) -> list[Any]:
    return [table.c[name] == row[name] for name in kind.KEY]


def shorten(table: str) -> str:
    """Return the name of a wide table without the group, version and environment."""
    return re.sub(r"^[a-z]+-([a-z-]+)-0-[a-z]+$", r"\1", table)


def replace_ids(column: str) -> str:
    """Return the name of a column of a wide table with its ids replaced by asterisks."""
    return _ID.sub("*", column)


def _iter_cell_alterations(path: Path) -> Iterator[Alteration]:
    """Yield alterations of each column of each wide table, and one removed row of each table."""
    with connect(path) as connection:
        numbers = connection.execute("SELECT number, name FROM tables ORDER BY name").fetchall()
        for number, table in numbers:
            query = "SELECT key, name, value FROM cells WHERE number = ? ORDER BY name, key"
            cells = connection.execute(query, (number,)).fetchall()
            seen = set()
            for key, column, value in cells:
                name = f"table {shorten(table)}.{replace_ids(column)}"
                if name not in seen:
                    seen.add(name)
                    yield Alteration(
                        name,
                        partial(
                            _alter_cell, path, (number, key, column), value, _alter_bytes(value)
                        ),
                    )
            if cells:
                yield Alteration(
                    f"table {shorten(table)}.{ROW}",
                    partial(_remove_cells, path, number, cells[0][0]),
                )


def _alter_bytes(value: bytes) -> bytes:
    """Return another value of the type that a cell seems to have: text, JSON, number or binary."""
    if not value:
        return b"1"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return flip_bit_of(value, 0.999 if len(value) == 8 else 0.5)
    if text[0] in "{[" and text not in ("{}", "[]"):
        return msgspec.json.encode(next(_iter_other_json(msgspec.json.decode(value))))
    if not text.isprintable():
        return flip_bit_of(value, 0.999 if len(value) == 8 else 0.5)
    return next(_iter_other_texts(text)).encode()


@contextmanager
def _alter_cell(
    path: Path, cell: tuple[int, bytes, str], value: bytes, other: bytes
) -> Iterator[None]:
    statement = "UPDATE cells SET value = ? WHERE number = ? AND key = ? AND name = ?"
    with connect(path) as connection:
        assert connection.execute(statement, (other, *cell)).rowcount == 1
    try:
        yield
    finally:
        with connect(path) as connection:
            connection.execute(statement, (value, *cell))


@contextmanager
def _remove_cells(path: Path, number: int, key: bytes) -> Iterator[None]:
    where = "FROM cells WHERE number = ? AND key = ?"
    with connect(path) as connection:
        cells = connection.execute(
            f"SELECT number, key, name, value {where}", (number, key)
        ).fetchall()
        connection.execute(f"DELETE {where}", (number, key))
    try:
        yield
    finally:
        with connect(path) as connection:
            connection.executemany("INSERT INTO cells VALUES (?, ?, ?, ?)", cells)


def _iter_sqlite_alterations(path: Path, store: str, left_out: set[str]) -> Iterator[Alteration]:
    """Yield alterations of the tables of a SQLite file as SQLite describes them."""
    with connect(path) as connection:
        for table in list_tables(connection):
            if table in left_out:
                continue
            row = connection.execute(f'SELECT * FROM "{table}" ORDER BY 1 LIMIT 1')
            names = [column[0] for column in row.description]
            values = row.fetchone()
            for name in [*names, ROW] if values else ():
                yield Alteration(
                    f"{store} {table}.{name}",
                    partial(_alter_file, path, table, name, names, values),
                    is_structural=True,
                )


@contextmanager
def _alter_file(
    path: Path, table: str, name: str, names: Sequence[str], values: Sequence[Any]
) -> Iterator[None]:
    """Alter a row of a SQLite file that no program has open, and put the file back at the end."""
    where = " AND ".join(f'"{column}" IS ?' for column in names)
    with keep_file(path):
        with connect(path) as connection:
            if name == ROW:
                connection.execute(f'DELETE FROM "{table}" WHERE {where}', values)
            else:
                value = values[names.index(name)]
                other = _alter_plain(value)
                statement = f'UPDATE "{table}" SET "{name}" = ? WHERE {where}'
                connection.execute(statement, (other, *values))
        yield


@contextmanager
def keep_file(path: Path) -> Iterator[None]:
    """Copy a SQLite file that no program has open, and put the copy in its place at the end."""
    copy = path.with_name(f"{path.name}.copy")
    with connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy2(path, copy)
    try:
        yield
    finally:
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        copy.replace(path)


def _alter_plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return _alter_bytes(value)
    if isinstance(value, str):
        return _alter_bytes(value.encode()).decode()
    return 1 if value is None else value + 1000  # Numbers of rows near it may be taken.


def _iter_blob_alterations(folder: Path, stores: Stores) -> Iterator[Alteration]:
    with connect(folder / FILE_NAME) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM blobs")]
    texts = set(keys)
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file()]
    keys += [key for key in files if not key.startswith(FILE_NAME)]
    kinds = {
        key.rpartition("/")[0].partition("/")[0] + "." + key.rpartition(".")[2]: key
        for key in sorted(keys)
    }
    for kind, key in kinds.items():
        content_type = "text/plain" if key in texts else "image/jpeg"
        data = stores.blobs.get(key)
        assert data is not None, key
        for name, other in (("content", flip_bit_of(data)), (ROW, None)):
            yield Alteration(
                f"blobs {kind}.{name}",
                partial(_alter_blob, stores, Blob(key, data, content_type), other),
            )


@contextmanager
def _alter_blob(stores: Stores, blob: Blob, other: bytes | None) -> Iterator[None]:
    if other is None:
        stores.blobs.delete([blob.key])
    else:
        stores.blobs.put([replace(blob, data=other)])
    try:
        yield
    finally:
        stores.blobs.put([blob])


def _iter_document_alterations(home: Path, stores: Stores) -> Iterator[Alteration]:
    hints = get_type_hints(IndexDocument)
    with connect(home / "records.sqlite") as connection:
        ids = [
            id_
            for query in ("SELECT story_id FROM story_meta", "SELECT sha1hex FROM pdf_meta")
            for (id_,) in connection.execute(f"{query} ORDER BY 1")
        ]
    documents = list(stores.index.get(ids).values())
    for field in fields(IndexDocument):
        name = field.name
        document = next((d for d in documents if getattr(d, name)), documents[0])
        column_values = [getattr(other, name) for other in documents]
        values = iter_other_values(name, hints[name], getattr(document, name), column_values)
        altered = replace(document, **{name: next(values)})
        yield Alteration(
            f"index documents.{name}", partial(_alter_document, stores, document, altered)
        )
    yield Alteration(f"index documents.{ROW}", partial(_alter_document, stores, documents[0], None))


@contextmanager
def _alter_document(
    stores: Stores, document: IndexDocument, other: IndexDocument | None
) -> Iterator[None]:
    if other is None or other.id != document.id:
        stores.index.delete([document.id])
    if other is not None:
        stores.index.put([other])
    try:
        yield
    finally:
        if other is not None and other.id != document.id:
            stores.index.delete([other.id])
        stores.index.put([document])
