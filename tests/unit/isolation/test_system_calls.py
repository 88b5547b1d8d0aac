"""The list of system calls, and the filter made of it, run here instruction by instruction."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fonds.isolation import seccomp
from fonds.isolation.seccomp import (
    HIDDEN_CALLS,
    MACHINES,
    UNCONDITIONAL_CALLS,
    Architecture,
    build_conditions,
)

OWN_PID = 4_711
CALLS_MAX = 600
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
REFUSED = seccomp.ERROR | errno.EPERM
MISSING = seccomp.ERROR | errno.ENOSYS


def answer(
    machine: Architecture, number: int, arguments: Sequence[int] = (), audit: int = 0
) -> int:
    """What the filter says to a call; each argument is a lower half, the upper half set."""
    words = {0: number, 4: audit or machine.audit}
    for place in range(6):
        words[16 + 8 * place] = arguments[place] if place < len(arguments) else 0
        words[20 + 8 * place] = 0xFFFFFFFF
    loaded, at = 0, 0
    instructions = seccomp.build_program(machine, OWN_PID)
    while True:
        code, if_true, if_false, operand = instructions[at]
        at += 1
        match code:
            case seccomp.LOAD:
                loaded = words[operand]
            case seccomp.RETURN:
                return operand
            case seccomp.EQUAL:
                at += if_true if loaded == operand else if_false
            case seccomp.JUMP_IF_GREATER_OR_EQUAL:
                at += if_true if loaded >= operand else if_false
            case seccomp.ANY_BIT:
                at += if_true if loaded & operand else if_false
            case _:
                raise AssertionError(f"no instruction of a filter: {code:#x}")


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest) -> Architecture:
    return MACHINES[request.param]


def by_number(machine: Architecture) -> Mapping[int, str]:
    return {number: name for name, number in machine.numbers.items()}


def test_every_call_is_answered_as_the_list_says(machine: Architecture) -> None:
    names, some = by_number(machine), build_conditions(OWN_PID)
    for number in range(CALLS_MAX):
        name = names.get(number, "")
        if name in UNCONDITIONAL_CALLS:
            assert answer(machine, number) == seccomp.ALLOW, name
        elif name in HIDDEN_CALLS:
            assert answer(machine, number) == MISSING, name
        elif name not in some:
            assert answer(machine, number) == REFUSED, number


def test_a_call_of_another_architecture_ends_the_process(machine: Architecture) -> None:
    assert answer(machine, 0, audit=0x40000003) == seccomp.KILL


def test_calls_by_the_numbers_of_x32_are_refused(machine: Architecture) -> None:
    for number in machine.numbers.values():
        assert answer(machine, number | 0x40000000) == REFUSED


@pytest.mark.parametrize(
    ("name", "arguments", "allowed"),
    [
        ("openat", (0, 0, os.O_RDONLY | os.O_CLOEXEC), True),
        ("openat", (0, 0, os.O_RDONLY | os.O_DIRECTORY), True),
        ("openat", (0, 0, os.O_WRONLY), False),
        ("openat", (0, 0, os.O_RDWR), False),
        ("openat", (0, 0, os.O_ACCMODE), False),
        ("openat", (0, 0, os.O_CREAT), False),
        ("openat", (0, 0, os.O_TRUNC), False),
        ("openat", (0, 0, 0o20200000), False),
        ("fcntl", (0, 1), True),
        ("fcntl", (0, 4), False),
        ("fcntl", (0, 8), False),
        ("ioctl", (0, 0x5421), True),
        ("ioctl", (0, 0x5412), False),
        ("tgkill", (OWN_PID, 1), True),
        ("tgkill", (1, 1), False),
        ("tgkill", (0xFFFFFFFF, 1), False),
        ("prlimit64", (0, 7), True),
        ("prlimit64", (OWN_PID, 7), False),
    ],
)
def test_some_calls_are_allowed_with_some_arguments(
    machine: Architecture, name: str, arguments: Sequence[int], allowed: bool
) -> None:
    expected = seccomp.ALLOW if allowed else REFUSED
    assert answer(machine, machine.numbers[name], arguments) == expected


def test_every_name_of_the_list_has_a_number_on_some_machine() -> None:
    known = {name for machine in MACHINES.values() for name in machine.numbers}
    assert known == UNCONDITIONAL_CALLS | set(HIDDEN_CALLS) | build_conditions(OWN_PID).keys()


def test_what_opens_ends_or_limits_is_known_on_every_machine(machine: Architecture) -> None:
    old = {"open", "stat", "lstat", "access", "poll"}
    assert (
        UNCONDITIONAL_CALLS | set(HIDDEN_CALLS) | build_conditions(OWN_PID).keys()
    ) - machine.numbers.keys() <= old


def test_no_number_stands_for_two_calls(machine: Architecture) -> None:
    assert len(by_number(machine)) == len(machine.numbers)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_the_numbers_are_those_of_the_kernels_headers(name: str) -> None:
    header = HEADERS[name]
    if not header.exists():
        pytest.skip(f"{header} is not here; it comes with the kernel's headers (linux-libc-dev)")
    text = re.sub(r"__NR3264_", "__NR_", header.read_text())
    defined = dict(re.findall(r"#define __NR_(\w+) (\d+)", text))
    # The generic header names calls by what they are on machines of 64 bits further down.
    sixty_four = re.findall(r"#define __NR_(\w+) __NR_(\w+)", text)
    defined |= {one: defined[other] for one, other in sixty_four if other in defined}
    assert {
        call: number
        for call, number in MACHINES[name].numbers.items()
        if int(defined.get(call, -1)) != number
    } == {}


def test_the_filter_is_short_enough_for_the_kernel(machine: Architecture) -> None:
    assert len(seccomp.build_program(machine, OWN_PID)) < 4_096
