"""`fonds embargo`: looked at first, done, listed, left out of exports, lifted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from filled_home import fill_home
from fonds.cli.main import cli

SAID = ("--until", "2999-05-01", "--reason", "publication", "--note", "letter of 3 May")


@pytest.fixture
def home(tmp_path: Path) -> tuple[Path, str]:
    """A filled home, and one of its PDFs."""
    return tmp_path, fill_home(tmp_path).pdfs[1]


def fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def _files(exported: Result) -> list[str]:
    return [json.loads(line)["sha1hex"] for line in exported.stdout.splitlines()]


def test_hidden_it_is_in_no_search_or_export_and_lifted_it_is_again(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    whole = _files(fonds(folder, "export", "--no-text"))
    looked = fonds(folder, "embargo", sha1hex, "--dry-run", "--json")
    assert json.loads(looked.stdout)["documents"] == [sha1hex]
    assert "No embargoes" in fonds(folder, "embargo").stdout
    done = fonds(folder, "embargo", sha1hex, *SAID, "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["until"], told["ended"]) == (0, "2999-05-01T00:00:00Z", None)
    assert _files(fonds(folder, "export", "--no-text")) == [one for one in whole if one != sha1hex]
    assert sha1hex not in fonds(folder, "search", "measurement", "--json").stdout
    assert "Under embargo until 2999-05-01" in fonds(folder, "show", sha1hex).stdout
    assert "letter of 3 May" in fonds(folder, "embargo").stdout
    lifted = fonds(folder, "embargo", "--lift", sha1hex)
    assert (lifted.exit_code, "is visible again" in lifted.stdout) == (0, True)
    assert _files(fonds(folder, "export", "--no-text")) == whole
    assert sha1hex in fonds(folder, "search", "measurement", "--json").stdout
    assert "is not under embargo" in fonds(folder, "embargo", "--lift", sha1hex).stderr


def test_what_a_search_finds_is_hidden_together(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    looked = fonds(folder, "embargo", "--query", "kind:pdf", "--dry-run")
    assert "4 would be hidden" in looked.stdout
    assert fonds(folder, "embargo", "--query", "kind:pdf", *SAID).exit_code == 0
    listed = [json.loads(one) for one in fonds(folder, "embargo", "--json").stdout.splitlines()]
    assert len(listed) == 4
    assert sha1hex in {one["sha1hex"] for one in listed}
    assert fonds(folder, "search", "kind:pdf", "--json").stdout.count("sha1hex") == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--until", "2999-01-01"), "Name the files"),
        (("ab" * 20,), "Give the end and the reason"),
        (("ab" * 20, "--lift", "--note", "x"), "--lift takes only SHA-1s."),
        (("ab" * 20, "--until", "1999-01-01", "--reason", "rights"), "is in the past"),
        (("ab" * 20, *SAID, "--note", "x" * 501), "at most 500"),
    ],
)
def test_what_makes_no_sense_is_refused(
    home: tuple[Path, str], words: tuple[str, ...], told: str
) -> None:
    refused = fonds(home[0], "embargo", *words)
    assert (refused.exit_code, told in refused.stderr) == (2, True)


def test_what_was_taken_down_is_not_hidden(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    assert fonds(folder, "takedown", sha1hex, "--reason", "privacy", "--yes").exit_code == 0
    done = fonds(folder, "embargo", sha1hex, *SAID)
    assert "was taken down" in done.stderr
    assert "No embargoes" in fonds(folder, "embargo").stdout


def test_what_commands_change_stands_among_the_acts(home: tuple[Path, str]) -> None:
    """Each of these commands, and none that only looks."""
    folder, sha1hex = home
    feed = "https://daily.example/feed"
    done = [
        ("embargo", sha1hex, *SAID),
        ("embargo", "--lift", sha1hex),
        ("sources", "add", feed),
        ("sources", "pause", feed),
        ("sources", "remove", feed),
        ("collection", "create", "news/floods", "--query", "flood"),
        ("configuration", "set", "news/DEFAULT", "clusters=3"),
        ("configuration", "remove", "news/nothing"),
        ("collection", "delete", "news/floods"),
        ("failures", "accept", "--reason", "timeout", "--yes"),
        ("takedown", sha1hex, "--reason", "copyright", "--yes"),
    ]
    for words in [*done, ("embargo",), ("sources", "list"), ("takedown", sha1hex, "--dry-run")]:
        fonds(folder, *words)
    acts = fonds(folder, "keys", "acts", "--json").stdout.splitlines()
    told = [json.loads(act) for act in reversed(acts)]
    said = [(" ".join(one["what"].split()[:3]), one["outcome"]) for one in told]
    assert said == [
        (f"fonds embargo {sha1hex}", 200),
        ("fonds embargo --lift", 200),
        ("fonds sources add", 200),
        ("fonds sources pause", 200),
        ("fonds sources remove", 200),
        ("fonds collection create", 200),
        ("fonds configuration set", 200),
        ("fonds configuration remove", 400),
        ("fonds collection delete", 200),
        ("fonds failures accept", 200),
        (f"fonds takedown {sha1hex}", 200),
    ]
