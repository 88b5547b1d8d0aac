"""The order in which a child gives everything up, and what of it held."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fonds.isolation.confinement import landlock, privileges, seccomp
from fonds.isolation.confinement.kernel import unshare
from fonds.isolation.confinement.layers import Layer, Layers
from fonds.isolation.confinement.privileges import OtherUser

_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_OPEN_FILES_MAX = 64


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is the same for all children: `ruleset` is a descriptor, None where `no_ruleset` says why.

    `user` is who a child becomes, or why it stays who it is.
    """

    libraries: frozenset[Path]
    ruleset: int | None
    no_ruleset: str
    user: OtherUser | str


def prepare(before: Prepared | None = None) -> Prepared:
    """What children forked from this process from now on need; `before` where that still holds."""
    libraries = landlock.libraries()
    if before is not None and before.libraries == libraries:
        return before
    if before is not None and before.ruleset is not None:
        os.close(before.ruleset)
    ruleset, why_not = None, ""
    try:
        ruleset = landlock.readable_only([*libraries, *map(Path, landlock.OF_SYSTEM)])
    except OSError as error:
        why_not = f"the kernel has no Landlock ({error.strerror})"
    return Prepared(libraries, ruleset, why_not, privileges.other_user(libraries))


def confine(prepared: Prepared, memory_bytes: int) -> Layers:
    """Give up, for good, all that reading a file does not need; what did not hold, and why.

    No core dump, no file written, few files open, at most `memory_bytes` of address space, first to
    go when the machine runs out of memory, killed when its parent dies.
    """
    held = dict.fromkeys(Layer, "")
    held[Layer.LIMITS] = _limits(memory_bytes)
    privileges.first_to_go()
    os.environ.clear()
    held[Layer.SYSTEM_CALLS] = seccomp.unavailable()
    if held[Layer.SYSTEM_CALLS]:
        held[Layer.SYSTEM_CALLS] += "; " + _leave_network()
    held[Layer.PRIVILEGES] = _told(privileges.never_gain)
    held[Layer.FILES] = _restrict(prepared)
    held[Layer.USER] = _become(prepared.user)
    held[Layer.PRIVILEGES] = held[Layer.PRIVILEGES] or _told(privileges.drop_all)
    held[Layer.MEMORY] = privileges.hide()
    privileges.die_with_parent()
    if not held[Layer.SYSTEM_CALLS]:
        own_pid = os.getpid()
        held[Layer.SYSTEM_CALLS] = _told(lambda: seccomp.refuse_all_else(own_pid))
    return held


def limit_call(cpu_s: float, used_cpu_s: float, memory_bytes: int) -> None:
    """Limit what the next call may take; `used_cpu_s` is the processor time of the calls before it."""
    _, cpu_hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (max(1, math.ceil(used_cpu_s + cpu_s)), cpu_hard))
    _, memory_hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_smaller(memory_bytes, memory_hard), memory_hard))


def _limits(memory_bytes: int) -> str:
    wanted = {
        "CORE": 0,
        "FSIZE": 0,
        "NOFILE": _OPEN_FILES_MAX,
        "NPROC": 0,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "AS": memory_bytes,
    }
    return "; ".join(filter(None, (_lower(name, value) for name, value in wanted.items())))


def _lower(name: str, value: int) -> str:
    limit = getattr(resource, f"RLIMIT_{name}", None)
    if limit is None:
        return f"there is no limit {name} here"
    _, hard = resource.getrlimit(limit)
    lowered = _smaller(value, hard)
    return _told(lambda: resource.setrlimit(limit, (lowered, lowered)))


def _smaller(value: int, hard: int) -> int:
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _restrict(prepared: Prepared) -> str:
    if prepared.ruleset is None:
        return prepared.no_ruleset
    ruleset = prepared.ruleset
    why_not = _told(lambda: landlock.restrict(ruleset))
    os.close(ruleset)
    return why_not


def _become(user: OtherUser | str) -> str:
    privileges.drop_bounds()
    if isinstance(user, str):
        return user
    return _told(lambda: privileges.become(user))


def _leave_network() -> str:
    """An empty network of its own, where no filter can be had."""
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    with suppress(OSError):
        unshare(flags)
        return "it has an empty network of its own instead"
    return "and not even the network could be left"


def _told(act: Callable[[], None]) -> str:
    """Nothing when the act succeeds, else why not."""
    try:
        act()
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or error)
    return ""
