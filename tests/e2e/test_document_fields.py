"""Every field that a page, a PDF or an article states reaches the index and all outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from e2e.running import fonds
from filled_home import open_home
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response
from fonds.model.document import IndexDocument
from fonds.web.app import create_app
from story_pages import page_markup

ORIGIN = "http://localhost:8765"
AUTHOR, SECOND = "Jane Quillfeather", "Amadou Ostrander"
PAGE_URL = "http://news.courier.example/2024/weir"
PDF_URL = "http://reports.basin.example/tidal-gauge.pdf"
TEXT = (
    "The weir above the mill gave way in the night, and the meadow below it stood under water.\n"
    "By noon the miller had opened every sluice, and the water fell again by a hand every hour.\n"
    "Nobody was hurt, and the engineers will examine the foundations of the weir next week."
)
QUERIES: dict[str, dict[str, str | None]] = {
    PAGE_URL: {
        "kind": "kind:story",
        "url": "url:weir",
        "canonical_domain": "domain:courier.example",
        "publication_date": "date:2024-03-04",
        "language": "language:en kind:story",
        "article_title": 'title:"weir gave way"',
        "text_content": "text:sluice",
        "collection": "collection:floods kind:story",
        "word_count": "words:40..60 kind:story",
        "authors": "author:quillfeather",
        "licenses": "license:cc-by-4.0",
        "holders": "holder:courier",
        "prefers": "prefers:noai",
        "status": "status:success kind:story",
        "captured": "captured:2024-03-05 kind:story",
        "date_kind": None,
        "sha1hex": None,
        "id": None,
        "story_id": None,
        "indexed_date": None,
    },
    PDF_URL: {
        "kind": "kind:pdf",
        "url": "url:tidal",
        "publication_date": "date:2019-04-01",
        "article_title": "title:gauge",
        "text_content": "text:estuary",
        "page_count": "pages:2",
        "word_count": "words:>1 kind:pdf",
        "authors": "author:stroom",
        "doi": "doi:10.5555/basin.7",
        "has_thumbnail": None,
        "canonical_domain": "domain:basin.example",
    },
}
"""The query that finds a document by a field; None for fields that no query names."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of one page and one PDF that state every field."""
    folder = tmp_path_factory.mktemp("fields")
    page = page_markup("The weir gave way", TEXT, (AUTHOR, SECOND), "2024-03-04", "en").replace(
        b"<title>",
        b'<meta name="dcterms.rights" content="&#169; Courier Press, CC BY 4.0"><title>',
    )
    paper = text_pdf(
        ("Levels of the estuary\ndoi:10.5555/basin.7", "The tide rises twice a day."),
        info={
            "Title": "On a tidal gauge",
            "Author": "Ada Stroom",
            "CreationDate": "D:20190401120000Z",
        },
    )
    records = [
        http_response(
            page,
            url=PAGE_URL,
            headers=(("Content-Type", "text/html"), ("X-Robots-Tag", "noai")),
        ),
        http_response(paper, url=PDF_URL, headers=(("Content-Type", "application/pdf"),)),
    ]
    (folder / "crawl.warc.gz").write_bytes(gzip_records(records))
    result = fonds(folder / "home", "ingest", "--collection", "floods", folder / "crawl.warc.gz")
    assert result.code == 0, result.err
    return folder / "home"


@pytest.fixture(scope="module")
def hits(home: Path) -> dict[str, dict[str, Any]]:
    return {hit["url"]: hit for hit in fonds(home, "search", "--json").lines}


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[TestClient]:
    with open_home(home) as stores, TestClient(create_app(stores), base_url=ORIGIN) as test_client:
        yield test_client


def test_the_page_and_the_pdf_state_every_document_field() -> None:
    version_fields = {"earlier", "earlier_left_out"}
    # Neither page has an earlier version; `test_earlier_versions.py` states these.
    assert {name for stated in QUERIES.values() for name in stated} == {
        field.name for field in fields(IndexDocument)
    } - version_fields


@pytest.mark.parametrize("url", [PAGE_URL, PDF_URL])
def test_every_stated_field_is_indexed_and_found_by_its_query(
    home: Path, hits: dict[str, dict[str, Any]], client: TestClient, url: str
) -> None:
    with open_home(home) as stores:
        document = stores.index.get([hits[url]["id"]])[hits[url]["id"]]
    for name, query in QUERIES[url].items():
        assert getattr(document, name) not in (None, "", ()), name
        if query is not None:
            response = client.get("/api/search", params={"q": query}).json()
            assert [hit["url"] for hit in response["results"]] == [url], (name, response)
    assert [hit["url"] for hit in fonds(home, "search", "author:ostrander", "--json").lines] == [
        PAGE_URL
    ]


def test_the_authors_of_a_page_are_shown_and_exported_everywhere(
    home: Path, hits: dict[str, dict[str, Any]], client: TestClient
) -> None:
    assert hits[PAGE_URL]["authors"] == [AUTHOR, SECOND]
    sha1hex = hits[PAGE_URL]["sha1hex"]
    named = f"{AUTHOR}, {SECOND}"
    assert named in fonds(home, "show", sha1hex).out
    assert named in client.get(f"/file/{sha1hex}").text
    assert named in client.get(f"/api/files/{sha1hex}").text
    for path in ("/search?q=weir", "/search.atom?q=weir"):
        answer = client.get(path).text
        assert AUTHOR in answer, path
        assert SECOND in answer, path
    for form in ("bibtex", "csl", "jsonl"):
        exported = fonds(home, "export", "weir", "--format", form).out
        assert "Quillfeather" in exported, form
        assert "Ostrander" in exported, form
