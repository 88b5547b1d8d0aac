"""A filter on system calls: what is not on the list of `system_calls` is refused.

Source: seccomp(2); `linux/filter.h` and `linux/seccomp.h` for the filter's instructions and answers.
"""

from __future__ import annotations

import ctypes
import errno
import platform

from fonds.isolation.confinement.kernel import SECCOMP, prctl
from fonds.isolation.confinement.system_calls import (
    ABSENT,
    FREE,
    MACHINES,
    REFUSED,
    UNKNOWN,
    Machine,
    NoneOf,
    OneOf,
    conditions,
)

Instruction = tuple[int, int, int, int]
"""Code, instructions skipped when true, skipped when false, operand."""

_FILTER_MODE = 2
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_FIRST = 0x40000000


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def unavailable() -> str:
    """Why this machine or kernel can have no filter; empty when it can."""
    if platform.machine() not in MACHINES:
        return f"no list of system calls is known for {platform.machine() or 'this machine'}"
    try:
        # A kernel that knows filters looks for the program first.
        prctl(SECCOMP, _FILTER_MODE)
    except OSError as error:
        return (
            "" if error.errno == errno.EFAULT else f"the kernel has no seccomp ({error.strerror})"
        )
    return "the kernel takes a filter that is none"


def refuse_all_else(own_pid: int) -> None:
    """Refuse this process, for good, every system call that is not allowed. Raises OSError.

    It must be able to gain no privileges any more (`no_new_privs`). `own_pid` is its own id.
    """
    install(program(MACHINES[platform.machine()], own_pid))


def install(instructions: list[Instruction]) -> None:
    """Make a filter that of this process, beside those it has. Raises OSError."""
    array = (_Instruction * len(instructions))(*(_Instruction(*one) for one in instructions))
    prctl(SECCOMP, _FILTER_MODE, ctypes.byref(_Program(len(instructions), array)))


def program(machine: Machine, own_pid: int) -> list[Instruction]:
    """The filter for a machine's process `own_pid`: an allow-list, then a refusal."""
    instructions: list[Instruction] = [
        (LOAD, 0, 0, _ARCHITECTURE_AT),
        (EQUAL, 1, 0, machine.audit),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, _NUMBER_AT),
        (AT_LEAST, 0, 1, _X32_FIRST),
        (RETURN, 0, 0, ERROR | REFUSED),
    ]
    for name in sorted(FREE & machine.numbers.keys()):
        instructions += _answer(machine.numbers[name], ALLOW)
    for name in ABSENT:
        instructions += _answer(machine.numbers[name], ERROR | UNKNOWN)
    for name, condition in conditions(own_pid).items():
        if name in machine.numbers:
            instructions += _conditional(machine.numbers[name], condition)
    return [*instructions, (RETURN, 0, 0, ERROR | REFUSED)]


def _answer(number: int, answer: int) -> list[Instruction]:
    return [(EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]


def _conditional(number: int, condition: OneOf | NoneOf) -> list[Instruction]:
    """Behind it the number is no longer loaded, which is why both ways answer."""
    tested: list[Instruction] = [(LOAD, 0, 0, _ARGUMENTS_AT + 8 * condition.argument)]
    if isinstance(condition, NoneOf):
        tested += [(ANY_BIT, 1, 0, condition.bits), (RETURN, 0, 0, ALLOW)]
    else:
        for value in condition.values:
            tested += [(EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    tested.append((RETURN, 0, 0, ERROR | REFUSED))
    return [(EQUAL, 0, len(tested), number), *tested]
