"""Measure the response time of each page in a library of many documents with many concurrent users.

    python scripts/bench_pages_served.py --documents 1000000 --home FOLDER

The script first creates the library in --home; an existing one is used as it is. Then `fonds serve` runs, and
the users, threads of this process, repeat requests over persistent connections. Each user pauses for --think
seconds on average between two requests. Server and users share the machine. Each line shows a page: its
milliseconds until the response was read, and the CPU time of the server per request.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bench_serving import read_port  # noqa: E402
from filled_home import open_home  # type: ignore[import-not-found] # noqa: E402
from fonds.model.rows import FileMetaRow  # noqa: E402
from many_documents import ARCHIVED_COUNT, fill_many  # type: ignore[import-not-found] # noqa: E402

FONDS = (sys.executable, "-m", "fonds")
TICKS = os.sysconf("SC_CLK_TCK")
QUERIES = ("batori", "kalu site:site7.example", '"toba rimen"', "menka kind:pdf", "language:de lu")


def main() -> None:
    """Create the library, measure its pages and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--requests", type=int, default=400, help="requests per page, by all users")
    parser.add_argument(
        "--think", type=float, default=1.0, help="mean seconds between two requests of a user"
    )
    parser.add_argument("--home", type=Path, help="folder of the library; created if missing")
    parser.add_argument(
        "--only", nargs="+", metavar="PAGE", help="measure only these pages, by their printed names"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fonds-pages-") as scratch:
        home = chosen.home or Path(scratch) / "home"
        _create_library(home, chosen.documents)
        with subprocess.Popen(
            [*FONDS, "--home", str(home), "serve", "--port", "0"], stderr=subprocess.PIPE, text=True
        ) as serving:
            try:
                port = read_port(serving)
                threading.Thread(target=list, args=(serving.stderr or (),), daemon=True).start()
                users = Users(port, chosen.users, chosen.requests // chosen.users, chosen.think)
                pages = _list_pages(home)
                for name in chosen.only or pages:
                    paths = pages[name]
                    _print(name, *_measure(serving.pid, users, paths))
            finally:
                serving.terminate()


def _create_library(home: Path, count: int) -> None:
    """Create the library if there is none."""
    if (home / "records.sqlite").exists():
        return
    home.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()

    def tell(done: int) -> None:
        if done % 50_000 == 0:
            print(f"{done:,} documents, {time.monotonic() - started:,.0f} s", flush=True)

    with open_home(home) as stores:
        fill_many(stores, count, tell, datetime.now(UTC))
    print(f"made in {time.monotonic() - started:,.0f} s", flush=True)


def _list_pages(home: Path) -> dict[str, list[str]]:
    with open_home(home) as stores:
        rows = stores.records.find(FileMetaRow, order=("row_created",), count_max=ARCHIVED_COUNT)
        keys = [row.sha1hex for row in rows][:50]
    search = [f"/search?q={quote(query)}" for query in QUERIES]
    return {
        "overview": ["/"],
        "search": search,
        "search, page 3": [f"{path}&page=3" for path in search],
        "API search": [path.replace("/search", "/api/search") for path in search],
        "file": [f"/file/{key}" for key in keys],
        "files": ["/files", "/files?type=application/pdf"],
        "records": ["/records", "/records?outcome=dropped", "/records?outcome=quarantined"],
        "failures": ["/failures"],
        "pipeline": ["/pipeline"],
        "sources": ["/sources"],
        "show": ["/show?key=http://site319.example/1.html"],
    }


@dataclass(frozen=True, slots=True)
class Users:
    """Concurrent users of the server at `port`: number, requests per user, mean pause."""

    port: int
    count: int
    requests: int
    think_s: float


def _measure(pid: int, users: Users, paths: list[str]) -> tuple[list[float], Counter[int], float]:
    """Return the seconds of each response, the counts by status, and the server's CPU seconds per request."""
    took: list[float] = []
    statuses: Counter[int] = Counter()
    first = Users(users.port, 1, len(paths), 0.0)
    _request_pages(
        first, paths, 0, [], Counter()
    )  # A first pass warms the caches; it does not count.
    before = _read_cpu_s(pid)
    threads = [
        threading.Thread(target=_request_pages, args=(users, paths, n, took, statuses))
        for n in range(users.count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(took), statuses, (_read_cpu_s(pid) - before) / max(1, len(took))


def _request_pages(
    users: Users, paths: list[str], first: int, took: list[float], statuses: Counter[int]
) -> None:
    chance = random.Random(first)
    connection = http.client.HTTPConnection("127.0.0.1", users.port, timeout=120)
    for number in range(first, first + users.requests):
        time.sleep(users.think_s * 2 * chance.random())
        started = time.perf_counter()
        connection.request("GET", paths[number % len(paths)])
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - started)
        statuses[answer.status] += 1
    connection.close()


def _read_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and all its descendants."""
    ticks = 0
    process_ids = {pid}
    for stat in sorted(Path("/proc").glob("[0-9]*/stat"), key=lambda path: int(path.parent.name)):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number, parent = int(stat.parent.name), int(fields[1])
        if number in process_ids or parent in process_ids:
            process_ids.add(number)
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def _print(name: str, took: list[float], statuses: Counter[int], cpu_s: float) -> None:
    p50, p95 = (1000 * took[min(int(len(took) * share), len(took) - 1)] for share in (0.5, 0.95))
    other_statuses = {status: count for status, count in statuses.items() if status != 200}
    print(
        f"{name:16} median {p50:6.0f} ms, p95 {p95:6.0f} ms, CPU {1000 * cpu_s:5.1f} ms"
        f"{f', statuses {other_statuses}' if other_statuses else ''}",
        flush=True,
    )


if __name__ == "__main__":
    main()
