"""Telling whether a process named earlier is gone."""

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
    """A process that lives until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_this_process_and_one_that_runs_are_not_gone(sleeper: subprocess.Popen[bytes]) -> None:
    assert not is_process_gone(identify())
    assert not is_process_gone(identify(sleeper.pid))


def test_a_killed_process_is_gone_even_before_its_parent_takes_notice(
    sleeper: subprocess.Popen[bytes],
) -> None:
    identity = identify(sleeper.pid)
    sleeper.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert is_process_gone(identity)
    sleeper.wait()
    assert is_process_gone(identity)


def test_a_later_process_with_the_same_number_is_another() -> None:
    *place, pid, start = identify().split("/")
    assert is_process_gone("/".join([*place, pid, str(int(start) - 1)]))


def test_after_a_restart_of_the_machine_everybody_of_it_is_gone() -> None:
    host, _, namespace, pid, start = identify().split("/")
    earlier = f"{host}/00000000-0000/{namespace}/{pid}/{start}"
    assert is_process_gone(earlier, same_machine=True)
    # Of two machines that have one name, none may take what is the other's.
    assert not is_process_gone(earlier)


def test_a_process_in_another_container_cannot_be_told_and_counts_as_there() -> None:
    host, boot_id, _, _, _ = identify().split("/")
    assert not is_process_gone(f"{host}/{boot_id}/1/999999/5")


@pytest.mark.parametrize("name", ["", "archive-2:4711:ab12", "a/b/c/d", "a/b/c/d/e", "////"])
def test_of_a_name_that_is_none_of_ours_nothing_is_known(name: str) -> None:
    assert not is_process_gone(name)


def test_names_of_one_process_differ_and_live_and_die_with_it(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert create_worker_name() != create_worker_name()
    assert not is_process_gone(create_worker_name())
    other = f"{identify(sleeper.pid)}/ab12"
    sleeper.kill()
    sleeper.wait()
    assert is_process_gone(other)
    assert format_identity(other).startswith(f"process {sleeper.pid} on ")


def test_a_program_name_with_blanks_and_parentheses_is_no_hindrance(tmp_path: Path) -> None:
    odd = tmp_path / ") S 1 (x y"
    odd.symlink_to(sys.executable)
    process = subprocess.Popen([odd, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identify(process.pid)
    assert identity.rpartition("/")[2].isdigit()
    assert not is_process_gone(identity)
    process.kill()
    process.communicate()
    assert is_process_gone(identity)


def test_where_the_system_tells_no_start_the_number_decides(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_identity, "_start", lambda pid: None)
    identity = identify(sleeper.pid)
    assert not is_process_gone(identity)
    sleeper.kill()
    sleeper.wait()
    assert is_process_gone(identity)
