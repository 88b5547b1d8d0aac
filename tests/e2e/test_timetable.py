"""`fonds run` runs recurring tasks, and `fonds timetable` shows them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from e2e.running import fonds
from fonds.config import load_settings
from fonds.model.rows import CrashedPdfRow, TimetableRow
from fonds.wiring.stores import close_stores, open_stores

PATIENCE_S = 120.0
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def load_sweep(home: Path) -> dict[str, Any]:
    """Return the task `sweep`."""
    tasks = fonds(home, "timetable", "--json").last["tasks"]
    sweep = next((task for task in tasks if task["name"] == "sweep"), None)
    assert sweep is not None, tasks
    return dict(sweep)


def test_a_service_runs_an_overdue_sweep_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    leftover = home / "tmp" / "left-behind"
    leftover.write_bytes(b"left")
    os.utime(leftover, (0, 0))
    stores = open_stores(home, load_settings(home))
    stores.records.put(
        [
            CrashedPdfRow("a" * 40, "reader", "error-timeout", "why", LONG_AGO, LONG_AGO),
            TimetableRow("sweep", "", 86_400, "03:00", LONG_AGO, None, 0, None, None, None, 0, 0),
        ]
    )
    close_stores(stores)
    result = fonds(home, "timetable")
    assert result.code == 0, result.err
    assert "sweep" in result.out
    assert "never" in result.out

    command = [sys.executable, "-m", "fonds", "--home", str(home), "run"]
    service = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    while leftover.exists() or not load_sweep(home)["runs"]:
        assert time.monotonic() < deadline
        assert service.poll() is None
        time.sleep(0.3)
    service.terminate()
    assert service.wait(PATIENCE_S) == 0

    task = load_sweep(home)
    assert (task["runs"], task["failures"], task["last_error"]) == (1, 0, None)
    due = datetime.fromisoformat(task["next_due"])
    assert due < datetime.now(UTC) + timedelta(days=2)
    assert due.hour in (3, 4)
    assert "ok, 20" in fonds(home, "timetable").out
    stores = open_stores(home, load_settings(home))
    assert stores.records.count(CrashedPdfRow) == {(): 0}
    close_stores(stores)


def test_a_home_without_a_service_has_no_recurring_tasks(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert "No recurring tasks yet" in fonds(home, "timetable").out
    assert fonds(home, "timetable", "--json").last["tasks"] == []
