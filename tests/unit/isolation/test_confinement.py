"""A child tries every act that could affect other processes or files, as root and as an ordinary user.

Each act also runs outside of a child, where it works. So it is the confinement that refuses it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixtures import tasks
from fixtures.forbidden import ACTS, ROOT_ACTS
from fonds.isolation import landlock
from fonds.isolation.confinement import Layer
from fonds.isolation.pool import ChildPool
from fonds.model.errors import ConfigurationError

ORDINARY_USER = 12_345
PACKAGE_PATHS = [
    path for path in sys.path if path and not Path(path).is_relative_to(sys.base_prefix)
]
"""Paths of our packages. Another interpreter of the same version has its own standard library."""
PATHS = f"import sys; sys.path += {PACKAGE_PATHS!r}"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")


@dataclass(frozen=True)
class Trial:
    """Result of the acts: the error of each refused act; empty if the act succeeded."""

    refused: dict[str, str]
    outside: dict[str, str]
    layers: dict[str, str]
    facts: dict[str, Any]


def can_run(user: int, program: str) -> bool:
    """Return whether a user can run this interpreter with our packages."""
    code = f"{PATHS}; import fonds.isolation, msgspec, ctypes"
    try:
        process = subprocess.run(
            (program, "-I", "-c", code), user=user, capture_output=True, check=False
        )
    except OSError:
        return False
    return process.returncode == 0


def find_interpreter(user: int) -> str:
    """Return an interpreter that `user` can run. The current one may be in a private folder."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        if user == os.geteuid() or can_run(user, program):
            return program
    pytest.skip(f"no {name} that the user {user} can run")


def run_trial(user: int, missing: str = "-", *acts: str, program: str = "") -> Trial:
    """Run the trial as this user on a kernel without the `missing` feature. Without `acts` all acts run."""
    code = f"{PATHS}; import confinement_trial; confinement_trial.main()"
    with tempfile.TemporaryDirectory(prefix="fonds-confined-") as folder:
        home = Path(folder, "home")
        home.mkdir()
        Path(folder).chmod(0o755)
        os.chown(home, user, user)
        process = subprocess.run(
            (program or find_interpreter(user), "-B", "-c", code, home, missing, *acts),
            user=user if user != os.geteuid() else None,
            group=user if user != os.geteuid() else None,
            extra_groups=[] if user != os.geteuid() else None,
            cwd="/",
            capture_output=True,
            check=False,
        )
    assert process.returncode == 0, process.stderr.decode()
    results = json.loads(process.stdout)
    return Trial(results.pop("refused"), results.pop("outside"), results.pop("layers"), results)


def list_users() -> list[int]:
    return [0, ORDINARY_USER] if os.geteuid() == 0 else [os.geteuid()]


@pytest.fixture(scope="module", params=list_users())
def finished_trial(request: pytest.FixtureRequest) -> Trial:
    # As root use libraries that everybody can read, so that children can switch to another user.
    program = find_interpreter(ORDINARY_USER) if os.geteuid() == 0 else ""
    return run_trial(request.param, program=program)


@pytest.mark.parametrize("name", sorted(ACTS))
def test_a_child_is_refused_every_act_that_works_outside(finished_trial: Trial, name: str) -> None:
    if name not in finished_trial.refused:
        # Only root can do it outside of a child.
        assert name in ROOT_ACTS
        return
    assert finished_trial.outside[name] == "", "it should work outside of a child"
    assert finished_trial.refused[name] != "", "it should be refused in a child"


def test_acts_of_a_child_change_nothing(finished_trial: Trial) -> None:
    assert not finished_trial.facts["changed"]


def test_every_layer_is_active(finished_trial: Trial) -> None:
    assert finished_trial.layers == dict.fromkeys(map(str, Layer), "")


def test_a_child_is_not_root(finished_trial: Trial) -> None:
    assert 0 not in finished_trial.facts["user"]
    assert len(set(finished_trial.facts["user"])) == 1 or os.geteuid() != 0


