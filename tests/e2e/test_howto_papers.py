"""Goes through `docs/howto/papers.md` on a made crawl and a made catalogue, command by command."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from base64 import b32encode
from pathlib import Path

import pytest

from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response

pytestmark = pytest.mark.slow
HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "papers.md"
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
URL = "http://rivers.example/papers/rivers.pdf"
TITLE, CITED = "On the slow meandering of lowland rivers", "Tides and the banks they leave behind"
PAPER = text_pdf(
    [
        f"{TITLE}\nAda Stroom\nRivers are slow. They turn, and where they turn they leave banks behind.",
        "References\n"
        f'[1] B. Brook, "{CITED},"\nJ. River Res., vol. 7, pp. 1-9, 1999.\n'
        '[2] C. Hill, "What nobody has a record of at all,"\nJ. River Res., vol. 8, pp. 3-5, 2001.',
    ],
    info={"/Title": TITLE, "/Author": "Ada Stroom"},
)
SHA1 = hashlib.sha1(PAPER).hexdigest()


def record(
    name: str, title: str, family: str, year: int, volume: str, page: str
) -> dict[str, object]:
    return {
        "DOI": f"10.5555/{name}",
        "type": "journal-article",
        "title": [title],
        "author": [{"family": family, "given": family[0]}],
        "issued": {"date-parts": [[year]]},
        "container-title": ["Journal of River Research"],
        "volume": volume,
        "page": page,
    }


def make_input(folder: Path) -> None:
    """A catalogue of two works, a WARC with the paper, another one and a list of it, and an index."""
    works = [
        record("rivers", TITLE, "Stroom", 2011, "12", "101-120"),
        record("tides", CITED, "Brook", 1999, "7", "1-9"),
    ]
    (folder / "crossref").mkdir()
    packed = gzip.compress(json.dumps({"items": works}).encode())
    (folder / "crossref" / "0.json.gz").write_bytes(packed)
    (folder / "crawl").mkdir()
    member = gzipped(
        [http_response(PAPER, url=URL, headers=(("Content-Type", "application/pdf"),))]
    )
    (folder / "crawl" / "crawl.warc.gz").write_bytes(member)
    (folder / "more.warc.gz").write_bytes(member)
    (folder / "more-warcs.txt").write_text("more.warc.gz\n")
    (folder / "indexes").mkdir()
    digest = b32encode(bytes.fromhex(SHA1)).decode()
    (folder / "indexes" / "crawl.cdx").write_text(
        " CDX N b a m s k r M S V g\n"
        f"example,rivers)/papers/rivers.pdf 20150101000000 {URL} application/pdf 200 {digest} - -"
        f" {len(member)} 0 item/older.warc.gz\n"
    )


def run(line: str, folder: Path, home: Path) -> str:
    """A line of the page, as a shell runs it."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}
    fonds = f"{sys.executable} -m fonds"
    words = re.sub(r"\bfonds (?=[a-z])", f"{fonds} ", line.replace("SHA1", SHA1))
    done = subprocess.run(
        ["bash", "-c", words],
        cwd=folder,
        env={**bare, "FONDS_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout


def test_the_page_gives_rows_with_all_four_families(tmp_path: Path) -> None:
    make_input(tmp_path)
    home = tmp_path / "home"
    lines = [
        line
        for block in BLOCK.findall(HOWTO.read_text("utf-8"))
        for line in block.splitlines()
        if line.strip()
    ]
    assert len(lines) >= 13
    said = {line: run(line, tmp_path, home) for line in lines}
    assert "2 crossref" in re.sub(" +", " ", said["fonds catalog stats"])
    assert "doi:10.5555/rivers" in said[next(one for one in lines if "catalog search" in one)]
    shown = said["fonds show SHA1"]
    assert "strong (title-and-author)" in shown
    assert "doi:10.5555/rivers: title 1.00" in shown
    assert "→ doi:10.5555/tides (strong)" in shown
    row = said["fonds table get SHA1"]
    for column in (
        "f:c",
        "file:cdx",
        "grobid0:tei_json",
        "match0:mstatus",
        "match0:doi",
        "match0:minfo",
    ):
        assert column in row, column
    cited = [json.loads(line) for line in said["fonds match citations"].splitlines()]
    assert [(one["number"], one["doi"]) for one in cited] == [(0, "10.5555/tides"), (1, None)]
    (only,) = said["fonds match citations --doi 10.5555/tides"].splitlines()
    assert json.loads(only) == cited[0]
    again = json.loads((tmp_path / "papers.jsonl").read_text().splitlines()[0])
    assert (again["match_status"], again["match_doi"]) == ("strong", "10.5555/rivers")
    assert json.loads(said[lines[-1]])["doi"] == "10.5555/tides"
