"""Loading the catalogue, killed and begun again, leaves what a load that nobody disturbed leaves."""

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


def words(home: Path, inputs: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "fonds", "--home", str(home), "--json"),
        *("catalog", "load", str(inputs)),
    ]


def made_record(number: int, edition: int) -> dict[str, object]:
    """A work; another edition has another title, year and volume, so that other keys lead to it."""
    return {
        "DOI": f"10.5555/work.{number}",
        "type": "journal-article",
        "title": [f"On the slow meandering of river {number} in the {edition} edition"],
        "author": [{"family": f"Stroom{number % 700}", "given": "Ada"}],
        "issued": {"date-parts": [[1950 + number % 60 + edition]]},
        "volume": str(number % 40 + edition),
    }


def make_input(folder: Path) -> None:
    """Works; of a part a second edition comes in the same file or the next one; some lines are no records."""
    folder.mkdir()
    chance = random.Random(11)
    lines = [json.dumps(made_record(number, 0)) for number in range(WORKS)]
    again = [json.dumps(made_record(number, 1)) for number in chance.sample(range(WORKS), REVISED)]
    lines = [*lines, *again, *(["no record"] * 5)]
    first, later = lines[: WORKS // 2], lines[WORKS // 2 :]
    chance.shuffle(later)
    packed = gzip.compress("\n".join([*first, *later[::2], ""]).encode(), 1, mtime=0)
    (folder / "0.jsonl.gz").write_bytes(packed)
    (folder / "1.jsonl").write_text("\n".join([*later[1::2], ""]))


def left_in(home: Path) -> list[tuple[bytes, dict[str, bytes]]]:
    settings = load_settings(home, {})
    stores = open_stores(home, settings)
    try:
        return [*iter_rows(stores.table, name_catalog_table(settings.group, settings.env))]
    finally:
        close_stores(stores)


def position_in(home: Path) -> int:
    """How many records the marks of the home say are loaded."""
    if not (home / "table.sqlite").exists():
        return 0
    settings, table = load_settings(home, {}), SqliteTable(home / "table.sqlite")
    try:
        catalog = Catalog(table, name_catalog_table(settings.group, settings.env))
        return sum(loaded_file.position for loaded_file in iter_loaded_files(catalog))
    except ConfigurationError:
        return 0  # it is not declared as yet
    finally:
        table.close()


def kill_behind_a_batch(home: Path, inputs: Path, wait_s: float) -> bool:
    """Kill a load some time after its first mark; False where it ended before."""
    before = position_in(home)
    with subprocess.Popen(words(home, inputs), stdout=subprocess.PIPE) as running:
        while running.poll() is None and position_in(home) == before:
            time.sleep(POLLED_S)
        time.sleep(wait_s)
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
    return running.returncode == -signal.SIGKILL


def test_kills_change_nothing(tmp_path: Path) -> None:
    inputs, whole, home = (tmp_path / name for name in ("crossref", "whole", "home"))
    make_input(inputs)
    began = time.monotonic()
    done = subprocess.run(words(whole, inputs), capture_output=True, timeout=300, check=True)
    batch_s = (time.monotonic() - began) * BATCH / (WORKS + REVISED)
    chance, killed = random.Random(5), 0
    for _ in range(KILLS):
        killed += kill_behind_a_batch(home, inputs, chance.uniform(0, batch_s))
    assert killed > KILLS // 2
    again = subprocess.run(words(home, inputs), capture_output=True, timeout=300, check=True)
    told = [json.loads(one.stdout) | {"seconds": None} for one in (again, done)]
    assert told[0] == told[1]
    assert told[0]["loaded"] == {"crossref": WORKS + REVISED}
    assert sum(told[0]["refused"].values()) == 5
    assert left_in(home) == left_in(whole)
