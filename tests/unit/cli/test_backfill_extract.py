"""`fonds backfill extract`: output, exit codes, and refused input."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from calls import Call
from fonds.cli.main import cli
from made_warcs import OUTCOMES, WARCS, write_warcs


def test_warcs_lists_and_folders_are_read_and_every_record_is_counted(
    call: Call, tmp_path: Path
) -> None:
    first, *other_paths = write_warcs(tmp_path / "crawl")
    (tmp_path / "list.txt").write_text("".join(f"{path}\n" for path in other_paths))
    words = ("backfill", "extract", str(first), f"@{tmp_path / 'list.txt'}", "--workers", "1")
    result = call(*words, "--to", "parquet", "--out", str(tmp_path / "out"), "--json")
    assert result.code == 1, result.err
    answer = json.loads(result.out)
    assert (answer["warcs"], answer["records"]) == (WARCS, sum(OUTCOMES.values()))
    assert (answer["ended"], answer["wrong"]) == (OUTCOMES, [])
    assert "written: 1 of 1" in result.err
    assert {output.name for output in (tmp_path / "out").iterdir()} == {
        "books.jsonl",
        "captures",
        "files",
        "job.json",
    }


def test_bad_input_is_refused_before_any_reading(call: Call, tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    crawl, out = str(tmp_path / "crawl"), str(tmp_path / "out")
    result = call("backfill", "extract", crawl, "--to", "parquet")
    assert (result.code, "--out" in result.err) == (2, True)
    result = call("backfill", "extract", str(tmp_path / "no"), "--to", "parquet", "--out", out)
    assert (result.code, "no: no such file" in result.err) == (2, True)
    (tmp_path / "notes.txt").write_text("these are notes")
    notes = str(tmp_path / "notes.txt")
    result = call("backfill", "extract", notes, "--to", "parquet", "--out", out)
    assert result.code == 2
    assert "notes.txt is not a WARC" in result.err
    assert not Path(out).exists()
    result = call("backfill", "extract", crawl, "--to", "parquet", "--out", str(tmp_path))
    assert (result.code, "not empty" in result.err) == (2, True)


def test_extraction_into_stores_is_recorded_and_repeatable(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    home = str(tmp_path / "home")
    words = ("--json", "backfill", "extract", "--to", "stores", str(tmp_path / "crawl"))
    for _ in range(2):
        call_result = CliRunner().invoke(cli, ["--home", home, *words])
        answer = json.loads(call_result.stdout)
        assert (answer["ended"], answer["wrong"]) == (OUTCOMES, [])
        audit = CliRunner().invoke(cli, ["--home", home, "audit", "--json"])
        assert json.loads(audit.stdout)["missing"] == []
    export = CliRunner().invoke(cli, ["--home", home, "export"])
    assert len(export.stdout.splitlines()) == 10
