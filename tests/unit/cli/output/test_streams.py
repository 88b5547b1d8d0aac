"""Output on terminals with other encodings. Each call is a process, because the encoding is
chosen at the start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from answer_checks import check_answers
from calls import Call
from filled_home import FilledHome


def _run_fonds(home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "fonds", "--home", str(home), *words]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    return subprocess.run(command, env=environment, capture_output=True, check=False)


def test_a_character_the_terminal_lacks_is_escaped(home: Path, filled_home: FilledHome) -> None:
    process = _run_fonds(home, "search", "rouvre")
    assert (process.returncode, process.stderr) == (0, b"")
    assert rb"La biblioth\xe8que rouvre" in process.stdout


def test_json_is_utf_8_on_every_terminal(home: Path, filled_home: FilledHome) -> None:
    process = _run_fonds(home, "search", "rouvre", "--json")
    line = process.stdout.decode().splitlines()[0]
    assert json.loads(line)["title"] == "La bibliothèque rouvre ses portes"
    check_answers(("search",), process.stdout.decode())


def test_a_sha1_prefix_that_is_too_short_raises_with_the_minimum(
    call: Call, filled_home: FilledHome
) -> None:
    result = call("show", "2ee628")
    assert result.code == 1
    assert "give at least the first 8 characters of a SHA-1" in result.err
    assert "at least" not in call("show", "zebra").err
