"""Further processes that work a home off: what becomes of one that has ended before it was told anything."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from fonds.cli import worker_processes
from fonds.cli.main import run
from fonds.cli.worker_processes import WorkerProcesses
from fonds.config import load_settings
from fonds.model.errors import ConfigurationError, StorageFullError, StoreUnavailableError
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


def test_a_home_in_use_by_workers_names_no_process_that_had_it_before(tmp_path: Path) -> None:
    with HomeLock(tmp_path):
        pass
    with (
        HomeLock(tmp_path, shared=True),
        pytest.raises(ConfigurationError, match="is in use by workers"),
        HomeLock(tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError("no such pipeline"), 2),
        (StorageFullError("No space left"), 1),
        (StoreUnavailableError("the index does not respond"), 1),
        (OSError(errno.ENOSPC, "No space left on device"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_the_exit_code_says_whether_the_same_command_may_succeed_later(
    error: BaseException, code: int
) -> None:
    """2 means that the command or a setting is wrong. A full disk is not: once there is space, it works."""

    def fail() -> None:
        raise error

    assert run(fail) == code
