"""One capture has one row, in whatever order an index and its WARC come, and whatever names the WARC has."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from base64 import b32encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from e2e.running import call
from e2e.running import fonds as run
from filled_home import open_home
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response
from fonds.cli.main import cli
from fonds.model.capture import Place, PlaceKind
from fonds.model.errors import PermanentError
from fonds.web.replay import create_replay

URL = "http://rivers.example/papers/one.pdf"
PAPER = text_pdf(["Rivers are slow. They turn, and where they turn they leave banks behind."])
SHA1 = hashlib.sha1(PAPER).hexdigest()
DAY = "20240305060708"
Fonds = Callable[..., str]


@pytest.fixture
def fonds(tmp_path: Path) -> Fonds:
    """`fonds("show", SHA1)` is that command in a home of its own; it must succeed."""

    def succeed(*words: str | Path) -> str:
        ran = (run if words[0] == "ingest" else call)(tmp_path / "home", *words)
        assert ran.code == 0, (words, ran.out, ran.err)
        return ran.out

    return succeed


@dataclass(frozen=True)
class Paper:
    """A paper of its own, and the WARC that holds it alone."""

    name: str
    body: bytes

    @property
    def sha1hex(self) -> str:
        return hashlib.sha1(self.body).hexdigest()

    @property
    def url(self) -> str:
        return f"http://rivers.example/papers/{self.name}.pdf"

    @property
    def member(self) -> bytes:
        return gzipped(
            [http_response(self.body, url=self.url, headers=(("Content-Type", "application/pdf"),))]
        )


def paper(name: str) -> Paper:
    return Paper(name, text_pdf([f"The river {name} is slow and leaves its banks behind."]))


ONE = Paper("one", PAPER)
ITEM = {"item/file.warc.gz": ONE}


def index(folder: Path, warc: str, paper: Paper = ONE, offset: int = 0) -> Path:
    """A CDX of one line that names the WARC so."""
    path = folder / f"{warc.replace('/', '-')}.cdx"
    digest = b32encode(bytes.fromhex(paper.sha1hex)).decode()
    path.write_text(
        " CDX N b a m s k r M S V g\n"
        f"example,rivers)/papers/{paper.name}.pdf {DAY} {paper.url} application/pdf 200 {digest} - -"
        f" {len(paper.member)} {offset} {warc}\n"
    )
    return path


def lay(folder: Path, warc: str = "item/file.warc.gz", paper: Paper = ONE) -> Path:
    """The WARC, as an item of a collection."""
    path = folder / "warcs" / warc
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(paper.member)
    return path


def paths(home: Path) -> list[str]:
    with sqlite3.connect(home / "records.sqlite") as books:
        return [path for (path,) in books.execute("select warc_path from cdx")]


def check_one_capture(fonds: Fonds, home: Path, papers: Mapping[str, Paper] = ITEM) -> None:
    """Each paper has one capture, in the WARC whose name leads to it."""
    assert sorted(paths(home)) == sorted(papers)
    rows = [json.loads(one) for one in fonds("table", "scan", "--json").splitlines()]
    cells = [row["cells"] for row in rows]
    assert len(cells) == len(papers), rows
    assert sorted(json.loads(one["file:cdx"])["warc"] for one in cells) == sorted(papers)
    assert {json.loads(one["f:c"])["c"] for one in cells} == {1}
    for name, paper in papers.items():
        (line,) = json.loads(fonds("show", "--json", paper.sha1hex))["captures"]
        assert line["warc_path"] == name
        shown = CliRunner().invoke(cli, ["--home", str(home), "show", "--body", paper.sha1hex])
        assert shown.stdout_bytes == paper.body
    fonds("audit", "--deep")


def test_an_index_and_its_warc_are_one_capture(fonds: Fonds, tmp_path: Path) -> None:
    """Indexes name WARCs with the folder or without it; WARCs are read in a folder or by their index."""
    read, indexed = tmp_path / "read", tmp_path / "indexed"
    papers = {f"item/{name}.warc.gz": paper(name) for name in ("sava", "drava", "tisza", "morava")}
    sava, drava, tisza, morava = papers
    for name, one in papers.items():
        lay(read if name in (sava, drava) else indexed, name, one)
    bare = {name: name.rpartition("/")[2] for name in papers}
    cdx = {
        name: index(tmp_path, name if name in (sava, tisza) else bare[name], one)
        for name, one in papers.items()
    }
    fonds("backfill", "cdx", *cdx.values())
    fonds("ingest", "--warc-base", indexed / "warcs", read / "warcs", cdx[tisza])
    fonds("ingest", "--warc-base", indexed / "warcs" / "item", cdx[morava])
    check_one_capture(fonds, tmp_path / "home", papers)
    fonds("backfill", "cdx", *(index(tmp_path, name, one) for name, one in papers.items()))
    fonds("backfill", "cdx", *(index(tmp_path, bare[name], one) for name, one in papers.items()))
    check_one_capture(fonds, tmp_path / "home", papers)


def test_the_bytes_are_found_where_the_warc_was_moved_to(fonds: Fonds, tmp_path: Path) -> None:
    path = lay(tmp_path)
    fonds("ingest", tmp_path / "warcs")
    moved = tmp_path / "other" / "item" / path.name
    moved.parent.mkdir(parents=True)
    shutil.move(path, moved)
    (tmp_path / "home" / "fonds.toml").write_text(f'[warc]\nbase = "{tmp_path / "other"}"\n')
    check_one_capture(fonds, tmp_path / "home")


def test_two_warcs_of_one_name_are_two(fonds: Fonds, tmp_path: Path) -> None:
    other = text_pdf(["Another paper, of another crawl that gave its WARC the same name."])
    pdf = (("Content-Type", "application/pdf"),)
    second = gzipped([http_response(other, url=f"{URL}?2", headers=pdf)])
    for crawl, member in (("a", ONE.member), ("b", second)):
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
    check_one_capture(fonds, home)


@pytest.fixture(scope="module")
def read_paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that took the paper from a file."""
    folder = tmp_path_factory.mktemp("read")
    (folder / "one.pdf").write_bytes(PAPER)
    ran = run(folder / "home", "ingest", folder / "one.pdf")
    assert ran.code == 0, ran.err
    return folder / "home"


