"""Refused records are listed by reason and type, and found by name, path and URL."""

from __future__ import annotations

import zipfile
from pathlib import Path

from e2e.running import fonds


def test_refused_records_are_listed_and_found(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "dump"
    folder.mkdir()
    note, table = folder / "tide note+1.rtf", folder / "levels.csv"
    note.write_bytes(b"{\\rtf1 The tide rises twice a day.}")
    table.write_bytes(b"hour,level\n1,20\n2,40\n")
    (folder / "more.csv").write_bytes(b"hour,level\n3,60\n4,80\n")
    (folder / "empty.html").write_bytes(b"")
    with zipfile.ZipFile(folder / "box.zip", "w") as archive:
        archive.writestr("inside.rtf", b"{\\rtf1 Another note.}")
    assert fonds(home, "ingest", folder).code == 0
    groups = fonds(home, "failures", "--refused", "--json").lines
    counts = {(group["reason"], group["type"]): group["count"] for group in groups}
    assert sum(counts.values()) == 5
    assert counts["empty-body", ""] == 1
    assert counts["unsupported-type", "text/plain"] == 2
    output = fonds(home, "failures", "--refused").out
    assert "unsupported-type text/plain" in output
    limited = fonds(home, "failures", "--refused", "--limit", "1", "--json")
    assert len(limited.lines) == 1
    assert f"1 of {len(groups)} groups" in limited.err
    listed = fonds(
        home, "failures", "--refused", "--list", "--reason", "unsupported-type", "--json"
    )
    assert sorted(line["url"].rpartition("/")[2] for line in listed.lines) == [
        "box.zip#inside.rtf",
        "levels.csv",
        "more.csv",
        "tide%20note%2B1.rtf",
    ]
    for key in (note.name, str(note), note.as_uri()):
        (record,) = fonds(home, "show", key, "--json").lines
        assert record["entries"][0]["url"] == note.as_uri(), key
    for key in ("inside.rtf", f"{(folder / 'box.zip').as_uri()}#inside.rtf"):
        (record,) = fonds(home, "show", key, "--json").lines
        assert record["entries"][0]["reason"] == "unsupported-type", key
    assert fonds(home, "show", "no such file.rtf").code == 1
