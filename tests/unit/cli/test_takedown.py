"""`fonds takedown`: looked at first, asked about, done, listed; afterwards nothing here knows the file."""

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
    assert "No takedowns" in fonds(folder, "takedown").stdout
    assert json.loads(fonds(folder, "show", sha1hex, "--json").stdout)["file"]


def test_what_is_taken_down_is_known_to_nobody_and_listed(home: tuple[Path, str]) -> None:
    folder, sha1hex = home
    said = ("takedown", sha1hex, "--reason", "privacy", "--note", "letter of 3 May")
    done = fonds(folder, *said, "--yes", "--json")
    told = json.loads(done.stdout.splitlines()[-1])
    assert (done.exit_code, told["sha1hex"], told["reason_class"]) == (0, sha1hex, "privacy")
    assert told["finished"]
    shown = fonds(folder, "show", sha1hex)
    assert shown.stdout == ""
    assert f"{sha1hex} was taken down on" in shown.stderr
    assert "(privacy)" in shown.stderr
    assert "letter of 3 May" not in shown.stderr
    assert sha1hex not in fonds(folder, "export", "--no-text").stdout
    assert sha1hex not in fonds(folder, "search", "flood", "--json", "--limit", "1000").stdout
    listed = fonds(folder, "takedown").stdout
    assert (sha1hex in listed, "letter of 3 May" in listed) == (True, True)
    again = fonds(folder, *said, "--yes", "--json")
    assert json.loads(again.stdout.splitlines()[-1])["row_created"] == told["row_created"]


def test_the_warcs_that_are_written_anew_are_named_before_and_purged(
    home: tuple[Path, str],
) -> None:
    folder, sha1hex = home
    looked = json.loads(fonds(folder, "takedown", sha1hex, "--dry-run", "--json").stdout)
    (warc,) = looked["warcs"]
    assert (warc["captures"], warc["is_open"]) == (1, False)
    path = folder / "archive" / warc["name"]
    assert path.stat().st_size == warc["size_bytes"]
    assert f"{warc['name']} ({warc['size_bytes']:,} bytes), 1 capture replaced" in " ".join(
        fonds(folder, "takedown", sha1hex, "--dry-run").stdout.split()
    )
    with open_home(folder) as stores:
        body = read_body(stores, build_description(stores, sha1hex))
    assert holders(folder, body) == [path.name]
    done = fonds(folder, "takedown", sha1hex, "--reason", "privacy", "--yes")
    assert f"{path.name}: 1 record replaced" in done.stderr
    assert holders(folder, body) == []
    assert path.stat().st_size == warc["size_bytes"]
    assert fonds(folder, "archive", "verify").exit_code == 0
    assert fonds(folder, "takedown", "--everywhere").exit_code == 2
    again = fonds(folder, "takedown", sha1hex, "--reason", "privacy", "--everywhere", "--yes")
    assert f"{sha1hex} was taken down." in again.stdout


def test_a_warc_that_a_killed_process_left_open_is_finished_and_purged(
    home: tuple[Path, str],
) -> None:
    folder, _ = home
    late = Body(950, "http://late.example/", NOW, "text/html", b"<p>late " * 99)
    child = os.fork()
    if child == 0:
        try:
            with open_home(folder) as stores:
                (kept,) = write_to_archive(stores, [late])
                write(stores, [file_row(kept), cdx_row(kept)])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    (marker,) = (folder / "archive").glob("*.open")
    assert holders(folder / "archive", late.content) != []
    done = fonds(folder, "takedown", late.sha1hex, "--reason", "privacy", "--yes", "--json")
    assert json.loads(done.stdout.splitlines()[-1])["finished"]
    assert not marker.exists()
    assert holders(folder, late.content) == []
    assert fonds(folder, "archive", "verify").exit_code == 0


def test_a_warc_that_is_written_to_is_told_and_waits(home: tuple[Path, str]) -> None:
    folder, _ = home
    late = Body(950, "http://late.example/", NOW, "text/html", b"<p>late " * 99)
    with open_home(folder) as stores:
        (kept,) = write_to_archive(stores, [late])
        write(stores, [file_row(kept), cdx_row(kept)])
        done = fonds(folder, "takedown", late.sha1hex, "--reason", "privacy", "--yes")
        assert "when it is no longer being written" in " ".join(done.stdout.split())
        assert "1 of the library's WARCs still contain it" in done.stderr
        assert "NOT FINISHED" in fonds(folder, "takedown").stdout
        stores.archive.finish()
    fonds(folder, "takedown", late.sha1hex, "--reason", "privacy", "--yes")
    assert "NOT FINISHED" not in fonds(folder, "takedown").stdout
    assert holders(folder / "archive", late.content) == []


def test_the_exit_code_is_1_while_messages_about_the_file_are_in_flight(tmp_path: Path) -> None:
    sha1hex = fill_home(tmp_path).pending
    words = ["--home", str(tmp_path), "takedown", sha1hex, "--reason", "privacy", "--yes", "--json"]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    assert json.loads(done.stdout.splitlines()[-1])["finished"] is None
    assert f"{sha1hex}: messages about it are in flight" in done.stderr
    assert done.return_value == 1
    assert "NOT FINISHED" in fonds(tmp_path, "takedown").stdout
