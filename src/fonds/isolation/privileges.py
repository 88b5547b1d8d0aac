"""Who a child is: not an administrator, without privileges, looked into by nobody, gone with its parent.

Source: prctl(2), capabilities(7), credentials(7), ptrace(2) on who may look into a process.
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
    """Who a child becomes that was started by an administrator."""

    user_id: int
    group_id: int


def choose_user(libraries: Iterable[Path]) -> ChildUser | str:
    """Who a child is to become, or why it has to stay who it is. Empty when it is no administrator.

    What it may still load has to be readable for it.
    """
    if os.geteuid() != 0:
        return ""
    try:
        entry = pwd.getpwnam("nobody")
        other = ChildUser(entry.pw_uid, entry.pw_gid)
    except KeyError:
        other = ChildUser(_OVERFLOW_ID, _OVERFLOW_ID)
    groups, group_id = os.getgroups(), os.getegid()
    try:
        os.setgroups([])
        os.setegid(other.group_id)
        os.seteuid(other.user_id)
    except OSError as error:
        _restore_user(groups, group_id)
        return f"there is no other user to become ({error.strerror})"
    shut = sorted(str(one) for one in libraries if not _is_readable(one))
    _restore_user(groups, group_id)
    if not shut:
        return other
    return (
        f"no other user may read {shut[0]}; start Fonds as an ordinary user, or with a Python that "
        "everybody may read"
    )


def _is_readable(path: Path) -> bool:
    wanted = os.R_OK | os.X_OK if os.path.isdir(path) else os.R_OK  # noqa: PTH112
    return os.access(path, wanted, effective_ids=True) or path.name.endswith(".zip")


def _restore_user(groups: list[int], group_id: int) -> None:
    """Who this process was; an administrator that may not change that has not changed."""
    with suppress(OSError):
        os.seteuid(0)
        os.setegid(group_id)
        os.setgroups(groups)


def switch_user(other: ChildUser) -> None:
    """Be another user, in no group but its own, for good. Raises OSError."""
    os.setgroups([])
    os.setresgid(other.group_id, other.group_id, other.group_id)
    os.setresuid(other.user_id, other.user_id, other.user_id)


def forbid_new_privileges() -> None:
    """No program started from here on gains privileges. Raises OSError."""
    call_prctl(NO_NEW_PRIVS, 1)


def drop_bounds() -> None:
    """Take from this process what privileges it could ever have; what it has stays. Never raises."""
    for number in range(_CAPABILITIES_MAX):
        with suppress(OSError):
            call_prctl(CAPBSET_DROP, number)
    with suppress(OSError):
        call_prctl(CAP_AMBIENT, _AMBIENT_CLEAR)


def drop_all() -> None:
    """Give up all privileges for good. Raises OSError."""
    header = _CapabilityHeader(_CAPABILITIES_VERSION, 0)
    number = _CAPSET.get(platform.machine())
    if number is None:
        if os.geteuid() == 0:
            raise OSError("the number of capset is not known for this machine")
        return
    call_kernel(number, ctypes.byref(header), ctypes.byref((_CapabilitySets * 2)()))


def hide() -> str:
    """Let nobody but an administrator look into this process; why that failed, or nothing."""
    try:
        call_prctl(DUMPABLE, 0)
        return "" if call_prctl(GET_DUMPABLE) == 0 else "the kernel did not take it"
    except OSError as error:
        return f"the kernel refuses ({error.strerror})"


def set_parent_death_signal() -> None:
    """Be killed when the parent ends; to be asked for after every change of user."""
    with suppress(OSError):
        call_prctl(PDEATHSIG, signal.SIGKILL)


def raise_oom_score() -> None:
    """Be the first to be ended when the machine runs out of memory, where that can be said."""
    if sys.platform != "linux":
        return
    with suppress(OSError):
        # A process that nobody may look into may not say it.
        call_prctl(DUMPABLE, 1)
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
