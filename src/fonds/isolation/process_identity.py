"""Says which process this is and who runs it, and whether a process named so earlier is gone."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_UNKNOWN = "-"
_PARTS = 5


def identify(pid: int | None = None) -> str:
    """`host/boot/namespace/pid/start` of a process (None: this one); `-` where the system does not say.

    The start time tells a process from a later one that was given the same number.
    """
    number = os.getpid() if pid is None else pid
    start = _start(number) or _UNKNOWN
    return f"{socket.gethostname()}/{_read_boot_id()}/{_read_pid_namespace()}/{number}/{start}"


def create_worker_name() -> str:
    """A name for who works here that nobody else has, ever: the identity, and a random part."""
    return f"{identify()}/{secrets.token_hex(4)}"


def find_login_name() -> str:
    """Who runs this process, as far as the machine knows."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def is_process_gone(identity: str, *, same_machine: bool = False) -> bool:
    """Whether the process of an identity, or of a name made of one, has ended for certain.

    False when it cannot be told, as for a process in another container: its lease then decides. Where only
    processes of the `same_machine` are named, those from before it was started anew are gone; else they may
    be another machine's of the same name.
    """
    parts = identity.split("/")
    if len(parts) < _PARTS:
        return False
    _, boot_id, namespace, pid, start = parts[:_PARTS]
    if boot_id != _read_boot_id():
        return same_machine
    if namespace != _read_pid_namespace() or not pid.isdigit():
        return False
    if start == _UNKNOWN:
        return not _is_running(int(pid))
    return _start(int(pid)) != start


def format_identity(identity: str) -> str:
    """An identity for people."""
    parts = identity.split("/")
    return f"process {parts[3]} on {parts[0]}" if len(parts) >= _PARTS else identity


def _read_boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return _UNKNOWN


def _read_pid_namespace() -> str:
    """The number space process numbers belong to: containers have one each."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return _UNKNOWN


def _start(pid: int) -> str | None:
    """When a running process began, in clock ticks since boot; None for none and for a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The second field, a program's name in parentheses, may itself hold blanks and parentheses.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
