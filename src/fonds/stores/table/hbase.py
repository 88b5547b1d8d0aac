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
from thriftpy2.thrift import TException
from thriftpy2.transport import TTransportException

from fonds.formats.journal.creating import shell_statement, table_options
from fonds.model.disposition import Reason
from fonds.model.errors import ConfigurationError, FondsError, LimitError, StoreUnavailableError
from fonds.stores.table.hbase_calls import (
    cells_by_name,
    chunks,
    column_names,
    create_table,
    delete_rows,
    read_rows,
    scan_rows,
    told_by,
    write_rows,
    write_where,
)
from fonds.stores.table.rows import (
    check_before,
    check_families,
    check_key,
    check_none_left,
    chosen,
    end_of_prefix,
    single,
)

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
        self._where = f"HBase at {self._host}:{self._port}"
        self._compression = options.get("compression", "").upper()
        self._in_memory, self._regions = table_options(url)
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
        found = self._known(table)
        if found is None:
            packed = compressions or {}
            self._check_regions(table, {one: self._compressed(packed.get(one)) for one in families})
            described = {one: self._described(one, packed.get(one)) for one in wanted}
            self._call(lambda one: create_table(one, table, dict(sorted(described.items()))))
            found = self._known(table)
        check_none_left(table, found or (), wanted)
        if lacking := sorted(wanted - (found or frozenset())):
            told = ", ".join(f"{{NAME => '{one}', VERSIONS => 1}}" for one in lacking)
            raise ConfigurationError(
                f"table {table!r} lacks the families {lacking}; add them in the HBase shell:"
                f" alter '{table}', {told}"
            )

    def tables(self) -> dict[str, frozenset[str]]:
        """The tables of the cluster, also those of others."""
        names = self._call(lambda one: one.tables())
        found = {name.decode("utf-8", "replace"): self._known(name.decode()) for name in names}
        return {name: families for name, families in found.items() if families is not None}

    def _compressed(self, compression: str | None) -> str:
        return self._compression or compression or "GZ"

    def _described(self, family: str, compression: str | None) -> dict[str, Any]:
        """What Thrift is told of a family; its own defaults leave out bloom filter and block cache."""
        return {
            "max_versions": 1,
            "compression": self._compressed(compression),
            "bloom_filter_type": "ROW",
            "block_cache_enabled": True,
            "in_memory": family in self._in_memory,
        }

    def _check_regions(self, table: str, families: Mapping[str, str | None]) -> None:
        """Raise ConfigurationError for a new journal table that should be split: Thrift 1 cannot do it."""
        if self._regions > 1 and JOURNAL_NAME in table:
            statement = shell_statement(table, families, self._regions, self._in_memory)
            raise ConfigurationError(
                f"table {table!r} is to have {self._regions} regions, which a Thrift server cannot make."
                f" Make it in the HBase shell, then run the same command again: {statement}"
            )

    def put(
        self,
        table: str,
        rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
        *,
        before: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Rows in calls of a bounded size; on an error some of them may be written. With `before` a call for
        each, which the region server compares and writes under the lock of its row.

        Raises ValueError for a key that is empty or longer than HBase takes, LimitError for a cell
        larger than the server takes.
        """
        check_before(before)
        families = self._declared(table)
        merged: dict[bytes, dict[bytes, bytes]] = {}
        for key, cells in rows:
            check_key(key)
            check_families(table, families, cells)
            merged.setdefault(key, {}).update({n.encode(): v for n, v in cells.items()})
        if before is not None:
            for key, cell in merged.items():
                self._call(partial(write_where, table, key, before[key], cell))
            return
        for chunk in chunks([(key, cells) for key, cells in merged.items() if cells]):
            self._call(partial(write_rows, table, chunk))

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """The rows that exist; keys may repeat."""
        picked = chosen(table, self._declared(table), columns)
        if picked is not None and not picked:
            return {}
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, dict[str, bytes]] = {}
        for start in range(0, len(wanted), READ_ROWS):
            part = wanted[start : start + READ_ROWS]
            rows = self._call(partial(read_rows, table, part, column_names(picked)))
            found |= {key: cells_by_name(cells) for key, cells in rows if cells}
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
        picked = chosen(table, self._declared(table), columns)
        if count_max < 1 or (picked is not None and not picked):
            return []
        # The next key after any key is that key and a zero byte.
        start = prefix if after is None else max(prefix, after + b"\x00")
        end = end_of_prefix(prefix)
        if end is not None and start >= end:
            return []
        rows = self._call(
            lambda one: scan_rows(one.table(table), start, end, count_max, column_names(picked))
        )
        return [(key, cells_by_name(cells)) for key, cells in rows]

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Remove whole rows or cells. Returns when the server's clock has moved on: a cell put in the same
        millisecond as a row was deleted would be covered by the deletion."""
        families = self._declared(table)
        names = None
        if columns is not None:
            names = [name.encode() for name in single(table, families, columns)]
        if not keys or names == []:
            return
        self._call(lambda one: delete_rows(one.table(table), list(dict.fromkeys(keys)), names))
        threading.Event().wait(TICK_S)

    def close(self) -> None:
        """Close the connections nobody uses now."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def _declared(self, table: str) -> frozenset[str]:
        families = self._families.get(table) or self._known(table)
        if families is None:
            raise ConfigurationError(f"there is no table {table!r}; declare it first.")
        return families

    def _known(self, table: str) -> frozenset[str] | None:
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
            with suppress(*BROKEN), self._connection() as connection:
                return act(connection)
            self.close()
            with self._connection() as connection:
                return act(connection)
        except BROKEN as error:
            told = f"{self._where} does not answer: {told_by(error)}"
            raise StoreUnavailableError(told) from error
        except TException as error:
            raise self._explained(error) from error

    @contextmanager
    def _connection(self) -> Iterator[happybase.Connection]:
        """An idle connection or a new one; kept afterwards unless something went wrong."""
        if not self._slots.acquire(timeout=ANSWER_MAX_S):
            raise StoreUnavailableError(f"{self._where}: no connection became free")
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

    def _explained(self, error: TException) -> FondsError:
        told = told_by(error)
        # A table that was dropped may show as regions nobody has: the next call asks for it anew.
        self._families.clear()
        if "TableNotFound" in told or "NoSuchColumnFamily" in told:
            return ConfigurationError(f"{self._where}: no table or family of this name: {told}")
        if "KeyValue size too large" in told or "exceeds" in told:
            return LimitError(
                Reason.TOO_LARGE, f"a cell is larger than {self._where} takes: {told}"
            )
        return StoreUnavailableError(f"{self._where} refuses for now: {told}")
