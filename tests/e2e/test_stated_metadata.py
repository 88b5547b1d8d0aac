"""What a PDF, a JATS article and a feed state stands in the row, the index, every view and every export.

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
from fixtures.answering import Given, answering
from fixtures.feeds import rss, rss_item
from fixtures.jats import jats
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response
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
class Seen:
    """One file as each reader of the library gives it, as text; `row` and `document` as values."""

    row: Any
    document: IndexDocument
    texts: Mapping[str, str]
    client: TestClient

    def assert_everywhere(self, fact: str, *places: str) -> None:
        """`places` are all views and exports if none is named."""
        for name in places or self.texts:
            assert fact in self.texts[name], (fact, name)

    def assert_found(self, *queries: str) -> None:
        for query in queries:
            found = self.client.get("/api/search", params={"q": query}).json()
            assert [hit["sha1hex"] for hit in found["results"]] == [self.document.sha1hex], query


VIEWS = ("show", "page", "api")
EXPORTS = ("jsonl", "csv", "parquet")
CITATIONS = ("bibtex", "csl")


@contextmanager
def seen(home: Path, kind: type[DerivativeRow]) -> Iterator[Seen]:
    """The only file of a home that has a row of this kind."""
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
            yield Seen(row, document, texts, client)


@pytest.fixture(scope="module")
def of_pdf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("pdf")
    paper = text_pdf(("Levels of the estuary\ndoi:10.5555/basin.7", "The tide."), info=PDF_INFO)
    answer = http_response(paper, url=PDF_URL, headers=(("Content-Type", "application/pdf"),))
    (folder / "crawl.warc.gz").write_bytes(gzipped([answer]))
    assert fonds(folder / "home", "ingest", folder / "crawl.warc.gz").code == 0
    with seen(folder / "home", PdfMetaRow) as found:
        yield found


@pytest.fixture(scope="module")
def of_article(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("jats")
    body = "<sec><title>Begin</title><p>The estuary was weighed twice in the night.</p></sec>"
    (folder / "air.xml").write_bytes(jats(body=body))
    assert fonds(folder / "home", "ingest", folder / "air.xml").code == 0
    with seen(folder / "home", JatsRow) as found:
        yield found


@pytest.fixture(scope="module")
def of_feed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """A story of which its page states the title alone; the rest is its feed's."""
    home = tmp_path_factory.mktemp("feed") / "home"
    with pytest.MonkeyPatch.context() as patch, answering() as server:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        paragraphs = "".join(f"<p>{TEXT} {one}</p>" for one in range(6))
        page = (
            f"<html><title>The weir</title><article><h1>The weir</h1>{paragraphs}</article></html>"
        )
        server.answers["/weir"] = Given(200, page.encode(), {"Content-Type": "text/html"})
        item = rss_item(
            f"{server.url}/weir", "The feed calls it a dam", "Sun, 22 Nov 2026 01:02:03 GMT"
        )
        server.answers["/feed"] = Given(200, rss([item], "<ttl>1</ttl>"))
        assert fonds(home, "sources", "add", f"{server.url}/feed").code == 0
        run_until_settled(home)
        with seen(home, StoryMetaRow) as found:
            yield found


def test_what_a_pdf_states_of_itself_is_seen_everywhere(of_pdf: Seen) -> None:
    for fact in PDF_INFO.values():
        if not fact.startswith("D:"):
            of_pdf.assert_everywhere(fact, *VIEWS, *EXPORTS)
    of_pdf.assert_everywhere("On a tidal gauge", *CITATIONS)
    of_pdf.assert_everywhere("Stroom", *CITATIONS)
    of_pdf.assert_everywhere("10.5555/basin.7")
    of_pdf.assert_everywhere("2019-04-01", *VIEWS, *EXPORTS)
    of_pdf.assert_everywhere(PDF_URL, "page", "api", *EXPORTS, *CITATIONS)
    assert of_pdf.row.page_count == of_pdf.document.page_count == 2
    assert of_pdf.row.metadata.title == of_pdf.document.article_title == PDF_INFO["Title"]
    assert of_pdf.document.authors == ("Ada Stroom",)
    of_pdf.assert_found("title:gauge", "author:stroom", "doi:10.5555/basin.7", "date:2019-04-01")
    of_pdf.assert_found("pages:2", "text:estuary", "kind:pdf", "domain:basin.example")


def test_what_an_article_states_is_seen_everywhere(of_article: Seen) -> None:
    of_article.assert_everywhere("On the Weight of Air")
    of_article.assert_everywhere("10.1000/air.5")
    of_article.assert_everywhere("Annals of Air")
    of_article.assert_everywhere("Ada B Example", *VIEWS, *EXPORTS)
    of_article.assert_everywhere("Example", *CITATIONS)
    of_article.assert_everywhere("2020-03-07", *VIEWS, *EXPORTS)
    of_article.assert_everywhere("0317-8471")
    for fact in ("University of Air", "0000-0002-1825-0097"):
        of_article.assert_everywhere(fact, *VIEWS, *EXPORTS)
    of_article.assert_everywhere("Bea C Gust", *VIEWS)
    cited = json.loads(of_article.texts["csl"])[0]
    assert (cited["container-title"], cited["volume"], cited["page"]) == (
        "Annals of Air",
        "7",
        "1-9",
    )
    assert of_article.row.doi == of_article.document.doi == "10.1000/air.5"
    assert of_article.row.title == of_article.document.article_title
    assert of_article.document.authors == ("Ada B Example",)
    of_article.assert_found("title:weight", "author:example", "doi:10.1000/air.5", "language:en")
    of_article.assert_found("date:2020-03-07", "text:estuary", "kind:jats")


def test_what_a_feed_states_of_a_story_is_seen_everywhere(of_feed: Seen) -> None:
    entry = of_feed.row.story.rss_entry
    assert entry.title == "The feed calls it a dam"
    of_feed.assert_everywhere(entry.title, *VIEWS, *EXPORTS)
    of_feed.assert_everywhere(entry.source_url, *VIEWS, *EXPORTS)
    of_feed.assert_everywhere("22 Nov 2026", *VIEWS, *EXPORTS)
    of_feed.assert_everywhere("2026-11-22", "show", "api", *EXPORTS)
    assert f"{of_feed.document.publication_date}" == "2026-11-22"
    of_feed.assert_found("date:2026-11-22", "title:weir")
