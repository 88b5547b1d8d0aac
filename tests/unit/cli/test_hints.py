"""What is said to be typed next can be typed as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from calls import Call
from fonds.cli.context import App, find_program_name


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A program `fonds` somewhere."""
    path = tmp_path / "bin" / "fonds"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_name_alone_is_said_only_where_the_shell_finds_it(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(installed)])
    monkeypatch.setenv("PATH", str(installed.parent))
    assert find_program_name() == "fonds"
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_program_name() == str(installed)
    monkeypatch.setattr(sys, "argv", ["/usr/lib/python3/site-packages/fonds/__main__.py"])
    assert find_program_name() == "fonds"


def test_a_home_that_was_named_is_said_and_any_other_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["fonds"])
    monkeypatch.setenv("FONDS_HOME", "elsewhere")
    there = App.from_flags(None, (), json=False, quiet=False)
    assert there.format_command("status") == "fonds status"
    named = there.with_flags(str(tmp_path / "my library"), (), json=False, quiet=False)
    assert named.format_command("status") == "fonds --home 'my library' status"


def test_hints_of_commands_name_the_home(call: Call, home: Path) -> None:
    assert f"--home {home} ingest --pipeline NAME" in call("pipelines").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_completes_commands_is_written_for_each_shell(call: Call, shell: str) -> None:
    told = call("completion", shell)
    assert (told.code, told.err) == (0, "")
    assert "_FONDS_COMPLETE" in told.out


def test_bash_completes_commands_and_values_with_it(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "fonds.bash"
    script.write_text(call("completion", "bash").out)
    asked = {
        "_FONDS_COMPLETE": "bash_complete",
        "COMP_WORDS": "fonds search --sort ",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(
        [sys.executable, "-c", "from fonds.cli.main import cli; cli(prog_name='fonds')"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "newest" in done.stdout
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
