"""Measure ingest and audit of many pages at two sizes: CPU, and peak memory of a process.

python scripts/bench_audit.py --pages 8000
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

WORDS = [f"word{number}" for number in range(3000)]
COMMANDS = (("ingest", "pages.warc.gz"), ("audit",), ("audit", "--deep"))


def main() -> None:
    """Create a crawl, ingest and audit it; first with a quarter of the pages."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=8000)
    pages = parser.parse_args().pages
    for count in (pages // 4, pages):
        with tempfile.TemporaryDirectory() as folder:
            write_pages(Path(folder) / "pages.warc.gz", count)
            for words in COMMANDS:
                cpu_s, memory_mb = run(Path(folder), *words)
                print(f"{count:8,} pages  {' '.join(words):20} {cpu_s:7.1f} s  {memory_mb:5} MB")


def write_pages(path: Path, count: int) -> None:
    """Write a WARC of `count` pages with different words."""
    chance = random.Random(1)
    head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for number in range(count):
            body = "".join(f"<p>{' '.join(chance.choices(WORDS, k=60))}</p>" for _ in range(4))
            page = f"<html><head><title>Report {number}</title></head><body><article>{body}"
            record = writer.create_warc_record(
                f"http://example.org/{number}",
                "response",
                payload=BytesIO(page.encode()),
                http_headers=head,
            )
            writer.write_record(record)


def run(folder: Path, *words: str) -> tuple[float, int]:
    """Return CPU seconds of a command and its processes, and peak memory of any child so far in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "fonds", "--home", "home", *words]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu_s, after.ru_maxrss // 1024


if __name__ == "__main__":
    main()
