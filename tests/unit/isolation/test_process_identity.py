"""Detecting whether a process with a recorded identity has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.isolation import process_identity
from fonds.isolation.process_identity import (
    create_worker_name,
    format_identity,
    identify,
    is_process_gone,
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_running_processes_are_not_gone(sleeper: subprocess.Popen[bytes]) -> None:
    assert not is_process_gone(identify())
    assert not is_process_gone(identify(sleeper.pid))


def test_a_killed_process_is_gone_even_before_it_is_reaped(
    sleeper: subprocess.Popen[bytes],
) -> None:
    identity = identify(sleeper.pid)
    sleeper.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert is_process_gone(identity)
    sleeper.wait()
    assert is_process_gone(identity)


def test_a_later_process_with_the_same_pid_is_another_process() -> None:
    *place, pid, start = identify().split("/")
    assert is_process_gone("/".join([*place, pid, str(int(start) - 1)]))


def test_after_a_reboot_all_processes_of_the_machine_are_gone() -> None:
    host, _, namespace, pid, start = identify().split("/")
    earlier = f"{host}/00000000-0000/{namespace}/{pid}/{start}"
    assert is_process_gone(earlier, same_machine=True)
    # Two machines with equal names must not take over each other's work.
    assert not is_process_gone(earlier)


def test_a_process_in_another_container_counts_as_running() -> None:
    host, boot_id, _, _, _ = identify().split("/")
    assert not is_process_gone(f"{host}/{boot_id}/1/999999/5")


@pytest.mark.parametrize("name", ["", "archive-2:4711:ab12", "a/b/c/d", "a/b/c/d/e", "////"])
def test_an_invalid_identity_counts_as_running(name: str) -> None:
    assert not is_process_gone(name)


def test_worker_names_are_unique_and_end_with_their_process(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert create_worker_name() != create_worker_name()
    assert not is_process_gone(create_worker_name())
    sleeper_name = f"{identify(sleeper.pid)}/ab12"
    sleeper.kill()
    sleeper.wait()
    assert is_process_gone(sleeper_name)
    assert format_identity(sleeper_name).startswith(f"process {sleeper.pid} on ")


def test_a_program_name_with_spaces_and_parentheses_is_parsed(tmp_path: Path) -> None:
    odd = tmp_path / ") S 1 (x y"
    odd.symlink_to(sys.executable)
    process = subprocess.Popen([odd, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identify(process.pid)
    assert identity.rpartition("/")[2].isdigit()
    assert not is_process_gone(identity)
    process.kill()
    process.communicate()
    assert is_process_gone(identity)


def test_without_a_start_time_the_pid_decides(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_identity, "_start", lambda pid: None)
    identity = identify(sleeper.pid)
    assert not is_process_gone(identity)
    sleeper.kill()
    sleeper.wait()
    assert is_process_gone(identity)
