"""`fonds embargo`: dry run, embargo, list, exports without hidden files, and lifting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from filled_home import fill_home
from fonds.cli.main import cli

OPTIONS = ("--until", "2999-05-01", "--reason", "publication", "--note", "letter of 3 May")


@pytest.fixture
def home(tmp_path: Path) -> tuple[Path, str]:
    """A filled home, and one of its PDFs."""
    return tmp_path, fill_home(tmp_path).pdfs[1]


def run_fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words])


def _list_files(exported: Result) -> list[str]:
    return [json.loads(line)["sha1hex"] for line in exported.stdout.splitlines()]


def test_a_hidden_file_is_in_no_search_or_export_until_it_is_lifted(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    all_files = _list_files(run_fonds(folder, "export", "--no-text"))
    dry_run = run_fonds(folder, "embargo", sha1hex, "--dry-run", "--json")
    assert json.loads(dry_run.stdout)["documents"] == [sha1hex]
    assert "No embargoes" in run_fonds(folder, "embargo").stdout
    result = run_fonds(folder, "embargo", sha1hex, *OPTIONS, "--json")
    embargo = json.loads(result.stdout)
    assert (result.exit_code, embargo["until"], embargo["ended"]) == (
        0,
        "2999-05-01T00:00:00Z",
        None,
    )
    assert _list_files(run_fonds(folder, "export", "--no-text")) == [
        other for other in all_files if other != sha1hex
    ]
    assert sha1hex not in run_fonds(folder, "search", "measurement", "--json").stdout
    assert "Under embargo until 2999-05-01" in run_fonds(folder, "show", sha1hex).stdout
    assert "letter of 3 May" in run_fonds(folder, "embargo").stdout
    lifted = run_fonds(folder, "embargo", "--lift", sha1hex)
    assert (lifted.exit_code, "is visible again" in lifted.stdout) == (0, True)
    assert _list_files(run_fonds(folder, "export", "--no-text")) == all_files
    assert sha1hex in run_fonds(folder, "search", "measurement", "--json").stdout
    assert "is not under embargo" in run_fonds(folder, "embargo", "--lift", sha1hex).stderr


def test_all_results_of_a_query_are_hidden(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    dry_run = run_fonds(folder, "embargo", "--query", "kind:pdf", "--dry-run")
    assert "4 would be hidden" in dry_run.stdout
    assert run_fonds(folder, "embargo", "--query", "kind:pdf", *OPTIONS).exit_code == 0
    embargoes = [
        json.loads(line) for line in run_fonds(folder, "embargo", "--json").stdout.splitlines()
    ]
    assert len(embargoes) == 4
    assert sha1hex in {line["sha1hex"] for line in embargoes}
    assert run_fonds(folder, "search", "kind:pdf", "--json").stdout.count("sha1hex") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--until", "2999-01-01"), "Name the files"),
        (("ab" * 20,), "Give the end and the reason"),
        (("ab" * 20, "--lift", "--note", "x"), "--lift takes only SHA-1s."),
        (("ab" * 20, "--lift", "--dry-run"), "--lift takes only SHA-1s."),
        (("ab" * 20, "--until", "1999-01-01", "--reason", "rights"), "is in the past"),
        (("ab" * 20, *OPTIONS, "--note", "x" * 501), "at most 500"),
    ],
)
def test_bad_input_is_refused(home: tuple[Path, str], words: tuple[str, ...], message: str) -> None:
    result = run_fonds(home[0], "embargo", *words)
    assert (result.exit_code, message in result.stderr) == (2, True)


def test_too_many_files_are_refused(
    home: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, sha1hex = home
    monkeypatch.setattr("fonds.cli.embargo.FILES_MAX", 3)
    result = run_fonds(folder, "embargo", "--query", "kind:pdf", *OPTIONS)
    assert (result.exit_code, "At most 3 can be hidden" in result.stderr) == (2, True)
    monkeypatch.setattr("fonds.cli.embargo.FILES_MAX", 4)
    words = ("embargo", "ab" * 20, "--query", "kind:pdf", "--dry-run")
    result = run_fonds(folder, *words)
    assert (result.exit_code, "At most 4 files" in result.stderr) == (2, True)
    result = run_fonds(folder, "embargo", sha1hex, "--query", "kind:pdf", "--dry-run")
    assert "4 would be hidden" in result.stdout


def test_the_logged_command_contains_the_time_of_the_end(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    for end in ("2999-05-01T13:30:05", "2999-05-02"):
        run_fonds(folder, "embargo", sha1hex, "--until", end, "--reason", "rights")
    acts = [
        json.loads(line) for line in run_fonds(folder, "keys", "acts", "--json").stdout.splitlines()
    ]
    assert [act["what"] for act in reversed(acts)] == [
        f"fonds embargo {sha1hex} --until {end} --reason rights"
        for end in ("2999-05-01T13:30:05", "2999-05-02")
    ]


def test_a_file_that_was_taken_down_is_not_hidden(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    assert run_fonds(folder, "takedown", sha1hex, "--reason", "privacy", "--yes").exit_code == 0
    result = run_fonds(folder, "embargo", sha1hex, *OPTIONS)
    assert "was taken down" in result.stderr
    assert "No embargoes" in run_fonds(folder, "embargo").stdout


def test_commands_that_change_something_are_logged(home: tuple[Path, str]) -> None:
    """Each of these commands is logged, and no command that only reads."""
    folder, sha1hex = home
    feed = "https://daily.example/feed"
    commands = [
        ("embargo", sha1hex, *OPTIONS),
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
    for words in [*commands, ("embargo",), ("sources", "list"), ("takedown", sha1hex, "--dry-run")]:
        run_fonds(folder, *words)
    acts = run_fonds(folder, "keys", "acts", "--json").stdout.splitlines()
    actions = [json.loads(act) for act in reversed(acts)]
    outcomes = [(" ".join(action["what"].split()[:3]), action["outcome"]) for action in actions]
    assert outcomes == [
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
