"""Confinement of child processes: the privileges that a child gives up before it reads any
input.

After that, a child can only read the files it was given, compute and reply. The kernel refuses
everything else. The confinement has several layers, each enforced by another kernel mechanism. If
the kernel lacks one, the others still apply. `confine` and `fonds doctor` report which layers are
active.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fonds.isolation import landlock, privileges, seccomp
from fonds.isolation.kernel import call_unshare
from fonds.isolation.privileges import ChildUser, forbid_inspection


class Layer(StrEnum):
    """Layer of the confinement of a child process. Each is enforced by a different kernel
    mechanism.
    """

    SYSTEM_CALLS = "system calls"
    FILES = "files"
    PRIVILEGES = "privileges"
    USER = "user"
    MEMORY = "memory"
    LIMITS = "limits"


Layers = Mapping[Layer, str]
"""Why each layer of a child's confinement is inactive; '' for an active layer."""

ACTIVE_MESSAGES: Mapping[Layer, str] = {
    Layer.SYSTEM_CALLS: "readers may only make the listed system calls",
    Layer.FILES: "readers may open only their libraries and fonts",
    Layer.PRIVILEGES: "readers have no privileges and cannot gain any",
    Layer.USER: "readers do not run as administrator",
    Layer.MEMORY: "only an administrator can inspect the memory of Fonds processes",
    Layer.LIMITS: "memory, processor time, open files and processes of a reader are limited",
}
INACTIVE_MESSAGES: Mapping[Layer, str] = {
    Layer.SYSTEM_CALLS: "a file that exploits a reader could do anything its user may do",
    Layer.FILES: "a file that exploits a reader could read anything its user may read",
    Layer.PRIVILEGES: "a file that exploits a reader could use the privileges of Fonds",
    Layer.USER: "readers run as administrator, but without privileges",
    Layer.MEMORY: "other processes of this user can inspect the memory of Fonds processes",
    Layer.LIMITS: "a file could use up all memory or processor time",
}


_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_OPEN_FILES_MAX = 64


@dataclass(frozen=True, slots=True)
class PreparedConfinement:
    """Data that all children need to confine themselves, which the fork server collects once.

    - `libraries`: folders and files of Python modules, which a child may read.
    - `ruleset`: file descriptor of the Landlock rules (which files a child may read); None if there
      are none.
    - `no_ruleset`: why there are no Landlock rules; '' if there are some.
    - `user`: user that a child becomes, or the reason why a child keeps the current user.
    """

    libraries: frozenset[Path]
    ruleset: int | None
    no_ruleset: str
    user: ChildUser | str


def prepare(previous: PreparedConfinement | None = None) -> PreparedConfinement:
    """Collect the data that children forked from now on need to confine themselves.

    Returns `previous` if the folders and files of Python modules are unchanged. Otherwise the
    Landlock rules in `previous` are closed.
    """
    libraries = landlock.find_library_paths()
    if previous is not None and previous.libraries == libraries:
        return previous
    if previous is not None and previous.ruleset is not None:
        os.close(previous.ruleset)
    ruleset, reason = None, ""
    try:
        ruleset = landlock.create_read_ruleset([*libraries, *map(Path, landlock.SYSTEM_PATHS)])
    except OSError as error:
        reason = f"the kernel does not support Landlock ({error.strerror})"
    return PreparedConfinement(libraries, ruleset, reason, privileges.choose_user(libraries))


def confine(prepared_confinement: PreparedConfinement, memory_bytes: int) -> Layers:
    """Permanently give up all privileges that reading a file does not need. Return why layers are
    inactive.

    The process cannot write files or core dumps, and can open few files. It has at most
    `memory_bytes` of address space. It is killed when its parent ends, and before other processes
    if the machine runs out of memory.
    """
    layers = dict.fromkeys(Layer, "")
    layers[Layer.LIMITS] = _set_limits(memory_bytes)
    privileges.raise_oom_score()
    os.environ.clear()
    layers[Layer.SYSTEM_CALLS] = seccomp.explain_missing_filter()
    if layers[Layer.SYSTEM_CALLS]:
        layers[Layer.SYSTEM_CALLS] += "; " + _isolate_network()
    layers[Layer.PRIVILEGES] = _try_step(privileges.forbid_new_privileges)
    layers[Layer.FILES] = _restrict(prepared_confinement)
    layers[Layer.USER] = _switch_user(prepared_confinement.user)
    layers[Layer.PRIVILEGES] = layers[Layer.PRIVILEGES] or _try_step(privileges.drop_capabilities)
    layers[Layer.MEMORY] = privileges.forbid_inspection()
    privileges.set_parent_death_signal()
    if not layers[Layer.SYSTEM_CALLS]:
        own_pid = os.getpid()
        layers[Layer.SYSTEM_CALLS] = _try_step(lambda: seccomp.install_filter(own_pid))
    return layers


def limit_call(cpu_s: float, used_cpu_s: float, memory_bytes: int) -> None:
    """Set limits of this process for its next call: `cpu_s` seconds of processor time and
    `memory_bytes` of address space.

    `used_cpu_s` is the processor time of all earlier calls in seconds.
    """
    _, cpu_hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (max(1, math.ceil(used_cpu_s + cpu_s)), cpu_hard))
    _, memory_hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_choose_lower(memory_bytes, memory_hard), memory_hard))


def _set_limits(memory_bytes: int) -> str:
    limits = {
        "CORE": 0,
        "FSIZE": 0,
        "NOFILE": _OPEN_FILES_MAX,
        "NPROC": 0,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "AS": memory_bytes,
    }
    return "; ".join(filter(None, (_lower_limit(name, value) for name, value in limits.items())))


def _lower_limit(name: str, value: int) -> str:
    limit = getattr(resource, f"RLIMIT_{name}", None)
    if limit is None:
        return f"this system has no limit {name}"
    _, hard = resource.getrlimit(limit)
    lowered_value = _choose_lower(value, hard)
    return _try_step(lambda: resource.setrlimit(limit, (lowered_value, lowered_value)))


def _choose_lower(value: int, hard: int) -> int:
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _restrict(prepared_confinement: PreparedConfinement) -> str:
    if prepared_confinement.ruleset is None:
        return prepared_confinement.no_ruleset
    ruleset = prepared_confinement.ruleset
    reason = _try_step(lambda: landlock.restrict(ruleset))
    os.close(ruleset)
    return reason


def _switch_user(user: ChildUser | str) -> str:
    privileges.clear_bounding_set()
    if isinstance(user, str):
        return user
    return _try_step(lambda: privileges.switch_user(user))


def _isolate_network() -> str:
    """Move this process to an empty network namespace. Used on machines without a system call
    filter.

    Return a text for people that says whether the move succeeded.
    """
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    with suppress(OSError):
        call_unshare(flags)
        return "the reader has an empty network namespace instead"
    return "the reader could not leave the network either"


def _try_step(action: Callable[[], None]) -> str:
    """Run one step of the confinement. Return '' on success, else why the step failed."""
    try:
        action()
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or error)
    return ""


__all__ = [
    "ACTIVE_MESSAGES",
    "INACTIVE_MESSAGES",
    "Layer",
    "Layers",
    "PreparedConfinement",
    "confine",
    "forbid_inspection",
    "limit_call",
    "prepare",
]
