"""Documents posted by many clients while a rebuild runs: how long each post takes, and whether any is lost.

    python scripts/bench_posting.py [DOCUMENTS] [CLIENTS] [AT ONCE]

A collection of 20,000 texts made of the words of five themes is there, and is rebuilt again and again by the
service's own thread while the clients post to it over loopback sockets, and others read its clusters.
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


def text(number: int) -> str:
    """A text of 45 words: a third of its theme, the others anybody's."""
    random = Random(number)
    theme = number % THEMES
    own = [f"theme{theme}word{random.randrange(OF_THEME)}" for _ in range(15)]
    others = [f"word{int(random.paretovariate(0.7)) % WORDS}" for _ in range(30)]
    return " ".join(own + others)


def ask(connection: HTTPConnection, method: str, path: str, body: Any = None) -> tuple[int, float]:
    """The status of an answer, and the seconds it took."""
    began = time.perf_counter()
    sent = None if body is None else msgspec.json.encode(body)
    connection.request(method, path, sent, JSON if sent else {})
    answer = connection.getresponse()
    answer.read()
    return answer.status, time.perf_counter() - began


def post(port: int, ids: range, at_once: int) -> list[float]:
    """Post these documents; the seconds of each post."""
    connection, took = HTTPConnection("127.0.0.1", port), []
    for first in range(ids.start, ids.stop, at_once):
        some = range(first, min(first + at_once, ids.stop))
        body = [{"id": str(number), "text": text(number)} for number in some]
        status, seconds = ask(connection, "POST", "/collections/bench/posted", body)
        if status != 201:
            raise SystemExit(f"{some}: {status}")
        took.append(seconds)
    return took


def read(port: int, ended: threading.Event) -> list[float]:
    """Ask for the clusters until told to stop, twenty times a second."""
    connection, took = HTTPConnection("127.0.0.1", port), []
    while not ended.wait(0.05):
        took.append(ask(connection, "GET", "/clusters/bench/posted")[1])
    return took


def rebuild(port: int, service: CollectionService, ended: threading.Event) -> int:
    """Ask for a rebuild whenever the one before is done; how many ended meanwhile."""
    connection, seen = HTTPConnection("127.0.0.1", port), set()
    while not ended.wait(0.2):
        seen.add(service.collection(NAME).served[0].rebuilt)
        ask(connection, "POST", "/run/bench/DEFAULT/posted")
    return len(seen) - 1


def said(what: str, took: list[float]) -> None:
    """Print median, 99th percentile and the longest."""
    took.sort()
    places = {"median": 0.5, "p99": 0.99, "longest": 1.0}
    told = ", ".join(
        f"{name} {1000 * took[min(len(took) - 1, int(share * len(took)))]:.0f} ms"
        for name, share in places.items()
    )
    print(f"{what}: {len(took):,} requests, {told}")


def run(home: Path, documents: int, clients: int, at_once: int) -> None:
    """Fill, serve, post, read and rebuild at the same time, and count."""
    stores = open_stores(home, load_settings(home, {}))
    service = create_service(stores, threads=1)
    before = [Document(str(number), text(number)) for number in range(BEFORE)]
    service.open_writer().put(NAME, before)
    listening = serving.listen("127.0.0.1", 0)
    port, running = (
        serving.get_port(listening),
        serving.create_server(create_app(stores, service=service)),
    )
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    with service.runs.run_in_background():
        ask(HTTPConnection("127.0.0.1", port), "POST", "/run/bench/DEFAULT/posted")
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
            took = [seconds for one in posts for seconds in one.result()]
            seconds = time.perf_counter() - began
            ended.set()
    count_posted(service, share * clients)
    print(f"{share * clients:,} documents, {clients} clients, {at_once} a post: {seconds:.1f} s")
    print(f"rebuilds ended {rebuilds.result()}, another under way")
    said("posts", took)
    said("reads of clusters", reads.result())
    running.should_exit = True
    thread.join()
    close_stores(stores)


def count_posted(service: CollectionService, posted: int) -> None:
    """Say how many are lost of what was there and what was posted."""
    count = BEFORE + posted
    rows = service.tables.get_rows(
        "documents", [NAME.build_document_row(str(n)) for n in range(count)], ["main:id"]
    )
    size = service.collection(NAME).size
    print(f"lost: {count - len(rows)}; size {size:,}")


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:4]]
    documents, clients, at_once = [*given, *(10_000, 20, 1)[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), documents, clients, at_once)
