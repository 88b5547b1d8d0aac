"""Further processes that work a home off: what becomes of one that has ended before it was told anything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fonds.cli import worker_processes
from fonds.cli.worker_processes import WorkerProcesses
from fonds.config import load_settings
from fonds.stores.home_lock import HomeLock


def test_one_that_ends_before_it_is_told_its_work_ends_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ended(worker_processes.subprocess.Popen[bytes]):
        """As when it is killed between its start and its first word."""

        def __init__(self, words: object, **more: object) -> None:
            super().__init__([sys.executable, "-c", ""], **more)  # type: ignore[call-overload]
            self.wait()

    monkeypatch.setattr(worker_processes.subprocess, "Popen", Ended)
    with HomeLock(tmp_path) as lock:
        one = WorkerProcesses(tmp_path, load_settings(tmp_path, {}), ("identify",), lock, 1)
        one._start()
        one.stop()
    assert one.started == 1
