"""GROBID processes ingested PDFs and tasks that other programs put on `ungrobided`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
from starlette.testclient import TestClient

from fixtures.grobid_server import GrobidResponse, serve_grobid
from fixtures.tei import build_tei
from fonds.audit.audit import run_audit
from fonds.config import Settings
from fonds.model.message import PIPELINE, Message, Subscription
from fonds.model.rows import CitationRow, EntryRow, GrobidRow, PdfMetaRow
from fonds.ports import Stores
from fonds.queues.messages.contracts import build_schemas
from fonds.stores.journal_table.keys import build_row_key
from fonds.viewer.description import build_description
from fonds.web.app import create_app
from fonds.wiring.flavours import list_readers
from fonds.wiring.queue import open_queue
from fonds.wiring.stores import open_stores
from foreign_work import TaskBatch, prepare_tasks, run_pipeline, wait_until_processed

PREFIX = "fonds-local"
OUTPUT_READERS = [Subscription("others-tei", f"{PREFIX}.grobid-output")]


@pytest.mark.parametrize("pipeline", ["grobid", "library"])
def test_foreign_tasks_are_processed_and_their_metadata_is_not_trusted(
    tmp_path: Path, pipeline: str
) -> None:
    with (
        prepare_tasks(tmp_path / "crawl") as batch,
        serve_grobid(GrobidResponse(body=build_tei())) as server,
    ):
        server.next_responses = [GrobidResponse(503)]
        values = batch.settings | {"pipeline": pipeline, "grobid_url": server.url}
        settings, home = Settings().replace_values(**values), tmp_path / "home"
        open_stores(home, settings)
        queue = open_queue(home, settings)
        queue.declare(OUTPUT_READERS)
        with run_pipeline(home, settings) as stores:
            messages = [Message(f"m{n}", body, key) for n, (key, body) in enumerate(batch.messages)]
            queue.put(f"{PREFIX}.ungrobided", messages)
            wait_until_processed(stores, len(messages))
            topic = f"{PREFIX}.ungrobided "
            rows = {row.url.removeprefix(topic): row for row in stores.records.find(EntryRow)}
            assert {url: (row.outcome, row.reason) for url, row in rows.items()} == batch.ends
            results = [d.message for d in queue.receive(OUTPUT_READERS[0].incoming, 100, 1.0)]
            assert {
                result.key for result in results
            } == batch.sha1hexes.keys() | batch.statuses.keys()
            check_lost_tasks(stores, batch, [r for r in results if r.key in batch.statuses])
            for result in results:
                if result.key in batch.statuses:
                    continue
                document = json.loads(result.body)
                jsonschema.Draft202012Validator(build_schemas()["grobid-output"]).validate(document)
                assert (document["status"], document["status_code"]) == ("success", 200)
                assert result.headers[PIPELINE] == f"-{pipeline}"
            pages = TestClient(create_app(stores), base_url="http://localhost:8765")
            for sha1hex in batch.sha1hexes:
                assert build_description(stores, sha1hex).derivatives["grobid"].status == "success"
                key = build_row_key(sha1hex)
                cells = stores.table.get(stores.journal, [key], ["grobid0:", "file:"])[key]
                assert {"grobid0:tei_xml", "grobid0:metadata", "file:meta"} <= cells.keys()
                assert "On the Weight of Air" in pages.get(f"/file/{sha1hex}").text
            assert list(stores.records.find(PdfMetaRow)) == [], "no text extraction was requested"
            assert run_audit(stores, {pipeline: list_readers(settings)}).fault_texts == []
        assert len(server.requests) == 1 + len(batch.pdfs), "the rejected request was repeated"


def check_lost_tasks(stores: Stores, batch: TaskBatch, results: Sequence[Message]) -> None:
    """Check that message, row and table agree on each task without a PDF."""
    for result in results:
        document = json.loads(result.body)
        jsonschema.Draft202012Validator(build_schemas()["grobid-output"]).validate(document)
        (row,) = stores.records.get(GrobidRow, [result.key])
        key = build_row_key(result.key)
        cells = stores.table.get(stores.journal, [key], ["grobid0:"])[key]
        status = batch.statuses[result.key]
        assert (document["status"], row.status) == (status, status)
        assert json.loads(cells["grobid0:status"])["status"] == status
        assert document["status_code"] == row.status_code < 0
        assert document["error_msg"] == row.error_msg
        assert document["file_meta"] is None


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (GrobidResponse(body=build_tei()[:-50]), "bad-grobid-xml", 200),
        (GrobidResponse(500, b"no"), "error", 500),
        (GrobidResponse(204), "no-content", 204),
    ],
)
def test_a_grobid_failure_is_stored_equally_everywhere_and_our_reading_separately(
    tmp_path: Path, answer: GrobidResponse, status: str, code: int
) -> None:
    with prepare_tasks(tmp_path / "crawl") as batch, serve_grobid(answer) as server:
        settings = Settings().replace_values(**batch.settings, grobid_url=server.url)
        open_stores(tmp_path / "home", settings)
        queue = open_queue(tmp_path / "home", settings)
        queue.declare(OUTPUT_READERS)
        with run_pipeline(tmp_path / "home", settings) as stores:
            sha1hex, body = batch.messages[0]
            stores.queue.put(f"{PREFIX}.unextracted", [Message("m1", body, sha1hex)])
            wait_until_processed(stores, 1)
            stores.queue.put(f"{PREFIX}.ungrobided", [Message("m2", body, sha1hex)])
            wait_until_processed(stores, 2)
            (delivery,) = queue.receive(OUTPUT_READERS[0].incoming, 10, 1.0)
            message = json.loads(delivery.message.body)
            (row,) = stores.records.find(GrobidRow)
            key = build_row_key(sha1hex)
            cells = stores.table.get(stores.journal, [key], ["grobid0:", "bib0:"])[key]
            assert run_audit(stores, {"library": list_readers(settings)}).fault_texts == []
    assert (message["status"], message["status_code"], message["tei_xml"]) == (status, code, None)
    assert (row.status, row.status_code) == (status, code)
    assert json.loads(cells["grobid0:status"])["status"] == status
    assert message["error_msg"] == row.error_msg
    names = {"grobid0:status", "grobid0:status_code"}
    assert {name for name in cells if name.startswith("grobid0:")} == names
    bibliography_names = {f"bib0:bib_{name}" for name in ("status", "quality", "json", "metadata")}
    assert {name for name in cells if name.startswith("bib0:")} == bibliography_names


def test_tei_larger_than_a_message_is_sent_as_a_blob(tmp_path: Path) -> None:
    long = build_tei(body="<p>" + "word " * 30_000 + "</p>")
    with (
        prepare_tasks(tmp_path / "crawl") as batch,
        serve_grobid(GrobidResponse(body=long)) as server,
    ):
        values = batch.settings | {"pipeline": "grobid", "grobid_url": server.url}
        settings = Settings().replace_values(**values, message_max_bytes=20_000)
        open_stores(tmp_path / "home", settings)
        with run_pipeline(tmp_path / "home", settings) as stores:
            key, body = batch.messages[0]
            stores.queue.put(f"{PREFIX}.ungrobided", [Message("m", body, key)])
            wait_until_processed(stores, 1)
            (row,) = stores.records.find(GrobidRow)
            assert (row.status, row.sha1hex) == ("success", key)
            assert stores.blobs.get(f"grobid/{key[:2]}/{key[2:4]}/{key}.tei.xml") == long


def test_a_forged_result_of_an_unknown_file_is_quarantined(tmp_path: Path) -> None:
    with (
        prepare_tasks(tmp_path / "crawl") as batch,
        serve_grobid(GrobidResponse(body=build_tei())) as server,
    ):
        values = batch.settings | {"pipeline": "grobid", "grobid_url": server.url}
        settings = Settings().replace_values(**values)
        open_stores(tmp_path / "home", settings)
        with run_pipeline(tmp_path / "home", settings) as stores:
            result = Message("r", b"{}", "ab" * 20)
            stores.queue.put(f"{PREFIX}.grobid-output", [result])
            wait_until_processed(stores, 1)
            (entry,) = stores.records.find(EntryRow)
            assert (entry.outcome, entry.reason) == ("quarantined", "bad-message")
        assert server.requests == []


def test_the_citations_of_a_paper_are_on_its_page(tmp_path: Path) -> None:
    entry = (
        "<biblStruct xml:id='b0'><analytic><title level='a'>Wind</title></analytic><monogr>"
        "<title level='j'>Gales</title></monogr><note type='raw_reference'>&lt;b&gt;B. Gust, Wind.</note>"
        "</biblStruct><biblStruct xml:id='b1'><monogr><title level='m'>Storms</title></monogr></biblStruct>"
    )
    with (
        prepare_tasks(tmp_path / "crawl") as batch,
        serve_grobid(GrobidResponse(body=build_tei(citations=entry))) as server,
    ):
        values = batch.settings | {"pipeline": "grobid", "grobid_url": server.url}
        settings = Settings().replace_values(**values)
        open_stores(tmp_path / "home", settings)
        with run_pipeline(tmp_path / "home", settings) as stores:
            key, body = batch.messages[0]
            stores.queue.put(f"{PREFIX}.ungrobided", [Message("m", body, key)])
            wait_until_processed(stores, 1)
            description = build_description(stores, key)
            assert [citation.reference for citation in description.citations] == [
                "<b>B. Gust, Wind.",
                "Storms",
            ]
            assert description.citations_total == 2
            by = ("strong", "title-and-author", "doi:10.5555/<i>", None, None, 3.0)
            stores.records.put(
                [CitationRow(key, 0, description.history[0].promised_at, "Wind", *by)]
            )
            matched = build_description(stores, key).citations
            assert [cited.work for cited in matched] == ["doi:10.5555/<i>", None]
            page = TestClient(create_app(stores), base_url="http://localhost:8765").get(
                f"/file/{key}"
            )
            assert "2 entries, with matches in the catalogue" in page.text
            assert "&lt;b&gt;B. Gust, Wind." in page.text
            assert "strong match: doi:10.5555/&lt;i&gt;" in page.text
