"""Commands that hints suggest can be typed as they are printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from calls import Call
from fonds.cli.context import App, find_program_name


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program called `fonds` in some folder."""
    path = tmp_path / "bin" / "fonds"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_only_the_name_is_printed_if_the_shell_finds_it(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_program_name() == "fonds"
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_program_name() == str(program)
    monkeypatch.setattr(sys, "argv", ["/usr/lib/python3/site-packages/fonds/__main__.py"])
    assert find_program_name() == "fonds"


def test_a_home_option_is_repeated_in_hints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["fonds"])
    monkeypatch.setenv("FONDS_HOME", "elsewhere")
    default_app = App.from_flags(None, (), json=False, quiet=False)
    assert default_app.format_command("status") == "fonds status"
    named_app = default_app.with_flags(str(tmp_path / "my library"), (), json=False, quiet=False)
    assert named_app.format_command("status") == "fonds --home 'my library' status"


def test_hints_of_commands_name_the_home(call: Call, home: Path) -> None:
    assert f"--home {home} ingest --pipeline NAME" in call("pipelines").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_written_for_each_shell(call: Call, shell: str) -> None:
    result = call("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert "_FONDS_COMPLETE" in result.out


def test_bash_completes_commands_and_values(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "fonds.bash"
    script.write_text(call("completion", "bash").out)
    variables = {
        "_FONDS_COMPLETE": "bash_complete",
        "COMP_WORDS": "fonds search --sort ",
        "COMP_CWORD": "3",
    }
    process = subprocess.run(
        [sys.executable, "-c", "from fonds.cli.main import cli; cli(prog_name='fonds')"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "newest" in process.stdout
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
