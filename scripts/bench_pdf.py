"""Measure PDF processing on ordinary papers.

Compares the extraction with poppler's tools, two processes with one, and the full pipeline with the
extraction alone.

    python scripts/bench_pdf.py [--data DIR] [--files N] [--copies N]

Without --data, the papers are those marked as ordinary in `../shared/corpus/gold/pdf.jsonl`, else those of
the sample. Each is copied several times with a different trailing comment. The cost of a further file is
the difference between many and few copies, so that startup does not count. CPU includes child processes.
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

from fonds.extract.pdf.extraction import extract_pdf
from fonds.extract.pdf.limits import PdfLimits
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
    """Wall and CPU seconds."""

    wall_s: float
    cpu_s: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of PDFs")
    parser.add_argument(
        "--files", type=int, default=100, help="maximum number of papers [%(default)s]"
    )
    parser.add_argument(
        "--copies", type=int, default=COPIES, help="copies of each paper [%(default)s]"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fonds-bench-") as scratch:
        work = Path(scratch)
        papers = sorted(gather(args.data, work))[: args.files]
        few_copies, many_copies = work / "few", work / "many"
        copy(papers, few_copies, 1)
        copy(papers, many_copies, 1 + args.copies)
        further_count = len(papers) * args.copies
        print(f"{len(papers)} papers, {sum(p.stat().st_size for p in papers) / 1e6:.1f} MB")
        _compare_poppler(papers, few_copies, many_copies, further_count)
        _compare_processes(many_copies)
        _measure_pipeline(few_copies, many_copies, further_count, work)


def gather(data: Path | None, work: Path) -> list[Path]:
    """Return the papers to measure."""
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
    """Write each paper `count` times, each with a different trailing comment."""
    folder.mkdir()
    for number, path in enumerate(papers):
        data = path.read_bytes()
        for number_of_copy in range(count):
            (folder / f"{number:04}-{number_of_copy}.pdf").write_bytes(
                data + b"\n%%%d\n" % number_of_copy
            )


def measure_cost(act: Callable[[], object]) -> Cost:
    """Measure a call. Its processes must have ended when it returns."""
    before, started = _read_cpu_s(), time.perf_counter()
    act()
    return Cost(time.perf_counter() - started, _read_cpu_s() - before)


def _read_cpu_s() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def extract(folder: Path, processes: int) -> None:
    """Extract metadata, text and thumbnail of each file in isolated children."""
    files = sorted(folder.iterdir())
    with ChildPool(processes, ChildLimits()) as pool, ThreadPoolExecutor(processes) as threads:

        def extract_file(file_path: Path) -> None:
            with file_path.open("rb") as file:
                body = OpenBody(file.fileno(), file_path.stat().st_size)
                pool(extract_pdf, body, PdfLimits())

        list(threads.map(extract_file, files))


def run_poppler(papers: Sequence[Path], work: Path) -> None:
    """Run poppler's tools on each paper."""
    for path in papers:
        file = str(path)
        for command in (
            ["pdfinfo", file],
            ["pdftotext", file, "-"],
            ["pdftocairo", "-jpeg", "-singlefile", "-scale-to", "300", file, str(work / "picture")],
        ):
            subprocess.run(command, capture_output=True, check=False, timeout=60)


def _compare_poppler(
    papers: Sequence[Path], few_copies: Path, many_copies: Path, further_count: int
) -> None:
    own_s = _measure_further_s(
        lambda folder: extract(folder, 1), few_copies, many_copies, further_count
    )
    print(f"extraction: {1000 * own_s:.1f} ms of CPU for a further file")
    if missing := [name for name in POPPLER if shutil.which(name) is None]:
        print(f"not compared with poppler: {', '.join(missing)} missing; install poppler-utils")
        return
    rounds = [
        measure_cost(lambda: run_poppler(papers, few_copies.parent)).cpu_s for _ in range(ROUNDS)
    ]
    poppler_s = min(rounds) / len(papers)
    words = "pdfinfo, pdftotext, pdftocairo -scale-to 300"
    print(f"  {words}: {1000 * poppler_s:.1f} ms; ratio {own_s / poppler_s:.2f}")


def _compare_processes(folder: Path) -> None:
    one_process, two_processes = (
        measure_cost(lambda: extract(folder, 1)),
        measure_cost(lambda: extract(folder, 2)),
    )
    count = len(list(folder.iterdir()))
    print(
        f"one process: {count / one_process.wall_s:.1f} files a second;"
        f" two: {count / two_processes.wall_s:.1f}"
    )
    print(
        f"  two are {one_process.wall_s / two_processes.wall_s:.2f} times as fast on {os.cpu_count()} cores"
    )


def _measure_pipeline(few_copies: Path, many_copies: Path, further_count: int, work: Path) -> None:
    """Measure `fonds ingest` of a WARC: read, hash, queue, extract, blobs, rows, index."""

    def run_fonds(folder: Path, *words: str) -> None:
        home = work / f"home-{folder.name}"
        if words[0] == "ingest":
            shutil.rmtree(home, ignore_errors=True)
        command = [sys.executable, "-m", "fonds", "--home", str(home), "--json", *words]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr.decode())

    warcs = {folder: pack(folder, work) for folder in (few_copies, many_copies)}
    extraction_s = _measure_further_s(
        lambda folder: extract(folder, 2), few_copies, many_copies, further_count
    )
    pipeline_s = _measure_further_s(
        lambda folder: run_fonds(folder, "ingest", str(warcs[folder])),
        few_copies,
        many_copies,
        further_count,
    )
    index_s = _measure_further_s(
        lambda folder: run_fonds(folder, "reindex"), few_copies, many_copies, further_count
    )
    print(f"whole pipeline: {1000 * pipeline_s:.1f} ms of CPU for a further file")
    print(f"  of which the full-text index, by `fonds reindex`: {1000 * index_s:.1f} ms")
    print(
        f"  the extraction alone: {1000 * extraction_s:.1f} ms;"
        f" ratio {(pipeline_s - index_s) / extraction_s:.2f},"
        f" with the index {pipeline_s / extraction_s:.2f}"
    )


def _measure_further_s(
    act: Callable[[Path], None], few_copies: Path, many_copies: Path, further_count: int
) -> float:
    """Return the CPU seconds per further file, the minimum of several rounds."""
    rounds = [
        (
            measure_cost(partial(act, many_copies)).cpu_s,
            measure_cost(partial(act, few_copies)).cpu_s,
        )
        for _ in range(ROUNDS)
    ]
    return (min(large for large, _ in rounds) - min(small for _, small in rounds)) / further_count


def pack(folder: Path, work: Path) -> Path:
    """Write the files of a folder as responses to a WARC."""
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
