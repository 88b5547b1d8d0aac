"""Compare fetching with a plain aiohttp loop and Scrapy: pages per second and CPU per page.

    python scripts/bench_fetch.py [--pages N] [--hosts N] [--no-peers] [--whole N]

A server process serves the pages of some hundred hosts, each on its own loopback address; the fetcher is
another process. The peers are installed into a temporary environment.
Numbers depend on the machine and the run: compare lines of one table, never two tables.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fonds.archive.store.folder import FolderArchive
from fonds.cli.process import collect_seldom
from fonds.fetching.addresses import Resolver
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import RequestLimits
from fonds.fetching.domain_leases import AddressShares, DomainLeases
from fonds.fetching.fetcher import Fetcher
from fonds.fetching.frontier import Frontier, FrontierRules
from fonds.fetching.pace import PaceRules
from fonds.fetching.scheduler import FetchScheduler, FetchSchedulerRules
from fonds.following.link_rules import build_link
from fonds.ingest.steps.fetch import FetchRules, FetchStep
from fonds.ingest.steps.spool import FetchedLink, Spool
from fonds.model.capture import Capture
from fonds.model.entry import Link
from fonds.model.rows import FetchedPageRow
from fonds.model.step import Result
from fonds.ports import ConcurrentStep
from fonds.stores.blobs import FolderBlobs
from fonds.stores.records.sql import open_sqlite

AT_ONCE = 64
PARAGRAPHS = 12
PARAGRAPH = b"The council met on Monday and agreed to rebuild the old bridge over the river. " * 5
MENU = b'<li class="menu-item"><a href="/section/news/today" title="Section">News of today</a></li>'
SCRIPT = b'window.settings=Object.assign(window.settings||{},{"slot":"header","lazy":true});'
AIOHTTP = """
import asyncio, aiohttp, json, resource, sys, time
urls = open(sys.argv[1]).read().split()
async def main():
    left = iter(urls)
    connector = aiohttp.TCPConnector(limit=int(sys.argv[2]))
    async with aiohttp.ClientSession(connector=connector) as session:
        async def work():
            for url in left:
                async with session.get(url) as answer:
                    await answer.read()
        began = time.monotonic()
        await asyncio.gather(*(work() for _ in range(int(sys.argv[2]))))
        took = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"took_s": took, "cpu_s": used.ru_utime + used.ru_stime}))
asyncio.run(main())
"""
SCRAPY = """
import json, resource, sys, time
import scrapy
from scrapy.crawler import CrawlerProcess
class Pages(scrapy.Spider):
    name = "pages"
    async def start(self):
        for url in open(sys.argv[1]).read().split():
            yield scrapy.Request(url, callback=self.parse)
    def parse(self, response):
        pass
process = CrawlerProcess({"CONCURRENT_REQUESTS": int(sys.argv[2]), "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_DELAY": 0, "LOG_ENABLED": False})
process.crawl(Pages)
began = time.monotonic()
process.start()
took = time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"took_s": took, "cpu_s": used.ru_utime + used.ru_stime}))
"""


def build_page(target: bytes, size_bytes: int) -> bytes:
    """Return a distinct page for each address: a story of `PARAGRAPHS`, padded to the size with a menu and
    a script."""
    title = b"Story " + target
    story = b"".join(b"<p>%b %b</p>" % (target, PARAGRAPH) for _ in range(PARAGRAPHS))
    padding_bytes = max(0, size_bytes - len(story))
    menu = MENU * (padding_bytes // 2 // len(MENU))
    script = b"<script>%b</script>" % (SCRIPT * (padding_bytes // 2 // len(SCRIPT)))
    body = (
        b"<html lang=en><head><title>%b</title>%b</head><body><nav><ul>%b</ul></nav>"
        b"<article><h1>%b</h1>%b</article></body></html>" % (title, script, menu, title, story)
    )
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
    )
    return head % len(body) + body


class PageServer(asyncio.Protocol):  # type: ignore[misc, unused-ignore]
    """Serve a page for every target except robots.txt."""

    size_bytes = 50_000

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start with an empty buffer."""
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        """Answer all complete requests."""
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            target = head.split(b" ", 2)[1]
            answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
            if target != b"/robots.txt":
                answer = build_page(target, self.size_bytes)
            assert isinstance(self.transport, asyncio.Transport)
            self.transport.write(answer)


