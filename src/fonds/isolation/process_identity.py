"""Identity of a process, login name of its user, and detection of processes that have ended."""

from __future__ import annotations

import functools
import getpass
import os
import secrets
import socket
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STAT_MAX_BYTES = 4096
_UNKNOWN = "-"
_PARTS = 5


def identify(pid: int | None = None) -> str:
    """Return text that identifies a process: `host/boot/namespace/pid/start`. Unknown parts are
    `-`.

    The parts are the name and boot id of the machine, the namespace of process ids, the process id
    and the start time. The start time distinguishes a process from a later one with the same
    process id. `pid` None means this process.
    """
    number = os.getpid() if pid is None else pid
    start = _start(number) or _UNKNOWN
    return f"{socket.gethostname()}/{_read_boot_id()}/{_read_pid_namespace(os.getpid())}/{number}/{start}"


def create_worker_name() -> str:
    """Return a globally unique name for a worker: identity of this process and a random suffix."""
    return f"{identify()}/{secrets.token_hex(4)}"


def find_login_name() -> str:
    """Return the login name of this process's user, or `unknown`."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def is_process_gone(identity: str, *, same_machine: bool = False) -> bool:
    """Return whether the process with this identity, or with a name made from it, has certainly
    ended.

    Returns False if that is unknown, as for a process in another container. If the boot id in the
    identity is not that of this machine, the process ran before a restart or on another machine
    with the same host name. Then the result is `same_machine`, which the caller sets if the process
    certainly ran on this machine.
    """
    parts = identity.split("/")
    if len(parts) < _PARTS:
        return False
    _, boot_id, namespace, pid, start = parts[:_PARTS]
    if boot_id != _read_boot_id():
        return same_machine
    if namespace != _read_pid_namespace(os.getpid()) or not pid.isdigit():
        return False
    if start == _UNKNOWN:
        return not _is_running(int(pid))
    return _start(int(pid)) != start


def format_identity(identity: str) -> str:
    """Format the identity of a process for people: `process PID on HOST`."""
    parts = identity.split("/")
    return f"process {parts[3]} on {parts[0]}" if len(parts) >= _PARTS else identity


@functools.cache
def _read_boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return _UNKNOWN


@functools.lru_cache(maxsize=1)
def _read_pid_namespace(own_pid: int) -> str:
    """Return the id of this process's namespace of process ids, which differs in each container.

    A process keeps its namespace. `own_pid` is the id of this process, so that a forked process
    reads its own.
    """
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return _UNKNOWN


def _start(pid: int) -> str | None:
    """Return when a process started, in clock ticks since boot; None if it has ended or is a
    zombie.
    """
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        stat = os.read(descriptor, _STAT_MAX_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    # The second field, a program name in parentheses, may itself contain blanks and parentheses.
    fields = stat.rpartition(b")")[2].decode().split()
    return None if fields[0] in "ZX" else fields[19]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
