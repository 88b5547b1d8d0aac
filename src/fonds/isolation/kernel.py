"""System calls that Python does not offer. Their errors are raised as OSError.

Source: prctl(2), capget(2), landlock(7); numbers from the kernel's `linux/prctl.h` and
`asm/unistd.h`.
"""

from __future__ import annotations

import ctypes
import errno
import os

PDEATHSIG, SECCOMP, CAPBSET_DROP, NO_NEW_PRIVS = 1, 22, 24, 38
GET_DUMPABLE, DUMPABLE, CAP_AMBIENT = 3, 4, 47

_LIBC = ctypes.CDLL(None, use_errno=True)


def call_prctl(option: int, value: int = 0, pointer: object = None) -> int:
    """Call prctl for this process. Raises OSError if it fails (ENOSYS if it does not exist)."""
    if not hasattr(_LIBC, "prctl"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    second = ctypes.c_ulong(0) if pointer is None else pointer
    zero = ctypes.c_ulong(0)
    return _check_result(
        _LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), second, zero, zero)
    )


def call_kernel(number: int, *arguments: object) -> int:
    """Make a system call by its number. Raises OSError if it fails (ENOSYS if the kernel
    lacks it).
    """
    if not hasattr(_LIBC, "syscall"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return _check_result(_LIBC.syscall(ctypes.c_long(number), *arguments))


def call_unshare(flags: int) -> None:
    """Call unshare for this process. Raises OSError if it fails."""
    if not hasattr(_LIBC, "unshare"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    _check_result(_LIBC.unshare(ctypes.c_int(flags)))


def _check_result(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
