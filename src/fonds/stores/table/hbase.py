"""The port Table on HBase, over its Thrift 1 server.

Source: HBase 2.6 `Hbase.thrift`, as the happybase library speaks it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import happybase
from Hbase_thrift import Mutation
from thriftpy2.thrift import TException
from thriftpy2.transport import TTransportException

from fonds.model.disposition import Reason
from fonds.model.errors import ConfigurationError, FondsError, LimitError, StoreUnavailableError
from fonds.stores.journal_table.schema import build_create_statement, parse_table_options
from fonds.stores.table.rows import (
    ColumnSelection,
    check_cells,
    check_conditions,
    check_families,
    check_key,
    find_prefix_end,
    reject_extra_families,
    select_columns,
)

# Calls of HBase's Thrift 1 server, each with a connection that is there; in batches of a bounded size.
#
# Source: HBase 2.6 `Hbase.thrift`, as the happybase library speaks it.


WRITE_MAX_BYTES, WRITE_MAX_ROWS = 8 * 1024 * 1024, 1000
SCAN_ROWS = 100


def create_table(
    connection: happybase.Connection, table: str, families: dict[str, dict[str, Any]]
) -> None:
    """Make a table, unless another process was faster."""
    try:
        connection.create_table(table, families)
    except TException as error:
        if "exist" not in format_error(error).lower():
            raise


def write_rows(
    table: str,
    rows: Sequence[tuple[bytes, Mapping[bytes, bytes]]],
    connection: happybase.Connection,
) -> None:
    """Write the cells of these rows in one call."""
    batch = connection.table(table).batch()
    for key, cells in rows:
        batch.put(key, cells)
    batch.send()


def write_if_equal(
    table: str,
    key: bytes,
    where_equal: bytes,
    cells: Mapping[bytes, bytes],
    connection: happybase.Connection,
) -> None:
    """Write cells of a row where each has the value `where_equal` as yet."""
    for column, value in cells.items():
        wanted = Mutation(isDelete=False, column=column, value=value)
        connection.client.checkAndPut(table.encode(), key, column, where_equal, wanted, {})


def read_rows(
    table: str, keys: Sequence[bytes], columns: list[bytes] | None, connection: happybase.Connection
) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """The rows with these keys that exist; of named columns or families only, if any are named."""
    return list(connection.table(table).rows(keys, columns))


def build_column_names(selection: ColumnSelection | None) -> list[bytes] | None:
    """As the server takes them: with a colon behind it, a family would be its column without a name."""
    return (
        None
        if selection is None
        else [name.encode() for name in (*selection.families, *selection.names)]
    )


def scan_rows(
    table: happybase.Table,
    start: bytes,
    end: bytes | None,
    count_max: int,
    columns: list[bytes] | None,
) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Rows from `start` on and before `end`, `count_max` at most."""
    rows = table.scan(
        row_start=start or None,
        row_stop=end,
        columns=columns,
        filter=f"PageFilter({count_max})",
        batch_size=min(count_max, SCAN_ROWS),
        limit=count_max,
    )
    return list(rows)


def delete_rows(table: happybase.Table, keys: Sequence[bytes], names: list[bytes] | None) -> None:
    """Remove whole rows, or these cells of them."""
    for key in keys:
        table.delete(key, columns=names)


def iter_chunks(
    rows: Sequence[tuple[bytes, Mapping[bytes, bytes]]],
) -> Iterator[list[tuple[bytes, Mapping[bytes, bytes]]]]:
    """Rows together in calls that are not too large; a row is never cut in two."""
    chunk: list[tuple[bytes, Mapping[bytes, bytes]]] = []
    size_bytes = 0
    for key, cells in rows:
        row_bytes = sum(len(name) + len(value) for name, value in cells.items())
        if chunk and (size_bytes + row_bytes > WRITE_MAX_BYTES or len(chunk) >= WRITE_MAX_ROWS):
            yield chunk
            chunk, size_bytes = [], 0
        chunk.append((key, cells))
        size_bytes += row_bytes
    if chunk:
        yield chunk


def decode_cells(cells: Mapping[bytes, bytes]) -> dict[str, bytes]:
    """The cells of a row with their names as text."""
    return {name.decode(): value for name, value in cells.items()}


