"""Worker processes of a home, and exit codes."""

from __future__ import annotations

import ctypes
import errno
import subprocess
import sys
from pathlib import Path

import pytest

from fonds.cli import worker_processes
from fonds.cli.main import run
from fonds.cli.process import ARENAS_MAX
from fonds.cli.worker_processes import WorkerProcesses
from fonds.config import load_settings
from fonds.model.errors import ConfigurationError, StorageFullError, StoreUnavailableError
from fonds.stores.home_lock import HomeLock


def test_a_process_that_ends_early_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class EndedProcess(worker_processes.subprocess.Popen[bytes]):
        """Process that was killed between its start and its first message."""

        def __init__(self, words: object, **options: object) -> None:
            super().__init__([sys.executable, "-c", ""], **options)  # type: ignore[call-overload]
            self.wait()

    monkeypatch.setattr(worker_processes.subprocess, "Popen", EndedProcess)
    with HomeLock(tmp_path) as lock:
        processes = WorkerProcesses(tmp_path, load_settings(tmp_path, {}), ("identify",), lock, 1)
        processes._start()
        processes.stop()
    assert processes.started == 1


COUNT_ARENAS = """
import ctypes, sys, threading
from fonds.cli.process import share_arenas

if sys.argv[1] == "shared":
    share_arenas()
barrier = threading.Barrier(12)
threads = [threading.Thread(target=lambda: (bytearray(5000), barrier.wait())) for _ in range(12)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, stream)
libc.fclose(stream)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc")
@pytest.mark.parametrize(("how", "is_limited"), [("shared", True), ("separate", False)])
def test_threads_share_two_arenas_of_memory(how: str, is_limited: bool, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    subprocess.run([sys.executable, "-c", COUNT_ARENAS, how, str(report)], check=True)
    count = report.read_text().count("<heap nr=")
    assert (count <= ARENAS_MAX) == is_limited


def test_a_home_in_use_by_workers_names_no_earlier_process(tmp_path: Path) -> None:
    with HomeLock(tmp_path):
        pass
    with (
        HomeLock(tmp_path, is_shared=True),
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
def test_the_exit_code_distinguishes_usage_errors_from_temporary_failures(
    error: BaseException, code: int
) -> None:
    """2 means that the command or a setting is wrong. A full disk is not: the command works once
    there is space."""

    def raise_error() -> None:
        raise error

    assert run(raise_error) == code
