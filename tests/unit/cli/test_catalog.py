"""`fonds catalog`: load files and folders, count rejected records, and look up works."""

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


def run_fonds(home: Path, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [*words, "--home", str(home)], standalone_mode=False)
    code = result.return_value if result.exception is None else repr(result.exception)
    return code, result.output


def read_answer(home: Path, *words: str) -> Any:
    code, output = run_fonds(home, *words, "--json")
    assert code == 0, output
    return json.loads(output.splitlines()[-1])


def test_folders_are_loaded_and_works_are_found(tmp_path: Path) -> None:
    folder, home = tmp_path / "crossref", tmp_path / "home"
    folder.mkdir()
    (folder / "0.json.gz").write_bytes(gzip.compress(json.dumps({"items": [WORK, {}]}).encode()))
    (folder / "notes.txt").write_text("nothing to be read")
    assert (
        "1 file in folders skipped"
        in run_fonds(tmp_path / "other", "catalog", "load", str(folder))[1]
    )
    loaded = read_answer(home, "catalog", "load", str(folder))
    assert (loaded["files"], loaded["loaded"], loaded["refused"]) == (
        1,
        {"crossref": 1},
        {"not-a-record": 1},
    )
    assert read_answer(home, "catalog", "stats")["loaded"] == {"crossref": 1}
    entry = read_answer(home, "catalog", "show", "https://doi.org/10.5555/RIVER.1")
    assert entry["work"]["id"] == "doi:10.5555/river.1"
    assert list(entry["records"]) == ["crossref"]
    results = read_answer(home, "catalog", "search", "on the slow meandering")
    assert [work["id"] for work in results["works"]] == ["doi:10.5555/river.1"]
    assert "sources: crossref" in run_fonds(home, "catalog", "show", "doi:10.5555/river.1")[1]
    assert (
        "Stroom. 2011. On the slow"
        in run_fonds(home, "catalog", "search", "On the slow meandering")[1]
    )


def test_missing_files_are_reported_with_exit_code_1(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert "No catalogue yet" in str(run_fonds(home, "catalog", "stats")[0])
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "gone.jsonl").symlink_to(tmp_path / "none.jsonl")
    code, output = run_fonds(home, "catalog", "load", str(tmp_path / "folder"))
    assert code == 1
    assert "gone.jsonl" in output
    code, output = run_fonds(home, "catalog", "show", "10.5555/none")
    assert (code, "has no work '10.5555/none'" in output) == (1, True)


def test_a_named_file_is_loaded_with_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "works.txt").write_text(json.dumps(WORK) + "\nnonsense\n")
    monkeypatch.chdir(tmp_path / "below")
    loaded = read_answer(tmp_path / "home", "catalog", "load", "../works.txt")
    assert (loaded["loaded"], loaded["refused"]) == ({"crossref": 1}, {"not-json": 1})
