"""Compare each server backend with the plain client of the server.

    . .servers/servers.env; python scripts/bench_servers.py [--only queue records …] [--rounds 5]

The backend and the plain client take turns, with the same data, batches and acknowledgements. Each
figure is the best of the rounds: the highest rate, and the least CPU of this process. Connections,
topics and consumer groups exist before the first round. Rates depend on the machine and the run:
compare lines of one table, never two tables.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import bench_peers as peers
from bench_peers import BATCH, Action, build_documents, build_rows, build_wide_rows
from fonds.model.archive import Blob
from fonds.model.message import Message, Subscription
from fonds.model.rows import CdxRow, CitationRow, FileMetaRow, PdfMetaRow, TextBandRow
from fonds.ports import Blobs, Queue, Table
from fonds.wiring.backends import BACKENDS, open_backend

SIZES = {"1 kB": (1_000, 2_000), "100 kB": (100_000, 200)}
ROW_KINDS = (FileMetaRow, CdxRow, PdfMetaRow, CitationRow, TextBandRow)
ROWS, WIDE_ROWS, DOCUMENTS, BLOBS = 5_000, 2_000, 1_000, 500
LARGE_ROWS, LARGE_CELL_BYTES = 200, 256 * 1024
BLOB_BYTES = 10_000
RECEIVE_MAX_S = 10.0
Backends = Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Trial:
    """Work to measure: of a backend, and of the plain client if there is one.

    - `count`: number of items that one call handles.
    - `reset`: called before each measurement, unmeasured.
    """

    name: str
    backend: str
    count: int
    own: Action
    bare: Action | None = None
    reset: Action = list


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall-clock time and CPU time of this process, in seconds."""

    wall_s: float
    cpu_s: float


def main() -> None:
    kinds: dict[str, Callable[[Path, Backends], Iterator[Trial]]] = {
        "queue": prepare_queues,
        "table": prepare_tables,
        "records": prepare_records,
        "blobs": prepare_blobs,
        "index": prepare_indexes,
    }
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=list(kinds), default=list(kinds))
    parser.add_argument("--backends", nargs="*", help="URL schemes, such as kafka")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rate_titles = f"{'a second':>10} {'bare':>8} {'ratio':>6}"
    cpu_titles = f"{'CPU us':>8} {'bare':>8} {'ratio':>6}"
    print(f"{'what':34} {'backend':14} {rate_titles} {cpu_titles}")
    for kind in arguments.only:
        with tempfile.TemporaryDirectory(prefix="fonds-bench-") as folder:
            for trial in kinds[kind](Path(folder), arguments.backends):
                print(format_line(trial, *measure(trial, arguments.rounds)), flush=True)


def measure(trial: Trial, rounds: int) -> tuple[Cost, Cost | None]:
    """Return the least costs of the backend and of the plain client, which take turns."""
    own_costs, bare_costs = list[Cost](), list[Cost]()
    for number in range(rounds):
        turns = [(own_costs, trial.own), (bare_costs, trial.bare)]
        for costs, act in turns if number % 2 else reversed(turns):
            if act is not None:
                trial.reset()
                costs.append(_measure_cost(act))
    return _find_least(own_costs), _find_least(bare_costs) if bare_costs else None


def _measure_cost(act: Action) -> Cost:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    act()
    return Cost(time.perf_counter() - wall_s, time.process_time() - cpu_s)


def _find_least(costs: Sequence[Cost]) -> Cost:
    return Cost(min(cost.wall_s for cost in costs), min(cost.cpu_s for cost in costs))