def test_an_index_of_a_warc_that_is_not_here_leaves_the_audit_clean(
    read_paper: Path, fonds: Fonds, tmp_path: Path
) -> None:
    """The file came from elsewhere: another capture of it is the index's word alone."""
    shutil.copytree(read_paper, tmp_path / "home")
    fonds("backfill", "cdx", index(tmp_path, "rivers.warc.gz"))
    fonds("backfill", "cdx", index(tmp_path, "item/rivers-2.warc.gz"))
    said = fonds("audit", "--deep")
    assert "1 file was read and hashed, 0 faults." in said


PAGE_URL = "http://rivers.example/"


def lay_with_page(folder: Path, warc: str, paper: Paper = ONE) -> int:
    """A WARC of a page and the paper; where the paper begins."""
    html = f"<html><title>{warc}</title><p>A page of {warc} about slow rivers and banks.</p></html>"
    page = gzipped([http_response(html.encode(), url=f"{PAGE_URL}{warc}")])
    path = lay(folder, warc, paper)
    path.write_bytes(page + paper.member)
    return len(page)


def index_paper(fonds: Fonds, folder: Path, warc: str, offset: int, paper: Paper = ONE) -> None:
    """Note the paper as an index tells of it, which names its WARC so."""
    fonds("backfill", "cdx", index(folder, warc, paper, offset))


def test_a_name_of_an_index_leads_to_the_one_warc_it_can_mean(fonds: Fonds, tmp_path: Path) -> None:
    """The pipeline wants pages alone, so that the indexes alone tell of the papers, some of them first."""
    papers = [paper(name) for name in ("sava", "drava", "tisza", "morava")]
    warcs = [f"item/{one.name}.warc.gz" for one in papers]
    names = ["sava.warc.gz", "deep/item/drava.warc.gz", "tisza.warc.gz", "deep/item/morava.warc.gz"]
    offsets = [lay_with_page(tmp_path, warc, one) for warc, one in zip(warcs, papers, strict=True)]
    indexed = list(zip(names, offsets, papers, strict=True))
    fonds("backfill", "cdx", *(index(tmp_path, name, one, at) for name, at, one in indexed[:2]))
    fonds("ingest", "--pipeline", "stories-only", tmp_path / "warcs")
    fonds("backfill", "cdx", *(index(tmp_path, name, one, at) for name, at, one in indexed[2:]))
    assert sorted(paths(tmp_path / "home")) == sorted([*warcs, *names])
    for one in papers:
        out = tmp_path / f"{one.name}.pdf"
        fonds("archive", "extract", one.url, "-o", out)
        assert out.read_bytes() == one.body
        fonds("archive", "extract", one.url, "--record", "-o", tmp_path / f"{one.name}.record")
        assert one.body in (tmp_path / f"{one.name}.record").read_bytes()
    fonds("audit", "--deep")


def test_a_name_that_several_warcs_end_with_is_not_guessed(fonds: Fonds, tmp_path: Path) -> None:
    offset = lay_with_page(tmp_path, "north/file.warc.gz")
    lay_with_page(tmp_path, "south/file.warc.gz")
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
    with open_home(tmp_path / "home") as stores:
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
    read_paper: Path, fonds: Fonds, tmp_path: Path
) -> None:
    shutil.copytree(read_paper, tmp_path / "home")
    (line,) = json.loads(fonds("show", "--json", SHA1))["captures"]
    name, offset = line["warc_path"], line["warc_offset"]
    index_paper(fonds, tmp_path, f"item/{name}", offset)
    assert sorted(paths(tmp_path / "home")) == sorted([name, f"item/{name}"])
    with open_home(tmp_path / "home") as stores:
        place = Place(PlaceKind.WARC, f"item/{name}", offset, line["warc_csize"])
        assert stores.archive.read(place, SHA1).body == PAPER
        with pytest.raises(PermanentError, match="not at its last known location"):
            stores.archive.read(place)
        with pytest.raises(PermanentError, match="not at its last known location"):
            stores.archive.read(place, "0" * 40)
    fonds("audit", "--deep")
