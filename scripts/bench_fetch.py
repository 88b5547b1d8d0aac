"""Measures fetching beside a bare aiohttp loop and Scrapy: pages a second and CPU a page, from this machine.

    python scripts/bench_fetch.py [--pages N] [--hosts N] [--no-peers] [--whole N]

A server process gives every page of some hundred hosts, each an address of its own on the loopback; who
fetches is another process. The peers are installed into a throw-away environment for the run.
Every number is of this machine and this run: compare the lines of one table, never two tables.
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
from collections.abc import Callable, Iterator
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


def page(target: bytes, size_bytes: int) -> bytes:
    """A page of its own for each address: a story of `PARAGRAPHS`, and around it what sites put there,
    menus, teasers, a script, until the page has that size."""
    title = b"Story " + target
    story = b"".join(b"<p>%b %b</p>" % (target, PARAGRAPH) for _ in range(PARAGRAPHS))
    left = max(0, size_bytes - len(story))
    menu = MENU * (left // 2 // len(MENU))
    script = b"<script>%b</script>" % (SCRIPT * (left // 2 // len(SCRIPT)))
    body = (
        b"<html lang=en><head><title>%b</title>%b</head><body><nav><ul>%b</ul></nav>"
        b"<article><h1>%b</h1>%b</article></body></html>" % (title, script, menu, title, story)
    )
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
    )
    return head % len(body) + body


class Answers(asyncio.Protocol):  # type: ignore[misc, unused-ignore]
    """Gives a page for every target but robots.txt."""

    size_bytes = 50_000

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        """A request, or several, or a part of one."""
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            target = head.split(b" ", 2)[1]
            answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
            if target != b"/robots.txt":
                answer = page(target, self.size_bytes)
            assert isinstance(self.transport, asyncio.Transport)
            self.transport.write(answer)


async def _serve(size_bytes: int) -> None:
    Answers.size_bytes = size_bytes
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answers, "0.0.0.0", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(size_bytes: int) -> Iterator[int]:
    """The port of a server process."""
    command = [sys.executable, str(Path(__file__).absolute()), "--serve", str(size_bytes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def addresses(port: int, hosts: int, pages: int, run: str) -> list[str]:
    """Pages of all hosts in turn."""
    return [
        f"http://127.1.{number % hosts // 250}.{number % hosts % 250 + 1}:{port}/{run}/{number}"
        for number in range(pages)
    ]


class _Nowhere:
    """A spool that keeps nothing: what is left is the fetching itself."""

    def keep(self, some: list[FetchedLink]) -> list[None]:
        return [None] * len(some)

    def kept(self, links: list[Link]) -> dict[str, Capture]:
        """None of them."""
        return {}

    def before(self, urls: list[str]) -> dict[str, object]:
        return {}


def fetching(folder: Path, *, kept: bool) -> ConcurrentStep:
    """The step with every pace at nought, so that nothing but its own work is waited for."""
    none = PaceRules(0.0, busy_factor=0.0, active_max=1)
    rules = FrontierRules(none, none, none, line_max=1_000)
    records = open_sqlite(folder / "records.sqlite")
    archive = FolderArchive(folder / "archive")
    spool = Spool(FolderBlobs(folder / "blobs"), records, archive) if kept else _Nowhere()

    def chains() -> FetchScheduler:
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

    return FetchStep(FetchRules(active_max=1_000), Fetcher(chains), spool)  # type: ignore[arg-type]


def fetch_all(urls: list[str], *, kept: bool) -> dict[str, float]:
    """Fetch everything; seconds and CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        step = fetching(Path(folder), kept=kept)
        links = list(enumerate(build_link(url, "bench") for url in urls))
        before = resource.getrusage(resource.RUSAGE_SELF)
        began_s, begun, ended = time.monotonic(), 0, 0
        while ended < len(links):
            some = links[begun : begun + step.free_slots] if step.free_slots > 100 else []
            step.begin(some)
            begun += len(some)
            for _, end in step.collect_finished(1.0):
                if not (isinstance(end, Result) and end.items):
                    raise SystemExit(f"a page was not fetched: {end}")
                ended += 1
        took_s = time.monotonic() - began_s
        after = resource.getrusage(resource.RUSAGE_SELF)
        step.close()
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"took_s": took_s, "cpu_s": cpu_s}


def whole_road(urls: list[str]) -> dict[str, float]:
    """`fonds fetch` in a home of its own: fetched, parsed, indexed, archived."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "urls.txt"
        listed.write_text("\n".join(urls))
        home = Path(folder) / "home"
        more = {"elsewhere.private_addresses": "true", "fetch.host_gap_s": "0"}
        sets = [f"--set={name}={value}" for name, value in more.items()]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began_s = time.monotonic()
        command = [sys.executable, "-m", "fonds", "--home", str(home), "--json", "--quiet", *sets]
        done = subprocess.run(
            [*command, "fetch", "--from", str(listed)], capture_output=True, check=False
        )
        took_s = time.monotonic() - began_s
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        if told.get("done") != len(urls):
            raise SystemExit(f"not everything was kept: {told} {done.stderr.decode()[-500:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"took_s": took_s, "cpu_s": cpu_s}


def peer(python: Path, program: str, urls: list[str]) -> dict[str, float]:
    """What a peer's program measured of itself."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join(urls))
        listed.flush()
        command = [str(python), "-c", program, listed.name, str(AT_ONCE)]
        done = subprocess.run(command, capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def peers() -> Iterator[dict[str, Callable[[list[str]], dict[str, float]]]]:
    """The peers that can be installed here."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        found: dict[str, Callable[[list[str]], dict[str, float]]] = {}
        for name, program in (("aiohttp", AIOHTTP), ("scrapy", SCRAPY)):
            install = [str(python), "-m", "pip", "install", "--quiet", name]
            if subprocess.run(install, capture_output=True, check=False).returncode == 0:
                found[name] = lambda urls, program=program: peer(python, program, urls)  # type: ignore[misc]
            else:
                print(f"{name} cannot be installed here")
        yield found


def show(name: str, pages: int, found: dict[str, float], bare: float | None) -> float:
    """Print a line; pages a second."""
    rate = pages / found["took_s"]
    share = f"{rate / bare:6.2f}" if bare else "     -"
    cpu_ms = 1000 * found["cpu_s"] / pages
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
    collect_seldom()  # As every process of ours does.
    print(f"{args.pages:,} pages of {args.size:,} bytes, {args.hosts} hosts, {AT_ONCE} at once")
    with serving(args.size) as port:
        bare = None
        if not args.no_peers:
            with peers() as known:
                for name, measure in known.items():
                    urls = addresses(port, args.hosts, args.pages, name)
                    rate = show(name, args.pages, measure(urls), bare)
                    bare = rate if name == "aiohttp" else bare
        for name, kept in (
            ("fonds, fetched and let go", False),
            ("fonds, fetched into the spool", True),
        ):
            urls = addresses(port, args.hosts, args.pages, str(kept))
            show(name, args.pages, fetch_all(urls, kept=kept), bare)
        if args.whole:
            urls = addresses(port, args.hosts, args.whole, "whole")
            show("fonds fetch, the whole road", args.whole, whole_road(urls), bare)


if __name__ == "__main__":
    main()
