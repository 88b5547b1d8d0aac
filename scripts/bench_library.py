"""Measure the pages of a large library: fill the ledger, then request each page a few times.

    python scripts/bench_library.py --entries 1000000
    python scripts/bench_library.py --entries 1000000 --records "$TEST_POSTGRESQL_URL"

The database of `--records` is filled and not cleared afterwards: use a separate one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fonds.config import load_settings
from fonds.model.rows import EntryRow
from fonds.web.app import create_app
from fonds.web.html.paging import PageCursor
from fonds.wiring.stores import close_stores, open_stores
from many_entries import ADDRESSES, fill_entries  # type: ignore[import-not-found]

ROUNDS = 5
PIPELINES = 2
GOAL_MS = 50.0


def main() -> None:
    """Fill the library, request its pages, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--records", default="sqlite:records.sqlite", help="URL of the records")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stores = open_stores(
            Path(folder), load_settings(Path(folder)).replace_values(records=chosen.records)
        )
        if not stores.records.count(EntryRow)[()]:
            started = time.process_time()
            fill_entries(stores, chosen.entries // PIPELINES)
            print(f"filled in {time.process_time() - started:.0f} s of CPU")
        count = stores.records.count(EntryRow)[()]
        print(
            f"{count:,} entries; minimum of {ROUNDS}, ms per request: CPU of this process, wall clock"
        )
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            for address in (*ADDRESSES, *_build_deep_addresses(stores.records, count)):
                cpu, wall = _measure(client, address)
                over = "  over 50" if max(cpu, wall) > GOAL_MS else ""
                print(f"{cpu:7.1f} {wall:7.1f}  {address[:90]}{over}")
        close_stores(stores)


def _build_deep_addresses(records: object, count: int) -> list[str]:
    """Return addresses in the middle of long lists."""
    (middle,) = records.find(  # type: ignore[attr-defined]
        EntryRow, {"entry_id": f"capture-{count // 4 // 6 * 6:05d}", "pipeline": "library"}
    )
    mark = PageCursor(count // 2, middle.settled_at, (middle.entry_id, middle.pipeline)).encode()
    return [
        f"/records?{urlencode({**narrowed, 'after': mark})}"
        for narrowed in ({}, {"outcome": "done"}, {"weight": "skipped"}, {"step": "identify"})
    ]


def _measure(client: TestClient, address: str) -> tuple[float, float]:
    """Return the minimum CPU and wall milliseconds of some rounds."""
    times = []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        answer = client.get(address)
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
        answer.raise_for_status()
    return 1e3 * min(cpu for cpu, _ in times), 1e3 * min(wall for _, wall in times)


if __name__ == "__main__":
    main()
