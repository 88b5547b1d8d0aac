"""A takedown removes every byte of a file from our WARCs and changes nothing else."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from hashlib import sha1, sha256
from pathlib import Path

import pytest

from e2e.crawls import page
from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response
from killing import kill_after_changes
from purged_files import holders

REMOVED_PAGE, KILLS, CHANGES, SEED = 2, 8, 12, 20261123


def compute_digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_killed_takedown_completes_and_changes_nothing_else(tmp_path: Path) -> None:
    inputs, home = tmp_path / "inputs", tmp_path / "home"
    inputs.mkdir()
    for number in range(6):
        (inputs / f"{number}.html").write_bytes(page(number))
    crawled = [
        http_response(page(n), url=f"http://news.example/{n}") for n in (REMOVED_PAGE, 10, 11, 12)
    ]
    (inputs / "crawl.warc.gz").write_bytes(gzip_records(crawled))
    assert fonds(home, "ingest", str(inputs)).code in (0, 1)
    before = compute_digests(inputs)
    (warc,) = (home / "archive").glob("*.warc.gz")
    size_bytes = warc.stat().st_size
    assert holders(home / "archive", page(REMOVED_PAGE)) == [warc.name]
    key = sha1(page(REMOVED_PAGE)).hexdigest()
    words = ("takedown", key, "--reason", "privacy", "--yes")
    plan = fonds(home, "takedown", key, "--dry-run", "--json").lines[0]
    assert [entry["name"] for entry in plan["warcs"]] == [warc.name]
    chance = random.Random(SEED)
    killed = [kill_after_changes(home, words, chance.randrange(1, CHANGES)) for _ in range(KILLS)]
    assert any(killed)
    last = fonds(home, *words, "--json")
    assert (last.code, bool(last.last["finished"])) == (0, True)
    assert holders(home, page(REMOVED_PAGE)) == []
    assert compute_digests(inputs) == before
    assert warc.stat().st_size == size_bytes
    assert fonds(home, "archive", "verify").code == 0
    audited = fonds(home, "audit", "--deep")
    assert audited.code == 0, audited.out + audited.err
    for number in (0, 1, 3, 4, 5):
        out = tmp_path / f"{number}.out"
        address = (inputs / f"{number}.html").as_uri()
        assert fonds(home, "archive", "extract", address, "-o", str(out)).code == 0
        assert out.read_bytes() == page(number)
    # The same bytes are ingested again, but not stored.
    (inputs / "again.html").write_bytes(page(REMOVED_PAGE))
    assert fonds(home, "ingest", str(inputs)).code in (0, 1)
    assert holders(home, page(REMOVED_PAGE)) == []
    assert json.loads(fonds(home, "takedown", "--json").out)["sha1hex"] == key


WORD = "xylophonequartet"


def write_word_inputs(folder: Path) -> str:
    """Write pages and papers, two with a word that is in no other file. Return their SHA-1s."""
    folder.mkdir()
    marked = page(REMOVED_PAGE).replace(b" report", f" {WORD} report".encode())
    for number in range(8):
        (folder / f"{number}.html").write_bytes(page(number + 20))
        (folder / f"{number}.pdf").write_bytes(
            text_pdf([f"Paper {number} on rivers and harbours."])
        )
    (folder / "marked.html").write_bytes(marked)
    return sha1(marked).hexdigest()


def test_no_file_of_the_home_has_a_word_that_only_the_removed_file_had(tmp_path: Path) -> None:
    inputs, home = tmp_path / "inputs", tmp_path / "home"
    key = write_word_inputs(inputs)
    assert fonds(home, "ingest", inputs).code == 0
    assert len(fonds(home, "search", WORD, "--json").lines) == 1
    names = holders(home, WORD.encode())
    assert any(name.endswith(".warc.gz") for name in names)
    assert {"texts.sqlite", "records.sqlite"} <= set(names), names
    assert any(name.endswith(".store") for name in names)
    exported = tmp_path / "floods.jsonl"
    assert fonds(home, "export", "--out", exported).code == 0
    taken = fonds(home, "takedown", key, "--reason", "privacy", "--yes")
    assert taken.code == 0, taken.err
    assert holders(home, WORD.encode()) == []
    assert f"These inputs still contain the files: {inputs / 'marked.html'}." in taken.err
    assert f"Earlier exports may contain them: {exported}." in taken.err
    assert fonds(home, "search", WORD, "--json").lines == []
    assert fonds(home, "audit", "--deep").code == 0
    exported_rows = fonds(home, "export").lines
    assert len(exported_rows) == 16


def test_a_restored_backup_is_not_opened_before_todays_takedowns_are_applied(
    tmp_path: Path,
) -> None:
    inputs, home, backup = tmp_path / "inputs", tmp_path / "home", tmp_path / "backup"
    key = write_word_inputs(inputs)
    listed = {"FONDS_TAKEDOWN_LIST": str(tmp_path / "takedowns.jsonl")}
    assert fonds(home, "ingest", inputs, **listed).code == 0
    earlier_key = sha1((inputs / "3.html").read_bytes()).hexdigest()
    assert fonds(home, "takedown", earlier_key, "--reason", "copyright", "--yes").code == 0
    shutil.copytree(home, backup)
    done = fonds(
        home, "takedown", key, "--reason", "privacy", "--note", "a letter", "--yes", **listed
    )
    assert done.code == 0, done.err
    shutil.rmtree(home)
    shutil.copytree(backup, home)
    assert holders(home, WORD.encode()) != []
    for words in (["search", WORD], ["export"], ["show", key], ["status"], ["ingest", str(inputs)]):
        refused = fonds(home, *words, **listed)
        assert (refused.code, WORD in refused.out) == (2, False), words
        assert "lists 1 takedown that this library does not have" in refused.err
    plan = fonds(home, "takedown", "--apply", "--dry-run", "--json", **listed).last
    assert (plan["sha1hex"], plan["inputs"]) == (key, [str(inputs / "marked.html")])
    assert fonds(home, "takedown", "--apply", "--yes", **listed).code == 0
    assert holders(home, WORD.encode()) == []
    rows = {row["sha1hex"]: row for row in fonds(home, "takedown", "--json", **listed).lines}
    assert rows.keys() == {key, earlier_key}
    assert (rows[key]["reason_class"], rows[key]["note"]) == ("privacy", "a letter")
    assert "has all takedowns" in fonds(home, "takedown", "--apply", "--yes", **listed).err
    assert fonds(home, "search", WORD, **listed).code == 0


def test_a_server_applies_todays_takedowns_before_it_serves(tmp_path: Path) -> None:
    inputs, home, backup = tmp_path / "inputs", tmp_path / "home", tmp_path / "backup"
    key = write_word_inputs(inputs)
    listed = {"FONDS_TAKEDOWN_LIST": str(tmp_path / "takedowns.jsonl")}
    assert fonds(home, "ingest", inputs).code == 0
    shutil.copytree(home, backup)
    assert fonds(home, "takedown", key, "--reason", "privacy", "--yes", **listed).code == 0
    words = (sys.executable, "-m", "fonds", "--home", str(backup), "serve", "--port", "0")
    with subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, env=os.environ | listed
    ) as serving:
        assert serving.stderr is not None
        lines = iter(serving.stderr.readline, "")
        (url,) = next(
            found for line in lines if (found := re.findall(r"Serving .* at (http\S+)", line))
        )
        assert holders(backup, WORD.encode()) == []
        with pytest.raises(urllib.error.HTTPError, match="410"):
            urllib.request.urlopen(f"{url}file/{key}", timeout=60)
        with urllib.request.urlopen(f"{url}api/search?q={WORD}", timeout=60) as answer:
            assert json.load(answer)["total"] == 0
        serving.terminate()


def test_a_list_inside_the_library_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "page.html").write_text("<p>A page.")
    (tmp_path / "link").symlink_to(home)
    for path in (
        home / "list.jsonl",
        tmp_path / "x" / ".." / "home" / "l",
        tmp_path / "link" / "l",
    ):
        refused = fonds(home, "ingest", tmp_path / "page.html", FONDS_TAKEDOWN_LIST=str(path))
        assert refused.code == 2
        assert "is inside the library" in refused.err
    assert not home.exists()


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b'{"sha1hex": "ab", "reason_class": "privacy", "note": "", "made_by": "a", '
        b'"row_created": "2026-01-01T00:00:00Z"}',
        b'{"sha1hex": "' + b"ab" * 20 + b'", "reason_class": "spite", "note": "", "made_by": "a", '
        b'"row_created": "2026-01-01T00:00:00Z"}',
    ],
)
def test_an_invalid_list_is_refused_and_nothing_is_removed(tmp_path: Path, line: bytes) -> None:
    inputs, home, path = tmp_path / "inputs", tmp_path / "home", tmp_path / "takedowns.jsonl"
    key = write_word_inputs(inputs)
    assert fonds(home, "ingest", inputs).code == 0
    path.write_bytes(line + b"\n")
    words = ("takedown", key, "--reason", "privacy", "--yes")
    refused = fonds(home, *words, FONDS_TAKEDOWN_LIST=str(path))
    assert refused.code == 2
    assert f"Takedown list {path}, line 1" in refused.err
    assert len(fonds(home, "search", WORD, "--json").lines) == 1
    assert path.read_bytes() == line + b"\n"
