"""`fonds timetable` shows the schedule and the last result of each recurring task."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from filled_home import open_home
from fonds.cli.main import cli
from fonds.model.rows import TimetableRow

STARTED_AT = datetime(2026, 1, 1, tzinfo=UTC)
TASK = TimetableRow("sweep", "", 90, "", STARTED_AT, None, 0, STARTED_AT, STARTED_AT, None, 0, 1)
FAILED_TASK = replace(TASK, last_error="disk [full]", failures=2)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (TASK, "every 90 s"),
        (replace(TASK, every_s=7200), "every 2 h"),
        (replace(TASK, daily_at="03:00"), "daily at 03:00"),
        (TASK, "ok, 2026-01-01 00:00:00"),
        (replace(TASK, lease_holder="host/1"), "running: host/1"),
        (replace(FAILED_TASK, failures=1), "failed: disk [full]"),
        (FAILED_TASK, "failed 2 times: disk [full]"),
    ],
)
def test_a_task_has_a_schedule_and_a_result(tmp_path: Path, task: TimetableRow, text: str) -> None:
    assert text in show_task(tmp_path, task)


def test_a_long_error_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fonds.cli.timetable.ERROR_MAX_CHARS", 4)
    assert "failed 2 times: disk…" in show_task(tmp_path, FAILED_TASK)


def show_task(home: Path, task: TimetableRow) -> str:
    with open_home(home) as stores:
        stores.records.put([task])
    runner = CliRunner(env={"COLUMNS": "200"})
    return runner.invoke(cli, ["--home", str(home), "timetable"]).stdout
