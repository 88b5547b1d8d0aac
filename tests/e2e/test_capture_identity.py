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
from click.testing import CliRunner
from starlette.testclient import TestClient

from filled_home import opened
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response
from fonds.cli.main import cli
from fonds.model.capture import Place, PlaceKind
from fonds.model.errors import PermanentError
from fonds.web.replay import create_replay

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
    cells = [row["cells"] for row in rows]
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
    assert "1 file was read and hashed, 0 faults." in said


PAGE_URL = "http://rivers.example/"


def lay_with_page(folder: Path, item: str) -> int:
    """A WARC `ITEM/file.warc.gz` of a page and the paper; where the paper begins."""
    html = f"<html><title>{item}</title><p>A page of {item} about slow rivers and banks.</p></html>"
    page = gzipped([http_response(html.encode(), url=f"{PAGE_URL}{item}")])
    path = folder / "warcs" / item / "file.warc.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(page + MEMBER)
    return len(page)


def index_paper(fonds: Fonds, folder: Path, warc: str, offset: int) -> None:
    """Note the paper as an index tells of it, which names its WARC so."""
    path = index(folder, warc)
    path.write_text(path.read_text().replace(f" 0 {warc}", f" {offset} {warc}"))
    fonds("backfill", "cdx", path)


@pytest.mark.parametrize("is_indexed_first", [False, True])
@pytest.mark.parametrize(
    ("named", "item"),
    [("file.warc.gz", "item"), ("deep/item/file.warc.gz", "item")],
)
def test_a_name_of_an_index_leads_to_the_one_warc_it_can_mean(
    fonds: Fonds, tmp_path: Path, named: str, item: str, is_indexed_first: bool
) -> None:
    """The pipeline wants pages alone, so that the index alone tells of the paper."""
    offset = lay_with_page(tmp_path, item)
    if is_indexed_first:
        index_paper(fonds, tmp_path, named, offset)
    fonds("ingest", "--pipeline", "stories-only", tmp_path / "warcs")
    if not is_indexed_first:
        index_paper(fonds, tmp_path, named, offset)
    assert sorted(paths(tmp_path / "home")) == sorted(["item/file.warc.gz", named])
    out = tmp_path / "paper.pdf"
    fonds("archive", "extract", URL, "-o", out)
    assert out.read_bytes() == PAPER
    fonds("archive", "extract", URL, "--record", "-o", tmp_path / "record")
    assert PAPER in (tmp_path / "record").read_bytes()
    fonds("audit", "--deep")


def test_a_name_that_several_warcs_end_with_is_not_guessed(fonds: Fonds, tmp_path: Path) -> None:
    offset = lay_with_page(tmp_path, "north")
    lay_with_page(tmp_path, "south")
    fonds("ingest", "--pipeline", "stories-only", tmp_path / "warcs")
    index_paper(fonds, tmp_path, "file.warc.gz", offset)
    words = ["--home", str(tmp_path / "home"), "archive", "extract", URL]
    for more in ([], ["--record"]):
        done = CliRunner().invoke(cli, [*words, *more])
        assert done.exit_code != 0
        assert (
            "north/file.warc.gz, south/file.warc.gz. Give the name with its folder"
            in str(done.exception or done.output) + done.output
        )
    with opened(tmp_path / "home") as stores:
        told = TestClient(create_replay(stores), base_url="http://localhost:8766").get(
            f"/web/{DAY}id_/{URL}"
        )
        assert told.status_code == 404
        assert "north/file.warc.gz, south/file.warc.gz" in told.text
    fonds("audit", "--deep")
    # The index is named with its folder: that is the capture.
    index_paper(fonds, tmp_path, "north/file.warc.gz", offset)
    fonds("archive", "extract", URL, "-o", tmp_path / "paper.pdf")
    assert (tmp_path / "paper.pdf").read_bytes() == PAPER


def test_a_warc_of_ours_is_read_where_an_index_names_it_with_a_folder(
    fonds: Fonds, tmp_path: Path
) -> None:
    (tmp_path / "one.pdf").write_bytes(PAPER)
    fonds("ingest", tmp_path / "one.pdf")
    (line,) = json.loads(fonds("show", "--json", SHA1))["captures"]
    name, offset = line["warc_path"], line["warc_offset"]
    index_paper(fonds, tmp_path, f"item/{name}", offset)
    assert sorted(paths(tmp_path / "home")) == sorted([name, f"item/{name}"])
    with opened(tmp_path / "home") as stores:
        place = Place(PlaceKind.WARC, f"item/{name}", offset, line["warc_csize"])
        assert stores.archive.read(place, SHA1).body == PAPER
        with pytest.raises(PermanentError, match="not at its last known location"):
            stores.archive.read(place)
        with pytest.raises(PermanentError, match="not at its last known location"):
            stores.archive.read(place, "0" * 40)
    fonds("audit", "--deep")
