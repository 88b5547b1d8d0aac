"""One capture has one row, in whatever order an index and its WARC come, and whatever names the WARC has."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from base64 import b32encode
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response

pytestmark = pytest.mark.slow
URL = "http://rivers.example/papers/one.pdf"
PAPER = text_pdf(["Rivers are slow. They turn, and where they turn they leave banks behind."])
SHA1 = hashlib.sha1(PAPER).hexdigest()
MEMBER = gzipped([http_response(PAPER, url=URL, headers=(("Content-Type", "application/pdf"),))])
DAY = "20240305060708"
Fonds = Callable[..., str]


@pytest.fixture
def fonds(tmp_path: Path) -> Fonds:
    """`fonds("show", SHA1)` is that command in a home of its own, each time in a process of its own."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}

    def call(*words: str | Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "fonds", "--home", tmp_path / "home", *words],
            cwd=tmp_path,
            env=bare,
            capture_output=True,
            timeout=240,
        )
        said = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, (words, said, done.stderr.decode("utf-8", "replace"))
        return said

    return call


def index(folder: Path, warc: str) -> Path:
    """A CDX of one line that names the WARC so."""
    path = folder / f"{warc.replace('/', '-')}.cdx"
    digest = b32encode(bytes.fromhex(SHA1)).decode()
    path.write_text(
        " CDX N b a m s k r M S V g\n"
        f"example,rivers)/papers/one.pdf {DAY} {URL} application/pdf 200 {digest} - -"
        f" {len(MEMBER)} 0 {warc}\n"
    )
    return path


def lay(folder: Path) -> Path:
    """The WARC, as an item of a collection."""
    (folder / "warcs" / "item").mkdir(parents=True)
    path = folder / "warcs" / "item" / "file.warc.gz"
    path.write_bytes(MEMBER)
    return path


def paths(home: Path) -> list[str]:
    with sqlite3.connect(home / "records.sqlite") as books:
        return [path for (path,) in books.execute("select warc_path from cdx")]


def check_one_capture(fonds: Fonds, home: Path, name: str) -> None:
    assert paths(home) == [name]
    (line,) = json.loads(fonds("show", "--json", SHA1))["captures"]
    assert line["warc_path"] == name
    rows = [json.loads(one) for one in fonds("table", "scan", "--json").splitlines()]
    cells = [one["cells"] for one in rows]
    assert len(cells) == 1, rows
    assert json.loads(cells[0]["file:cdx"])["warc"] == name
    assert json.loads(cells[0]["f:c"])["c"] == 1
    assert fonds("show", "--body", SHA1)
    fonds("audit", "--deep")


@pytest.mark.parametrize("named", ["item/file.warc.gz", "file.warc.gz"])
@pytest.mark.parametrize("way", ["folder", "index"])
def test_an_index_and_its_warc_are_one_capture(
    fonds: Fonds, tmp_path: Path, named: str, way: str
) -> None:
    lay(tmp_path)
    cdx = index(tmp_path, named)
    fonds("backfill", "cdx", cdx)
    if way == "folder":
        fonds("ingest", tmp_path / "warcs")
    else:
        base = tmp_path / "warcs" / ("" if "/" in named else "item")
        fonds("ingest", "--warc-base", base, cdx)
    check_one_capture(fonds, tmp_path / "home", "item/file.warc.gz")
    fonds("backfill", "cdx", index(tmp_path, "item/file.warc.gz"))
    fonds("backfill", "cdx", index(tmp_path, "file.warc.gz"))
    check_one_capture(fonds, tmp_path / "home", "item/file.warc.gz")


def test_the_bytes_are_found_where_the_warc_was_moved_to(fonds: Fonds, tmp_path: Path) -> None:
    path = lay(tmp_path)
    fonds("ingest", tmp_path / "warcs")
    moved = tmp_path / "other" / "item" / path.name
    moved.parent.mkdir(parents=True)
    shutil.move(path, moved)
    (tmp_path / "home" / "fonds.toml").write_text(f'[warc]\nbase = "{tmp_path / "other"}"\n')
    check_one_capture(fonds, tmp_path / "home", "item/file.warc.gz")


def test_two_warcs_of_one_name_are_two(fonds: Fonds, tmp_path: Path) -> None:
    other = text_pdf(["Another paper, of another crawl that gave its WARC the same name."])
    pdf = (("Content-Type", "application/pdf"),)
    second = gzipped([http_response(other, url=f"{URL}?2", headers=pdf)])
    for crawl, member in (("a", MEMBER), ("b", second)):
        folder = tmp_path / crawl / "warcs"
        folder.mkdir(parents=True)
        (folder / "rec-0.warc.gz").write_bytes(member)
    fonds("ingest", tmp_path / "a", tmp_path / "b")
    assert sorted(paths(tmp_path / "home")) == ["b/warcs/rec-0.warc.gz", "warcs/rec-0.warc.gz"]
    fonds("audit", "--deep")


def test_repair_merges_what_was_written_twice(fonds: Fonds, tmp_path: Path) -> None:
    """An older Fonds wrote the path of the worker beside the name of the index."""
    lay(tmp_path)
    fonds("backfill", "cdx", index(tmp_path, "item/file.warc.gz"))
    fonds("ingest", tmp_path / "warcs")
    home = tmp_path / "home"
    local = str(tmp_path / "warcs" / "item" / "file.warc.gz")
    with sqlite3.connect(home / "records.sqlite") as books:
        books.execute("update cdx set warc_path = ?", (local,))
        books.execute("delete from warc_files")
    with sqlite3.connect(home / "table.sqlite") as wide:
        wide.execute(
            "update cells set value = cast(replace(value, 'item/file.warc.gz', ?) as blob)"
            " where name = 'file:cdx'",
            (local,),
        )
    with sqlite3.connect(home / "records.sqlite") as books:
        books.execute(
            "insert into cdx (capture_id, sha1hex, url, surt, surt_key, datetime, mimetype, status,"
            " warc_path, warc_csize, warc_offset, row_created) select 'cdx-1', sha1hex, url, surt, surt_key,"
            " datetime, mimetype, status, 'item/file.warc.gz', warc_csize, warc_offset, row_created from cdx"
        )
    fonds("repair", "--yes")
    check_one_capture(fonds, home, "item/file.warc.gz")


def test_an_index_of_a_warc_that_is_not_here_leaves_the_audit_clean(
    fonds: Fonds, tmp_path: Path
) -> None:
    """The file came from elsewhere: another capture of it is the index's word alone."""
    (tmp_path / "one.pdf").write_bytes(PAPER)
    fonds("ingest", tmp_path / "one.pdf")
    fonds("backfill", "cdx", index(tmp_path, "rivers.warc.gz"))
    fonds("backfill", "cdx", index(tmp_path, "item/rivers-2.warc.gz"))
    said = fonds("audit", "--deep")
    assert "1 files were read and hashed, 0 faults." in said
