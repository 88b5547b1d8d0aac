"""A backfill that is killed, again and again, leaves what one that nobody disturbed leaves."""

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
    lines = generate_cdx_lines(9, LINES, FILES)
    for number in range(6):
        (indexes / f"{number}.cdx").write_text("\n".join([*lines[number::6], ""]))
    whole, home = tmp_path / "whole", tmp_path / "home"
    said = ("backfill", "cdx", str(indexes), "--workers", "2", "--json")
    done = fonds(whole, *said)
    assert done.code == 0, done.err
    chance = random.Random(4)
    killed = [kill_after_changes(home, said, chance.randrange(1, CHANGES)) for _ in range(KILLS)]
    assert sum(killed) > KILLS // 4
    again = fonds(home, *said)
    assert again.code == 0, again.err[-2000:]
    assert again.last["counts"] == done.last["counts"]
    assert left_in(home) == left_in(whole)
    assert [*(home / "bulk").iterdir()] == []
