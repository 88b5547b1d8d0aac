"""Compare each server backend with the plain client of the server.

    . .servers/servers.env; python scripts/bench_servers.py [--only queue table records blobs index]

Numbers depend on the machine and the run: compare lines of one table, never two tables.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import bench_peers as peers
from bench_peers import BATCH, build_documents, build_file_rows, build_wide_rows
from fonds.model.archive import Blob
from fonds.model.message import Message, Subscription
from fonds.model.rows import FileMetaRow
from fonds.ports import Blobs, Queue, Table
from fonds.wiring.stores import BACKENDS, open_backend

SIZES = {"1 kB": (1_000, 2_000), "100 kB": (100_000, 200)}
ROWS, WIDE_ROWS, DOCUMENTS, BLOBS = 5_000, 2_000, 2_000, 500
LARGE_ROWS, LARGE_CELL_BYTES = 200, 256 * 1024
BLOB_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement: rates of the backend and of the plain client, in items per second."""

    name: str
    backend: str
    rate: float
    bare: float | None


def main() -> None:
    kinds: dict[str, Callable[[Path], Iterator[Line]]] = {
        "queue": measure_queues,
        "table": measure_tables,
        "records": measure_records,
        "blobs": measure_blobs,
        "index": measure_indexes,
    }
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=list(kinds), default=list(kinds))
    arguments = parser.parse_args()
    print(f"{'what':34} {'backend':14} {'a second':>10} {'bare client':>12} {'ratio':>6}")
    for kind in arguments.only:
        with tempfile.TemporaryDirectory(prefix="fonds-bench-") as folder:
            for line in kinds[kind](Path(folder)):
                bare = f"{line.bare:12,.0f} {line.rate / line.bare:6.2f}" if line.bare else ""
                print(f"{line.name:34} {line.backend:14} {line.rate:10,.0f} {bare}", flush=True)


def iter_available(port: str) -> Iterator[tuple[str, str, Callable[..., float] | None]]:
    """Yield name, URL and plain client of each available backend of a port."""
    files = {"queue": "queue.sqlite", "table": "table.sqlite", "records": "records.sqlite"}
    folders = {"blobs": "blobs", "index": "index"}
    for scheme in BACKENDS[port]:
        if BACKENDS[port][scheme].is_below_home:
            yield scheme, f"{scheme}:{(files | folders)[port]}", None
        elif scheme in peers.PEERS and (url := os.environ.get(peers.PEERS[scheme].variable)):
            yield scheme, url, peers.PEERS[scheme].measure


def measure_rate(count: int, act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return count / (time.perf_counter() - started)


def measure_queues(folder: Path) -> Iterator[Line]:
    for name, url, bare in iter_available("queue"):
        for label, (size_bytes, count) in SIZES.items():
            queue = open_backend("queue", url, folder)
            unique = f"b{secrets.token_hex(5)}"
            reader = Subscription(unique, f"{unique}.topic")
            queue.declare([reader])
            body = secrets.token_bytes(size_bytes)
            own_rate = measure_rate(count, partial(_send_and_receive, queue, reader, body, count))
            queue.close()
            peer_rate = bare(url, body, count) if bare else None
            yield Line(f"messages of {label}, in and out", name, own_rate, peer_rate)


def measure_tables(folder: Path) -> Iterator[Line]:
    for name, url, bare in iter_available("table"):
        table, rows = open_backend("table", url, folder), build_wide_rows(WIDE_ROWS)
        unique = f"b{secrets.token_hex(5)}"
        table.declare(unique, ("f", "file"))
        own_rate = measure_rate(
            WIDE_ROWS, partial(_act_in_batches, rows, partial(table.put, unique))
        )
        keys = [key for key, _ in rows]
        reads = measure_rate(WIDE_ROWS, partial(_act_in_batches, keys, partial(table.get, unique)))
        peer_rate = bare(url, unique) if bare else None
        yield Line("wide rows written", name, own_rate, peer_rate)
        yield Line("wide rows read", name, reads, None)
        yield from _measure_columns(table, f"{unique}l", name)
        getattr(table, "close", lambda: None)()


def _measure_columns(table: Table, name: str, backend_name: str) -> Iterator[Line]:
    """Measure rows with a large cell: read full rows, then one small column only."""
    table.declare(name, ("file", "grobid0"))
    keys = [number.to_bytes(20) for number in range(LARGE_ROWS)]
    large = secrets.token_bytes(LARGE_CELL_BYTES)
    for key in keys:
        table.put(name, [(key, {"file:size": b"12345678", "grobid0:tei_xml": large})])
    full_rate = measure_rate(LARGE_ROWS, partial(_act_in_batches, keys, partial(table.get, name)))
    get_column = partial(table.get, name, columns=["file:size"])
    yield Line("rows with a cell of 256 KiB read", backend_name, full_rate, None)
    yield Line(
        "one small column of them",
        backend_name,
        measure_rate(LARGE_ROWS, partial(_act_in_batches, keys, get_column)),
        None,
    )
    table.delete(name, keys)


def measure_records(folder: Path) -> Iterator[Line]:
    for name, url, bare in iter_available("records"):
        store, rows = open_backend("records", url, folder), build_file_rows(ROWS)
        own_rate = measure_rate(ROWS, partial(_act_in_batches, rows, store.put))
        keys = [row.sha1hex for row in rows]
        reads = measure_rate(ROWS, partial(_act_in_batches, keys, partial(store.get, FileMetaRow)))
        store.delete(FileMetaRow, keys)
        store.close()
        yield Line("rows upserted", name, own_rate, bare(url) if bare else None)
        yield Line("rows read by key", name, reads, None)


def measure_blobs(folder: Path) -> Iterator[Line]:
    for name, url, bare in iter_available("blobs"):
        store, data = open_backend("blobs", url, folder), secrets.token_bytes(BLOB_BYTES)
        keys = [f"bench/{secrets.token_hex(8)}" for _ in range(BLOBS)]
        own_rate = measure_rate(BLOBS, partial(_act_on_each, keys, partial(_put_blob, store, data)))
        reads = measure_rate(BLOBS, partial(_act_on_each, keys, store.get))
        store.delete(keys)
        getattr(store, "close", lambda: None)()
        yield Line("blobs of 10 kB put", name, own_rate, bare(url, data, BLOBS) if bare else None)
        yield Line("blobs of 10 kB read", name, reads, None)


def measure_indexes(folder: Path) -> Iterator[Line]:
    for name, url, bare in iter_available("index"):
        index, batch = open_backend("index", url, folder), build_documents(DOCUMENTS)
        own_rate = measure_rate(DOCUMENTS, partial(_act_in_batches, batch, index.put))
        index.delete([document.id for document in batch])
        getattr(index, "close", lambda: None)()
        peer_rate = bare(url, batch) if bare else None
        yield Line("documents of 3 kB indexed", name, own_rate, peer_rate)


def _send_and_receive(queue: Queue, reader: Subscription, body: bytes, count: int) -> None:
    """Put all messages, then receive and settle them in batches."""
    for start in range(0, count, BATCH):
        queue.put(reader.topic, [Message(f"{start + n}", body) for n in range(BATCH)])
    missing_count = count
    while missing_count:
        messages = queue.receive(reader.incoming, BATCH, 10.0)
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
