"""The list of system calls and its filter, which the tests interpret instruction by instruction."""

from __future__ import annotations

import errno
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fonds.isolation import seccomp
from fonds.isolation.seccomp import (
    ARCHITECTURES,
    HIDDEN_CALLS,
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
REFUSED_RESULT = seccomp.ERROR | errno.EPERM
MISSING_RESULT = seccomp.ERROR | errno.ENOSYS


def run_filter(
    architecture: Architecture, number: int, arguments: Sequence[int] = (), audit_number: int = 0
) -> int:
    """Return the result of the filter for a call. Arguments are lower halves; upper halves are all ones."""
    words = {0: number, 4: audit_number or architecture.audit_number}
    for index in range(6):
        words[16 + 8 * index] = arguments[index] if index < len(arguments) else 0
        words[20 + 8 * index] = 0xFFFFFFFF
    loaded, position = 0, 0
    instructions = seccomp.build_program(architecture, OWN_PID)
    while True:
        code, if_true, if_false, operand = instructions[position]
        position += 1
        match code:
            case seccomp.LOAD:
                loaded = words[operand]
            case seccomp.RETURN:
                return operand
            case seccomp.EQUAL:
                position += if_true if loaded == operand else if_false
            case seccomp.JUMP_IF_GREATER_OR_EQUAL:
                position += if_true if loaded >= operand else if_false
            case seccomp.ANY_BIT:
                position += if_true if loaded & operand else if_false
            case _:
                raise AssertionError(f"unknown instruction: {code:#x}")


@pytest.fixture(params=sorted(ARCHITECTURES))
def architecture(request: pytest.FixtureRequest) -> Architecture:
    return ARCHITECTURES[request.param]


def map_names_by_number(architecture: Architecture) -> Mapping[int, str]:
    return {number: name for name, number in architecture.numbers.items()}


def test_every_call_gets_the_listed_result(architecture: Architecture) -> None:
    names, conditions = map_names_by_number(architecture), build_conditions(OWN_PID)
    for number in range(CALLS_MAX):
        name = names.get(number, "")
        if name in UNCONDITIONAL_CALLS:
            assert run_filter(architecture, number) == seccomp.ALLOW, name
        elif name in HIDDEN_CALLS:
            assert run_filter(architecture, number) == MISSING_RESULT, name
        elif name not in conditions:
            assert run_filter(architecture, number) == REFUSED_RESULT, number


def test_a_call_of_another_architecture_kills_the_process(architecture: Architecture) -> None:
    assert run_filter(architecture, 0, audit_number=0x40000003) == seccomp.KILL


def test_other_machines_have_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert seccomp.explain_missing_filter() == "no list of system calls for riscv64"


def test_calls_with_x32_numbers_are_refused(architecture: Architecture) -> None:
    for number in architecture.numbers.values():
        assert run_filter(architecture, number | 0x40000000) == REFUSED_RESULT


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
def test_some_calls_are_allowed_only_with_certain_arguments(
    architecture: Architecture, name: str, arguments: Sequence[int], allowed: bool
) -> None:
    expected = seccomp.ALLOW if allowed else REFUSED_RESULT
    assert run_filter(architecture, architecture.numbers[name], arguments) == expected


def test_every_listed_name_has_a_number_on_some_machine() -> None:
    numbered = {name for architecture in ARCHITECTURES.values() for name in architecture.numbers}
    assert numbered == UNCONDITIONAL_CALLS | set(HIDDEN_CALLS) | build_conditions(OWN_PID).keys()


def test_all_but_five_old_calls_have_numbers_on_every_machine(architecture: Architecture) -> None:
    old_calls = {"open", "stat", "lstat", "access", "poll"}
    assert (
        UNCONDITIONAL_CALLS | set(HIDDEN_CALLS) | build_conditions(OWN_PID).keys()
    ) - architecture.numbers.keys() <= old_calls


def test_every_call_has_a_unique_number(architecture: Architecture) -> None:
    assert len(map_names_by_number(architecture)) == len(architecture.numbers)


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_the_numbers_match_the_kernel_headers(name: str) -> None:
    header = HEADERS[name]
    if not header.exists():
        pytest.skip(f"{header} is missing; install the kernel headers (linux-libc-dev)")
    text = re.sub(r"__NR3264_", "__NR_", header.read_text())
    defined = dict(re.findall(r"#define __NR_(\w+) (\d+)", text))
    # The generic header defines the 64-bit names of calls at its end.
    aliases = re.findall(r"#define __NR_(\w+) __NR_(\w+)", text)
    defined |= {name: defined[alias] for name, alias in aliases if alias in defined}
    assert {
        call: number
        for call, number in ARCHITECTURES[name].numbers.items()
        if int(defined.get(call, -1)) != number
    } == {}


def test_the_filter_is_within_the_kernel_limit(architecture: Architecture) -> None:
    assert len(seccomp.build_program(architecture, OWN_PID)) < 4_096
