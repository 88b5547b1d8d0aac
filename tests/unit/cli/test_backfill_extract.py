"""`fonds backfill extract` as it is typed: what is told, exit codes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from calls import Call
from fonds.cli.main import cli
from made_warcs import OUTCOMES, WARCS, write_warcs


def test_warcs_lists_and_folders_are_read_and_every_record_is_told(
    call: Call, tmp_path: Path
) -> None:
    first, *others = write_warcs(tmp_path / "crawl")
    (tmp_path / "list.txt").write_text("".join(f"{path}\n" for path in others))
    words = ("backfill", "extract", str(first), f"@{tmp_path / 'list.txt'}", "--workers", "1")
    told = call(*words, "--to", "parquet", "--out", str(tmp_path / "out"), "--json")
    assert told.code == 1, told.err
    answer = json.loads(told.out)
    assert (answer["warcs"], answer["records"]) == (WARCS, sum(OUTCOMES.values()))
    assert (answer["ended"], answer["wrong"]) == (OUTCOMES, [])
    assert "written: 1 of 1" in told.err
    assert {one.name for one in (tmp_path / "out").iterdir()} == {
        "books.jsonl",
        "captures",
        "files",
        "job.json",
    }


def test_what_cannot_be_done_is_said_before_anything_is_read(call: Call, tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    crawl, out = str(tmp_path / "crawl"), str(tmp_path / "out")
    told = call("backfill", "extract", crawl, "--to", "parquet")
    assert (told.code, "--out" in told.err) == (2, True)
    told = call("backfill", "extract", str(tmp_path / "no"), "--to", "parquet", "--out", out)
    assert (told.code, "no: no such file" in told.err) == (2, True)
    (tmp_path / "notes.txt").write_text("these are notes")
    notes = str(tmp_path / "notes.txt")
    told = call("backfill", "extract", notes, "--to", "parquet", "--out", out)
    assert told.code == 2
    assert "notes.txt is not a WARC" in told.err
    assert not Path(out).exists()
    told = call("backfill", "extract", crawl, "--to", "parquet", "--out", str(tmp_path))
    assert (told.code, "not empty" in told.err) == (2, True)


def test_what_goes_into_the_stores_is_on_their_books_and_again_the_same(tmp_path: Path) -> None:
    write_warcs(tmp_path / "crawl")
    home = str(tmp_path / "home")
    words = ("--json", "backfill", "extract", "--to", "stores", str(tmp_path / "crawl"))
    for _ in range(2):
        done = CliRunner().invoke(cli, ["--home", home, *words])
        told = json.loads(done.stdout)
        assert (told["ended"], told["wrong"]) == (OUTCOMES, [])
        audit = CliRunner().invoke(cli, ["--home", home, "audit", "--json"])
        assert json.loads(audit.stdout)["missing"] == []
    found = CliRunner().invoke(cli, ["--home", home, "export"])
    assert len(found.stdout.splitlines()) == 10
