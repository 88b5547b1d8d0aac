"""A backfill that is killed, again and again, leaves what one that nobody disturbed leaves."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bulk_jobs import made_lines
from fonds.config import load_settings
from fonds.model.rows import CdxRow
from fonds.wiring.backends import close_stores, open_stores

pytestmark = pytest.mark.slow

KILLS = 20
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


def test_twenty_kills_change_nothing(tmp_path: Path) -> None:
    indexes = tmp_path / "indexes"
    indexes.mkdir()
    lines = made_lines(9, LINES, FILES)
    for number in range(6):
        (indexes / f"{number}.cdx").write_text("\n".join([*lines[number::6], ""]))
    whole, home = tmp_path / "whole", tmp_path / "home"
    began = time.monotonic()
    done = subprocess.run(words(whole, indexes), capture_output=True, check=True, timeout=300)
    lasted_s = time.monotonic() - began
    chance, killed = random.Random(4), 0
    for _ in range(KILLS):
        with subprocess.Popen(words(home, indexes), stdout=subprocess.PIPE) as running:
            try:
                running.wait(chance.uniform(0.2, 1.0) * lasted_s)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGKILL)
                killed += 1
    assert killed > KILLS // 4
    again = subprocess.run(words(home, indexes), capture_output=True, check=True, timeout=300)
    assert json.loads(again.stdout)["counts"] == json.loads(done.stdout)["counts"]
    assert left_in(home) == left_in(whole)
    assert [*(home / "bulk").iterdir()] == []
