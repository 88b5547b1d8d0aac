"""Compare the speed of Fonds with named peers on the same input, in one run.

    python scripts/bench.py [--data DIR] [--files N]

Numbers depend on the machine and the run: compare lines of one table, never two tables.
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

from bench_input import CORPUS, Input, Page, gather, write_sample_crawl
from fonds.archive.warc.scanner import read_heads
from fonds.config import Settings
from fonds.extract.page import parse_page
from fonds.extract.pdf.extraction import extract_pdf
from fonds.extract.pdf.limits import PdfLimits
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.model.archive import OpenBody
from fonds.model.capture import Place, PlaceKind
from fonds.wiring.archive import open_archive

FILES = 100
REPEATS = 2
RECORDS = 2_000
POPPLER = ("pdfinfo", "pdftotext", "pdftocairo")
POPPLER_TIMEOUT_S = 30.0
MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of a table: `count` items took `wall_s` and `cpu_s` seconds; `call` repeats it.

    The lines below a peer are compared with it.
    """

    name: str
    count: int
    wall_s: float
    cpu_s: float
    call: str
    peer: bool = False


def main() -> None:
    """Print all measurements in four tables."""
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
        data = args.data or (CORPUS if CORPUS.is_dir() else write_sample_crawl(work / "sample"))
        input_files = gather(data, args.files, work / "home")
        print(
            f"Input: {len(input_files.pdfs)} PDFs and {len(input_files.pages)} pages of {data}",
            flush=True,
        )
        if input_files.pdfs:
            print_table(
                "PDFs: text, metadata and thumbnail", measure_pdfs(input_files.pdfs, work / "pdf")
            )
        if input_files.pages:
            print_table("WARC records (gzip)", measure_warc(input_files.pages, work))
            print_table("Pages: article, date and language", measure_pages(input_files.pages))
        measure_ingest(input_files, work)


def measure_pdfs(pdfs: Sequence[bytes], folder: Path) -> list[Measurement]:
    """Measure Fonds in this process and in isolated children, and three poppler programs per file."""
    folder.mkdir(parents=True)
    paths = [folder / f"{number}.pdf" for number in range(len(pdfs))]
    for path, body in zip(paths, pdfs, strict=True):
        path.write_bytes(body)
    _read(extract_pdf, paths[:1])
    wall_s, cpu_s = _measure(lambda: _read(extract_pdf, paths), resource.RUSAGE_SELF)
    in_process = Measurement(
        "fonds", len(pdfs), wall_s, cpu_s, "fonds.extract.pdf.extraction.extract_pdf(F, …)"
    )
    lines = [in_process, _measure_pooled(paths)]
    missing = [name for name in POPPLER if shutil.which(name) is None]
    if missing:
        print(f"Not compared with poppler: {', '.join(missing)} missing; install poppler-utils.")
        return lines
    wall_s, cpu_s = _measure(lambda: _run_poppler(paths), resource.RUSAGE_CHILDREN)
    call = "pdfinfo F; pdftotext F -; pdftocairo -jpeg -singlefile -scale-to 300 F OUT"
    return [Measurement("poppler-utils", len(pdfs), wall_s, cpu_s, call, peer=True), *lines]


def _read(extract: Callable[[OpenBody, PdfLimits], object], paths: Sequence[Path]) -> None:
    for path in paths:
        with path.open("rb") as file:
            extract(OpenBody(file.fileno(), path.stat().st_size), PdfLimits())


def _measure_pooled(paths: Sequence[Path]) -> Measurement:
    """Measure all files in one isolated child, without its start. The child is not replaced."""
    with ChildPool(1, ChildLimits(tasks_max=10 * len(paths))) as pool:

        def call() -> None:
            _read(lambda body, limits: pool(extract_pdf, body, limits), paths)

        call()
        before_s = _measure_descendants_cpu_s(os.getpid())
        wall_s, own_s = _measure(call, resource.RUSAGE_SELF, repeats=1)
        cpu_s = own_s + _measure_descendants_cpu_s(os.getpid()) - before_s
    command = "ChildPool(1)(extract_pdf, F, …)"
    return Measurement("fonds, isolated", len(paths), wall_s, cpu_s, command)


def _measure_descendants_cpu_s(pid: int) -> float:
    """Return the CPU seconds of all descendants of `pid`, including those that ended."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            ticks += sum(int(field) for field in fields[11:15])
            child = int(path.parent.name)
            ticks += round(_measure_descendants_cpu_s(child) * os.sysconf("SC_CLK_TCK"))
    return ticks / os.sysconf("SC_CLK_TCK")


def _run_poppler(paths: Sequence[Path]) -> None:
    for path in paths:
        file, picture = str(path), str(path.with_suffix(""))
        for command in (
            ["pdfinfo", file],
            ["pdftotext", file, "-"],
            ["pdftocairo", "-jpeg", "-singlefile", "-scale-to", "300", file, picture],
        ):
            subprocess.run(command, capture_output=True, check=False, timeout=POPPLER_TIMEOUT_S)


def measure_warc(pages: Sequence[Page], work: Path) -> list[Measurement]:
    """Measure the scan of heads and the reading of bodies, compared with warcio's iterator."""
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
    loop = "for record in ArchiveIterator(F): "
    peer_heads = _measure(lambda: iterate(bodies=False), own)
    own_heads = _measure(scan, own)
    peer_bodies = _measure(lambda: iterate(bodies=True), own)
    own_bodies = _measure(read, own)
    read_loop = loop + "record.content_stream().read()"
    return [
        Measurement("warcio, heads", RECORDS, *peer_heads, loop + "pass", peer=True),
        Measurement(
            "fonds, heads", RECORDS, *own_heads, "fonds.archive.warc.scanner.read_heads(F)"
        ),
        Measurement("warcio, bodies in order", RECORDS, *peer_bodies, read_loop, peer=True),
        Measurement("fonds, bodies by place", RECORDS, *own_bodies, "archive.read(place)"),
    ]


