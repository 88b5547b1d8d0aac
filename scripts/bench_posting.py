"""Measure posts of many clients while a rebuild runs, and count lost documents.

    python scripts/bench_posting.py [DOCUMENTS] [CLIENTS] [AT ONCE]

The collection starts with 20,000 texts on five themes. The thread of the service rebuilds it repeatedly while
clients post to it over loopback sockets and one client reads its clusters.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from fonds.config import load_settings
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.web.app import create_app
from fonds.web.serving import server as serving
from fonds.wiring.collections import CollectionService, create_service
from fonds.wiring.stores import close_stores, open_stores

NAME = CollectionName("bench", "posted")
BEFORE = 20_000
WORDS, THEMES, OF_THEME = 2_000, 5, 60
JSON = {"Content-Type": "application/json"}


def build_text(number: int) -> str:
    """Return a text of 45 words: a third from its theme, the others from all texts."""
    random = Random(number)
    theme = number % THEMES
    theme_words = [f"theme{theme}word{random.randrange(OF_THEME)}" for _ in range(15)]
    shared_words = [f"word{int(random.paretovariate(0.7)) % WORDS}" for _ in range(30)]
    return " ".join(theme_words + shared_words)


def request(
    connection: HTTPConnection, method: str, path: str, body: Any = None
) -> tuple[int, float]:
    """Send a request; return the status and the seconds it took."""
    began = time.perf_counter()
    payload = None if body is None else msgspec.json.encode(body)
    connection.request(method, path, payload, JSON if payload else {})
    response = connection.getresponse()
    response.read()
    return response.status, time.perf_counter() - began


def post(port: int, ids: range, at_once: int) -> list[float]:
    """Post these documents; return the seconds of each post."""
    connection, took = HTTPConnection("127.0.0.1", port), []
    for first in range(ids.start, ids.stop, at_once):
        batch = range(first, min(first + at_once, ids.stop))
        body = [{"id": str(number), "text": build_text(number)} for number in batch]
        status, seconds = request(connection, "POST", "/collections/bench/posted", body)
        if status != 201:
            raise SystemExit(f"{batch}: {status}")
        took.append(seconds)
    return took


def read(port: int, ended: threading.Event) -> list[float]:
    """Request the clusters twenty times a second until `ended` is set."""
    connection, took = HTTPConnection("127.0.0.1", port), []
    while not ended.wait(0.05):
        took.append(request(connection, "GET", "/clusters/bench/posted")[1])
    return took


def rebuild(port: int, service: CollectionService, ended: threading.Event) -> int:
    """Request rebuilds one after the other; return how many ended."""
    connection, timestamps = HTTPConnection("127.0.0.1", port), set()
    while not ended.wait(0.2):
        timestamps.add(service.collection(NAME).served[0].rebuilt)
        request(connection, "POST", "/run/bench/DEFAULT/posted")
    return len(timestamps) - 1


def print_times(name: str, took: list[float]) -> None:
    """Print median, 99th percentile and maximum."""
    took.sort()
    shares = {"median": 0.5, "p99": 0.99, "longest": 1.0}
    figures = ", ".join(
        f"{label} {1000 * took[min(len(took) - 1, int(share * len(took)))]:.0f} ms"
        for label, share in shares.items()
    )
    print(f"{name}: {len(took):,} requests, {figures}")


def run(home: Path, documents: int, clients: int, at_once: int) -> None:
    """Fill the collection, then post, read and rebuild at the same time, and count the documents."""
    stores = open_stores(home, load_settings(home, {}))
    service = create_service(stores, threads=1)
    before = [Document(str(number), build_text(number)) for number in range(BEFORE)]
    service.open_writer().put(NAME, before)
    listening = serving.listen("127.0.0.1", 0)
    port, running = (
        serving.get_port(listening),
        serving.create_server(create_app(stores, service=service)),
    )
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    with service.runs.run_in_background():
        request(HTTPConnection("127.0.0.1", port), "POST", "/run/bench/DEFAULT/posted")
        while not service.collection(NAME).served:
            time.sleep(0.2)
        ended = threading.Event()
        share = documents // clients
        with ThreadPoolExecutor(clients + 2) as pool:
            reads = pool.submit(read, port, ended)
            rebuilds = pool.submit(rebuild, port, service, ended)
            time.sleep(0.5)
            began = time.perf_counter()
            posts = [
                pool.submit(post, port, range(first, first + share), at_once)
                for first in range(BEFORE, BEFORE + share * clients, share)
            ]
            took = [seconds for future in posts for seconds in future.result()]
            seconds = time.perf_counter() - began
            ended.set()
    count_posted(service, share * clients)
    print(f"{share * clients:,} documents, {clients} clients, {at_once} a post: {seconds:.1f} s")
    print(f"{rebuilds.result()} rebuilds ended, another one is running")
    print_times("posts", took)
    print_times("reads of clusters", reads.result())
    running.should_exit = True
    thread.join()
    close_stores(stores)


def count_posted(service: CollectionService, posted: int) -> None:
    """Print how many of all documents are lost."""
    count = BEFORE + posted
    rows = service.tables.get_rows(
        "documents", [NAME.build_document_row(str(n)) for n in range(count)], ["main:id"]
    )
    size = service.collection(NAME).size
    print(f"lost: {count - len(rows)}; size {size:,}")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:4]]
    documents, clients, at_once = [*numbers, *(10_000, 20, 1)[len(numbers) :]]
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), documents, clients, at_once)
