"""A backfill that is killed repeatedly gives the same result as an undisturbed one."""

from __future__ import annotations

import random
from pathlib import Path

from bulk_jobs import generate_cdx_lines
from depth import kills
from e2e.running import fonds
from fonds.config import load_settings
from fonds.model.rows import CdxRow
from fonds.wiring.stores import close_stores, open_stores
from killing import kill_after_changes

KILLS, CHANGES = kills(8, nightly=20), 30
LINES, FILES = 12_000, 250


def read_rows(home: Path) -> tuple[list[object], list[object]]:
    stores = open_stores(home, load_settings(home, {}))
    try:
        cells = stores.table.scan(stores.journal, count_max=10**6)
        rows = [
            (row.capture_id, row.warc_path, row.warc_offset) for row in stores.records.find(CdxRow)
        ]
        return [*cells], [*rows]
    finally:
        close_stores(stores)


def test_a_killed_backfill_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    indexes = tmp_path / "indexes"
    indexes.mkdir()
    lines = generate_cdx_lines(9, LINES, FILES)
    for number in range(6):
        (indexes / f"{number}.cdx").write_text("\n".join([*lines[number::6], ""]))
    undisturbed_home, home = tmp_path / "whole", tmp_path / "home"
    words = ("backfill", "cdx", str(indexes), "--workers", "2", "--json")
    undisturbed_run = fonds(undisturbed_home, *words)
    assert undisturbed_run.code == 0, undisturbed_run.err
    chance = random.Random(4)
    killed = [kill_after_changes(home, words, chance.randrange(1, CHANGES)) for _ in range(KILLS)]
    assert sum(killed) > KILLS // 4
    last_run = fonds(home, *words)
    assert last_run.code == 0, last_run.err[-2000:]
    assert last_run.last["counts"] == undisturbed_run.last["counts"]
    assert read_rows(home) == read_rows(undisturbed_home)
    assert [*(home / "bulk").iterdir()] == []
