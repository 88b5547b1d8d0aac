"""`fonds backfill cdx` as it is typed: what is told of lines, and what is no index."""

from __future__ import annotations

import json
from pathlib import Path

from calls import Call

LINE = (
    "com,example)/a.pdf 20260101000000 http://example.com/a.pdf application/pdf 200"
    " SV7WKJKXJ7SLWOMRMK3K3HRUJFFK6VZM - - 1234 5678 ITEM/a.warc.gz"
)


def test_lines_are_counted_by_what_became_of_them(call: Call, tmp_path: Path) -> None:
    index = tmp_path / "a.cdx"
    index.write_text(f"{LINE}\n{LINE.replace(' 200 ', ' 404 ')}\n")
    told = json.loads(call("backfill", "cdx", str(index), "--json").out)["counts"]
    assert (told["lines"], told["captures"], told["files"]) == (2, 1, 1)
    assert "http-status" in call("backfill", "cdx", str(index)).out


def test_a_path_that_is_not_there_and_one_that_is_no_index_are_refused(
    call: Call, tmp_path: Path
) -> None:
    told = call("backfill", "cdx", str(tmp_path / "nothing.cdx"))
    assert (told.code, "nothing.cdx: no such file" in told.err) == (2, True)
    (tmp_path / "notes.txt").write_text("these are notes")
    told = call("backfill", "cdx", str(tmp_path / "notes.txt"))
    assert told.code == 2
    assert "notes.txt is not an index" in told.err
    assert "No index to read." in told.err
