"""A backfill that is killed, again and again, leaves what one that nobody disturbed leaves."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

from bulk_jobs import made_lines
from depth import kills
from fonds.config import load_settings
from fonds.model.rows import CdxRow
from fonds.wiring.stores import close_stores, open_stores
from killing import killed_behind

KILLS, CHANGES = kills(8, nightly=20), 30
LINES, FILES = 12_000, 250


def words(home: Path, indexes: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "fonds", "--home", str(home), "--json"),
        *("backfill", "cdx", str(indexes), "--workers", "2"),
    ]


def left_in(home: Path) -> tuple[list[object], list[object]]:
    stores = open_stores(home, load_settings(home, {}))
    try:
        cells = stores.table.scan(stores.journal, count_max=10**6)
        rows = [
            (one.capture_id, one.warc_path, one.warc_offset) for one in stores.records.find(CdxRow)
        ]
        return [*cells], [*rows]
    finally:
        close_stores(stores)


def test_kills_change_nothing(tmp_path: Path) -> None:
    indexes = tmp_path / "indexes"
    indexes.mkdir()
    lines = made_lines(9, LINES, FILES)
    for number in range(6):
        (indexes / f"{number}.cdx").write_text("\n".join([*lines[number::6], ""]))
    whole, home = tmp_path / "whole", tmp_path / "home"
    done = subprocess.run(words(whole, indexes), capture_output=True, check=True, timeout=300)
    chance = random.Random(4)
    said = words(home, indexes)
    killed = [killed_behind(said, home, chance.randrange(1, CHANGES)) for _ in range(KILLS)]
    assert sum(killed) > KILLS // 4
    again = subprocess.run(words(home, indexes), capture_output=True, check=False, timeout=300)
    assert again.returncode == 0, again.stderr.decode()[-2000:]
    assert json.loads(again.stdout)["counts"] == json.loads(done.stdout)["counts"]
    assert left_in(home) == left_in(whole)
    assert [*(home / "bulk").iterdir()] == []