async def _serve(size_bytes: int) -> None:
    PageServer.size_bytes = size_bytes
    loop = asyncio.get_running_loop()
    server = await loop.create_server(PageServer, "0.0.0.0", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def run_server(size_bytes: int) -> Iterator[int]:
    """Run a server process; yield its port."""
    command = [sys.executable, str(Path(__file__).absolute()), "--serve", str(size_bytes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def build_urls(port: int, hosts: int, pages: int, run: str) -> list[str]:
    """Return URLs of all hosts in turn."""
    return [
        f"http://127.1.{number % hosts // 250}.{number % hosts % 250 + 1}:{port}/{run}/{number}"
        for number in range(pages)
    ]


class _NullSpool:
    """Spool that stores nothing, to measure the fetching alone."""

    def save(self, links: Sequence[FetchedLink]) -> list[None]:
        return [None] * len(links)

    def find_kept(self, links: Sequence[Link]) -> dict[str, Capture]:
        return {}

    def find_previous(self, urls: Sequence[str]) -> dict[str, FetchedPageRow]:
        return {}

    def load_body(self, previous: FetchedPageRow) -> None:
        return None

    def remove(self, capture: Capture) -> None:
        """Do nothing: nothing is stored."""


def create_step(folder: Path, *, spooled: bool) -> ConcurrentStep:
    """Create the step without delays, so that only its own work is measured."""
    no_delay = PaceRules(0.0, busy_factor=0.0, active_max=1)
    rules = FrontierRules(no_delay, no_delay, no_delay, line_max=1_000)
    records = open_sqlite(folder / "records.sqlite")
    archive = FolderArchive(folder / "archive")
    spool = Spool(FolderBlobs(folder / "blobs"), records, archive) if spooled else _NullSpool()

    def create_scheduler() -> FetchScheduler:
        frontier = Frontier(rules)
        return FetchScheduler(
            FetchSchedulerRules("Fonds/0", "Fonds", AT_ONCE),
            CrawlClient(RequestLimits(), lambda address: True),
            Resolver(lambda host, port: [host], lambda address: True),
            frontier,
            DomainLeases(records, frontier, "bench", lambda: datetime.now(UTC)),
            AddressShares(records, "bench", lambda: datetime.now(UTC)),
            time.monotonic,
        )

    return FetchStep(FetchRules(active_max=1_000), Fetcher(create_scheduler), spool)  # type: ignore[arg-type]


def fetch_all(urls: list[str], *, spooled: bool) -> dict[str, float]:
    """Fetch all URLs; return seconds and CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        step = create_step(Path(folder), spooled=spooled)
        links = list(enumerate(build_link(url, "bench") for url in urls))
        before = resource.getrusage(resource.RUSAGE_SELF)
        began_s, begun, ended = time.monotonic(), 0, 0
        while ended < len(links):
            batch = links[begun : begun + step.free_slots] if step.free_slots > 100 else []
            step.begin(batch)
            begun += len(batch)
            for _, end in step.collect_finished(1.0):
                if not (isinstance(end, Result) and end.items):
                    raise SystemExit(f"a page was not fetched: {end}")
                ended += 1
        took_s = time.monotonic() - began_s
        after = resource.getrusage(resource.RUSAGE_SELF)
        step.close()
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"took_s": took_s, "cpu_s": cpu_s}


def fetch_by_command(urls: list[str]) -> dict[str, float]:
    """Run `fonds fetch` in a new home: fetch, parse, index, archive."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "urls.txt"
        listed.write_text("\n".join(urls))
        home = Path(folder) / "home"
        options = {"elsewhere.private_addresses": "true", "fetch.host_gap_s": "0"}
        sets = [f"--set={name}={value}" for name, value in options.items()]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began_s = time.monotonic()
        command = [sys.executable, "-m", "fonds", "--home", str(home), "--json", "--quiet", *sets]
        process = subprocess.run(
            [*command, "fetch", "--from", str(listed)], capture_output=True, check=False
        )
        took_s = time.monotonic() - began_s
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        counts = json.loads(process.stdout.splitlines()[-1]) if process.stdout else {}
        if counts.get("done") != len(urls):
            raise SystemExit(
                f"not all pages were stored: {counts} {process.stderr.decode()[-500:]}"
            )
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"took_s": took_s, "cpu_s": cpu_s}


def run_peer(python: Path, program: str, urls: list[str]) -> dict[str, float]:
    """Run the program of a peer; return what it measured."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join(urls))
        listed.flush()
        command = [str(python), "-c", program, listed.name, str(AT_ONCE)]
        process = subprocess.run(command, capture_output=True, check=True)
    figures: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return figures


@contextmanager
def install_peers() -> Iterator[dict[str, Callable[[list[str]], dict[str, float]]]]:
    """Install the peers; yield those that could be installed."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        measures: dict[str, Callable[[list[str]], dict[str, float]]] = {}
        for name, program in (("aiohttp", AIOHTTP), ("scrapy", SCRAPY)):
            install = [str(python), "-m", "pip", "install", "--quiet", name]
            if subprocess.run(install, capture_output=True, check=False).returncode == 0:
                measures[name] = lambda urls, program=program: run_peer(python, program, urls)  # type: ignore[misc]
            else:
                print(f"{name} cannot be installed here")
        yield measures


def show(name: str, pages: int, figures: dict[str, float], bare: float | None) -> float:
    """Print a line; return pages per second."""
    rate = pages / figures["took_s"]
    share = f"{rate / bare:6.2f}" if bare else "     -"
    cpu_ms = 1000 * figures["cpu_s"] / pages
    print(f"{name:<34} {rate:>9,.0f} pages/s {cpu_ms:>8.3f} ms CPU a page   {share} of aiohttp")
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=9_000)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--whole", type=int, default=1_500)
    parser.add_argument("--size", type=int, default=50_000)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--serve", type=int)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(_serve(args.serve))
        return
    collect_seldom()  # As all processes of Fonds do.
    print(f"{args.pages:,} pages of {args.size:,} bytes, {args.hosts} hosts, {AT_ONCE} at once")
    with run_server(args.size) as port:
        bare = None
        if not args.no_peers:
            with install_peers() as measures:
                for name, measure in measures.items():
                    urls = build_urls(port, args.hosts, args.pages, name)
                    rate = show(name, args.pages, measure(urls), bare)
                    bare = rate if name == "aiohttp" else bare
        for name, spooled in (
            ("fonds, fetched and discarded", False),
            ("fonds, fetched into the spool", True),
        ):
            urls = build_urls(port, args.hosts, args.pages, str(spooled))
            show(name, args.pages, fetch_all(urls, spooled=spooled), bare)
        if args.whole:
            urls = build_urls(port, args.hosts, args.whole, "whole")
            show("fonds fetch, all steps", args.whole, fetch_by_command(urls), bare)


if __name__ == "__main__":
    main()
