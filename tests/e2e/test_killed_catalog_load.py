"""A catalogue load that is killed and restarted gives the same result as an undisturbed one."""

from __future__ import annotations

import gzip
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from depth import kills
from fonds.config import load_settings
from fonds.model.errors import ConfigurationError
from fonds.papers.catalog.loader import BATCH, iter_loaded_files
from fonds.papers.catalog.store import Catalog, name_catalog_table
from fonds.ports.scan import iter_rows
from fonds.stores.table.sqlite import SqliteTable
from fonds.wiring.stores import close_stores, open_stores

KILLS = kills(3, nightly=5)
WORKS, REVISED = 16_000, 4_000
POLLED_S = 0.02


def build_command(home: Path, inputs: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "fonds", "--home", str(home), "--json"),
        *("catalog", "load", str(inputs)),
    ]


def make_record(number: int, edition: int) -> dict[str, object]:
    """Return a work. Another edition has another title, year and volume, and so other keys."""
    return {
        "DOI": f"10.5555/work.{number}",
        "type": "journal-article",
        "title": [f"On the slow meandering of river {number} in the {edition} edition"],
        "author": [{"family": f"Stroom{number % 700}", "given": "Ada"}],
        "issued": {"date-parts": [[1950 + number % 60 + edition]]},
        "volume": str(number % 40 + edition),
    }


def make_input(folder: Path) -> None:
    """Write works, later editions in the same or the next file, and some invalid lines."""
    folder.mkdir()
    chance = random.Random(11)
    lines = [json.dumps(make_record(number, 0)) for number in range(WORKS)]
    later_editions = [
        json.dumps(make_record(number, 1)) for number in chance.sample(range(WORKS), REVISED)
    ]
    lines = [*lines, *later_editions, *(["no record"] * 5)]
    first, later = lines[: WORKS // 2], lines[WORKS // 2 :]
    chance.shuffle(later)
    packed = gzip.compress("\n".join([*first, *later[::2], ""]).encode(), 1, mtime=0)
    (folder / "0.jsonl.gz").write_bytes(packed)
    (folder / "1.jsonl").write_text("\n".join([*later[1::2], ""]))


def read_rows(home: Path) -> list[tuple[bytes, dict[str, bytes]]]:
    settings = load_settings(home, {})
    stores = open_stores(home, settings)
    try:
        return [*iter_rows(stores.table, name_catalog_table(settings.group, settings.env))]
    finally:
        close_stores(stores)


def count_loaded(home: Path) -> int:
    """Return the number of loaded records according to the home."""
    if not (home / "table.sqlite").exists():
        return 0
    settings, table = load_settings(home, {}), SqliteTable(home / "table.sqlite")
    try:
        catalog = Catalog(table, name_catalog_table(settings.group, settings.env))
        return sum(loaded_file.position for loaded_file in iter_loaded_files(catalog))
    except ConfigurationError:
        return 0  # The table is not declared yet.
    finally:
        table.close()


def kill_after_batch(home: Path, inputs: Path, wait_s: float) -> bool:
    """Kill a load some time after its first batch. Returns False if it ended before."""
    before = count_loaded(home)
    with subprocess.Popen(build_command(home, inputs), stdout=subprocess.PIPE) as process:
        while process.poll() is None and count_loaded(home) == before:
            time.sleep(POLLED_S)
        time.sleep(wait_s)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def test_a_killed_load_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    inputs, undisturbed_home, home = (tmp_path / name for name in ("crossref", "whole", "home"))
    make_input(inputs)
    began = time.monotonic()
    undisturbed_run = subprocess.run(
        build_command(undisturbed_home, inputs), capture_output=True, timeout=300, check=True
    )
    batch_s = (time.monotonic() - began) * BATCH / (WORKS + REVISED)
    chance, killed = random.Random(5), 0
    for _ in range(KILLS):
        killed += kill_after_batch(home, inputs, chance.uniform(0, batch_s))
    assert killed > KILLS // 2
    last_run = subprocess.run(
        build_command(home, inputs), capture_output=True, timeout=300, check=True
    )
    summary, expected = (
        json.loads(process.stdout) | {"seconds": None} for process in (last_run, undisturbed_run)
    )
    assert summary == expected
    assert summary["loaded"] == {"crossref": WORKS + REVISED}
    assert sum(summary["refused"].values()) == 5
    assert read_rows(home) == read_rows(undisturbed_home)
