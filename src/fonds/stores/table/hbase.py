"""Wide-row table on HBase, through HBase's Thrift 1 server.

Source: HBase 2.6 `Hbase.thrift`, as the happybase library uses it.
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
    check_conditions,
    check_families,
    check_key,
    find_prefix_end,
    reject_extra_families,
    select_cells,
    select_columns,
)

# Calls of the Thrift server, each with an open connection and in batches of bounded size.


WRITE_MAX_BYTES, WRITE_MAX_ROWS = 8 * 1024 * 1024, 1000
SCAN_ROWS = 100


def create_table(
    connection: happybase.Connection, table: str, families: dict[str, dict[str, Any]]
) -> None:
    """Create an HBase table. No error is raised if another process has just created it."""
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
    """Write the cells of these rows in one call of HBase's Thrift server."""
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
    """Write cells of one HBase row, each only if the value stored in its column equals
    `where_equal`.
    """
    for column, value in cells.items():
        mutation = Mutation(isDelete=False, column=column, value=value)
        connection.client.checkAndPut(table.encode(), key, column, where_equal, mutation, {})


def read_rows(
    table: str, keys: Sequence[bytes], columns: list[bytes] | None, connection: happybase.Connection
) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Return the existing rows of an HBase table with these keys. `columns` limits the cells to
    columns or families; None means all cells.
    """
    return list(connection.table(table).rows(keys, columns))


def build_column_names(selection: ColumnSelection | None) -> list[bytes] | None:
    """Return selected columns as names for the Thrift server; None means all columns. A family is
    named without a colon: `family:` would be a column without a name.
    """
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
    """Return up to `count_max` rows of an HBase table with keys from `start` to before `end` (None
    for no end).
    """
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
    """Delete whole rows of an HBase table, or only the cells in the columns `names`."""
    for key in keys:
        table.delete(key, columns=names)


def compact_table(table: str, connection: happybase.Connection) -> None:
    """Start a major compaction of an HBase table, which removes deleted cells from its files."""
    connection.compact_table(table, major=True)


def iter_chunks(
    rows: Sequence[tuple[bytes, Mapping[bytes, bytes]]],
) -> Iterator[list[tuple[bytes, Mapping[bytes, bytes]]]]:
    """Group rows for write calls to HBase of at most 1,000 rows and about 8 MiB. A row is never
    split.
    """
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
    """Return the cells of an HBase row by column, with the column names decoded to text."""
    return {name.decode(): value for name, value in cells.items()}


def format_error(error: BaseException) -> str:
    """Return the text of an HBase error in one line of at most 300 characters."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    return text.strip().splitlines()[0][:300] if text.strip() else type(error).__name__


T = TypeVar("T")

PORT = 9090
JOURNAL_NAME = "-journal-extract-"
"""Part of the name of every journal-extract table. Row keys of such tables are SHA-1s, so the
tables can be split evenly.
"""
CONNECTIONS = 8
ANSWER_MAX_S = 25.0
READ_ROWS = 200
TICK_S = 0.003
BROKEN = (TTransportException, OSError, EOFError)


