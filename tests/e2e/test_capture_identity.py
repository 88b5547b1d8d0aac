"""A capture has one row, whatever the order of index and WARC and the names of the WARC."""

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
from fixtures.warcs import gzip_records, http_response
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
    """Return a function that runs a command in a new home; the command must succeed."""

    def succeed(*words: str | Path) -> str:
        result = (run if words[0] == "ingest" else call)(tmp_path / "home", *words)
        assert result.code == 0, (words, result.out, result.err)
        return result.out

    return succeed


@dataclass(frozen=True)
class Paper:
    """A distinct paper, and the WARC record that contains it."""

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
        return gzip_records(
            [http_response(self.body, url=self.url, headers=(("Content-Type", "application/pdf"),))]
        )


def make_paper(name: str) -> Paper:
    return Paper(name, text_pdf([f"The river {name} is slow and leaves its banks behind."]))


PAPER_ONE = Paper("one", PAPER)
PAPER_BY_WARC = {"item/file.warc.gz": PAPER_ONE}


def write_index(folder: Path, warc: str, paper: Paper = PAPER_ONE, offset: int = 0) -> Path:
    """Write a CDX with one line that names this WARC."""
    path = folder / f"{warc.replace('/', '-')}.cdx"
    digest = b32encode(bytes.fromhex(paper.sha1hex)).decode()
    path.write_text(
        " CDX N b a m s k r M S V g\n"
        f"example,rivers)/papers/{paper.name}.pdf {DAY} {paper.url} application/pdf 200 {digest} - -"
        f" {len(paper.member)} {offset} {warc}\n"
    )
    return path


def write_warc(folder: Path, warc: str = "item/file.warc.gz", paper: Paper = PAPER_ONE) -> Path:
    """Write the WARC of a paper below the folder `warcs`."""
    path = folder / "warcs" / warc
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(paper.member)
    return path


def list_warc_paths(home: Path) -> list[str]:
    with sqlite3.connect(home / "records.sqlite") as database:
        return [path for (path,) in database.execute("select warc_path from cdx")]


def check_one_capture(
    fonds: Fonds, home: Path, papers: Mapping[str, Paper] = PAPER_BY_WARC
) -> None:
    """Check that each paper has one capture, in the WARC with the given name."""
    assert sorted(list_warc_paths(home)) == sorted(papers)
    rows = [json.loads(line) for line in fonds("table", "scan", "--json").splitlines()]
    cells = [row["cells"] for row in rows]
    assert len(cells) == len(papers), rows
    assert sorted(json.loads(row["file:cdx"])["warc"] for row in cells) == sorted(papers)
    assert {json.loads(row["f:c"])["c"] for row in cells} == {1}
    for name, paper in papers.items():
        (line,) = json.loads(fonds("show", "--json", paper.sha1hex))["captures"]
        assert line["warc_path"] == name
        result = CliRunner().invoke(cli, ["--home", str(home), "show", "--body", paper.sha1hex])
        assert result.stdout_bytes == paper.body
    fonds("audit", "--deep")


def test_an_index_and_its_warc_give_one_capture(fonds: Fonds, tmp_path: Path) -> None:
    """Indexes name WARCs with or without the folder; WARCs are read from a folder or by their index."""
    read, indexed = tmp_path / "read", tmp_path / "indexed"
    papers = {
        f"item/{name}.warc.gz": make_paper(name) for name in ("sava", "drava", "tisza", "morava")
    }
    sava, drava, tisza, morava = papers
    for name, paper in papers.items():
        write_warc(read if name in (sava, drava) else indexed, name, paper)
    bare = {name: name.rpartition("/")[2] for name in papers}
    cdx = {
        name: write_index(tmp_path, name if name in (sava, tisza) else bare[name], paper)
        for name, paper in papers.items()
    }
    fonds("backfill", "cdx", *cdx.values())
    fonds("ingest", "--warc-base", indexed / "warcs", read / "warcs", cdx[tisza])
    fonds("ingest", "--warc-base", indexed / "warcs" / "item", cdx[morava])
    check_one_capture(fonds, tmp_path / "home", papers)
    fonds(
        "backfill",
        "cdx",
        *(write_index(tmp_path, name, paper) for name, paper in papers.items()),
    )
    fonds(
        "backfill",
        "cdx",
        *(write_index(tmp_path, bare[name], paper) for name, paper in papers.items()),
    )
    check_one_capture(fonds, tmp_path / "home", papers)


