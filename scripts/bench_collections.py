"""Collections on the stores of this machine: documents put a second, a rebuild, reads while it runs.

    python scripts/bench_collections.py [DOCUMENTS]

Short documents of 30 words on five themes, drawn; SQLite in a folder of its own. Reads are those of a page
of themes (all clusters with three documents each) and of a page of members, asked one after the other by
one thread of another process while the rebuild runs here.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Event
from pathlib import Path

from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusters import list_members, load_clusters
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.stores.records.sql import open_sqlite
from fonds.stores.table.sqlite import SqliteTable

NAME = CollectionName("bench", "short")
WORDS = 30
THEMES = 5
OWN_WORDS = 60
SHARED_WORDS = 400
ONE_BY_ONE = 300
CLIENTS = 20


def main(count: int) -> None:
    """Measure, and print a line each."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        changes = opened(folder)
        documents = drawn(count)
        print(
            f"{count:,} documents: put {rate(changes, documents):,.0f} a second, before any clusters"
        )
        started, cpu = time.perf_counter(), time.process_time()
        rebuild(changes, NAME, threads=1)
        took_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
        print(f"rebuilt in {took_s:.1f} s, CPU {cpu_s:.1f}, with rows, vectors and index")
        later = drawn(2000, seed=2)
        print(f"put and assigned {rate(changes, later):,.0f} a second in batches")
        one_by_one(changes)
        together(changes)
        while_rebuilding(folder, changes)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size_mb = (folder / "table.sqlite").stat().st_size / 2**20
        print(f"peak memory {peak_mb:,.0f} MB; {size_mb:,.0f} MB on disk")


def opened(folder: Path) -> CollectionWriter:
    """The tables in a folder."""
    tables = Tables(SqliteTable(folder / "table.sqlite"))
    tables.declare()
    records = open_sqlite(folder / "records.sqlite")
    leases = Leases(LeaseTable(records), create_worker_name(), time.monotonic)
    return CollectionWriter(tables, leases, lambda: int(time.time()))


def drawn(count: int, seed: int = 1) -> list[Document]:
    """Documents on themes."""
    draw = random.Random(seed)
    own = [[f"theme{theme}word{word}" for word in range(OWN_WORDS)] for theme in range(THEMES)]
    shared = [f"shared{word}" for word in range(SHARED_WORDS)]
    found = []
    for number in range(count):
        theme = own[draw.randrange(THEMES)]
        words = [draw.choice(theme if draw.random() < 0.5 else shared) for _ in range(WORDS)]
        found.append(Document(f"{seed}-{number}", " ".join(words), title=" ".join(words[:6])))
    return found


def rate(changes: CollectionWriter, documents: Sequence[Document]) -> float:
    """Documents put a second, in batches of 500."""
    started, cpu = time.perf_counter(), time.process_time()
    for at in range(0, len(documents), 500):
        changes.put(NAME, documents[at : at + 500])
    cpu_s = time.process_time() - cpu
    print(f"  ({len(documents) / cpu_s:,.0f} a second of CPU)")
    return len(documents) / (time.perf_counter() - started)


def one_by_one(changes: CollectionWriter) -> None:
    """How long a document takes that is put alone, until it is in its cluster and durable."""
    took_ms = []
    for one in drawn(ONE_BY_ONE, seed=3):
        started = time.perf_counter()
        changes.put(NAME, [one])
        took_ms.append(1000 * (time.perf_counter() - started))
    print(f"one by one: {told(took_ms)}")


def together(changes: CollectionWriter) -> None:
    """The same by twenty threads at once."""

    def put(one: Document) -> float:
        started = time.perf_counter()
        changes.put(NAME, [one])
        return 1000 * (time.perf_counter() - started)

    documents = drawn(5 * ONE_BY_ONE, seed=4)
    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        took_ms = list(clients.map(put, documents))
    a_second = len(documents) / (time.perf_counter() - started)
    print(f"by {CLIENTS} at once: {a_second:,.0f} a second, {told(took_ms)}")


def while_rebuilding(folder: Path, changes: CollectionWriter) -> None:
    """Reads by another process while a rebuild runs in this one."""
    ended = multiprocessing.Event()
    here, there = multiprocessing.Pipe()
    reader = multiprocessing.Process(target=read, args=(folder, ended, there))
    reader.start()
    here.recv()
    rebuild(changes, NAME, threads=1)
    ended.set()
    lists_ms, pages_ms = here.recv()
    reader.join()
    print(f"reads while rebuilding: themes {told(lists_ms)}; members {told(pages_ms)}")


def read(folder: Path, ended: Event, there: object) -> None:
    """Read until told to end; sends how long each read took."""
    tables = opened(folder).tables
    lists_ms, pages_ms = [], []
    there.send(None)  # type: ignore[attr-defined]
    while not ended.is_set():
        started = time.perf_counter()
        clusters = load_clusters(tables, NAME)
        lists_ms.append(1000 * (time.perf_counter() - started))
        if clusters is None:
            continue
        started = time.perf_counter()
        list_members(tables, NAME, clusters.clusters[0].label)
        pages_ms.append(1000 * (time.perf_counter() - started))
        time.sleep(0.01)
    there.send((lists_ms, pages_ms))  # type: ignore[attr-defined]


def told(took_ms: Sequence[float]) -> str:
    """Middle and slow ones."""
    slow = statistics.quantiles(took_ms, n=100)[98]
    return f"median {statistics.median(took_ms):.1f} ms, p99 {slow:.1f} ms of {len(took_ms):,}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
