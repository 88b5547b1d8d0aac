"""`fonds changes`: silent edits, with the same rows as the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from starlette.testclient import TestClient

from answer_checks import check_answers
from filled_home import open_home
from fonds.cli.main import cli
from fonds.model.rows import EmbargoRow, StoryMetaRow, TextSketchRow
from fonds.restrictions.embargo import EmbargoService
from fonds.web.app import create_app
from home_rows import NOW
from reading_home import ReadingHome, fill_reading


@pytest.fixture
def home(tmp_path: Path) -> tuple[Path, ReadingHome]:
    return tmp_path, fill_reading(tmp_path)


def run_fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "changes", *words])


def test_rows_equal_those_of_the_page_and_the_last_line_counts(
    home: tuple[Path, ReadingHome],
) -> None:
    folder, _ = home
    *rows, last = check_answers(("changes",), run_fonds(folder, "--json").stdout)
    with (
        open_home(folder) as stores,
        TestClient(create_app(stores), base_url="http://localhost") as client,
    ):
        answer = client.get("/api/changes").json()
    assert rows == answer["rows"] != []
    assert last == {"walked": answer["walked"], "counts": answer["counts"], "complete": True}


def test_printed_changes_show_removed_and_added_text(home: tuple[Path, ReadingHome]) -> None:
    folder, reading = home
    result = run_fonds(folder, "--site", "daily.example")
    for text in (
        "Old bridge closed for good", "+7 −1 words, headline changed", "− Monday.", "+ Tuesday.",
        f"show {reading.versions[2]}", "1 edited, 1 same-text, 0 other-extractor, 0 unknown",
    ):  # fmt: skip
        assert text in result.stdout
    assert run_fonds(folder, "--site", " Daily.Example ").stdout == result.stdout
    same_text = run_fonds(folder, "--change", "same-text", "--json").stdout.splitlines()
    assert [json.loads(line).get("sha1hex") for line in same_text] == [reading.versions[1], None]
    assert (
        "No changed story of the site 'nowhere.example'"
        in run_fonds(folder, "--site", "nowhere.example").stdout
    )


def test_a_version_under_embargo_is_skipped(home: tuple[Path, ReadingHome]) -> None:
    folder, reading = home
    with open_home(folder) as stores:
        EmbargoService(stores, None, lambda: NOW).hide(
            EmbargoRow(reading.versions[2], "publication", "", NOW.replace(year=2999), "ann", NOW)
        )
    assert "Old bridge" not in run_fonds(folder).stdout


def test_a_limited_list_reports_the_rest(home: tuple[Path, ReadingHome]) -> None:
    folder, reading = home
    assert "listed, of" not in run_fonds(folder).stderr
    with open_home(folder) as stores:
        (row,) = stores.records.get(StoryMetaRow, [reading.versions[2]])
        (text,) = stores.records.get(TextSketchRow, [reading.versions[2]])
        newer = {"sha1hex": "ab" * 20, "captured": "29990101000000"}
        edited = replace(row, **newer, article_title="Bridge opens again")
        stores.records.put([edited, replace(text, **newer)])
    result = run_fonds(folder, "--limit", "1")
    assert "Bridge opens again" in result.stdout
    assert "Tuesday" not in result.stdout
    assert "1 shown, 5 versions examined; --limit shows more" in result.stderr
