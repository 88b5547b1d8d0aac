"""`fonds takedown`: looked at first, asked about, done, listed; afterwards nothing here knows the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from filled_home import fill, opened
from fonds.cli.main import cli


@pytest.fixture
def home(tmp_path: Path) -> tuple[Path, str]:
    """A filled home, and one of its PDFs."""
    with opened(tmp_path) as stores:
        return tmp_path, fill(stores).pdfs[0]


def fonds(home: Path, *words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words], input=answer)


def test_a_look_changes_nothing_and_nobody_is_taken_by_surprise(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    looked = fonds(folder, "takedown", sha1hex, "--dry-run", "--json")
    assert looked.exit_code == 0
    assert json.loads(looked.stdout)["documents"] == [sha1hex]
    unasked = fonds(folder, "takedown", sha1hex, "--reason", "privacy", "--json")
    assert (unasked.exit_code, "--yes" in unasked.stderr) == (2, True)
    assert fonds(folder, "takedown", sha1hex, "--reason", "privacy", answer="n\n").exit_code == 1
    assert "Nothing was taken down" in fonds(folder, "takedown").stdout
    assert json.loads(fonds(folder, "show", sha1hex, "--json").stdout)["file"]


def test_what_is_taken_down_is_known_to_nobody_and_listed(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    said = ("takedown", sha1hex, "--reason", "privacy", "--note", "letter of 3 May")
    done = fonds(folder, *said, "--yes", "--json")
    told = json.loads(done.stdout.splitlines()[-1])
    assert (done.exit_code, told["sha1hex"], told["reason_class"]) == (0, sha1hex, "privacy")
    assert told["finished"]
    assert "nothing is known of" in fonds(folder, "show", sha1hex).output
    assert sha1hex not in fonds(folder, "export", "--no-text").stdout
    assert sha1hex not in fonds(folder, "search", "flood", "--json", "--limit", "1000").stdout
    listed = fonds(folder, "takedown").stdout
    assert (sha1hex in listed, "letter of 3 May" in listed) == (True, True)
    again = fonds(folder, *said, "--yes", "--json")
    assert json.loads(again.stdout.splitlines()[-1])["row_created"] == told["row_created"]
