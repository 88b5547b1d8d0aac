"""What a child process gives up before it meets any input; what the kernel refuses stays undone.

Source: seccomp(2), prctl(2), setrlimit(2), unshare(2); system call numbers of x86-64 and aarch64.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
import resource
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWNET, _CLONE_NEWUSER, _CLONE_THREAD = 0x40000000, 0x10000000, 0x00010000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32_FIRST = 0x40000000
_OPEN_FILES_MAX = 64
_OOM_SCORE = "800"
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class _Machine:
    """The audit number of an architecture and its system calls: `denied` is the way out of the process."""

    audit: int
    clone: int
    clone3: int
    denied: tuple[int, ...]


# socket, execve, execveat, ptrace, io_uring_setup; on x86-64 fork and vfork too.
_MACHINES = {
    "x86_64": _Machine(0xC000003E, 56, 435, (41, 59, 322, 101, 425, 57, 58)),
    "aarch64": _Machine(0xC00000B7, 220, 435, (198, 221, 281, 117, 425)),
}


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def confine(memory_bytes: int) -> bool:
    """Limit this process for good; True when it can open no socket and start no program any more.

    No core dump, no file written, few files open, at most `memory_bytes` of address space, first to
    go when the machine runs out of memory, killed when its parent dies.
    """
    _die_with_parent()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES_MAX),
        (resource.RLIMIT_AS, memory_bytes),
    ):
        _lower(limit, value)
    return _filter_system_calls() or _leave_network()


def confined_by() -> str:
    """What keeps the calling process from the network: `no sockets`, `an empty network`, or `nothing`."""
    try:
        socket.socket().close()
    except PermissionError:
        return "no sockets"
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    return "nothing" if others else "an empty network"


def limit_call(cpu_s: float, used_cpu_s: float, memory_bytes: int) -> None:
    """Limit what the next call may take; `used_cpu_s` is the processor time of the calls before it."""
    _, cpu_hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (max(1, math.ceil(used_cpu_s + cpu_s)), cpu_hard))
    _, memory_hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_smaller(memory_bytes, memory_hard), memory_hard))


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    lowered = _smaller(value, hard)
    resource.setrlimit(limit, (lowered, lowered))


def _smaller(value: int, hard: int) -> int:
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _die_with_parent() -> None:
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _filter_system_calls() -> bool:
    machine = _MACHINES.get(platform.machine())
    if machine is None or not hasattr(_LIBC, "prctl"):
        return False
    instructions = _rules(machine)
    program = _Program(
        len(instructions),
        (_Instruction * len(instructions))(*(_Instruction(*one) for one in instructions)),
    )
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(
        _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0
    )


def _rules(machine: _Machine) -> list[tuple[int, int, int, int]]:
    """The filter: (code, jump if true, jump if false, operand); jumps count instructions skipped."""
    refuse = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    rules = [
        (_LOAD, 0, 0, 4),  # the architecture of the call
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # the number of the call
        (_AT_LEAST, 0, 1, _X32_FIRST),
        refuse,
    ]
    for number in machine.denied:
        rules += [(_EQUAL, 0, 1, number), refuse]
    return [
        *rules,
        # The C library falls back to clone, whose flags a filter can read.
        (_EQUAL, 0, 1, machine.clone3),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_EQUAL, 0, 3, machine.clone),
        (_LOAD, 0, 0, 16),
        (_ANY_BIT, 1, 0, _CLONE_THREAD),
        refuse,
        (_RETURN, 0, 0, _ALLOW),
    ]


def _leave_network() -> bool:
    """An empty network of its own, where no filter can be had; only an administrator keeps their rights."""
    if not hasattr(_LIBC, "unshare"):
        return False
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    return bool(_LIBC.unshare(flags) == 0)
