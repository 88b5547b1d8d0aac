"""Measures Fonds beside named peers, on the same input in one run, and prints the ratios.

    python scripts/bench.py [--data DIR] [--files N]

Every number is of this machine and this run: compare the lines of one table, never two tables.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from itertools import cycle, islice
from pathlib import Path

import trafilatura
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from bench_input import CORPUS, Input, Page, gather, sample_crawl
from fonds.archive.warc.scanner import read_heads
from fonds.config import Settings
from fonds.extract.page import parse_page
from fonds.extract.pdf.extraction import PdfLimits, extract_pdf
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.model.archive import OpenBody
from fonds.model.capture import Place, PlaceKind
from fonds.wiring.stores import open_archive

FILES = 100
REPEATS = 2
RECORDS = 2_000
POPPLER = ("pdfinfo", "pdftotext", "pdftocairo")
POPPLER_TIMEOUT_S = 30.0
MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of a table: `count` things took `wall_s` and `cpu_s` seconds; `how` gives the same.

    `peer` says that the lines below are compared with this one.
    """

    what: str
    count: int
    wall_s: float
    cpu_s: float
    how: str
    peer: bool = False


def main() -> None:
    """Measure everything and print four tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="folder of input [../shared/corpus, else the sample]"
    )
    parser.add_argument(
        "--files", type=int, default=FILES, help="PDFs and pages, each [%(default)s]"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fonds-bench-") as scratch:
        work = Path(scratch)
        data = args.data or (CORPUS if CORPUS.is_dir() else sample_crawl(work / "sample"))
        found = gather(data, args.files, work / "home")
        print(f"Input: {len(found.pdfs)} PDFs and {len(found.pages)} pages of {data}", flush=True)
        if found.pdfs:
            print_table(
                "PDFs: text, metadata and thumbnail", measure_pdfs(found.pdfs, work / "pdf")
            )
        if found.pages:
            print_table("WARC records (gzip)", measure_warc(found.pages, work))
            print_table("Pages: article, date and language", measure_pages(found.pages))
        measure_ingest(found, work)


def measure_pdfs(pdfs: Sequence[bytes], folder: Path) -> list[Measured]:
    """Fonds in this process and in isolated children, and poppler's three programs a file."""
    folder.mkdir(parents=True)
    paths = [folder / f"{number}.pdf" for number in range(len(pdfs))]
    for path, body in zip(paths, pdfs, strict=True):
        path.write_bytes(body)
    _read(extract_pdf, paths[:1])
    wall_s, cpu_s = _timed(lambda: _read(extract_pdf, paths), resource.RUSAGE_SELF)
    here = Measured(
        "fonds", len(pdfs), wall_s, cpu_s, "fonds.extract.pdf.extraction.extract_pdf(F, …)"
    )
    lines = [here, _pooled(paths)]
    missing = [name for name in POPPLER if shutil.which(name) is None]
    if missing:
        print(f"Not beside poppler: {', '.join(missing)} missing; install poppler-utils.")
        return lines
    wall_s, cpu_s = _timed(lambda: _poppler(paths), resource.RUSAGE_CHILDREN)
    how = "pdfinfo F; pdftotext F -; pdftocairo -jpeg -singlefile -scale-to 300 F OUT"
    return [Measured("poppler-utils", len(pdfs), wall_s, cpu_s, how, peer=True), *lines]


def _read(extract: Callable[[OpenBody, PdfLimits], object], paths: Sequence[Path]) -> None:
    for path in paths:
        with path.open("rb") as file:
            extract(OpenBody(file.fileno(), path.stat().st_size), PdfLimits())


def _pooled(paths: Sequence[Path]) -> Measured:
    """All files through one isolated child, once it has been started; it is not replaced meanwhile."""
    with ChildPool(1, ChildLimits(tasks_max=10 * len(paths))) as pool:

        def call() -> None:
            _read(lambda body, limits: pool(extract_pdf, body, limits), paths)

        call()
        before_s = _descendants_cpu_s(os.getpid())
        wall_s, own_s = _timed(call, resource.RUSAGE_SELF, repeats=1)
        cpu_s = own_s + _descendants_cpu_s(os.getpid()) - before_s
    how = "ChildPool(1)(extract_pdf, F, …)"
    return Measured("fonds, isolated", len(paths), wall_s, cpu_s, how)


def _descendants_cpu_s(pid: int) -> float:
    """CPU seconds of all processes below `pid`, those they have outlived included."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            ticks += sum(int(field) for field in fields[11:15])
            child = int(path.parent.name)
            ticks += round(_descendants_cpu_s(child) * os.sysconf("SC_CLK_TCK"))
    return ticks / os.sysconf("SC_CLK_TCK")


def _poppler(paths: Sequence[Path]) -> None:
    for path in paths:
        file, picture = str(path), str(path.with_suffix(""))
        for command in (
            ["pdfinfo", file],
            ["pdftotext", file, "-"],
            ["pdftocairo", "-jpeg", "-singlefile", "-scale-to", "300", file, picture],
        ):
            subprocess.run(command, capture_output=True, check=False, timeout=POPPLER_TIMEOUT_S)


def measure_warc(pages: Sequence[Page], work: Path) -> list[Measured]:
    """The scan of heads, and reading bodies, beside warcio's iterator on the same file."""
    path, settings = work / "records.warc.gz", Settings()
    pack(path, islice(cycle(pages), RECORDS))
    archive = open_archive(work / "home", settings)
    places: list[Place] = []

    def scan() -> None:
        places.clear()
        with path.open("rb") as stream:
            for head in read_heads(stream):
                places.append(Place(PlaceKind.WARC, str(path), head.offset))

    def iterate(*, bodies: bool) -> None:
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if bodies:
                    record.content_stream().read()

    def read() -> None:
        for place in places:
            archive.read(place)

    own = resource.RUSAGE_SELF
    theirs = "for record in ArchiveIterator(F): "
    passed = _timed(lambda: iterate(bodies=False), own)
    scanned = _timed(scan, own)
    iterated = _timed(lambda: iterate(bodies=True), own)
    fetched = _timed(read, own)
    whole = theirs + "record.content_stream().read()"
    return [
        Measured("warcio, heads", RECORDS, *passed, theirs + "pass", peer=True),
        Measured("fonds, heads", RECORDS, *scanned, "fonds.archive.warc.scanner.read_heads(F)"),
        Measured("warcio, bodies in order", RECORDS, *iterated, whole, peer=True),
        Measured("fonds, bodies by place", RECORDS, *fetched, "archive.read(place)"),
    ]


