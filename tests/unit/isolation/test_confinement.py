"""Everything a child could do to the world around it is tried, as an administrator and as a user.

Each act is also done outside of a child, where it works: what refuses it is the confinement.
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
from fixtures.forbidden import ACTS, OF_ROOT
from fonds.isolation import landlock
from fonds.isolation.confinement import Layer
from fonds.isolation.pool import ChildPool
from fonds.model.errors import ConfigurationError

ORDINARY_USER = 12_345
OURS = [one for one in sys.path if one and not Path(one).is_relative_to(sys.base_prefix)]
"""Where our packages lie; another interpreter of the same version has a standard library of its own."""
PATHS = f"import sys; sys.path += {OURS!r}"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")


@dataclass(frozen=True)
class Trial:
    """What came of the acts: why each was refused, empty for those that were done."""

    refused: dict[str, str]
    outside: dict[str, str]
    layers: dict[str, str]
    said: dict[str, Any]


def may_run(user: int, program: str) -> bool:
    """Whether this interpreter, with what is installed for ours, can be used by a user."""
    code = f"{PATHS}; import fonds.isolation, msgspec, ctypes"
    try:
        ran = subprocess.run(
            (program, "-I", "-c", code), user=user, capture_output=True, check=False
        )
    except OSError:
        return False
    return ran.returncode == 0


def interpreter(user: int) -> str:
    """One that `user` can run; this one may lie in a folder of its owner's."""
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/{own}", f"/usr/local/bin/{own}"):
        if user == os.geteuid() or may_run(user, program):
            return program
    pytest.skip(f"no {own} here that the user {user} may run")


def trial(user: int, missing: str = "-", *acts: str, program: str = "") -> Trial:
    """The trial as this user, on a kernel without what is `missing`; of all acts where none is named."""
    code = f"{PATHS}; import confinement_trial; confinement_trial.main()"
    with tempfile.TemporaryDirectory(prefix="fonds-confined-") as folder:
        home = Path(folder, "home")
        home.mkdir()
        Path(folder).chmod(0o755)
        os.chown(home, user, user)
        ran = subprocess.run(
            (program or interpreter(user), "-B", "-c", code, home, missing, *acts),
            user=user if user != os.geteuid() else None,
            group=user if user != os.geteuid() else None,
            extra_groups=[] if user != os.geteuid() else None,
            cwd="/",
            capture_output=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr.decode()
    found = json.loads(ran.stdout)
    return Trial(found.pop("refused"), found.pop("outside"), found.pop("layers"), found)


def users() -> list[int]:
    return [0, ORDINARY_USER] if os.geteuid() == 0 else [os.geteuid()]


@pytest.fixture(scope="module", params=users())
def tried(request: pytest.FixtureRequest) -> Trial:
    # As an administrator with libraries that anybody may read, so that children become another user.
    program = interpreter(ORDINARY_USER) if os.geteuid() == 0 else ""
    return trial(request.param, program=program)


@pytest.mark.parametrize("name", sorted(ACTS))
def test_a_child_is_refused_what_any_other_process_may_do(tried: Trial, name: str) -> None:
    if name not in tried.refused:
        assert name in OF_ROOT
        pytest.skip("only an administrator can do it anywhere")
    assert tried.outside[name] == "", "it should work outside of a child"
    assert tried.refused[name] != "", "it should be refused in a child"


def test_nothing_around_the_child_has_changed(tried: Trial) -> None:
    assert not tried.said["changed"]


def test_every_layer_holds_here(tried: Trial) -> None:
    assert tried.layers == dict.fromkeys(map(str, Layer), "")


def test_a_child_is_no_administrator(tried: Trial) -> None:
    assert 0 not in tried.said["user"]
    assert len(set(tried.said["user"])) == 1 or os.geteuid() != 0


def test_a_child_inherits_nothing(tried: Trial) -> None:
    assert tried.said["environment"] == {}
    assert tried.said["left_open"] == ["c", "c", "c", "s"]


def test_nobody_can_look_into_parent_and_fork_server(tried: Trial) -> None:
    assert tried.said["hidden"] == [True, True]


def test_without_landlock_the_other_layers_hold_and_it_is_said() -> None:
    found = trial(os.geteuid(), "landlock")
    assert "Landlock" in found.layers[Layer.FILES]
    assert [layer for layer, why in found.layers.items() if why and layer != Layer.USER] == [
        Layer.FILES
    ]
    assert not found.refused["read_etc_passwd"]
    assert not found.said["changed"]
    still = found.refused.keys() - {
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
    assert all(found.refused[name] for name in still)


def test_without_filters_the_other_layers_hold_and_it_is_said() -> None:
    files = ("read_the_settings", "read_etc_passwd", "list_the_home", "make_a_file", "append")
    paths = ("truncate_while_opening", "unlink", "rename", "make_a_folder", "make_a_symlink")
    others = ("write_proc_mem_of_another", "write_memory_of_another", "take_a_socket_of_another")
    talk = ("signal", "connect_to_an_abstract_socket")
    acts = (*files, *paths, *others, *(talk if landlock.get_version() >= 6 else ()))
    found = trial(os.geteuid(), "seccomp", *acts)
    assert "seccomp" in found.layers[Layer.SYSTEM_CALLS]
    assert [layer for layer, why in found.layers.items() if why and layer != Layer.USER] == [
        Layer.SYSTEM_CALLS
    ]
    assert not found.said["changed"]
    assert [name for name in acts if not found.refused[name]] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator becomes another user")
def test_an_administrator_that_may_not_change_who_it_is_is_confined_otherwise() -> None:
    acts = ("read_etc_shadow", "mount", "signal", "make_a_file", "change_user", "fork")
    found = trial(0, "users", *acts, program=interpreter(ORDINARY_USER))
    assert [layer for layer, why in found.layers.items() if why] == [Layer.USER]
    assert "cannot switch to another user" in found.layers[Layer.USER]
    assert [name for name in acts if not found.refused[name]] == []
    assert set(found.said["user"]) == {0}


def test_what_is_required_and_not_there_stops_everything() -> None:
    code = (
        f"{PATHS}; import confinement_trial as trial;"
        "from fixtures import tasks; from fonds.isolation.pool import ChildPool;"
        "trial.remove_feature('landlock'); ChildPool(1, trial.LIMITS, required=True)(tasks.add, 1)"
    )
    ran = subprocess.run((sys.executable, "-c", code), capture_output=True, check=False)
    assert ran.returncode == 1
    told = ran.stderr.decode().splitlines()[-1]
    assert told.startswith(
        'fonds.model.errors.ConfigurationError: isolation = "required", but readers cannot be confined'
    )
    assert "files: the kernel does not support Landlock" in told


def test_where_everything_holds_the_required_pool_works() -> None:
    with ChildPool(1) as pool:
        missing = [layer for layer, why in pool.get_layers().items() if why]
    with ChildPool(1, required=True) as pool:
        if missing:
            # As for an administrator whose Python nobody else may read.
            with pytest.raises(ConfigurationError, match=str(missing[0])):
                pool(tasks.add, 1, 1)
        else:
            assert pool(tasks.add, 1, 1) == 2
