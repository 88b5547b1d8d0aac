"""The systemd units are valid and name existing commands and settings."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fonds.cli.main import COMMANDS
from fonds.config import (
    ENVIRONMENT_PREFIX,
    FILE_SUFFIX,
    JOINED_NAMES,
    NOT_SETTINGS,
)
from unit.repository.tree import ROOT

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
each_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)


def test_the_units_exist() -> None:
    assert {path.name for path in UNITS} >= {"fonds@.service", "fonds-run.service"}


@each_unit
def test_a_unit_starts_an_existing_command_and_stops_it_with_sigterm(unit: Path) -> None:
    text = unit.read_text("utf-8")
    (command,) = re.findall(r"^ExecStart=\S+/fonds (\w+)", text, re.MULTILINE)
    assert command in COMMANDS
    assert "KillSignal=SIGTERM" in text
    assert "Restart=always" in text


@each_unit
def test_a_unit_keeps_the_home_private(unit: Path) -> None:
    lines = unit.read_text("utf-8").splitlines()
    assert {"UMask=0077", "StateDirectoryMode=0700"} <= set(lines)


@each_unit
def test_a_unit_names_existing_settings(unit: Path) -> None:
    variables = set(re.findall(r"\bFONDS_[A-Z_]+", unit.read_text("utf-8")))
    settings = {
        name.removeprefix(ENVIRONMENT_PREFIX).removesuffix(FILE_SUFFIX).lower()
        for name in variables - NOT_SETTINGS
    }
    assert settings <= set(JOINED_NAMES)


@each_unit
def test_a_unit_is_valid_for_systemd(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing (Debian package systemd)")
    name = unit.name.replace("@.", "@extract_pdf.")
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text("utf-8"), flags=re.M)
    unit_copy = tmp_path / name
    unit_copy.write_text(
        text.replace("User=fonds", "User=root").replace("Group=fonds", "Group=root")
    )
    process = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit_copy)], capture_output=True, check=False
    )
    complaints = [line for line in process.stderr.decode().splitlines() if name in line]
    assert complaints == []
