"""The systemd units: systemd understands them, and they name commands and settings there are."""

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


def test_there_are_units() -> None:
    assert {path.name for path in UNITS} >= {"fonds@.service", "fonds-run.service"}


@each_unit
def test_a_unit_starts_a_command_there_is_and_stops_it_politely(unit: Path) -> None:
    text = unit.read_text("utf-8")
    (command,) = re.findall(r"^ExecStart=\S+/fonds (\w+)", text, re.MULTILINE)
    assert command in COMMANDS
    assert "KillSignal=SIGTERM" in text
    assert "Restart=always" in text


@each_unit
def test_a_unit_names_settings_there_are(unit: Path) -> None:
    named = set(re.findall(r"\bFONDS_[A-Z_]+", unit.read_text("utf-8")))
    settings = {
        name.removeprefix(ENVIRONMENT_PREFIX).removesuffix(FILE_SUFFIX).lower()
        for name in named - NOT_SETTINGS
    }
    assert settings <= set(JOINED_NAMES)


@each_unit
def test_systemd_understands_a_unit(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here (Debian package systemd)")
    name = unit.name.replace("@.", "@extract_pdf.")
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text("utf-8"), flags=re.M)
    copy = tmp_path / name
    copy.write_text(text.replace("User=fonds", "User=root").replace("Group=fonds", "Group=root"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, check=False
    )
    complaints = [line for line in done.stderr.decode().splitlines() if name in line]
    assert complaints == []