def measure_pages(pages: Sequence[Page]) -> list[Measurement]:
    """Measure the full parser of pages, compared with the plain text of trafilatura."""
    own = resource.RUSAGE_SELF

    def extract_plainly() -> None:
        for page in pages:
            trafilatura.extract(page.body, url=page.url)

    def parse() -> None:
        for page in pages:
            parse_page(page.body, page.url, None, MOMENT, True)

    # The first page loads models and rules.
    trafilatura.extract(pages[0].body, url=pages[0].url)
    parse_page(pages[0].body, pages[0].url, None, MOMENT, True)
    peer, own_times = _measure(extract_plainly, own), _measure(parse, own)
    call = "fonds.extract.page.parse_page(BODY, …)"
    return [
        Measurement("trafilatura, text", len(pages), *peer, "trafilatura.extract(BODY)", peer=True),
        Measurement("fonds, all", len(pages), *own_times, call),
    ]


def measure_ingest(input_files: Input, work: Path) -> None:
    """Ingest one WARC on the command line; print rates and the memory of the main process."""
    path = work / "whole.warc.gz"
    pdfs = [Page(f"http://bench.example/{n}.pdf", body) for n, body in enumerate(input_files.pdfs)]
    pack(path, [*input_files.pages, *pdfs])
    command = [sys.executable, "-m", "fonds", "--home", str(work / "library"), "--json", "ingest"]
    started = time.perf_counter()
    running = subprocess.Popen(
        [*command, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    peak_bytes = _watch_peak_bytes(running)
    wall_s = time.perf_counter() - started
    output = running.communicate()[0].decode().strip().splitlines()
    if not output:
        print(f"\nThe ingest ended with {running.returncode} and printed nothing.")
        return
    counts = json.loads(output[-1])
    print(
        f"\nWhole ingest of {path.stat().st_size / 1e6:.1f} MB, start-up included: fonds ingest F"
    )
    for unit, count in (
        ("records", counts["in"]),
        ("PDFs", len(pdfs)),
        ("pages", len(input_files.pages)),
    ):
        print(f"  {count:6,} {unit:8} {count / wall_s:9.1f} a second")
    print(
        f"  {wall_s:6.1f} s in all on {len(os.sched_getaffinity(0))} cores; {counts['done']} kept"
    )
    print(f"  {peak_bytes / 2**20:6.0f} MiB at most in the main process")


def _watch_peak_bytes(running: subprocess.Popen[bytes]) -> int:
    """Return the largest resident size of a process in bytes. Polls until the process ends."""
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
    """Write responses to a gzip WARC with warcio, each with its own URL."""
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for number, page in enumerate(pages):
            kind = "application/pdf" if page.body.startswith(b"%PDF") else "text/html"
            head = StatusAndHeaders("200 OK", [("Content-Type", kind)], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                f"{page.url}?{number}", "response", payload=BytesIO(page.body), http_headers=head
            )
            writer.write_record(record)


def _measure(
    function: Callable[[], object], who: int, repeats: int = REPEATS
) -> tuple[float, float]:
    """Return wall and CPU seconds of a call, the best of several. `who` is RUSAGE_SELF or _CHILDREN."""
    times = []
    for _ in range(repeats):
        before, started = resource.getrusage(who), time.perf_counter()
        function()
        wall_s, after = time.perf_counter() - started, resource.getrusage(who)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        times.append((wall_s, cpu_s))
    return min(times, key=lambda pair: pair[1])


def print_table(title: str, lines: Sequence[Measurement]) -> None:
    """Print each line, with its CPU time as a multiple of the CPU time of the peer above it."""
    print(f"\n{title}")
    print(f"  {'':24} {'count':>6} {'a second':>9} {'CPU ms each':>11} {'CPU ratio':>9}  call")
    peer = lines[0]
    for line in lines:
        peer = line if line.peer else peer
        each_ms = 1000 * line.cpu_s / line.count
        ratio = each_ms / (1000 * peer.cpu_s / peer.count)
        rate = line.count / line.wall_s
        print(
            f"  {line.name:24} {line.count:6} {rate:9.1f} {each_ms:11.2f} {ratio:9.2f}  {line.call}"
        )


if __name__ == "__main__":
    logging.basicConfig(level=logging.CRITICAL)
    warnings.simplefilter("ignore")
    main()
