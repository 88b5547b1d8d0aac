"""Facts that a PDF, a JATS article or a feed states are in the row, the index, all views and all exports.

Pages are in `test_document_fields.py`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from e2e.running import fonds
from e2e.test_followed_sources import SETTINGS, TEXT, run_until_settled
from filled_home import open_home
from fixtures.feeds import rss, rss_item
from fixtures.http_server import CannedResponse, serve_http
from fixtures.jats import jats
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response
from fonds.model.document import IndexDocument
from fonds.model.rows import JatsRow, PdfMetaRow, StoryMetaRow
from fonds.model.rows.row import DerivativeRow
from fonds.web.app import create_app

PDF_URL = "http://reports.basin.example/gauge.pdf"
PDF_INFO = {
    "Title": "On a tidal gauge",
    "Author": "Ada Stroom",
    "Subject": "Levels of the Ouse",
    "Keywords": "tide, gauge",
    "Creator": "A Typesetter 7",
    "Producer": "A Distiller 9",
    "CreationDate": "D:20190401120000Z",
}


@dataclass(frozen=True)
class FileOutputs:
    """One file: its row and index document, and its text in each view and export."""

    row: Any
    document: IndexDocument
    texts: Mapping[str, str]
    client: TestClient

    def assert_everywhere(self, fact: str, *places: str) -> None:
        """Check a fact in `places`, by default in all views and exports."""
        for name in places or self.texts:
            assert fact in self.texts[name], (fact, name)

    def assert_found(self, *queries: str) -> None:
        for query in queries:
            response = self.client.get("/api/search", params={"q": query}).json()
            assert [hit["sha1hex"] for hit in response["results"]] == [self.document.sha1hex], query


VIEWS = ("show", "page", "api")
EXPORTS = ("jsonl", "csv", "parquet")
CITATIONS = ("bibtex", "csl")


@contextmanager
def open_outputs(home: Path, kind: type[DerivativeRow]) -> Iterator[FileOutputs]:
    """Yield the only file of a home with a row of this kind."""
    import pyarrow.parquet as parquet

    with open_home(home) as stores:
        (row,) = stores.records.find(kind)
        with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
            file = f"{row.sha1hex}"
            texts = {
                "show": " ".join(fonds(home, "show", file).out.split()),
                "page": client.get(f"/file/{file}").text,
                "api": client.get(f"/api/files/{file}").text,
            }
            for form in ("jsonl", *CITATIONS):
                texts[form] = fonds(home, "export", "--format", form).out
            texts["csv"] = "\n".join(
                value
                for line in csv.reader(StringIO(fonds(home, "export", "--format", "csv").out))
                for value in line
            )
            table = home.parent / "library.parquet"
            assert fonds(home, "export", "--format", "parquet", "--out", table).code == 0
            texts["parquet"] = "\n".join(
                str(value) for value in parquet.read_table(table).to_pylist()[0].values()
            )
            (document,) = stores.index.get(
                [hit["id"] for hit in fonds(home, "search", "--json").lines]
            ).values()
            yield FileOutputs(row, document, texts, client)


@pytest.fixture(scope="module")
def pdf_outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileOutputs]:
    folder = tmp_path_factory.mktemp("pdf")
    paper = text_pdf(("Levels of the estuary\ndoi:10.5555/basin.7", "The tide."), info=PDF_INFO)
    answer = http_response(paper, url=PDF_URL, headers=(("Content-Type", "application/pdf"),))
    (folder / "crawl.warc.gz").write_bytes(gzip_records([answer]))
    assert fonds(folder / "home", "ingest", folder / "crawl.warc.gz").code == 0
    with open_outputs(folder / "home", PdfMetaRow) as outputs:
        yield outputs


@pytest.fixture(scope="module")
def article_outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileOutputs]:
    folder = tmp_path_factory.mktemp("jats")
    body = "<sec><title>Begin</title><p>The estuary was weighed twice in the night.</p></sec>"
    (folder / "air.xml").write_bytes(jats(body=body))
    assert fonds(folder / "home", "ingest", folder / "air.xml").code == 0
    with open_outputs(folder / "home", JatsRow) as outputs:
        yield outputs


@pytest.fixture(scope="module")
def feed_outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileOutputs]:
    """A story whose page states only the title; its feed states the rest."""
    home = tmp_path_factory.mktemp("feed") / "home"
    with pytest.MonkeyPatch.context() as patch, serve_http() as server:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        paragraphs = "".join(f"<p>{TEXT} {number}</p>" for number in range(6))
        page = (
            f"<html><title>The weir</title><article><h1>The weir</h1>{paragraphs}</article></html>"
        )
        server.responses["/weir"] = CannedResponse(
            200, page.encode(), {"Content-Type": "text/html"}
        )
        item = rss_item(
            f"{server.url}/weir", "The feed calls it a dam", "Sun, 22 Nov 2026 01:02:03 GMT"
        )
        server.responses["/feed"] = CannedResponse(200, rss([item], "<ttl>1</ttl>"))
        assert fonds(home, "sources", "add", f"{server.url}/feed").code == 0
        run_until_settled(home)
        with open_outputs(home, StoryMetaRow) as outputs:
            yield outputs


def test_facts_of_a_pdf_are_in_all_outputs(pdf_outputs: FileOutputs) -> None:
    for fact in PDF_INFO.values():
        if not fact.startswith("D:"):
            pdf_outputs.assert_everywhere(fact, *VIEWS, *EXPORTS)
    pdf_outputs.assert_everywhere("On a tidal gauge", *CITATIONS)
    pdf_outputs.assert_everywhere("Stroom", *CITATIONS)
    pdf_outputs.assert_everywhere("10.5555/basin.7")
    pdf_outputs.assert_everywhere("2019-04-01", *VIEWS, *EXPORTS)
    pdf_outputs.assert_everywhere(PDF_URL, "page", "api", *EXPORTS, *CITATIONS)
    assert pdf_outputs.row.page_count == pdf_outputs.document.page_count == 2
    assert pdf_outputs.row.metadata.title == pdf_outputs.document.article_title == PDF_INFO["Title"]
    assert pdf_outputs.document.authors == ("Ada Stroom",)
    pdf_outputs.assert_found(
        "title:gauge", "author:stroom", "doi:10.5555/basin.7", "date:2019-04-01"
    )
    pdf_outputs.assert_found("pages:2", "text:estuary", "kind:pdf", "domain:basin.example")


def test_facts_of_an_article_are_in_all_outputs(article_outputs: FileOutputs) -> None:
    article_outputs.assert_everywhere("On the Weight of Air")
    article_outputs.assert_everywhere("10.1000/air.5")
    article_outputs.assert_everywhere("Annals of Air")
    article_outputs.assert_everywhere("Ada B Example", *VIEWS, *EXPORTS)
    article_outputs.assert_everywhere("Example", *CITATIONS)
    article_outputs.assert_everywhere("2020-03-07", *VIEWS, *EXPORTS)
    article_outputs.assert_everywhere("0317-8471")
    for fact in ("University of Air", "0000-0002-1825-0097"):
        article_outputs.assert_everywhere(fact, *VIEWS, *EXPORTS)
    article_outputs.assert_everywhere("Bea C Gust", *VIEWS)
    cited = json.loads(article_outputs.texts["csl"])[0]
    assert (cited["container-title"], cited["volume"], cited["page"]) == (
        "Annals of Air",
        "7",
        "1-9",
    )
    assert article_outputs.row.doi == article_outputs.document.doi == "10.1000/air.5"
    assert article_outputs.row.title == article_outputs.document.article_title
    assert article_outputs.document.authors == ("Ada B Example",)
    article_outputs.assert_found(
        "title:weight", "author:example", "doi:10.1000/air.5", "language:en"
    )
    article_outputs.assert_found("date:2020-03-07", "text:estuary", "kind:jats")


def test_facts_that_a_feed_states_are_in_all_outputs(feed_outputs: FileOutputs) -> None:
    entry = feed_outputs.row.story.rss_entry
    assert entry.title == "The feed calls it a dam"
    feed_outputs.assert_everywhere(entry.title, *VIEWS, *EXPORTS)
    feed_outputs.assert_everywhere(entry.source_url, *VIEWS, *EXPORTS)
    feed_outputs.assert_everywhere("22 Nov 2026", *VIEWS, *EXPORTS)
    feed_outputs.assert_everywhere("2026-11-22", "show", "api", *EXPORTS)
    assert f"{feed_outputs.document.publication_date}" == "2026-11-22"
    feed_outputs.assert_found("date:2026-11-22", "title:weir")