def measure_pages(pages: Sequence[Page]) -> list[Measured]:
    """Everything Fonds learns of a page beside the bare text of trafilatura."""
    own = resource.RUSAGE_SELF

    def bare() -> None:
        for page in pages:
            trafilatura.extract(page.body, url=page.url)

    def parse() -> None:
        for page in pages:
            parse_page(page.body, page.url, None, MOMENT, True)

    # Models and rules are loaded by the first page.
    trafilatura.extract(pages[0].body, url=pages[0].url)
    parse_page(pages[0].body, pages[0].url, None, MOMENT, True)
    theirs, ours = _timed(bare, own), _timed(parse, own)
    how = "fonds.extract.page.parse_page(BODY, …)"
    return [
        Measured("trafilatura, text", len(pages), *theirs, "trafilatura.extract(BODY)", peer=True),
        Measured("fonds, all", len(pages), *ours, how),
    ]


def measure_ingest(found: Input, work: Path) -> None:
    """Take in one WARC of everything by the command line; prints rates and the main process's memory."""
    path = work / "whole.warc.gz"
    pdfs = [Page(f"http://bench.example/{n}.pdf", body) for n, body in enumerate(found.pdfs)]
    pack(path, [*found.pages, *pdfs])
    command = [sys.executable, "-m", "fonds", "--home", str(work / "library"), "--json", "ingest"]
    started = time.perf_counter()
    running = subprocess.Popen(
        [*command, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    peak_bytes = _watched(running)
    wall_s = time.perf_counter() - started
    output = running.communicate()[0].decode().strip().splitlines()
    if not output:
        print(f"\nThe ingest ended with {running.returncode} and said nothing.")
        return
    ended = json.loads(output[-1])
    print(
        f"\nWhole ingest of {path.stat().st_size / 1e6:.1f} MB, start-up included: fonds ingest F"
    )
    for what, count in (("records", ended["in"]), ("PDFs", len(pdfs)), ("pages", len(found.pages))):
        print(f"  {count:6,} {what:8} {count / wall_s:9.1f} a second")
    print(f"  {wall_s:6.1f} s in all on {len(os.sched_getaffinity(0))} cores; {ended['done']} kept")
    print(f"  {peak_bytes / 2**20:6.0f} MiB at most in the main process")


def _watched(running: subprocess.Popen[bytes]) -> int:
    """The highest resident size of a process in bytes, looked at until it ends."""
    peak_bytes = 0
    while running.poll() is None:
        try:
            status = Path(f"/proc/{running.pid}/status").read_text()
        except OSError:
            break
        lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
        peak_bytes = max([peak_bytes, *(int(line[1]) * 1024 for line in lines)])
        time.sleep(0.05)
    return peak_bytes


def pack(path: Path, pages: Iterator[Page] | Sequence[Page]) -> None:
    """Write responses to a gzip WARC with warcio, each under an address of its own."""
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for number, page in enumerate(pages):
            kind = "application/pdf" if page.body.startswith(b"%PDF") else "text/html"
            head = StatusAndHeaders("200 OK", [("Content-Type", kind)], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                f"{page.url}?{number}", "response", payload=BytesIO(page.body), http_headers=head
            )
            writer.write_record(record)


def _timed(
    function: Callable[[], object], whose: int, repeats: int = REPEATS
) -> tuple[float, float]:
    """Wall and CPU seconds of a call, the best of several; `whose` is RUSAGE_SELF or RUSAGE_CHILDREN."""
    found = []
    for _ in range(repeats):
        before, started = resource.getrusage(whose), time.perf_counter()
        function()
        wall_s, after = time.perf_counter() - started, resource.getrusage(whose)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append((wall_s, cpu_s))
    return min(found, key=lambda one: one[1])


def print_table(title: str, lines: Sequence[Measured]) -> None:
    """Each line with its CPU time as a multiple of that of the peer above it."""
    print(f"\n{title}")
    print(f"  {'':24} {'count':>6} {'a second':>9} {'CPU ms each':>11} {'CPU ratio':>9}  how")
    beside = lines[0]
    for line in lines:
        beside = line if line.peer else beside
        each_ms = 1000 * line.cpu_s / line.count
        ratio = each_ms / (1000 * beside.cpu_s / beside.count)
        rate = line.count / line.wall_s
        print(
            f"  {line.what:24} {line.count:6} {rate:9.1f} {each_ms:11.2f} {ratio:9.2f}  {line.how}"
        )


if __name__ == "__main__":
    logging.basicConfig(level=logging.CRITICAL)
    warnings.simplefilter("ignore")
    main()
