"""Stop signals are handled whatever lock the main thread holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from fonds.cli.process import handle_stop_signals

SCRIPT = """
import os, signal, sys, threading
from fonds.cli.process import handle_stop_signals

stopped = threading.Event()
lock = stopped._cond._lock if sys.argv[1] == "event" else threading.Lock()

def stop(number):
    if sys.argv[1] == "exit":
        os._exit(7)
    stopped.set()
    print("handled", number.name, flush=True)

with handle_stop_signals(stop):
    with lock:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(10_000):  # the handler runs here, between two of these
            pass
        if sys.argv[1] == "exit":
            lock.acquire()  # forever
    stopped.wait(60)
print("finished", flush=True)
"""


def _run_script(case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, case],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_signal_is_handled_while_the_main_thread_holds_the_lock_of_the_event() -> None:
    process = _run_script("event")
    assert (process.returncode, process.stdout) == (0, "handled SIGTERM\nfinished\n"), (
        process.stderr
    )


def test_a_signal_ends_a_process_whose_main_thread_waits_forever() -> None:
    assert _run_script("exit").returncode == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_handled_in_order_and_handlers_are_restored(
    number: signal.Signals,
) -> None:
    handler_before = signal.getsignal(number)
    signals_received: list[tuple[signal.Signals, str]] = []
    with handle_stop_signals(
        lambda received: signals_received.append((received, threading.current_thread().name))
    ):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGTERM)
    assert sorted(received for received, _ in signals_received) == sorted([number, signal.SIGTERM])
    assert {thread for _, thread in signals_received} == {"signals"}
    assert signal.getsignal(number) is handler_before


def test_handlers_are_restored_after_an_exception() -> None:
    handler_before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyError), handle_stop_signals(lambda number: None):
        raise KeyError
    assert signal.getsignal(signal.SIGTERM) is handler_before


def _open_pipes() -> set[str]:
    """Return the pipes of this process by inode. Other files may be closed at any time by their
    owners."""
    targets = set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            targets.add(str(link.readlink()))
    return {link for link in targets if link.startswith("pipe:")}


def test_no_pipe_stays_open() -> None:
    pipes_before = _open_pipes()
    with handle_stop_signals(lambda number: None):
        assert len(_open_pipes() - pipes_before) == 1
    assert _open_pipes() <= pipes_before
