"""`fonds backfill cdx`: counts of lines, and files that are no index."""

from __future__ import annotations

import json
from pathlib import Path

from calls import Call

LINE = (
    "com,example)/a.pdf 20260101000000 http://example.com/a.pdf application/pdf 200"
    " SV7WKJKXJ7SLWOMRMK3K3HRUJFFK6VZM - - 1234 5678 ITEM/a.warc.gz"
)


def test_lines_are_counted_by_outcome(call: Call, tmp_path: Path) -> None:
    index = tmp_path / "a.cdx"
    index.write_text(f"{LINE}\n{LINE.replace(' 200 ', ' 404 ')}\n")
    counts = json.loads(call("backfill", "cdx", str(index), "--json").out)["counts"]
    assert (counts["lines"], counts["captures"], counts["files"]) == (2, 1, 1)
    assert "http-status" in call("backfill", "cdx", str(index)).out


def test_a_missing_path_and_a_file_that_is_no_index_are_refused(call: Call, tmp_path: Path) -> None:
    result = call("backfill", "cdx", str(tmp_path / "nothing.cdx"))
    assert (result.code, "nothing.cdx: no such file" in result.err) == (2, True)
    (tmp_path / "notes.txt").write_text("these are notes")
    result = call("backfill", "cdx", str(tmp_path / "notes.txt"))
    assert result.code == 2
    assert "notes.txt is not an index" in result.err
    assert "No index to read." in result.err
