"""System call filter of a child process: the list of allowed system calls, as a seccomp program.

A child may open files for reading, list folders, use memory and clocks, send signals to its own
threads, set its own limits, and end. It may read and write through the files and sockets that are
open. It may not open files for writing, nor create, rename or delete them. It may not create
processes, threads or sockets.

Source: seccomp(2); `linux/filter.h` and `linux/seccomp.h` for instructions and return values. The
numbers are those of the kernel's `asm/unistd_64.h` (x86-64) and `asm-generic/unistd.h` (aarch64).
Argument values: openat(2), fcntl(2), ioctl_tty(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from fonds.isolation.kernel import SECCOMP, call_prctl


@dataclass(frozen=True, slots=True)
class AllowedValues:
    """Condition that allows a system call if the lower 32 bits of an argument are one of
    `values`.

    `argument` is the position of the argument, from 0.
    """

    argument: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ForbiddenBits:
    """Condition that allows a system call if an argument has none of `bits`.

    `argument` is the position of the argument, from 0.
    """

    argument: int
    bits: int


@dataclass(frozen=True, slots=True)
class Architecture:
    """Processor architecture, such as x86-64.

    - `audit_number`: number of the architecture in the kernel's audit interface.
    - `numbers`: number of each system call, by name. Calls that the architecture lacks are omitted.
    """

    audit_number: int
    numbers: Mapping[str, int]


_TMPFILE_BIT = 0o20000000
_WRITE_FLAGS = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | _TMPFILE_BIT
_FCNTL_COMMANDS = (0, 1, 2, 3, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
_IOCTL_REQUESTS = (0x5401, 0x5421, 0x5451)  # TCGETS, FIONBIO, FIOCLEX

_UNCONDITIONAL_CALLS = """
    read pread64 readv write writev close lseek fstat stat lstat newfstatat access faccessat faccessat2
    getdents64 getcwd mmap mprotect munmap mremap brk madvise futex
    recvfrom recvmsg sendto poll ppoll nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday
    rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall exit exit_group sched_yield
    getpid getppid gettid getuid geteuid getgid getegid getrandom getrusage times uname sysinfo
    sched_getaffinity getcpu set_robust_list rseq
