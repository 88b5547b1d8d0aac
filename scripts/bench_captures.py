"""Measure queries of an index of a million captures, in milliseconds and rows scanned.

python scripts/bench_captures.py [CAPTURES]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from fonds.archive.replay.captures import UrlMatch, find_nearest
from fonds.archive.replay.cdx_query import CdxFilter, CdxQuery, run_query
from fonds.model.capture import parse_datetime14
from fonds.model.rows import CdxRow
from fonds.stores.records.sql import SqlRecords, open_sqlite
from fonds.urls.surt import build_lookup_key, build_surt

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = 5
SITES, PAGES = 1000, 100


def build_row(number: int) -> CdxRow:
    """Return one capture of a hundred pages of each of a thousand sites."""
    page = number % (SITES * PAGES)
    url = f"https://site{page % SITES}.example/section/page-{page // SITES}.html"
    key = build_surt(url)
    turn = number // (SITES * PAGES)
    return CdxRow(
        f"c{number}", f"{number:040x}", url, key, build_lookup_key(key), f"20{10 + turn:02d}0101000000",
        "text/html", 200, f"fonds-{number // 5000:05d}.warc.gz", 1000, number % 5000 * 1000, NOW,
    )  # fmt: skip


def measure(name: str, records: SqlRecords, act: Callable[[SqlRecords], object]) -> None:
    """Print the median duration of five calls, and the last result."""
    times_ms, result = [], None
    for _ in range(TIMES):
        began = time.perf_counter()
        result = act(records)
        times_ms.append(1000 * (time.perf_counter() - began))
    print(f"{name:60} {statistics.median(times_ms):9.1f} ms   {result}")


def main(captures: int) -> None:
    """Fill a database and measure queries."""
    with tempfile.TemporaryDirectory() as folder:
        records = open_sqlite(Path(folder) / "records.sqlite")
        for start in range(0, captures, 20_000):
            records.put([build_row(n) for n in range(start, min(start + 20_000, captures))])
        url, datetime14 = "https://site7.example/section/page-7.html", "20140601000000"
        captured_at = parse_datetime14(datetime14)

        def search(query: CdxQuery) -> Callable[[SqlRecords], str]:
            def act(records: SqlRecords) -> str:
                page = run_query(records, query)
                return f"{len(page.rows):,} rows of {page.scanned:,} scanned"

            return act

        measure("one address", records, search(CdxQuery(url)))
        measure("one address, one year", records, search(CdxQuery(url, since="2014", until="2015")))
        measure(
            "nearest to a time",
            records,
            lambda r: bool(find_nearest(r, url, captured_at, datetime14)),
        )
        measure("a host, 100 captures", records, search(CdxQuery(url, UrlMatch.HOST, limit=100)))
        measure("a host, all", records, search(CdxQuery(url, UrlMatch.HOST)))
        all_of = CdxQuery("example", UrlMatch.DOMAIN)
        measure("a domain of all captures, 10,000", records, search(all_of))
        nothing_query = CdxQuery(
            "example", UrlMatch.DOMAIN, filters=[CdxFilter.parse("mimetype:none")]
        )
        measure(
            "a filter that matches nothing, up to the scan limit", records, search(nothing_query)
        )
        records.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