def format_line(trial: Trial, own: Cost, bare: Cost | None) -> str:
    """Return a line of the table: items per second, and microseconds of CPU per item."""
    rate, cpu_us = trial.count / own.wall_s, own.cpu_s / trial.count * 1e6
    line = f"{trial.name:34} {trial.backend:14} {rate:10,.0f}"
    if bare is None:
        return f"{line} {'':15} {cpu_us:8,.0f}"
    bare_rate, bare_cpu_us = trial.count / bare.wall_s, bare.cpu_s / trial.count * 1e6
    return (
        f"{line} {bare_rate:8,.0f} {rate / bare_rate:6.2f}"
        f" {cpu_us:8,.0f} {bare_cpu_us:8,.0f} {cpu_us / bare_cpu_us:6.2f}"
    )


def iter_available(
    port: str, schemes: Backends = None
) -> Iterator[tuple[str, str, Callable[..., Any] | None]]:
    """Yield name, URL and plain client of each available backend of a port.

    `schemes` are the URL schemes of the backends; None for all.
    """
    files = {"queue": "queue.sqlite", "table": "table.sqlite", "records": "records.sqlite"}
    folders = {"blobs": "blobs", "index": "index"}
    for scheme in BACKENDS[port]:
        if schemes and scheme not in schemes:
            continue
        if BACKENDS[port][scheme].is_below_home:
            yield scheme, f"{scheme}:{(files | folders)[port]}", None
        elif scheme in peers.PEERS and (url := os.environ.get(peers.PEERS[scheme].variable)):
            yield scheme, url, peers.PEERS[scheme].open


def prepare_queues(folder: Path, schemes: Backends) -> Iterator[Trial]:
    for name, url, open_bare in iter_available("queue", schemes):
        for label, (size_bytes, count) in SIZES.items():
            with ExitStack() as stack:
                queue = stack.enter_context(closing(open_backend("queue", url, folder)))
                unique = f"b{secrets.token_hex(5)}"
                reader = Subscription(unique, f"{unique}.topic")
                queue.declare([reader])
                body = secrets.token_bytes(size_bytes)
                _send_and_receive(queue, reader, body, 1)  # Joining a group takes seconds.
                own = partial(_send_and_receive, queue, reader, body, count)
                bare = stack.enter_context(open_bare(url, body, count)) if open_bare else None
                yield Trial(f"messages of {label}, in and out", name, count, own, bare)


def prepare_tables(folder: Path, schemes: Backends) -> Iterator[Trial]:
    for name, url, open_bare in iter_available("table", schemes):
        with ExitStack() as stack:
            table, rows = open_backend("table", url, folder), build_wide_rows(WIDE_ROWS)
            stack.callback(getattr(table, "close", list))
            unique = f"b{secrets.token_hex(5)}"
            table.declare(unique, ("f", "file"))
            write = partial(_act_in_batches, rows, partial(table.put, unique))
            read = partial(_act_in_batches, [key for key, _ in rows], partial(table.get, unique))
            bare = stack.enter_context(open_bare(url, unique)) if open_bare else None
            yield Trial("wide rows written", name, WIDE_ROWS, write, bare)
            yield Trial("wide rows read", name, WIDE_ROWS, read)
            yield from _prepare_columns(table, f"{unique}l", name)


def _prepare_columns(table: Table, name: str, backend_name: str) -> Iterator[Trial]:
    """Prepare reading rows with a large cell: full rows, then one small column only."""
    table.declare(name, ("file", "grobid0"))
    keys = [number.to_bytes(20) for number in range(LARGE_ROWS)]
    large = secrets.token_bytes(LARGE_CELL_BYTES)
    for key in keys:
        table.put(name, [(key, {"file:size": b"12345678", "grobid0:tei_xml": large})])
    read = partial(_act_in_batches, keys, partial(table.get, name))
    read_column = partial(_act_in_batches, keys, partial(table.get, name, columns=["file:size"]))
    yield Trial("rows with a cell of 256 KiB read", backend_name, LARGE_ROWS, read)
    yield Trial("one small column of them", backend_name, LARGE_ROWS, read_column)
    table.delete(name, keys)