def format_error(error: BaseException) -> str:
    """What an error says, in one line of 300 characters at most."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return text.strip().splitlines()[0][:300] if text.strip() else type(error).__name__


T = TypeVar("T")

PORT = 9090
JOURNAL_NAME = "-journal-extract-"
"""In the name of a table whose keys are SHA-1s, and so can be split evenly."""
CONNECTIONS = 8
ANSWER_MAX_S = 25.0
READ_ROWS = 200
TICK_S = 0.003
BROKEN = (TTransportException, OSError, EOFError)


class HbaseTable:
    """Implements the port Table over `hbase://host:port`, the address of a Thrift 1 server.

    Families keep one version of a cell and are compressed as they are declared, else with GZ;
    `?compression=` names one for all (GZ, NONE, SNAPPY, LZ4, ZSTD), as the cluster can. Every family has a
    bloom filter of rows and uses the block cache; `?in_memory=f,file` names those it prefers to keep. With
    `?regions=256` a journal table is not made here, since Thrift 1 has no split points: the error has the
    statement for the HBase shell. Cells carry the
    time of the region server, so that of two writers the later wins whatever their own clocks say.
    """

    def __init__(self, url: str) -> None:
        """Raises ConfigurationError for a URL that is none; connects when it is first needed."""
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        if not parts.hostname:
            raise ConfigurationError("hbase: the URL names no host: hbase://host:9090")
        self._host, self._port = parts.hostname, parts.port or PORT
        self._server_name = f"HBase at {self._host}:{self._port}"
        self._compression = options.get("compression", "").upper()
        self._in_memory, self._regions = parse_table_options(url)
        self._transport = options.get("transport", "buffered")
        self._slots = threading.BoundedSemaphore(CONNECTIONS)
        self._idle: deque[happybase.Connection] = deque()
        self._families: dict[str, frozenset[str]] = {}

    def declare(
        self, table: str, families: Sequence[str], *, compressions: Mapping[str, str] | None = None
    ) -> None:
        """Make the table, each family with one version and compressed: as the URL says, else as
        `compressions` does, else with GZ. A Thrift server cannot add families: that takes `alter` in
        the HBase shell."""
        wanted = frozenset(families)
        found = self._find_families(table)
        if found is None:
            packed = compressions or {}
            self._check_regions(
                table, {one: self._choose_compression(packed.get(one)) for one in families}
            )
            described = {one: self._build_family(one, packed.get(one)) for one in wanted}
            self._call(lambda one: create_table(one, table, dict(sorted(described.items()))))
            found = self._find_families(table)
        reject_extra_families(table, found or (), wanted)
        if lacking := sorted(wanted - (found or frozenset())):
            told = ", ".join(f"{{NAME => '{one}', VERSIONS => 1}}" for one in lacking)
            raise ConfigurationError(
                f"table {table!r} lacks the families {lacking}; add them in the HBase shell:"
                f" alter '{table}', {told}"
            )

    def list_tables(self) -> dict[str, frozenset[str]]:
        """The tables of the cluster, also those of others."""
        names = self._call(lambda one: one.tables())
        found = {
            name.decode("utf-8", "replace"): self._find_families(name.decode()) for name in names
        }
        return {name: families for name, families in found.items() if families is not None}

    def _choose_compression(self, compression: str | None) -> str:
        return self._compression or compression or "GZ"

    def _build_family(self, family: str, compression: str | None) -> dict[str, Any]:
        """What Thrift is told of a family; its own defaults leave out bloom filter and block cache."""
        return {
            "max_versions": 1,
            "compression": self._choose_compression(compression),
            "bloom_filter_type": "ROW",
            "block_cache_enabled": True,
            "in_memory": family in self._in_memory,
        }

    def _check_regions(self, table: str, families: Mapping[str, str | None]) -> None:
        """Raise ConfigurationError for a new journal table that should be split: Thrift 1 cannot do it."""
        if self._regions > 1 and JOURNAL_NAME in table:
            statement = build_create_statement(table, families, self._regions, self._in_memory)
            raise ConfigurationError(
                f"table {table!r} is to have {self._regions} regions, which a Thrift server cannot make."
                f" Make it in the HBase shell, then run the same command again: {statement}"
            )

    def put(
        self,
        table: str,
        rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
        *,
        where_equal: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Rows in calls of a bounded size; on an error some of them may be written. With `where_equal` a
        call for each, which the region server compares and writes under the lock of its row.

        Raises ValueError for a key that is empty or longer than HBase takes, LimitError for a cell
        larger than the server takes.
        """
        check_conditions(where_equal)
        families = self._get_families(table)
        merged: dict[bytes, dict[bytes, bytes]] = {}
        for key, cells in rows:
            check_key(key)
            check_families(table, families, cells)
            merged.setdefault(key, {}).update({n.encode(): v for n, v in cells.items()})
        if where_equal is not None:
            for key, cell in merged.items():
                self._call(partial(write_if_equal, table, key, where_equal[key], cell))
            return
        for chunk in iter_chunks([(key, cells) for key, cells in merged.items() if cells]):
            self._call(partial(write_rows, table, chunk))

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """The rows that exist; keys may repeat."""
        picked = select_columns(table, self._get_families(table), columns)
        if picked is not None and not picked:
            return {}
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, dict[str, bytes]] = {}
        for start in range(0, len(wanted), READ_ROWS):
            part = wanted[start : start + READ_ROWS]
            rows = self._call(partial(read_rows, table, part, build_column_names(picked)))
            found |= {key: decode_cells(cells) for key, cells in rows if cells}
        return found

    def scan(
        self,
        table: str,
        prefix: bytes = b"",
        *,
        after: bytes | None = None,
        count_max: int = 1000,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """The region servers read `count_max` rows each at most."""
        picked = select_columns(table, self._get_families(table), columns)
        if count_max < 1 or (picked is not None and not picked):
            return []
        # The next key after any key is that key and a zero byte.
        start = prefix if after is None else max(prefix, after + b"\x00")
        end = find_prefix_end(prefix)
        if end is not None and start >= end:
            return []
        rows = self._call(
            lambda one: scan_rows(
                one.table(table), start, end, count_max, build_column_names(picked)
            )
        )
        return [(key, decode_cells(cells)) for key, cells in rows]

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Remove whole rows or cells. Returns when the server's clock has moved on: a cell put in the same
        millisecond as a row was deleted would be covered by the deletion."""
        families = self._get_families(table)
        names = None
        if columns is not None:
            names = [name.encode() for name in check_cells(table, families, columns)]
        if not keys or names == []:
            return
        self._call(lambda one: delete_rows(one.table(table), list(dict.fromkeys(keys)), names))
        threading.Event().wait(TICK_S)

    def close(self) -> None:
        """Close the connections nobody uses now."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def _get_families(self, table: str) -> frozenset[str]:
        families = self._families.get(table) or self._find_families(table)
        if families is None:
            raise ConfigurationError(f"there is no table {table!r}; declare it first.")
        return families

    def _find_families(self, table: str) -> frozenset[str] | None:
        """The families of a table on the server; None when there is no such table."""

        def ask(one: happybase.Connection) -> frozenset[str] | None:
            if table.encode() not in one.tables():
                return None
            names = one.table(table).families()
            return frozenset(name.decode().removesuffix(":") for name in names)

        found = self._call(ask)
        if found is not None:
            self._families[table] = found
        return found

    def _call(self, act: Callable[[happybase.Connection], T]) -> T:
        """What comes of `act` with a connection; tried twice, as one may have ended while it lay idle."""
        try:
            with suppress(*BROKEN), self._borrow_connection() as connection:
                return act(connection)
            self.close()
            with self._borrow_connection() as connection:
                return act(connection)
        except BROKEN as error:
            told = f"{self._server_name} does not answer: {format_error(error)}"
            raise StoreUnavailableError(told) from error
        except TException as error:
            raise self._explain_error(error) from error

    @contextmanager
    def _borrow_connection(self) -> Iterator[happybase.Connection]:
        """An idle connection or a new one; kept afterwards unless something went wrong."""
        if not self._slots.acquire(timeout=ANSWER_MAX_S):
            raise StoreUnavailableError(f"{self._server_name}: no connection became free")
        try:
            try:
                one = self._idle.pop()
            except IndexError:
                one = self._connect()
            try:
                yield one
            except BaseException:
                one.close()
                raise
            self._idle.append(one)
        finally:
            self._slots.release()

    def _connect(self) -> happybase.Connection:
        one = happybase.Connection(
            self._host,
            self._port,
            timeout=round(ANSWER_MAX_S * 1000),
            transport=self._transport,
            autoconnect=False,
        )
        try:
            one.open()
        except BaseException:
            one.close()
            raise
        return one

    def _explain_error(self, error: TException) -> FondsError:
        told = format_error(error)
        # A table that was dropped may show as regions nobody has: the next call asks for it anew.
        self._families.clear()
        if "TableNotFound" in told or "NoSuchColumnFamily" in told:
            return ConfigurationError(
                f"{self._server_name}: no table or family of this name: {told}"
            )
        if "KeyValue size too large" in told or "exceeds" in told:
            return LimitError(
                Reason.TOO_LARGE, f"a cell is larger than {self._server_name} takes: {told}"
            )
        return StoreUnavailableError(f"{self._server_name} refuses for now: {told}")
