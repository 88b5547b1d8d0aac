"""`fonds takedown`: dry run, confirmation, removal and list; afterwards no store has the file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from filled_home import fill_home, open_home
from fonds.cli.main import cli
from fonds.viewer.description import build_description, read_body
from home_rows import NOW, Body, cdx_row, file_row, write, write_to_archive
from purged_files import holders


@pytest.fixture
def home(tmp_path: Path) -> tuple[Path, str]:
    """A filled home, and one of its PDFs."""
    return tmp_path, fill_home(tmp_path).pdfs[0]


def run_fonds(home: Path, *words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), *words], input=answer)


def test_a_dry_run_changes_nothing_and_a_takedown_needs_confirmation(
    home: tuple[Path, str],
) -> None:
    folder, sha1hex = home
    dry_run = run_fonds(folder, "takedown", sha1hex, "--dry-run", "--json")
    assert dry_run.exit_code == 0
    assert json.loads(dry_run.stdout)["documents"] == [sha1hex]
    unconfirmed = run_fonds(folder, "takedown", sha1hex, "--reason", "privacy", "--json")
    assert (unconfirmed.exit_code, "--yes" in unconfirmed.stderr) == (2, True)
    assert (
        run_fonds(folder, "takedown", sha1hex, "--reason", "privacy", answer="n\n").exit_code == 1
    )
    assert "No takedowns" in run_fonds(folder, "takedown").stdout
    assert json.loads(run_fonds(folder, "show", sha1hex, "--json").stdout)["file"]


def test_a_removed_file_is_in_no_answer_and_is_listed(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    words = ("takedown", sha1hex, "--reason", "privacy", "--note", "letter of 3 May")
    result = run_fonds(folder, *words, "--yes", "--json")
    takedown = json.loads(result.stdout.splitlines()[-1])
    assert (result.exit_code, takedown["sha1hex"], takedown["reason_class"]) == (
        0,
        sha1hex,
        "privacy",
    )
    assert takedown["finished"]
    show_result = run_fonds(folder, "show", sha1hex)
    assert show_result.stdout == ""
    assert f"{sha1hex} was taken down on" in show_result.stderr
    assert "(privacy)" in show_result.stderr
    assert "letter of 3 May" not in show_result.stderr
    assert sha1hex not in run_fonds(folder, "export", "--no-text").stdout
    assert sha1hex not in run_fonds(folder, "search", "flood", "--json", "--limit", "1000").stdout
    listed = run_fonds(folder, "takedown").stdout
    assert (sha1hex in listed, "letter of 3 May" in listed) == (True, True)
    second = run_fonds(folder, *words, "--yes", "--json")
    assert json.loads(second.stdout.splitlines()[-1])["row_created"] == takedown["row_created"]


def test_rewritten_warcs_are_named_before_and_purged(
    home: tuple[Path, str],
) -> None:
    folder, sha1hex = home
    dry_run = json.loads(run_fonds(folder, "takedown", sha1hex, "--dry-run", "--json").stdout)
    (warc,) = dry_run["warcs"]
    assert (warc["captures"], warc["is_open"]) == (1, False)
    path = folder / "archive" / warc["name"]
    assert path.stat().st_size == warc["size_bytes"]
    assert f"{warc['name']} ({warc['size_bytes']:,} bytes), 1 capture replaced" in " ".join(
        run_fonds(folder, "takedown", sha1hex, "--dry-run").stdout.split()
    )
    with open_home(folder) as stores:
        body = read_body(stores, build_description(stores, sha1hex))
    assert holders(folder, body) == [path.name]
    result = run_fonds(folder, "takedown", sha1hex, "--reason", "privacy", "--yes")
    assert f"{path.name}: 1 record replaced" in result.stderr
    assert holders(folder, body) == []
    assert path.stat().st_size == warc["size_bytes"]
    assert run_fonds(folder, "archive", "verify").exit_code == 0
    assert run_fonds(folder, "takedown", "--everywhere").exit_code == 2
    second = run_fonds(folder, "takedown", sha1hex, "--reason", "privacy", "--everywhere", "--yes")
    assert f"{sha1hex} was taken down." in second.stdout


def test_an_open_warc_of_a_killed_process_is_finished_and_purged(
    home: tuple[Path, str],
) -> None:
    folder, _ = home
    late = Body(950, "http://late.example/", NOW, "text/html", b"<p>late " * 99)
    child = os.fork()
    if child == 0:
        try:
            with open_home(folder) as stores:
                (stored,) = write_to_archive(stores, [late])
                write(stores, [file_row(stored), cdx_row(stored)])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    (marker,) = (folder / "archive").glob("*.open")
    assert holders(folder / "archive", late.content) != []
    result = run_fonds(folder, "takedown", late.sha1hex, "--reason", "privacy", "--yes", "--json")
    assert json.loads(result.stdout.splitlines()[-1])["finished"]
    assert not marker.exists()
    assert holders(folder, late.content) == []
    assert run_fonds(folder, "archive", "verify").exit_code == 0


def test_a_warc_that_is_being_written_is_reported_and_postponed(home: tuple[Path, str]) -> None:
    folder, _ = home
    late = Body(950, "http://late.example/", NOW, "text/html", b"<p>late " * 99)
    with open_home(folder) as stores:
        (stored,) = write_to_archive(stores, [late])
        write(stores, [file_row(stored), cdx_row(stored)])
        result = run_fonds(folder, "takedown", late.sha1hex, "--reason", "privacy", "--yes")
        assert "when it is no longer being written" in " ".join(result.stdout.split())
        assert "1 of the library's WARCs still contain it" in result.stderr
        assert "NOT FINISHED" in run_fonds(folder, "takedown").stdout
        stores.archive.finish()
    run_fonds(folder, "takedown", late.sha1hex, "--reason", "privacy", "--yes")
    assert "NOT FINISHED" not in run_fonds(folder, "takedown").stdout
    assert holders(folder / "archive", late.content) == []


def test_the_exit_code_is_1_while_messages_about_the_file_are_in_flight(tmp_path: Path) -> None:
    sha1hex = fill_home(tmp_path).pending
    words = ["--home", str(tmp_path), "takedown", sha1hex, "--reason", "privacy", "--yes", "--json"]
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    assert json.loads(result.stdout.splitlines()[-1])["finished"] is None
    assert f"{sha1hex}: messages about it are in progress" in result.stderr
    assert result.return_value == 1
    assert "NOT FINISHED" in run_fonds(tmp_path, "takedown").stdout