def test_a_moved_warc_is_found_below_the_warc_base(fonds: Fonds, tmp_path: Path) -> None:
    path = write_warc(tmp_path)
    fonds("ingest", tmp_path / "warcs")
    moved = tmp_path / "other" / "item" / path.name
    moved.parent.mkdir(parents=True)
    shutil.move(path, moved)
    (tmp_path / "home" / "fonds.toml").write_text(f'[warc]\nbase = "{tmp_path / "other"}"\n')
    check_one_capture(fonds, tmp_path / "home")


def test_two_warcs_with_one_name_have_two_paths(fonds: Fonds, tmp_path: Path) -> None:
    other_paper = text_pdf(["Another paper, of another crawl that gave its WARC the same name."])
    pdf = (("Content-Type", "application/pdf"),)
    second = gzip_records([http_response(other_paper, url=f"{URL}?2", headers=pdf)])
    for crawl, member in (("a", PAPER_ONE.member), ("b", second)):
        folder = tmp_path / crawl / "warcs"
        folder.mkdir(parents=True)
        (folder / "rec-0.warc.gz").write_bytes(member)
    fonds("ingest", tmp_path / "a", tmp_path / "b")
    assert sorted(list_warc_paths(tmp_path / "home")) == [
        "b/warcs/rec-0.warc.gz",
        "warcs/rec-0.warc.gz",
    ]
    fonds("audit", "--deep")


def test_repair_merges_captures_that_were_stored_twice(fonds: Fonds, tmp_path: Path) -> None:
    """Older versions stored the local path and the name from the index as two captures."""
    write_warc(tmp_path)
    fonds("backfill", "cdx", write_index(tmp_path, "item/file.warc.gz"))
    fonds("ingest", tmp_path / "warcs")
    home = tmp_path / "home"
    local = str(tmp_path / "warcs" / "item" / "file.warc.gz")
    with sqlite3.connect(home / "records.sqlite") as database:
        database.execute("update cdx set warc_path = ?", (local,))
        database.execute("delete from warc_files")
    with sqlite3.connect(home / "table.sqlite") as table:
        table.execute(
            "update cells set value = cast(replace(value, 'item/file.warc.gz', ?) as blob)"
            " where name = 'file:cdx'",
            (local,),
        )
    with sqlite3.connect(home / "records.sqlite") as database:
        database.execute(
            "insert into cdx (capture_id, sha1hex, url, surt, surt_key, datetime, mimetype, status,"
            " warc_path, warc_csize, warc_offset, row_created) select 'cdx-1', sha1hex, url, surt, surt_key,"
            " datetime, mimetype, status, 'item/file.warc.gz', warc_csize, warc_offset, row_created from cdx"
        )
    fonds("repair", "--accept", "warc_files", "--yes")
    fonds("repair", "--yes")
    check_one_capture(fonds, home)


