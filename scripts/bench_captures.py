"""What a question to the index of captures costs among a million of them, in milliseconds and rows read.

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


def row(number: int) -> CdxRow:
    """Capture after capture of a hundred pages of each of a thousand sites."""
    page = number % (SITES * PAGES)
    url = f"https://site{page % SITES}.example/section/page-{page // SITES}.html"
    key = build_surt(url)
    turn = number // (SITES * PAGES)
    return CdxRow(
        f"c{number}", f"{number:040x}", url, key, build_lookup_key(key), f"20{10 + turn:02d}0101000000",
        "text/html", 200, f"fonds-{number // 5000:05d}.warc.gz", 1000, number % 5000 * 1000, NOW,
    )  # fmt: skip


def measured(what: str, records: SqlRecords, act: Callable[[SqlRecords], object]) -> None:
    """Print the median of five times, and what came of it."""
    taken, found = [], None
    for _ in range(TIMES):
        began = time.perf_counter()
        found = act(records)
        taken.append(1000 * (time.perf_counter() - began))
    print(f"{what:60} {statistics.median(taken):9.1f} ms   {found}")


def main(captures: int) -> None:
    """Fill a database and ask."""
    with tempfile.TemporaryDirectory() as folder:
        records = open_sqlite(Path(folder) / "records.sqlite")
        for start in range(0, captures, 20_000):
            records.put([row(n) for n in range(start, min(start + 20_000, captures))])
        url, moment = "https://site7.example/section/page-7.html", "20140601000000"
        when = parse_datetime14(moment)

        def said(query: CdxQuery) -> Callable[[SqlRecords], str]:
            def act(records: SqlRecords) -> str:
                found = run_query(records, query)
                return f"{len(found.rows):,} rows of {found.scanned:,} looked at"

            return act

        measured("one address", records, said(CdxQuery(url)))
        measured("one address, one year", records, said(CdxQuery(url, since="2014", until="2015")))
        measured("nearest to a time", records, lambda r: bool(find_nearest(r, url, when, moment)))
        measured("a host, 100 captures", records, said(CdxQuery(url, UrlMatch.HOST, limit=100)))
        measured("a host, all", records, said(CdxQuery(url, UrlMatch.HOST)))
        all_of = CdxQuery("example", UrlMatch.DOMAIN)
        measured("a domain of all captures, 10,000", records, said(all_of))
        none = CdxQuery("example", UrlMatch.DOMAIN, filters=[CdxFilter.parse("mimetype:none")])
        measured("a filter nothing passes, as far as is looked", records, said(none))
        records.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