@contextmanager
def use_new_database(url: str) -> Iterator[str]:
    """Yield the URL of a new database on the PostgreSQL server of `url`, which is then dropped.

    Yields the URL of another backend unchanged.
    """
    if not url.startswith("postgresql:"):
        yield url
        return
    import psycopg

    name = f"bench_{secrets.token_hex(5)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{url.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def prepare_records(folder: Path, schemes: Backends) -> Iterator[Trial]:
    for name, server_url, open_bare in iter_available("records", schemes):
        with (
            use_new_database(server_url) as url,
            closing(open_backend("records", url, folder)) as store,
        ):
            for kind in ROW_KINDS:
                with ExitStack() as stack:
                    rows = build_rows(kind, ROWS)
                    keys = [tuple(getattr(row, column) for column in kind.KEY) for row in rows]
                    keys = keys if len(kind.KEY) > 1 else [key for (key,) in keys]
                    bare = stack.enter_context(open_bare(url, kind, rows)) if open_bare else None
                    write = partial(_act_in_batches, rows, store.put)
                    read = partial(_act_in_batches, keys, partial(store.get, kind))
                    delete = partial(store.delete, kind, keys)
                    label = kind.TABLE
                    yield Trial(f"{label}: rows inserted", name, ROWS, write, bare, delete)
                    write()
                    yield Trial(f"{label}: rows replaced", name, ROWS, write, bare)
                    yield Trial(f"{label}: rows read by key", name, ROWS, read)
                    delete()


def prepare_blobs(folder: Path, schemes: Backends) -> Iterator[Trial]:
    for name, url, open_bare in iter_available("blobs", schemes):
        with ExitStack() as stack:
            store, data = open_backend("blobs", url, folder), secrets.token_bytes(BLOB_BYTES)
            stack.callback(getattr(store, "close", list))
            keys = [f"bench/{secrets.token_hex(8)}" for _ in range(BLOBS)]
            bare = stack.enter_context(open_bare(url, data, BLOBS)) if open_bare else None
            write = partial(_act_on_each, keys, partial(_put_blob, store, data))
            yield Trial("blobs of 10 kB put", name, BLOBS, write, bare)
            yield Trial("blobs of 10 kB read", name, BLOBS, partial(_act_on_each, keys, store.get))
            store.delete(keys)


def prepare_indexes(folder: Path, schemes: Backends) -> Iterator[Trial]:
    for name, url, open_bare in iter_available("index", schemes):
        with ExitStack() as stack:
            # An alias of its own: replaced documents would slow down the index of another run.
            own_url = f"{url.rpartition('/')[0]}/bench-{secrets.token_hex(5)}" if open_bare else url
            index, documents = open_backend("index", own_url, folder), build_documents(DOCUMENTS)
            stack.callback(getattr(index, "close", list))
            stack.callback(getattr(index, "remove", list))
            index.put(documents[:1])  # This creates the index and its template.
            bare = stack.enter_context(open_bare(own_url, documents)) if open_bare else None
            write = partial(_act_in_batches, documents, index.put)
            yield Trial("documents of 3 kB indexed", name, DOCUMENTS, write, bare)


def _send_and_receive(queue: Queue, reader: Subscription, body: bytes, count: int) -> None:
    """Put all messages, then receive and settle them in batches."""
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        queue.put(reader.topic, [Message(str(number), body) for number in numbers])
    missing_count = count
    while missing_count:
        messages = queue.receive(reader.incoming, BATCH, RECEIVE_MAX_S)
        queue.settle(messages)
        missing_count -= len(messages)


def _act_on_each(things: Sequence[Any], act: Callable[[Any], object]) -> None:
    for thing in things:
        act(thing)


def _put_blob(store: Blobs, data: bytes, key: str) -> None:
    store.put([Blob(key, data, "text/plain")])


def _act_in_batches(things: Sequence[Any], act: Callable[[Sequence[Any]], object]) -> None:
    for start in range(0, len(things), BATCH):
        act(things[start : start + BATCH])


if __name__ == "__main__":
    main()
