"""Tries every forbidden act in a child of a real pool and outside of one, as whoever runs this.

    python -c 'import confinement_trial; confinement_trial.main()' HOME [landlock|seccomp|users|-] [ACT …]

What is named behind the home is taken from the kernel first, as if it were an older one. Without acts
all are tried. Prints JSON.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fixtures import forbidden
from fixtures.forbidden import ACTS, OF_ROOT, Target
from fonds.isolation import privileges, seccomp
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool, open_unnamed_body
from fonds.isolation.seccomp import MACHINES
from fonds.model.archive import OpenBody

LIMITS = ChildLimits(wall_s=30, memory_bytes=2**29, output_max_bytes=2**20)
PRCTL = {"x86_64": 157, "aarch64": 167}
SETGROUPS = {"x86_64": 116, "aarch64": 159}

BYSTANDER = """
import ctypes, os, socket, sys
buffer = ctypes.create_string_buffer(b"bystander")
ours, theirs = socket.socketpair()
name = f"fonds-bystander-{os.getpid()}"
listening = socket.socket(socket.AF_UNIX)
listening.bind(b"\\0" + name.encode())
listening.listen(200)
print(ctypes.addressof(buffer), ours.fileno(), name, flush=True)
sys.stdin.read()
"""


def main() -> None:
    """The whole trial."""
    home = Path(sys.argv[1])
    missing, acts = (sys.argv[2:3] or ["-"])[0], sys.argv[3:] or tried()
    if missing != "-":
        take_away(missing)
    for name in ("fonds.toml", "records.sqlite", "unlinked", "renamed"):
        (home / name).write_bytes(b"what was there")
    os.environ["FONDS_SECRET"] = "word"
    inherited = os.open(home / "fonds.toml", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    with (
        bystander(home) as target,
        ChildPool(1, LIMITS) as pool,
        open_unnamed_body(b"body", home) as body,
    ):
        found = confined(pool, target, body, acts)
        found["outside"] = {name: outside(name, target, body) for name in acts}
    json.dump(found, sys.stdout)


def confined(pool: ChildPool, target: Target, body: OpenBody, acts: list[str]) -> dict[str, object]:
    """What a child says of itself, and what it was refused."""
    layers = pool.get_layers()
    left_open = pool(forbidden.left_open)
    parent = [os.getpid(), pool(forbidden.parent)]
    aimed = Target(**{**vars(target), "others": parent})
    before = {one.name: one.stat().st_size for one in Path(target.home).iterdir()}
    refused = {name: pool(forbidden.attempt, name, aimed, body) for name in acts}
    after = {one.name: one.stat().st_size for one in Path(target.home).iterdir()}
    return {
        "layers": {str(layer): why for layer, why in layers.items()},
        "refused": refused,
        "changed": before != after,
        "user": pool(forbidden.user),
        "environment": pool(forbidden.environment),
        "left_open": left_open,
        "hidden": [is_hidden(pid) for pid in parent],
    }


def is_hidden(pid: int) -> bool:
    """Whether the files of a process in /proc are the administrator's, or it says so of itself."""
    if pid == os.getpid():
        return privileges.call_prctl(privileges.GET_DUMPABLE) == 0
    return Path(f"/proc/{pid}/environ").stat().st_uid == 0


def tried() -> list[str]:
    """The acts that anybody, or only the administrator, can do outside."""
    return [name for name in ACTS if os.geteuid() == 0 or name not in OF_ROOT]


def outside(name: str, target: Target, body: OpenBody) -> str:
    """The same act in a process of its own that nothing confines."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.set_inheritable(writing, False)
        # It was forked from a process that hides itself.
        privileges.call_prctl(privileges.DUMPABLE, 1)
        told = forbidden.attempt(name, target, body)
        os.write(writing, (told or "done").encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = stream.read().decode()
    _, status = os.waitpid(pid, os.WUNTRACED)
    return "" if told == "done" or (status == 0 and not told) else told or f"status {status}"


@contextmanager
def bystander(home: Path) -> Iterator[Target]:
    """A process of the same user that may be looked into, as any is by default."""
    with subprocess.Popen(
        (sys.executable, "-c", BYSTANDER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address, descriptor, name = process.stdout.readline().split()
        yield Target(str(home), process.pid, int(address), int(descriptor), name, [process.pid])


def take_away(what: str) -> None:
    """Make the kernel answer as one that has no Landlock, or no filters; or as to an administrator of a
    container that may not change who it is."""
    privileges.forbid_new_privileges()
    audit = MACHINES[platform.machine()].audit
    prctl = PRCTL[platform.machine()]
    deny = (seccomp.RETURN, 0, 0, seccomp.ERROR | errno.ENOSYS)
    not_allowed = (seccomp.RETURN, 0, 0, seccomp.ERROR | errno.EPERM)
    invalid = (seccomp.RETURN, 0, 0, seccomp.ERROR | errno.EINVAL)
    allow = (seccomp.RETURN, 0, 0, seccomp.ALLOW)
    rules = {
        "landlock": [(seccomp.EQUAL, 0, 1, 444), deny],
        "users": [(seccomp.EQUAL, 0, 1, SETGROUPS[platform.machine()]), not_allowed],
        "seccomp": [
            (seccomp.EQUAL, 0, 3, prctl),
            (seccomp.LOAD, 0, 0, 16),
            (seccomp.EQUAL, 0, 1, 22),
            invalid,
        ],
    }[what]
    checks = [(seccomp.LOAD, 0, 0, 4), (seccomp.EQUAL, 1, 0, audit), allow]
    seccomp.install([*checks, (seccomp.LOAD, 0, 0, 0), *rules, allow])
