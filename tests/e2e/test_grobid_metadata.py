"""Metadata that GROBID extracts from a PDF reaches the pages, the API, the exports and the audit."""

from __future__ import annotations

import json
from hashlib import sha1
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from e2e.running import fonds
from filled_home import open_home
from fixtures.grobid_server import GrobidResponse, serve_grobid
from fixtures.pdfs import text_pdf
from fixtures.tei import build_author, build_citation, build_tei
from fonds.web.app import create_app

PAPER = text_pdf(["Scanned without a heading", "nothing here names the paper"])
SHA1 = sha1(PAPER, usedforsecurity=False).hexdigest()
JOURNAL = (
    "<monogr><title level='j'>Annals of Air</title><imprint><biblScope unit='volume'>7</biblScope>"
    "<date type='published' when='1931-05-02'>1931</date></imprint></monogr>"
    "<idno type='DOI'>10.5555/air.7</idno>"
)
TEI = build_tei(
    "Weighing the <hi>Upper</hi> Air",
    authors=build_author("Ida", "Lindqvist"),
    identifiers=JOURNAL,
    citations=build_citation(1, "<title level='a'>An Earlier Balance</title>"),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A library with one paper, whose metadata come from a GROBID server."""
    (tmp_path / "paper.pdf").write_bytes(PAPER)
    with serve_grobid(GrobidResponse(body=TEI)) as server:
        url = f"grobid_url={server.url}"
        result = fonds(tmp_path / "home", "ingest", "--set", url, tmp_path / "paper.pdf")
    assert result.code == 0, result.err
    return tmp_path / "home"


def test_grobid_metadata_reaches_every_page_and_export(home: Path) -> None:
    row = fonds(home, "show", "--json", SHA1).lines[0]["derivatives"]["grobid"]
    head = row["metadata"]["biblio"]
    assert (row["status"], row["grobid_version"]) == ("success", "0.8.1")
    assert (head["title"], head["doi"]) == ("Weighing the Upper Air", "10.5555/air.7")
    assert [author["name"] for author in head["authors"]] == ["Ida Lindqvist"]

    (exported,) = fonds(home, "export").lines
    columns = ("grobid_status", "grobid_status_code", "grobid_version", "grobid_quality")
    assert [exported[name] for name in columns] == ["success", 200, "0.8.1", row["quality"]]
    assert "Annals of Air" in fonds(home, "export", "*", "--format", "bibtex").out
    (reference,) = json.loads(fonds(home, "export", "*", "--format", "csl").out)
    assert (reference["container-title"], reference["volume"]) == ("Annals of Air", "7")
    (cells,) = [line["cells"] for line in fonds(home, "table", "scan", "--json").lines]
    metadata = json.loads(cells["grobid0:metadata"])
    assert (metadata["title"], metadata["doi"]) == ("Weighing the Upper Air", "10.5555/air.7")
    assert [entry["title"] for entry in metadata["citations"]] == ["An Earlier Balance"]

    with (
        open_home(home) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        page = client.get(f"/file/{SHA1}").text
        api_file = client.get(f"/api/files/{SHA1}").json()
    for text in (
        "Weighing the Upper Air",
        "Ida Lindqvist",
        "Annals of Air",
        "10.5555/air.7",
        "0.8.1",
    ):
        assert text in page
    assert api_file["derivatives"]["grobid"]["metadata"] == row["metadata"]
    assert fonds(home, "audit", "--deep").code == 0