class HbaseTable:
    """Wide-row table on HBase. The URL `hbase://host:port` is the address of a Thrift 1 server.

    Implements the interface Table (`ports/stores.py`). Column families keep one version of a cell.
    A family is compressed as declared, otherwise with GZ. `?compression=` sets one compression for
    all families (GZ, NONE, SNAPPY, LZ4, ZSTD), if the cluster supports it. Every family has a bloom
    filter of rows and uses the block cache. `?in_memory=f,file` names families that the block cache
    should prefer.

    With `?regions=256`, creating a journal table is an error, because Thrift 1 cannot create split
    points; the error contains the statement for the HBase shell. Cells get the region server's
    time, so the later of two writers wins, whatever the clocks of the writers say.
    """

    def __init__(self, url: str) -> None:
        """Read the settings in the URL of HBase's Thrift server. Connects on first use. Raises
        ConfigurationError if the URL is invalid.
        """
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        if not parts.hostname:
            raise ConfigurationError("hbase: the URL has no host. Write hbase://host:9090")
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
        """Create the table with these column families, or check that the existing table has exactly
        these families.

        A family is compressed as the URL says, else as `compressions` says, else with GZ. Raises
        ConfigurationError if families differ: a Thrift server cannot add families, so a person must
        run `alter` in the HBase shell.
        """
        declared_families = frozenset(families)
        existing = self._find_families(table)
        if existing is None:
            compression_by_family = compressions or {}
            self._check_regions(
                table,
                {
                    family: self._choose_compression(compression_by_family.get(family))
                    for family in families
                },
            )
            descriptions = {
                family: self._build_family(family, compression_by_family.get(family))
                for family in declared_families
            }
            self._call(
                lambda connection: create_table(
                    connection, table, dict(sorted(descriptions.items()))
                )
            )
            existing = self._find_families(table)
        reject_extra_families(table, existing or (), declared_families)
        if missing := sorted(declared_families - (existing or frozenset())):
            family_definitions = ", ".join(
                f"{{NAME => '{family}', VERSIONS => 1}}" for family in missing
            )
            raise ConfigurationError(
                f"Table {table!r} lacks the families {missing}. Add them in the HBase "
                f"shell: alter '{table}', {family_definitions}"
            )

    def list_tables(self) -> dict[str, frozenset[str]]:
        """Return the column families of all tables in the HBase cluster, by table name, including
        tables of other programs.
        """
        names = self._call(lambda connection: connection.tables())
        families_by_table = {
            name.decode("utf-8", "replace"): self._find_families(name.decode()) for name in names
        }
        return {
            name: families for name, families in families_by_table.items() if families is not None
        }

    def _choose_compression(self, compression: str | None) -> str:
        return self._compression or compression or "GZ"

    def _build_family(self, family: str, compression: str | None) -> dict[str, Any]:
        """Return the options with which Thrift creates a column family. Thrift's defaults have no
        bloom filter and no block cache.
        """
        return {
            "max_versions": 1,
            "compression": self._choose_compression(compression),
            "bloom_filter_type": "ROW",
            "block_cache_enabled": True,
            "in_memory": family in self._in_memory,
        }

    def _check_regions(self, table: str, families: Mapping[str, str | None]) -> None:
        """Raise ConfigurationError if a new journal table needs several regions, which Thrift 1
        cannot create.
        """
        if self._regions > 1 and JOURNAL_NAME in table:
            statement = build_create_statement(table, families, self._regions, self._in_memory)
            raise ConfigurationError(
                f"Table {table!r} needs {self._regions} regions, which a Thrift server "
                "cannot create. Create it in the HBase shell, then run the command "
                f"again: {statement}"
            )

    def put(
        self,
        table: str,
        rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
        *,
        where_equal: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Write the cells of rows, in calls of at most 1,000 rows and about 8 MiB. After an error
        some rows may be written.

        `where_equal` maps row keys to expected values: a cell is then written only if its stored
            value is equal, with one atomic call per cell. Raises ValueError for a key that is empty
            or too long for HBase, and LimitError for a cell larger than the server accepts.
        """
        check_conditions(where_equal)
        families = self._get_families(table)
        merged_cells: dict[bytes, dict[bytes, bytes]] = {}
        for key, cells in rows:
            check_key(key)
            check_families(table, families, cells)
            merged_cells.setdefault(key, {}).update({n.encode(): v for n, v in cells.items()})
        if where_equal is not None:
            for key, cell in merged_cells.items():
                self._call(partial(write_if_equal, table, key, where_equal[key], cell))
            return
        for chunk in iter_chunks([(key, cells) for key, cells in merged_cells.items() if cells]):
            self._call(partial(write_rows, table, chunk))

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """Return the cells of the existing rows of a table with these keys, by row key. `columns`
        limits the cells to columns or families.
        """
        selection = select_columns(table, self._get_families(table), columns)
        if selection is not None and not selection:
            return {}
        unique_keys = list(dict.fromkeys(keys))
        result: dict[bytes, dict[str, bytes]] = {}
        for start in range(0, len(unique_keys), READ_ROWS):
            batch = unique_keys[start : start + READ_ROWS]
            rows = self._call(partial(read_rows, table, batch, build_column_names(selection)))
            result |= {key: decode_cells(cells) for key, cells in rows if cells}
        return result

    def scan(
        self,
        table: str,
        prefix: bytes = b"",
        *,
        after: bytes | None = None,
        count_max: int = 1000,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Return up to `count_max` rows of a table whose keys begin with `prefix` and sort after
        `after`, in key order. `columns` limits the cells to columns or families.
        """
        selection = select_columns(table, self._get_families(table), columns)
        if count_max < 1 or (selection is not None and not selection):
            return []
        # The next possible key is the key and a zero byte.
        start = prefix if after is None else max(prefix, after + b"\x00")
        end = find_prefix_end(prefix)
        if end is not None and start >= end:
            return []
        rows = self._call(
            lambda connection: scan_rows(
                connection.table(table), start, end, count_max, build_column_names(selection)
            )
        )
        return [(key, decode_cells(cells)) for key, cells in rows]

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Delete whole rows of a table, or only their cells in `columns`.

        Returns after the server's clock has advanced: a cell written in the same millisecond as the
        deletion of its row would be deleted too.
        """
        families = self._get_families(table)
        names = None
        if columns is not None:
            names = [name.encode() for name in select_cells(table, families, columns)]
        if not keys or names == []:
            return
        self._call(
            lambda connection: delete_rows(
                connection.table(table), list(dict.fromkeys(keys)), names
            )
        )
        threading.Event().wait(TICK_S)

    def purge(self) -> Sequence[str]:
        """Let HBase rewrite the files of all tables without deleted cells (major compaction).

        HBase does so in the background, which takes minutes for a large table.
        """
        for table in self.list_tables():
            self._call(partial(compact_table, table))
        return (
            "HBase keeps deleted cells until its compaction has ended, and those not yet in files "
            "until it has written its memory to disk (an hour by default), and in its log (WAL) "
            "and snapshots.",
        )

    def close(self) -> None:
        """Close the idle connections to HBase."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def _get_families(self, table: str) -> frozenset[str]:
        families = self._families.get(table) or self._find_families(table)
        if families is None:
            raise ConfigurationError(f"No table {table!r}; declare it first.")
        return families

    def _find_families(self, table: str) -> frozenset[str] | None:
        """Return the column families of a table on the HBase server; None if the table does not
        exist.
        """

        def ask(connection: happybase.Connection) -> frozenset[str] | None:
            if table.encode() not in connection.tables():
                return None
            names = connection.table(table).families()
            return frozenset(name.decode().removesuffix(":") for name in names)

        families = self._call(ask)
        if families is not None:
            self._families[table] = families
        return families

    def _call(self, act: Callable[[happybase.Connection], T]) -> T:
        """Call `act` with a connection to HBase. If the connection is broken, try once more with a
        new one: the server may have closed an idle connection.
        """
        try:
            with suppress(*BROKEN), self._borrow_connection() as connection:
                return act(connection)
            self.close()
            with self._borrow_connection() as connection:
                return act(connection)
        except BROKEN as error:
            message = f"{self._server_name} does not answer: {format_error(error)}"
            raise StoreUnavailableError(message) from error
        except TException as error:
            raise self._explain_error(error) from error

    @contextmanager
    def _borrow_connection(self) -> Iterator[happybase.Connection]:
        """Yield an idle or new connection to HBase. It is reused afterwards unless an error
        occurred.
        """
        if not self._slots.acquire(timeout=ANSWER_MAX_S):
            raise StoreUnavailableError(f"{self._server_name}: all connections are in use")
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
        finally:
            self._slots.release()

    def _connect(self) -> happybase.Connection:
        connection = happybase.Connection(
            self._host,
            self._port,
            timeout=round(ANSWER_MAX_S * 1000),
            transport=self._transport,
            autoconnect=False,
        )
        try:
            connection.open()
        except BaseException:
            connection.close()
            raise
        return connection

    def _explain_error(self, error: TException) -> FondsError:
        message = format_error(error)
        # A deleted table may look like unavailable regions, so the next call asks for its families
        # again.
        self._families.clear()
        if "TableNotFound" in message or "NoSuchColumnFamily" in message:
            return ConfigurationError(
                f"{self._server_name}: no table or family with this name: {message}"
            )
        if "KeyValue size too large" in message or "exceeds" in message:
            return LimitError(
                Reason.TOO_LARGE, f"a cell is too large for {self._server_name}: {message}"
            )
        return StoreUnavailableError(f"{self._server_name} refuses for now: {message}")
