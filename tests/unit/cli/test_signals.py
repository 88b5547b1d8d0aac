"""Signals to stop are heeded whatever the main thread holds."""

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

HELD = """
import os, signal, sys, threading
from fonds.cli.process import handle_stop_signals

stopped = threading.Event()
held = stopped._cond._lock if sys.argv[1] == "event" else threading.Lock()

def stop(number):
    if sys.argv[1] == "exit":
        os._exit(7)
    stopped.set()
    print("heeded", number.name, flush=True)

with handle_stop_signals(stop):
    with held:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(10_000):  # the handler runs here, between two of these
            pass
        if sys.argv[1] == "exit":
            held.acquire()  # for ever
    stopped.wait(60)
print("left", flush=True)
"""


def _run(what: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HELD, what], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_signal_is_heeded_while_the_main_thread_holds_the_lock_of_the_event_that_is_set() -> None:
    ended = _run("event")
    assert (ended.returncode, ended.stdout) == (0, "heeded SIGTERM\nleft\n"), ended.stderr


def test_a_signal_ends_the_process_though_the_main_thread_waits_for_a_lock_for_ever() -> None:
    assert _run("exit").returncode == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_each_signal_is_heeded_in_order_before_the_end_and_handlers_are_as_before(
    number: signal.Signals,
) -> None:
    before = signal.getsignal(number)
    heeded: list[tuple[signal.Signals, str]] = []
    with handle_stop_signals(lambda each: heeded.append((each, threading.current_thread().name))):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGTERM)
    assert sorted(each for each, _ in heeded) == sorted([number, signal.SIGTERM])
    assert {thread for _, thread in heeded} == {"signals"}
    assert signal.getsignal(number) is before


def test_handlers_are_as_before_when_what_was_inside_fails() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyError), handle_stop_signals(lambda number: None):
        raise KeyError
    assert signal.getsignal(signal.SIGTERM) is before


def _open_pipes() -> set[str]:
    """Those of this process, by their inodes; other files may be closed at any time by who left them open."""
    found = set()
    for one in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(str(one.readlink()))
    return {one for one in found if one.startswith("pipe:")}


def test_no_pipe_is_left_open() -> None:
    before = _open_pipes()
    with handle_stop_signals(lambda number: None):
        assert len(_open_pipes() - before) == 1
    assert _open_pipes() <= before
