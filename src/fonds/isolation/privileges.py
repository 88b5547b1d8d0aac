"""User and privileges of a child process.

A child is not an administrator, has no privileges, cannot be inspected by other processes, and ends
with its parent.

Source: prctl(2), capabilities(7), credentials(7), ptrace(2) on which processes may inspect a
process.
"""

from __future__ import annotations

import ctypes
import os
import platform
import pwd
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fonds.isolation.kernel import (
    CAP_AMBIENT,
    CAPBSET_DROP,
    DUMPABLE,
    GET_DUMPABLE,
    NO_NEW_PRIVS,
    PDEATHSIG,
    call_kernel,
    call_prctl,
)

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES_VERSION = 0x20080522
_CAPABILITIES_MAX = 64
_AMBIENT_CLEAR = 4
_OVERFLOW_ID = 65534
_OOM_SCORE = "800"


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilitySets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@dataclass(frozen=True, slots=True)
class ChildUser:
    """User and group that a child becomes if an administrator started it."""

    user_id: int
    group_id: int


def choose_user(libraries: Iterable[Path]) -> ChildUser | str:
    """Return the user that a child should become, or the reason why the child keeps the current
    user.

    The reason is '' if this process does not run as administrator. The user must be able to read
    the files and folders in `libraries`.
    """
    if os.geteuid() != 0:
        return ""
    try:
        entry = pwd.getpwnam("nobody")
        child_user = ChildUser(entry.pw_uid, entry.pw_gid)
    except KeyError:
        child_user = ChildUser(_OVERFLOW_ID, _OVERFLOW_ID)
    groups, group_id = os.getgroups(), os.getegid()
    try:
        os.setgroups([])
        os.setegid(child_user.group_id)
        os.seteuid(child_user.user_id)
    except OSError as error:
        _restore_user(groups, group_id)
        return f"cannot switch to another user ({error.strerror})"
    unreadable = sorted(str(library) for library in libraries if not _is_readable(library))
    _restore_user(groups, group_id)
    if not unreadable:
        return child_user
    return (
        f"no other user can read {unreadable[0]}. Start Fonds as an ordinary user, or "
        "with a Python installation that everyone can read"
    )


def _is_readable(path: Path) -> bool:
    mode = os.R_OK | os.X_OK if os.path.isdir(path) else os.R_OK  # noqa: PTH112
    return os.access(path, mode, effective_ids=True) or path.name.endswith(".zip")


def _restore_user(groups: list[int], group_id: int) -> None:
    """Change back to the original user (administrator) and the given groups. Errors are ignored.

    They mean that the change to another user had failed before.
    """
    with suppress(OSError):
        os.seteuid(0)
        os.setegid(group_id)
        os.setgroups(groups)


def switch_user(user: ChildUser) -> None:
    """Permanently become another user, with only the user's own group. Raises OSError if the kernel
    refuses.
    """
    os.setgroups([])
    os.setresgid(user.group_id, user.group_id, user.group_id)
    os.setresuid(user.user_id, user.user_id, user.user_id)


def forbid_new_privileges() -> None:
    """Permanently keep this process and programs that it starts from gaining privileges. Raises
    OSError if the kernel refuses.
    """
    call_prctl(NO_NEW_PRIVS, 1)


def clear_bounding_set() -> None:
    """Make sure that this process can gain no privileges that it does not have already. Errors are
    ignored.
    """
    for number in range(_CAPABILITIES_MAX):
        with suppress(OSError):
            call_prctl(CAPBSET_DROP, number)
    with suppress(OSError):
        call_prctl(CAP_AMBIENT, _AMBIENT_CLEAR)


def drop_capabilities() -> None:
    """Permanently give up all privileges (capabilities). Raises OSError if the kernel refuses."""
    header = _CapabilityHeader(_CAPABILITIES_VERSION, 0)
    number = _CAPSET.get(platform.machine())
    if number is None:
        if os.geteuid() == 0:
            raise OSError("the capset system call is not known for this machine")
        return
    call_kernel(number, ctypes.byref(header), ctypes.byref((_CapabilitySets * 2)()))


def forbid_inspection() -> str:
    """Allow only an administrator to inspect this process. Return '' on success, else why it
    failed.
    """
    try:
        call_prctl(DUMPABLE, 0)
        return "" if call_prctl(GET_DUMPABLE) == 0 else "the kernel refused"
    except OSError as error:
        return f"the kernel refused ({error.strerror})"


def set_parent_death_signal() -> None:
    """Request that the kernel kills this process when its parent ends. Must be repeated after each
    change of user.
    """
    with suppress(OSError):
        call_prctl(PDEATHSIG, signal.SIGKILL)


def raise_oom_score() -> None:
    """Make this process the first to be killed if the machine runs out of memory, where the kernel
    allows it.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError):
        # A process that is not inspectable may not write its score.
        call_prctl(DUMPABLE, 1)
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
