"""`fonds changes`: silent edits, the same as on their page."""

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


def fonds(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "changes", *words])


def test_the_rows_are_those_of_the_page_and_the_last_line_counts(
    home: tuple[Path, ReadingHome],
) -> None:
    folder, _ = home
    *rows, last = check_answers(("changes",), fonds(folder, "--json").stdout)
    with (
        open_home(folder) as stores,
        TestClient(create_app(stores), base_url="http://localhost") as client,
    ):
        told = client.get("/api/changes").json()
    assert rows == told["rows"] != []
    assert last == {"walked": told["walked"], "counts": told["counts"], "complete": True}


def test_people_read_what_went_and_came(home: tuple[Path, ReadingHome]) -> None:
    folder, reading = home
    told = fonds(folder, "--site", "daily.example")
    for said in (
        "Old bridge closed for good", "+7 −1 words, headline changed", "− Monday.", "+ Tuesday.",
        f"show {reading.versions[2]}", "1 edited, 1 same-text, 0 other-extractor, 0 unknown",
    ):  # fmt: skip
        assert said in told.stdout
    assert fonds(folder, "--site", " Daily.Example ").stdout == told.stdout
    others = fonds(folder, "--change", "same-text", "--json").stdout.splitlines()
    assert [json.loads(one).get("sha1hex") for one in others] == [reading.versions[1], None]
    assert (
        "No changed story of the site 'nowhere.example'"
        in fonds(folder, "--site", "nowhere.example").stdout
    )


def test_a_version_under_embargo_is_passed_over(home: tuple[Path, ReadingHome]) -> None:
    folder, reading = home
    with open_home(folder) as stores:
        EmbargoService(stores, None, lambda: NOW).hide(
            EmbargoRow(reading.versions[2], "publication", "", NOW.replace(year=2999), "ann", NOW)
        )
    assert "Old bridge" not in fonds(folder).stdout


def test_what_is_cut_says_so(home: tuple[Path, ReadingHome]) -> None:
    folder, reading = home
    assert "listed, of" not in fonds(folder).stderr
    with open_home(folder) as stores:
        (row,) = stores.records.get(StoryMetaRow, [reading.versions[2]])
        (text,) = stores.records.get(TextSketchRow, [reading.versions[2]])
        later = {"sha1hex": "ab" * 20, "captured": "29990101000000"}
        edited = replace(row, **later, article_title="Bridge opens again")
        stores.records.put([edited, replace(text, **later)])
    told = fonds(folder, "--limit", "1")
    assert "Bridge opens again" in told.stdout
    assert "Tuesday" not in told.stdout
    assert "1 shown, 5 versions examined; --limit shows more" in told.stderr
