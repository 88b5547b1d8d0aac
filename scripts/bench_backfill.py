"""Measure the backfill of a generated CDX: lines per second and memory at one and five million lines.

python scripts/bench_backfill.py [--lines 1000000 5000000] [--engine spark://127.0.0.1:27077]

On Spark, the table and the records must be servers: set FONDS_TABLE, FONDS_RECORDS, and FONDS_ENV for
separate names.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from base64 import b32encode
from pathlib import Path

from fonds.ingest.bulk.capture_filter import CaptureFilter
from fonds.ingest.bulk.index_reader import CaptureReader, iter_parts

MIMES = ("text/html", "text/html", "text/html", "image/jpeg", "application/pdf", "unk")
LINES = (1_000_000, 5_000_000)


def write_cdx(path: Path, count: int) -> None:
    """Write a realistic crawl: mostly pages, some redirects, a sixth PDFs, of which a third are repeated."""
    chance = random.Random(1)
    with path.open("w", encoding="ascii", newline="\n") as stream:
        stream.write(" CDX N b a m s k r M S V g\n")
        for number in range(count):
            mime = MIMES[number % len(MIMES)]
            status = "301" if number % 9 == 0 else "200"
            file = chance.randrange(count) if number % 3 else chance.randrange(1 + count // 10)
            digest = b32encode(random.Random(file).randbytes(20)).decode()
            host, year = chance.randrange(20_000), 2010 + number % 14
            stream.write(
                f"org,example{host},www)/articles/{number}/download.pdf {year}0304050607"
                f" http://www.example{host}.org/articles/{number}/Download.pdf {mime} {status} {digest}"
                f" - - {chance.randrange(200, 2_000_000)} {number * 4096}"
                f" CRAWL-{year}-{number // 50_000:05d}/CRAWL-{year}-{number // 5_000:05d}.warc.gz\n"
            )


def measure_reading(path: Path) -> tuple[int, float]:
    """Return the number of lines and the CPU seconds to read and classify them on one core."""
    read, count = CaptureReader(CaptureFilter()), 0
    began = time.process_time()
    for part in iter_parts([path]):
        for record in read(part):
            count += record.startswith(b'~["lines"') and json.loads(record[1:])[1]
    return count, time.process_time() - began


def run_backfill(path: Path, engine: str) -> dict[str, object]:
    """Run the command in a new home; return its counts, duration and peak memory."""
    with tempfile.TemporaryDirectory(prefix="bench-backfill-") as home:
        words = ["-m", "fonds", "--home", home, "backfill", "cdx", str(path), "--json"]
        began = time.monotonic()
        process = subprocess.run(
            [sys.executable, *words, "--engine", engine], stdout=subprocess.PIPE
        )
        if process.returncode:
            raise SystemExit(process.returncode)
        seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {
        "seconds": round(seconds, 1),
        "peak_bytes": peak,
        **json.loads(process.stdout)["counts"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, nargs="+", default=LINES)
    parser.add_argument("--engine", default="local")
    arguments = parser.parse_args()
    for count in arguments.lines:
        with tempfile.TemporaryDirectory(prefix="bench-cdx-") as folder:
            path = Path(folder) / "made.cdx"
            write_cdx(path, count)
            lines, seconds = measure_reading(path)
            print(f"{count:>9,} lines, {path.stat().st_size / 1e6:,.0f} MB", flush=True)
            print(
                f"  reading and deciding: {lines / seconds:,.0f} lines a second of CPU", flush=True
            )
            counts = run_backfill(path, arguments.engine)
            rate = count / float(str(counts["seconds"]))
            print(f"  all of it: {rate:,.0f} lines a second; {json.dumps(counts)}", flush=True)


if __name__ == "__main__":
    main()