@pytest.fixture(scope="module")
def read_paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the paper, ingested from a file."""
    folder = tmp_path_factory.mktemp("read")
    (folder / "one.pdf").write_bytes(PAPER)
    result = run(folder / "home", "ingest", folder / "one.pdf")
    assert result.code == 0, result.err
    return folder / "home"


def test_the_index_of_a_missing_warc_leaves_the_audit_clean(
    read_paper: Path, fonds: Fonds, tmp_path: Path
) -> None:
    """The file has its own capture; the captures of the indexes have no bytes."""
    shutil.copytree(read_paper, tmp_path / "home")
    fonds("backfill", "cdx", write_index(tmp_path, "rivers.warc.gz"))
    fonds("backfill", "cdx", write_index(tmp_path, "item/rivers-2.warc.gz"))
    output = fonds("audit", "--deep")
    assert "1 file was read and hashed, 0 faults." in output


PAGE_URL = "http://rivers.example/"


def write_warc_with_page(folder: Path, warc: str, paper: Paper = PAPER_ONE) -> int:
    """Write a WARC of a page and the paper; return the offset of the paper."""
    html = f"<html><title>{warc}</title><p>A page of {warc} about slow rivers and banks.</p></html>"
    page = gzip_records([http_response(html.encode(), url=f"{PAGE_URL}{warc}")])
    path = write_warc(folder, warc, paper)
    path.write_bytes(page + paper.member)
    return len(page)


def index_paper(
    fonds: Fonds, folder: Path, warc: str, offset: int, paper: Paper = PAPER_ONE
) -> None:
    """Backfill an index with the paper in this WARC."""
    fonds("backfill", "cdx", write_index(folder, warc, paper, offset))


def test_the_name_in_an_index_resolves_to_the_only_matching_warc(
    fonds: Fonds, tmp_path: Path
) -> None:
    """The pipeline ingests only pages, so that only the indexes have captures of the papers."""
    papers = [make_paper(name) for name in ("sava", "drava", "tisza", "morava")]
    warcs = [f"item/{paper.name}.warc.gz" for paper in papers]
    names = ["sava.warc.gz", "deep/item/drava.warc.gz", "tisza.warc.gz", "deep/item/morava.warc.gz"]
    offsets = [
        write_warc_with_page(tmp_path, warc, paper)
        for warc, paper in zip(warcs, papers, strict=True)
    ]
    indexed = list(zip(names, offsets, papers, strict=True))
    fonds(
        "backfill",
        "cdx",
        *(write_index(tmp_path, name, paper, at) for name, at, paper in indexed[:2]),
    )
    fonds("ingest", "--pipeline", "stories-only", tmp_path / "warcs")
    fonds(
        "backfill",
        "cdx",
        *(write_index(tmp_path, name, paper, at) for name, at, paper in indexed[2:]),
    )
    assert sorted(list_warc_paths(tmp_path / "home")) == sorted([*warcs, *names])
    for paper in papers:
        out = tmp_path / f"{paper.name}.pdf"
        fonds("archive", "extract", paper.url, "-o", out)
        assert out.read_bytes() == paper.body
        fonds(
            "archive",
            "extract",
            paper.url,
            "--record",
            "-o",
            tmp_path / f"{paper.name}.record",
        )
        assert paper.body in (tmp_path / f"{paper.name}.record").read_bytes()
    fonds("audit", "--deep")


def test_a_name_that_matches_several_warcs_is_refused(fonds: Fonds, tmp_path: Path) -> None:
    offset = write_warc_with_page(tmp_path, "north/file.warc.gz")
    write_warc_with_page(tmp_path, "south/file.warc.gz")
    fonds("ingest", "--pipeline", "stories-only", tmp_path / "warcs")
    index_paper(fonds, tmp_path, "file.warc.gz", offset)
    words = ["--home", str(tmp_path / "home"), "archive", "extract", URL]
    for options in ([], ["--record"]):
        done = CliRunner().invoke(cli, [*words, *options])
        assert done.exit_code != 0
        assert (
            "north/file.warc.gz, south/file.warc.gz. Give the name with its folder"
            in str(done.exception or done.output) + done.output
        )
    with open_home(tmp_path / "home") as stores:
        response = TestClient(create_replay(stores), base_url="http://localhost:8766").get(
            f"/web/{DAY}id_/{URL}"
        )
        assert response.status_code == 404
        assert "north/file.warc.gz, south/file.warc.gz" in response.text
    fonds("audit", "--deep")
    # An index that names the WARC with its folder identifies the capture.
    index_paper(fonds, tmp_path, "north/file.warc.gz", offset)
    fonds("archive", "extract", URL, "-o", tmp_path / "paper.pdf")
    assert (tmp_path / "paper.pdf").read_bytes() == PAPER


def test_an_own_warc_is_read_if_an_index_names_it_with_a_folder(
    read_paper: Path, fonds: Fonds, tmp_path: Path
) -> None:
    shutil.copytree(read_paper, tmp_path / "home")
    (line,) = json.loads(fonds("show", "--json", SHA1))["captures"]
    name, offset = line["warc_path"], line["warc_offset"]
    index_paper(fonds, tmp_path, f"item/{name}", offset)
    assert sorted(list_warc_paths(tmp_path / "home")) == sorted([name, f"item/{name}"])
    with open_home(tmp_path / "home") as stores:
        place = Place(PlaceKind.WARC, f"item/{name}", offset, line["warc_csize"])
        assert stores.archive.read(place, SHA1).body == PAPER
        with pytest.raises(PermanentError, match="not at its last known location"):
            stores.archive.read(place)
        with pytest.raises(PermanentError, match="not at its last known location"):
            stores.archive.read(place, "0" * 40)
    fonds("audit", "--deep")
