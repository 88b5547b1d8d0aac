"""`fonds catalog`: files and folders loaded, told by reason, and works looked up."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fonds.cli.main import cli

WORK = {
    "DOI": "10.5555/River.1",
    "title": ["On the slow meandering of lowland rivers"],
    "author": [{"family": "Stroom", "given": "Ada"}],
    "issued": {"date-parts": [[2011]]},
}


def called(home: Path, *words: str) -> tuple[int, str]:
    found = CliRunner().invoke(cli, [*words, "--home", str(home)], standalone_mode=False)
    code = found.return_value if found.exception is None else repr(found.exception)
    return code, found.output


def answer(home: Path, *words: str) -> Any:
    code, output = called(home, *words, "--json")
    assert code == 0, output
    return json.loads(output.splitlines()[-1])


def test_folders_are_loaded_and_what_is_in_the_catalogue_is_found(tmp_path: Path) -> None:
    folder, home = tmp_path / "crossref", tmp_path / "home"
    folder.mkdir()
    (folder / "0.json.gz").write_bytes(gzip.compress(json.dumps({"items": [WORK, {}]}).encode()))
    (folder / "notes.txt").write_text("nothing to be read")
    assert (
        "1 file in folders skipped" in called(tmp_path / "other", "catalog", "load", str(folder))[1]
    )
    done = answer(home, "catalog", "load", str(folder))
    assert (done["files"], done["loaded"], done["refused"]) == (
        1,
        {"crossref": 1},
        {"not-a-record": 1},
    )
    assert answer(home, "catalog", "stats")["loaded"] == {"crossref": 1}
    shown = answer(home, "catalog", "show", "https://doi.org/10.5555/RIVER.1")
    assert shown["work"]["id"] == "doi:10.5555/river.1"
    assert list(shown["records"]) == ["crossref"]
    found = answer(home, "catalog", "search", "on the slow meandering")
    assert [one["id"] for one in found["works"]] == ["doi:10.5555/river.1"]
    assert "sources: crossref" in called(home, "catalog", "show", "doi:10.5555/river.1")[1]
    assert (
        "Stroom. 2011. On the slow"
        in called(home, "catalog", "search", "On the slow meandering")[1]
    )


def test_files_that_are_not_there_are_named_and_end_with_1(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert "No catalogue yet" in str(called(home, "catalog", "stats")[0])
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "gone.jsonl").symlink_to(tmp_path / "none.jsonl")
    code, output = called(home, "catalog", "load", str(tmp_path / "folder"))
    assert code == 1
    assert "gone.jsonl" in output
    code, output = called(home, "catalog", "show", "10.5555/none")
    assert (code, "has no work '10.5555/none'" in output) == (1, True)


def test_a_file_that_is_named_is_read_whatever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "works.txt").write_text(json.dumps(WORK) + "\nnonsense\n")
    monkeypatch.chdir(tmp_path / "below")
    done = answer(tmp_path / "home", "catalog", "load", "../works.txt")
    assert (done["loaded"], done["refused"]) == ({"crossref": 1}, {"not-json": 1})
