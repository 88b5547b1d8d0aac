"""Answers on terminals of other encodings, by processes of their own: an encoding is chosen at the start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from answer_checks import check_answers
from calls import Call
from filled_home import FilledHome


def _asked(home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "fonds", "--home", str(home), *words]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    return subprocess.run(command, env=environment, capture_output=True, check=False)


def test_a_character_the_terminal_lacks_is_an_escape_and_ends_nothing(
    home: Path, filled: FilledHome
) -> None:
    done = _asked(home, "search", "rouvre")
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"La biblioth\xe8que rouvre" in done.stdout


def test_json_is_utf_8_on_every_terminal(home: Path, filled: FilledHome) -> None:
    done = _asked(home, "search", "rouvre", "--json")
    line = done.stdout.decode().splitlines()[0]
    assert json.loads(line)["title"] == "La bibliothèque rouvre ses portes"
    check_answers(("search",), done.stdout.decode())


def test_the_beginning_of_a_sha1_that_is_too_short_is_told(call: Call, filled: FilledHome) -> None:
    told = call("show", "2ee628")
    assert told.code == 1
    assert "give at least the first 8 characters of a SHA-1" in told.err
    assert "at least" not in call("show", "zebra").err