"""
UNCONDITIONAL_CALLS = frozenset(_UNCONDITIONAL_CALLS.split())
"""System calls that a child process may make with any arguments."""

HIDDEN_CALLS = ("clone3", "openat2", "statx", "close_range")
"""System calls that a child process finds missing, so that its libraries use older calls
instead.
"""

_REFUSED_CALL_ERRNO, _HIDDEN_CALL_ERRNO = errno.EPERM, errno.ENOSYS


def build_conditions(own_pid: int) -> Mapping[str, AllowedValues | ForbiddenBits]:
    """Return the system calls that a child may make only with certain arguments, with the condition
    on an argument for each.

    `own_pid` is the process id of the child.
    """
    return {
        "open": ForbiddenBits(1, _WRITE_FLAGS),
        "openat": ForbiddenBits(2, _WRITE_FLAGS),
        "fcntl": AllowedValues(1, _FCNTL_COMMANDS),
        "ioctl": AllowedValues(1, _IOCTL_REQUESTS),
        # abort(3) ends a process this way.
        "tgkill": AllowedValues(0, (own_pid,)),
        # The process's own limits. Hard limits cannot be raised.
        "prlimit64": AllowedValues(0, (0,)),
    }


def _parse_numbers(text: str) -> Mapping[str, int]:
    words = text.split()
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=True)}


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(
        0xC000003E,
        _parse_numbers(
            """
            read 0 write 1 open 2 close 3 stat 4 fstat 5 lstat 6 poll 7 lseek 8 mmap 9 mprotect 10
            munmap 11 brk 12 rt_sigaction 13 rt_sigprocmask 14 rt_sigreturn 15 ioctl 16 pread64 17
            readv 19 writev 20 access 21 sched_yield 24 mremap 25 madvise 28 nanosleep 35 getpid 39
            sendto 44 recvfrom 45 recvmsg 47 exit 60 uname 63 fcntl 72 getcwd 79 gettimeofday 96
            getrusage 98 sysinfo 99 times 100 getuid 102 getgid 104 geteuid 107 getegid 108 getppid 110
            sigaltstack 131 gettid 186 futex 202 sched_getaffinity 204 getdents64 217
            restart_syscall 219 clock_gettime 228 clock_getres 229 clock_nanosleep 230 exit_group 231
            tgkill 234 openat 257 newfstatat 262 faccessat 269 ppoll 271 set_robust_list 273
            prlimit64 302 getcpu 309 getrandom 318 statx 332 rseq 334 clone3 435 close_range 436
            openat2 437 faccessat2 439
            """
        ),
    ),
    "aarch64": Architecture(
        0xC00000B7,
        _parse_numbers(
            """
            getcwd 17 fcntl 25 ioctl 29 faccessat 48 openat 56 close 57 getdents64 61 lseek 62 read 63
            write 64 readv 65 writev 66 pread64 67 ppoll 73 newfstatat 79 fstat 80 exit 93
            exit_group 94 futex 98 set_robust_list 99 nanosleep 101 clock_gettime 113 clock_getres 114
            clock_nanosleep 115 sched_getaffinity 123 sched_yield 124 restart_syscall 128 tgkill 131
            sigaltstack 132 rt_sigaction 134 rt_sigprocmask 135 rt_sigreturn 139 times 153 uname 160
            getrusage 165 getcpu 168 gettimeofday 169 getpid 172 getppid 173 getuid 174 geteuid 175
            getgid 176 getegid 177 gettid 178 sysinfo 179 sendto 206 recvfrom 207 recvmsg 212
            brk 214 munmap 215 mremap 216 mmap 222 mprotect 226 madvise 233 prlimit64 261 getrandom 278
            statx 291 rseq 293 clone3 435 close_range 436 openat2 437 faccessat2 439
            """
        ),
    ),
}
"""Architectures with a system call filter, by machine name. Other machines have no filter."""


Instruction = tuple[int, int, int, int]
"""Instruction of a filter program: code, number of instructions to skip if true, number to skip if
false, operand.
"""

_FILTER_MODE = 2
LOAD, EQUAL, JUMP_IF_GREATER_OR_EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_X32_NUMBER_MIN = 0x40000000


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def explain_missing_filter() -> str:
    """Return why this machine or kernel has no system call filter; '' if it has one."""
    if platform.machine() not in ARCHITECTURES:
        return f"no list of system calls for {platform.machine() or 'this machine'}"
    try:
        # A kernel with filters reads the program first, which fails with EFAULT here.
        call_prctl(SECCOMP, _FILTER_MODE)
    except OSError as error:
        return (
            ""
            if error.errno == errno.EFAULT
            else (f"the kernel does not support seccomp ({error.strerror})")
        )
    return "the kernel accepts an invalid filter"


def install_filter(own_pid: int) -> None:
    """Permanently refuse all system calls of this process that the filter for children does not
    allow.

    `own_pid` is the id of this process, which must have called `forbid_new_privileges` before.
    Raises OSError if the kernel refuses. Call it only if `explain_missing_filter` returns ''.
    """
    install_program(build_program(ARCHITECTURES[platform.machine()], own_pid))


def install_program(instructions: list[Instruction]) -> None:
    """Install a system call filter program in addition to existing filters. Raises OSError if the
    kernel refuses.
    """
    array = (_Instruction * len(instructions))(
        *(_Instruction(*instruction) for instruction in instructions)
    )
    call_prctl(SECCOMP, _FILTER_MODE, ctypes.byref(_Program(len(instructions), array)))


def build_program(architecture: Architecture, own_pid: int) -> list[Instruction]:
    """Build the system call filter program for the child process `own_pid`.

    The program kills the process at a call of another architecture. Permitted calls are allowed.
    `HIDDEN_CALLS` fail with ENOSYS, and all other calls with EPERM.
    """
    instructions: list[Instruction] = [
        (LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (EQUAL, 1, 0, architecture.audit_number),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, _NUMBER_OFFSET),
        (JUMP_IF_GREATER_OR_EQUAL, 0, 1, _X32_NUMBER_MIN),
        (RETURN, 0, 0, ERROR | _REFUSED_CALL_ERRNO),
    ]
    for name in sorted(UNCONDITIONAL_CALLS & architecture.numbers.keys()):
        instructions += _build_answer(architecture.numbers[name], ALLOW)
    for name in HIDDEN_CALLS:
        instructions += _build_answer(architecture.numbers[name], ERROR | _HIDDEN_CALL_ERRNO)
    for name, condition in build_conditions(own_pid).items():
        if name in architecture.numbers:
            instructions += _build_condition(architecture.numbers[name], condition)
    return [*instructions, (RETURN, 0, 0, ERROR | _REFUSED_CALL_ERRNO)]


def _build_answer(number: int, answer: int) -> list[Instruction]:
    """Build the instructions that end the program with one result for one system call."""
    return [(EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]


def _build_condition(number: int, condition: AllowedValues | ForbiddenBits) -> list[Instruction]:
    """Build the instructions that allow or refuse one system call by one of its arguments.

    Each branch ends the program, because the number of the call is no longer loaded after the
    argument was loaded.
    """
    check: list[Instruction] = [(LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * condition.argument)]
    if isinstance(condition, ForbiddenBits):
        check += [(ANY_BIT, 1, 0, condition.bits), (RETURN, 0, 0, ALLOW)]
    else:
        for value in condition.values:
            check += [(EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    check.append((RETURN, 0, 0, ERROR | _REFUSED_CALL_ERRNO))
    return [(EQUAL, 0, len(check), number), *check]
