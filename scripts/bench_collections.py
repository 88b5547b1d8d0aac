"""Measure collections on local stores: documents added per second, a rebuild, and reads during it.

    python scripts/bench_collections.py [DOCUMENTS]

The documents are random: 30 words on five themes. Reads are those of a page of themes (all clusters with
three documents each) and of a page of members. One thread of another process repeats them in turn while the
rebuild runs here.
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
    """Print one line per measurement."""
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        writer = open_writer(folder)
        documents = generate_documents(count)
        print(
            f"{count:,} documents: put {measure_rate(writer, documents):,.0f} a second, before any clusters"
        )
        started, cpu = time.perf_counter(), time.process_time()
        rebuild(writer, NAME, threads=1)
        took_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
        print(f"rebuilt in {took_s:.1f} s, CPU {cpu_s:.1f}, with rows, vectors and index")
        later = generate_documents(2000, seed=2)
        print(f"put and assigned {measure_rate(writer, later):,.0f} a second in batches")
        measure_single_additions(writer)
        measure_concurrent_additions(writer)
        measure_reads(folder, writer)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size_mb = (folder / "table.sqlite").stat().st_size / 2**20
        print(f"peak memory {peak_mb:,.0f} MB; {size_mb:,.0f} MB on disk")


def open_writer(folder: Path) -> CollectionWriter:
    """Open the tables in a folder."""
    tables = Tables(SqliteTable(folder / "table.sqlite"))
    tables.declare()
    records = open_sqlite(folder / "records.sqlite")
    leases = Leases(LeaseTable(records), create_worker_name(), time.monotonic)
    return CollectionWriter(tables, leases, lambda: int(time.time()))


def generate_documents(count: int, seed: int = 1) -> list[Document]:
    """Generate documents on themes."""
    draw = random.Random(seed)
    own = [[f"theme{theme}word{word}" for word in range(OWN_WORDS)] for theme in range(THEMES)]
    shared = [f"shared{word}" for word in range(SHARED_WORDS)]
    documents = []
    for number in range(count):
        theme = own[draw.randrange(THEMES)]
        words = [draw.choice(theme if draw.random() < 0.5 else shared) for _ in range(WORDS)]
        documents.append(Document(f"{seed}-{number}", " ".join(words), title=" ".join(words[:6])))
    return documents


def measure_rate(writer: CollectionWriter, documents: Sequence[Document]) -> float:
    """Return documents added per second, in batches of 500."""
    started, cpu = time.perf_counter(), time.process_time()
    for at in range(0, len(documents), 500):
        writer.put(NAME, documents[at : at + 500])
    cpu_s = time.process_time() - cpu
    print(f"  ({len(documents) / cpu_s:,.0f} a second of CPU)")
    return len(documents) / (time.perf_counter() - started)


def measure_single_additions(writer: CollectionWriter) -> None:
    """Measure single additions, until the document is in its cluster and durable."""
    took_ms = []
    for document in generate_documents(ONE_BY_ONE, seed=3):
        started = time.perf_counter()
        writer.put(NAME, [document])
        took_ms.append(1000 * (time.perf_counter() - started))
    print(f"one by one: {format_times(took_ms)}")


def measure_concurrent_additions(writer: CollectionWriter) -> None:
    """Measure single additions by twenty threads at once."""

    def add(document: Document) -> float:
        started = time.perf_counter()
        writer.put(NAME, [document])
        return 1000 * (time.perf_counter() - started)

    documents = generate_documents(5 * ONE_BY_ONE, seed=4)
    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        took_ms = list(clients.map(add, documents))
    a_second = len(documents) / (time.perf_counter() - started)
    print(f"by {CLIENTS} at once: {a_second:,.0f} a second, {format_times(took_ms)}")


def measure_reads(folder: Path, writer: CollectionWriter) -> None:
    """Measure reads of another process while a rebuild runs in this one."""
    ended = multiprocessing.Event()
    receiver, sender = multiprocessing.Pipe()
    reader = multiprocessing.Process(target=read_pages, args=(folder, ended, sender))
    reader.start()
    receiver.recv()
    rebuild(writer, NAME, threads=1)
    ended.set()
    lists_ms, pages_ms = receiver.recv()
    reader.join()
    print(
        f"reads while rebuilding: themes {format_times(lists_ms)}; members {format_times(pages_ms)}"
    )


def read_pages(folder: Path, ended: Event, sender: object) -> None:
    """Read until `ended` is set; send the duration of each read."""
    tables = open_writer(folder).tables
    lists_ms, pages_ms = [], []
    sender.send(None)  # type: ignore[attr-defined]
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
    sender.send((lists_ms, pages_ms))  # type: ignore[attr-defined]


def format_times(took_ms: Sequence[float]) -> str:
    """Return the median and the 99th percentile as text."""
    slow = statistics.quantiles(took_ms, n=100)[98]
    return f"median {statistics.median(took_ms):.1f} ms, p99 {slow:.1f} ms of {len(took_ms):,}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
