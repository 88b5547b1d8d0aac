"""TEI of real GROBID servers, and JSON made of it by sandcrawler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fonds.papers.bibliography.jats import read_jats
from fonds.papers.bibliography.paper import decode_paper, encode_paper
from fonds.papers.bibliography.tei import read_tei

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
PAPERS = CORPUS / "papers"
SANDCRAWLER = PAPERS / "internetarchive+sandcrawler"

pytestmark = [
    pytest.mark.skipif(not PAPERS.is_dir(), reason=f"no papers in {CORPUS}"),
]


def test_a_paper_equals_the_golden_json_field_by_field() -> None:
    """Only `keywords` are added, because the older JSON has no such field."""
    golden = json.loads((SANDCRAWLER / "small.json").read_bytes())
    paper = json.loads(encode_paper(read_tei((SANDCRAWLER / "small.xml").read_bytes())))
    assert paper.pop("keywords") == ["Fake Data"]
    assert paper == golden


COUNTS = {
    "2020.acl-main.207.tei.xml": (5, 57),
    "N18-3011.tei.xml": (23, 27),
    "23b29ea36382680716be08fc71aa81bd226e8a85.xml": (4, 100),
    "grobid_refs_978-3-030-64953-1_4.tei.xml": (0, 3),
    "grobid_refs_s1047951103000064.tei.xml": (0, 24),
    "sample1.tei.header.xml": (2, 0),
    "sample1.tei.xml": (0, 8),
    "sample2.tei.fulltext.xml": (2, 47),
    "sample2.tei.xml": (0, 4),
    "small.xml": (2, 2),
}


@pytest.mark.parametrize("name", COUNTS)
def test_tei_files_have_the_expected_authors_and_citations(name: str) -> None:
    (path,) = PAPERS.glob(f"*/{name}")
    paper = read_tei(path.read_bytes())
    assert (len(paper.authors), len(paper.citations)) == COUNTS[name]
    assert decode_paper(encode_paper(paper)) == paper


def test_the_full_body_of_a_long_paper_is_read() -> None:
    path = SANDCRAWLER / "23b29ea36382680716be08fc71aa81bd226e8a85.xml"
    assert len(read_tei(path.read_bytes()).body or "") == 67_062


def test_a_jats_article_is_read() -> None:
    paper = read_jats((SANDCRAWLER / "scielo_article.jats.xml").read_bytes())
    assert paper.doi == "10.18004/ped.2015.agosto.102-107"
    assert (len(paper.authors), len(paper.citations), paper.date) == (3, 12, "2015-08-30")
    assert paper.journal is not None
    assert (paper.journal.name, paper.journal.issn) == (
        "Pediatr\u00eda (Asunci\u00f3n)",
        "1683-9803",
    )
    assert "<p" not in (paper.body or "")
