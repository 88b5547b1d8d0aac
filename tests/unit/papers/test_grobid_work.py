"""GROBID asked about what a library takes in and what other programs put on `ungrobided`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
from starlette.testclient import TestClient

from fixtures.grobid_server import Answer, grobid_server
from fixtures.tei import tei
from fonds.audit.audit import run_audit
from fonds.config import Settings
from fonds.model.message import PIPELINE, Message, Subscription
from fonds.model.rows import CitationRow, EntryRow, GrobidRow, PdfMetaRow
from fonds.ports import Stores
from fonds.queues.messages.contracts import build_schemas
from fonds.stores.journal_table.keys import build_row_key
from fonds.viewer.description import build_description
from fonds.web.app import create_app
from fonds.wiring.stores import list_readers, open_queue, open_stores
from foreign_work import TaskBatch, prepare_tasks, run_pipeline, wait_until_processed

PREFIX = "fonds-local"
OTHERS = [Subscription("others-tei", f"{PREFIX}.grobid-output")]


@pytest.mark.parametrize("pipeline", ["grobid", "library"])
def test_what_others_put_on_ungrobided_is_taken_in_and_believed_in_nothing(
    tmp_path: Path, pipeline: str
) -> None:
    with prepare_tasks(tmp_path / "crawl") as one, grobid_server(Answer(body=tei())) as server:
        server.next = [Answer(503)]
        named = one.settings | {"pipeline": pipeline, "grobid_url": server.url}
        settings, home = Settings().replace_values(**named), tmp_path / "home"
        open_stores(home, settings)
        queue = open_queue(home, settings)
        queue.declare(OTHERS)
        with run_pipeline(home, settings) as stores:
            messages = [Message(f"m{n}", body, key) for n, (key, body) in enumerate(one.messages)]
            queue.put(f"{PREFIX}.ungrobided", messages)
            wait_until_processed(stores, len(messages))
            topic = f"{PREFIX}.ungrobided "
            rows = {row.url.removeprefix(topic): row for row in stores.records.find(EntryRow)}
            assert {url: (row.outcome, row.reason) for url, row in rows.items()} == one.ends
            results = [d.message for d in queue.receive(OTHERS[0].incoming, 100, 1.0)]
            assert {result.key for result in results} == one.sha1hexes.keys() | one.statuses.keys()
            _check_lost(stores, one, [r for r in results if r.key in one.statuses])
            for result in results:
                if result.key in one.statuses:
                    continue
                found = json.loads(result.body)
                jsonschema.Draft202012Validator(build_schemas()["grobid-output"]).validate(found)
                assert (found["status"], found["status_code"]) == ("success", 200)
                assert result.headers[PIPELINE] == f"-{pipeline}"
            pages = TestClient(create_app(stores), base_url="http://localhost:8765")
            for sha1hex in one.sha1hexes:
                assert build_description(stores, sha1hex).derivatives["grobid"].status == "success"
                key = build_row_key(sha1hex)
                cells = stores.table.get(stores.journal, [key], ["grobid0:", "file:"])[key]
                assert {"grobid0:tei_xml", "grobid0:metadata", "file:meta"} <= cells.keys()
                assert "On the Weight of Air" in pages.get(f"/file/{sha1hex}").text
            assert list(stores.records.find(PdfMetaRow)) == [], "nobody asked for its text"
            assert run_audit(stores, {pipeline: list_readers(settings)}).fault_texts == []
        assert len(server.asked) == 1 + len(one.pdfs), (
            "the one that was turned away was asked again"
        )


def _check_lost(stores: Stores, one: TaskBatch, results: Sequence[Message]) -> None:
    """Message, row and table tell the same of each task that leads to no PDF."""
    for result in results:
        found = json.loads(result.body)
        jsonschema.Draft202012Validator(build_schemas()["grobid-output"]).validate(found)
        (row,) = stores.records.get(GrobidRow, [result.key])
        key = build_row_key(result.key)
        cells = stores.table.get(stores.journal, [key], ["grobid0:"])[key]
        status = one.statuses[result.key]
        assert (found["status"], row.status) == (status, status)
        assert json.loads(cells["grobid0:status"])["status"] == status
        assert found["status_code"] == row.status_code < 0
        assert found["error_msg"] == row.error_msg
        assert found["file_meta"] is None


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (Answer(body=tei()[:-50]), "bad-grobid-xml", 200),
        (Answer(500, b"no"), "error", 500),
        (Answer(204), "no-content", 204),
    ],
)
def test_message_table_and_sql_tell_the_same_where_grobid_fails_and_our_reading_is_apart(
    tmp_path: Path, answer: Answer, status: str, code: int
) -> None:
    with prepare_tasks(tmp_path / "crawl") as one, grobid_server(answer) as server:
        settings = Settings().replace_values(**one.settings, grobid_url=server.url)
        open_stores(tmp_path / "home", settings)
        queue = open_queue(tmp_path / "home", settings)
        queue.declare(OTHERS)
        with run_pipeline(tmp_path / "home", settings) as stores:
            sha1hex, body = one.messages[0]
            stores.queue.put(f"{PREFIX}.unextracted", [Message("m1", body, sha1hex)])
            wait_until_processed(stores, 1)
            stores.queue.put(f"{PREFIX}.ungrobided", [Message("m2", body, sha1hex)])
            wait_until_processed(stores, 2)
            (read,) = queue.receive(OTHERS[0].incoming, 10, 1.0)
            message = json.loads(read.message.body)
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
    ours = {f"bib0:bib_{name}" for name in ("status", "quality", "json", "metadata")}
    assert {name for name in cells if name.startswith("bib0:")} == ours


def test_tei_larger_than_a_message_travels_as_a_blob(tmp_path: Path) -> None:
    long = tei(body="<p>" + "word " * 30_000 + "</p>")
    with prepare_tasks(tmp_path / "crawl") as one, grobid_server(Answer(body=long)) as server:
        named = one.settings | {"pipeline": "grobid", "grobid_url": server.url}
        settings = Settings().replace_values(**named, message_max_bytes=20_000)
        open_stores(tmp_path / "home", settings)
        with run_pipeline(tmp_path / "home", settings) as stores:
            key, body = one.messages[0]
            stores.queue.put(f"{PREFIX}.ungrobided", [Message("m", body, key)])
            wait_until_processed(stores, 1)
            (row,) = stores.records.find(GrobidRow)
            assert (row.status, row.sha1hex) == ("success", key)
            assert stores.blobs.get(f"grobid/{key[:2]}/{key[2:4]}/{key}.tei.xml") == long


def test_marked_as_ours_and_of_no_known_file_it_is_refused(tmp_path: Path) -> None:
    with prepare_tasks(tmp_path / "crawl") as one, grobid_server(Answer(body=tei())) as server:
        named = one.settings | {"pipeline": "grobid", "grobid_url": server.url}
        settings = Settings().replace_values(**named)
        open_stores(tmp_path / "home", settings)
        with run_pipeline(tmp_path / "home", settings) as stores:
            result = Message("r", b"{}", "ab" * 20)
            stores.queue.put(f"{PREFIX}.grobid-output", [result])
            wait_until_processed(stores, 1)
            (entry,) = stores.records.find(EntryRow)
            assert (entry.outcome, entry.reason) == ("quarantined", "bad-message")
        assert server.asked == []


def test_what_a_paper_cites_is_shown(tmp_path: Path) -> None:
    entry = (
        "<biblStruct xml:id='b0'><analytic><title level='a'>Wind</title></analytic><monogr>"
        "<title level='j'>Gales</title></monogr><note type='raw_reference'>&lt;b&gt;B. Gust, Wind.</note>"
        "</biblStruct><biblStruct xml:id='b1'><monogr><title level='m'>Storms</title></monogr></biblStruct>"
    )
    with (
        prepare_tasks(tmp_path / "crawl") as one,
        grobid_server(Answer(body=tei(citations=entry))) as server,
    ):
        named = one.settings | {"pipeline": "grobid", "grobid_url": server.url}
        settings = Settings().replace_values(**named)
        open_stores(tmp_path / "home", settings)
        with run_pipeline(tmp_path / "home", settings) as stores:
            key, body = one.messages[0]
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
            assert [one.work for one in matched] == ["doi:10.5555/<i>", None]
            page = TestClient(create_app(stores), base_url="http://localhost:8765").get(
                f"/file/{key}"
            )
            assert "2 entries, with matches in the catalogue" in page.text
            assert "&lt;b&gt;B. Gust, Wind." in page.text
            assert "strong match: doi:10.5555/&lt;i&gt;" in page.text