def test_a_child_inherits_no_environment_and_no_files(finished_trial: Trial) -> None:
    assert finished_trial.facts["environment"] == {}
    assert finished_trial.facts["left_open"] == ["c", "c", "c", "s"]


def test_parent_and_fork_server_are_hidden(finished_trial: Trial) -> None:
    assert finished_trial.facts["hidden"] == [True, True]


def test_without_landlock_the_other_layers_work_and_it_is_reported() -> None:
    results = run_trial(os.geteuid(), "landlock")
    assert "Landlock" in results.layers[Layer.FILES]
    assert [layer for layer, error in results.layers.items() if error and layer != Layer.USER] == [
        Layer.FILES
    ]
    assert not results.refused["read_etc_passwd"]
    assert not results.facts["changed"]
    other_acts = results.refused.keys() - {
        "read_the_settings",
        "read_etc_passwd",
        "read_etc_shadow",
        "list_the_home",
        "list_processes",
        "read_its_command_line",
        "read_environment_of_another",
        "read_proc_of_parent_or_fork_server",
        "list_descriptors_of_parent_or_fork_server",
        "open_proc_mem_of_parent_or_fork_server",
    }
    assert all(results.refused[name] for name in other_acts)


def test_without_seccomp_the_other_layers_work_and_it_is_reported() -> None:
    files = ("read_the_settings", "read_etc_passwd", "list_the_home", "make_a_file", "append")
    paths = ("truncate_while_opening", "unlink", "rename", "make_a_folder", "make_a_symlink")
    memory_acts = (
        "write_proc_mem_of_another",
        "write_memory_of_another",
        "take_a_socket_of_another",
    )
    signal_acts = ("signal", "connect_to_an_abstract_socket")
    acts = (*files, *paths, *memory_acts, *(signal_acts if landlock.get_version() >= 6 else ()))
    results = run_trial(os.geteuid(), "seccomp", *acts)
    assert "seccomp" in results.layers[Layer.SYSTEM_CALLS]
    assert [layer for layer, error in results.layers.items() if error and layer != Layer.USER] == [
        Layer.SYSTEM_CALLS
    ]
    assert not results.facts["changed"]
    assert [name for name in acts if not results.refused[name]] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch to another user")
def test_root_that_cannot_switch_users_is_confined_by_the_other_layers() -> None:
    acts = ("read_etc_shadow", "mount", "signal", "make_a_file", "change_user", "fork")
    results = run_trial(0, "users", *acts, program=find_interpreter(ORDINARY_USER))
    assert [layer for layer, error in results.layers.items() if error] == [Layer.USER]
    assert "cannot switch to another user" in results.layers[Layer.USER]
    assert [name for name in acts if not results.refused[name]] == []
    assert set(results.facts["user"]) == {0}


def test_a_required_but_missing_layer_stops_the_program() -> None:
    code = (
        f"{PATHS}; import confinement_trial as trial;"
        "from fixtures import tasks; from fonds.isolation.pool import ChildPool;"
        "trial.remove_feature('landlock'); ChildPool(1, trial.LIMITS, required=True)(tasks.add, 1)"
    )
    process = subprocess.run((sys.executable, "-c", code), capture_output=True, check=False)
    assert process.returncode == 1
    last_line = process.stderr.decode().splitlines()[-1]
    assert last_line.startswith(
        'fonds.model.errors.ConfigurationError: isolation = "required", but readers cannot be confined'
    )
    assert "files: the kernel does not support Landlock" in last_line


def test_a_required_pool_works_if_no_layer_is_missing() -> None:
    with ChildPool(1) as pool:
        missing = [layer for layer, error in pool.get_layers().items() if error]
    with ChildPool(1, required=True) as pool:
        if missing:
            # This happens for root with a Python that other users cannot read.
            with pytest.raises(ConfigurationError, match=str(missing[0])):
                pool(tasks.add, 1, 1)
        else:
            assert pool(tasks.add, 1, 1) == 2
