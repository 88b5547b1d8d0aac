"""Try every forbidden act in a child of a real pool and outside of one, as the current user.

    python -c 'import confinement_trial; confinement_trial.main()' HOME [landlock|seccomp|users|-] [ACT …]

The argument after the home names a kernel feature to remove first, as on an older kernel. Without acts,
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
from fixtures.forbidden import ACTS, ROOT_ACTS, Target
from fonds.isolation import privileges, seccomp
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool, open_unnamed_body
from fonds.isolation.seccomp import ARCHITECTURES
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
    """Run the whole trial and print its results as JSON."""
    home = Path(sys.argv[1])
    missing_feature, acts = (sys.argv[2:3] or ["-"])[0], sys.argv[3:] or list_acts()
    if missing_feature != "-":
        remove_feature(missing_feature)
    for name in ("fonds.toml", "records.sqlite", "unlinked", "renamed"):
        (home / name).write_bytes(b"what was there")
    os.environ["FONDS_SECRET"] = "word"
    inherited_descriptor = os.open(home / "fonds.toml", os.O_RDONLY)
    os.set_inheritable(inherited_descriptor, True)
    with (
        bystander(home) as target,
        ChildPool(1, LIMITS) as pool,
        open_unnamed_body(b"body", home) as body,
    ):
        results = run_confined(pool, target, body, acts)
        results["outside"] = {name: run_outside(name, target, body) for name in acts}
    json.dump(results, sys.stdout)


def run_confined(
    pool: ChildPool, target: Target, body: OpenBody, acts: list[str]
) -> dict[str, object]:
    """Return what a child reports about its confinement and which acts it was refused."""
    layers = pool.get_layers()
    left_open = pool(forbidden.list_open_types)
    parent = [os.getpid(), pool(forbidden.get_parent_id)]
    target_with_parent = Target(**{**vars(target), "others": parent})
    sizes_before = {path.name: path.stat().st_size for path in Path(target.home).iterdir()}
    errors = {name: pool(forbidden.attempt_act, name, target_with_parent, body) for name in acts}
    sizes_after = {path.name: path.stat().st_size for path in Path(target.home).iterdir()}
    return {
        "layers": {str(layer): why for layer, why in layers.items()},
        "refused": errors,
        "changed": sizes_before != sizes_after,
        "user": pool(forbidden.list_user_ids),
        "environment": pool(forbidden.get_environment),
        "left_open": left_open,
        "hidden": [is_hidden(pid) for pid in parent],
    }


def is_hidden(pid: int) -> bool:
    """Return whether the files of a process in /proc belong to root.

    For this process, return whether it is marked as not dumpable.
    """
    if pid == os.getpid():
        return privileges.call_prctl(privileges.GET_DUMPABLE) == 0
    return Path(f"/proc/{pid}/environ").stat().st_uid == 0


def list_acts() -> list[str]:
    """List the acts that the current user can do outside of a child."""
    return [name for name in ACTS if os.geteuid() == 0 or name not in ROOT_ACTS]


def run_outside(name: str, target: Target, body: OpenBody) -> str:
    """Try an act in an unconfined process; return the error, or an empty string."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.set_inheritable(writer, False)
        # The parent process hides itself; undo that for the child.
        privileges.call_prctl(privileges.DUMPABLE, 1)
        error = forbidden.attempt_act(name, target, body)
        os.write(writer, (error or "done").encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        error = stream.read().decode()
    _, status = os.waitpid(pid, os.WUNTRACED)
    return "" if error == "done" or (status == 0 and not error) else error or f"status {status}"


@contextmanager
def bystander(home: Path) -> Iterator[Target]:
    """Run a process of the same user that other processes may inspect, as is the default."""
    with subprocess.Popen(
        (sys.executable, "-c", BYSTANDER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address, descriptor, name = process.stdout.readline().split()
        yield Target(str(home), process.pid, int(address), int(descriptor), name, [process.pid])


def remove_feature(feature: str) -> None:
    """Remove a feature of the kernel by a seccomp filter.

    `landlock` and `seccomp` answer as if the kernel had none. `users` answers as in a container
    whose root may not change its user.
    """
    privileges.forbid_new_privileges()
    audit = ARCHITECTURES[platform.machine()].audit_number
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
    }[feature]
    checks = [(seccomp.LOAD, 0, 0, 4), (seccomp.EQUAL, 1, 0, audit), allow]
    seccomp.install_program([*checks, (seccomp.LOAD, 0, 0, 0), *rules, allow])
