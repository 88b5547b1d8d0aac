"""Measures the road of PDFs on ordinary papers: the extraction beside poppler's tools, two processes
beside one, and the whole pipeline beside the extraction alone.

    python scripts/bench_pdf.py [--data DIR] [--files N] [--copies N]

Without --data the papers are those that `../shared/corpus/gold/pdf.jsonl` calls ordinary, else the sample's.
Each is taken in several times with another comment behind its end, so that starting up counts little;
what a further file costs is the difference between few and many of them. CPU is that of the process and
of all its children.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from fonds.extract.pdf.extraction import PdfLimits, extract_pdf
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.model.archive import OpenBody
from sample import write_sample

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
COPIES, ROUNDS = 4, 3
POPPLER = ("pdfinfo", "pdftotext", "pdftocairo")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the clock and of processors."""

    wall_s: float
    cpu_s: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of PDFs")
    parser.add_argument("--files", type=int, default=100, help="at most so many [%(default)s]")
    parser.add_argument("--copies", type=int, default=COPIES, help="of each [%(default)s]")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fonds-bench-") as scratch:
        work = Path(scratch)
        papers = sorted(gather(args.data, work))[: args.files]
        few, many = work / "few", work / "many"
        copy(papers, few, 1)
        copy(papers, many, 1 + args.copies)
        more = len(papers) * args.copies
        print(f"{len(papers)} papers, {sum(p.stat().st_size for p in papers) / 1e6:.1f} MB")
        _beside_poppler(papers, few, many, more)
        _processes(many)
        _pipeline(few, many, more, work)


def gather(data: Path | None, work: Path) -> list[Path]:
    """The papers to measure on."""
    if data is not None:
        return list(data.rglob("*.pdf"))
    gold = CORPUS / "gold" / "pdf.jsonl"
    if gold.exists():
        rows = [json.loads(line) for line in gold.read_text().splitlines()]
        paths = [CORPUS / row["path"] for row in rows if row["ordinary"]]
        return [path for path in paths if path.exists()]
    write_sample(work / "sample")
    return list((work / "sample").rglob("*.pdf"))


def copy(papers: Sequence[Path], folder: Path, count: int) -> None:
    """Write each paper `count` times, each time with other bytes behind its end."""
    folder.mkdir()
    for number, path in enumerate(papers):
        data = path.read_bytes()
        for again in range(count):
            (folder / f"{number:04}-{again}.pdf").write_bytes(data + b"\n%%%d\n" % again)


def cost(act: Callable[[], object]) -> Cost:
    """What a call takes; processes it started must have ended when it returns."""
    before, started = _cpu_s(), time.perf_counter()
    act()
    return Cost(time.perf_counter() - started, _cpu_s() - before)


def _cpu_s() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def extract(folder: Path, processes: int) -> None:
    """Metadata, text and thumbnail of every file in isolated children."""
    files = sorted(folder.iterdir())
    with ChildPool(processes, ChildLimits()) as pool, ThreadPoolExecutor(processes) as threads:

        def one(path: Path) -> None:
            with path.open("rb") as file:
                body = OpenBody(file.fileno(), path.stat().st_size)
                pool(extract_pdf, body, PdfLimits())

        list(threads.map(one, files))


def poppler(papers: Sequence[Path], work: Path) -> None:
    """The same with the tools of the shell."""
    for path in papers:
        file = str(path)
        for command in (
            ["pdfinfo", file],
            ["pdftotext", file, "-"],
            ["pdftocairo", "-jpeg", "-singlefile", "-scale-to", "300", file, str(work / "picture")],
        ):
            subprocess.run(command, capture_output=True, check=False, timeout=60)


def _beside_poppler(papers: Sequence[Path], few: Path, many: Path, more: int) -> None:
    ours = _further(lambda folder: extract(folder, 1), few, many, more)
    print(f"extraction: {1000 * ours:.1f} ms of CPU for a further file")
    if missing := [name for name in POPPLER if shutil.which(name) is None]:
        print(f"not beside poppler: {', '.join(missing)} missing; install poppler-utils")
        return
    rounds = [cost(lambda: poppler(papers, few.parent)).cpu_s for _ in range(ROUNDS)]
    theirs = min(rounds) / len(papers)
    words = "pdfinfo, pdftotext, pdftocairo -scale-to 300"
    print(f"  {words}: {1000 * theirs:.1f} ms; ratio {ours / theirs:.2f}")


def _processes(many: Path) -> None:
    one, two = cost(lambda: extract(many, 1)), cost(lambda: extract(many, 2))
    count = len(list(many.iterdir()))
    print(f"one process: {count / one.wall_s:.1f} files a second; two: {count / two.wall_s:.1f}")
    print(f"  two are {one.wall_s / two.wall_s:.2f} times as fast on {os.cpu_count()} cores")


def _pipeline(few: Path, many: Path, more: int, work: Path) -> None:
    """`fonds ingest` of a WARC: read, hash, queue, extract, blobs, rows, index."""

    def fonds(folder: Path, *words: str) -> None:
        home = work / f"home-{folder.name}"
        if words[0] == "ingest":
            shutil.rmtree(home, ignore_errors=True)
        command = [sys.executable, "-m", "fonds", "--home", str(home), "--json", *words]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr.decode())

    warcs = {folder: pack(folder, work) for folder in (few, many)}
    alone = _further(lambda folder: extract(folder, 2), few, many, more)
    whole = _further(lambda folder: fonds(folder, "ingest", str(warcs[folder])), few, many, more)
    index = _further(lambda folder: fonds(folder, "reindex"), few, many, more)
    print(f"whole pipeline: {1000 * whole:.1f} ms of CPU for a further file")
    print(f"  of which the full-text index, by `fonds reindex`: {1000 * index:.1f} ms")
    print(
        f"  the extraction alone: {1000 * alone:.1f} ms; ratio {(whole - index) / alone:.2f},"
        f" with the index {whole / alone:.2f}"
    )


def _further(act: Callable[[Path], None], few: Path, many: Path, more: int) -> float:
    """CPU seconds of one further file, the least of several rounds: others use the machine too."""
    rounds = [
        (cost(partial(act, many)).cpu_s, cost(partial(act, few)).cpu_s) for _ in range(ROUNDS)
    ]
    return (min(one for one, _ in rounds) - min(one for _, one in rounds)) / more


def pack(folder: Path, work: Path) -> Path:
    """The files of a folder as responses in a WARC."""
    path = work / f"{folder.name}.warc.gz"
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for file in sorted(folder.iterdir()):
            head = StatusAndHeaders(
                "200 OK", [("Content-Type", "application/pdf")], protocol="HTTP/1.1"
            )
            record = writer.create_warc_record(
                f"http://bench.example/{file.name}",
                "response",
                payload=BytesIO(file.read_bytes()),
                http_headers=head,
            )
            writer.write_record(record)
    return path


if __name__ == "__main__":
    main()
