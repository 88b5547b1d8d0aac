"""Every sink writes data before the row that refers to it, and the row before anything that leads to it.

A crash between the writes then leaves unreferenced data, which is written again, and never a row without
its data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from archive_bodies import create_archive_body
from fonds.archive.store.body_sources import (
    LayeredArchive,
    SpooledBodies,
)
from fonds.following.link_rules import build_link
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.ingest.steps.persist_pdf import (
    PersistPdfTextStep,
    PersistThumbnailStep,
)
from fonds.ingest.steps.spool import FetchedLink, Spool
from fonds.model.exchange import Exchange, Hop
from fonds.model.pdf import PdfStatus, PdfText, Thumbnail
from fonds.model.pdf_extra import PdfExtra
from fonds.model.story import ContentMetadata, ParsedPage, Story, UnarchivedBody
from order_of_writes import record_writes
from step_bench import JOURNAL, LATER, PAGE, PDF, Bench, identify_capture, page_file, pdf_file

CALLS: list[str] = []


@pytest.fixture
def stores(bench: Bench) -> dict[str, Any]:
    CALLS.clear()
    names = ("archive", "table", "records", "blobs", "index")
    return record_writes(CALLS, **{name: getattr(bench, name) for name in names})


def list_calls() -> list[str]:
    """Return the calls in order, without consecutive repeats."""
    return [call for n, call in enumerate(CALLS) if n == 0 or call != CALLS[n - 1]]


def get_time() -> Any:
    return LATER


def test_a_body_is_written_before_its_cells_and_the_cells_before_its_row(
    bench: Bench, stores: dict[str, Any]
) -> None:
    """A row marks a body as archived, so that it is never written again. The lease is acquired first
    and released last."""
    capture = bench.write_file()
    bench.enter(capture)
    CALLS.clear()
    step = create_archive_body(
        stores["archive"], stores["records"], stores["table"], stores["blobs"], JOURNAL, get_time
    )
    step([UnarchivedBody(capture, page_file())])
    assert list_calls() == [
        "records.put",
        "archive.write",
        "table.put",
        "records.put",
        "records.change_each",
    ]


def build_fetched_link(bench: Bench) -> FetchedLink:
    hop = Hop(
        "http://news.example/0", LATER, 200, "HTTP/1.1 200 OK", (("Content-Type", "text/html"),)
    )
    return FetchedLink(build_link("http://news.example/0", "poll"), Exchange((hop,), "full"), PAGE)


def test_an_exchange_is_spooled_before_its_row_is_written(
    bench: Bench, stores: dict[str, Any]
) -> None:
    """Both are written before `save` returns the capture."""
    Spool(stores["blobs"], stores["records"], bench.archive).save([build_fetched_link(bench)])
    assert list_calls() == ["blobs.put", "records.put"]


def test_the_spool_deletes_a_body_after_warc_and_rows_are_written(
    bench: Bench, stores: dict[str, Any]
) -> None:
    (capture,) = Spool(bench.blobs, bench.records, bench.archive).save([build_fetched_link(bench)])
    spooled_bodies = SpooledBodies(stores["archive"], bench.blobs, lambda _: None, 10_000)
    archive = LayeredArchive(stores["archive"], spooled_bodies)
    stores_to_write = (stores["records"], stores["table"], stores["blobs"])
    step = create_archive_body(archive, *stores_to_write, JOURNAL, get_time)
    step([UnarchivedBody(capture, page_file())])
    step_calls = ["records.put", "archive.write", "table.put", "records.put", "records.change_each"]
    assert list_calls() == [*step_calls, "blobs.delete", "records.change"]


def test_a_file_is_recorded_before_its_captures(bench: Bench, stores: dict[str, Any]) -> None:
    """The owner of a file is recorded before anything refers to the file."""
    (capture,) = bench.in_warc(b"<p>x")
    step = PersistFileStep(stores["table"], stores["records"], JOURNAL, False, get_time)
    step([identify_capture(capture, b"<p>x")])
    assert list_calls() == ["records.put", "table.put", "records.put"]


def test_the_text_of_a_story_is_written_before_row_and_index(
    bench: Bench, stores: dict[str, Any]
) -> None:
    (capture,) = bench.in_warc(PAGE)
    story = Story(content_metadata=ContentMetadata(url=capture.url, text_content="The river rose."))
    step = ImportStoryStep(stores["records"], stores["blobs"], stores["index"], get_time)
    step([ParsedPage(capture, page_file(), story, "5" * 64, "reader 1")])
    assert list_calls() == ["blobs.put", "records.put", "index.put"]


def build_pdf_text(bench: Bench) -> PdfText:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    return PdfText(
        sha1hex=pdf_file().sha1,
        status=PdfStatus.SUCCESS,
        text="The river rose.",
        page0_thumbnail=True,
        meta_xml=None,
        pdf_info={},
        pdf_extra=PdfExtra(word_count=3),
        file_meta=pdf_file(),
        source=capture,
        extractor="reader 1",
    )


def test_the_text_of_a_pdf_is_written_before_row_and_index(
    bench: Bench, stores: dict[str, Any]
) -> None:
    step = PersistPdfTextStep(stores["records"], stores["blobs"], stores["index"], get_time, 30.0)
    step([build_pdf_text(bench)])
    writes = [call for call in list_calls() if call != "records.change"]
    assert writes[0] == "blobs.put"
    assert writes[-2:] == ["records.put", "index.put"]


def test_a_reader_failure_is_recorded_before_the_row_of_the_file(
    bench: Bench, stores: dict[str, Any]
) -> None:
    step = PersistPdfTextStep(stores["records"], stores["blobs"], stores["index"], get_time, 30.0)
    step([replace(build_pdf_text(bench), status=PdfStatus.ERROR_TIMEOUT, text=None)])
    assert "index.put" not in list_calls()
    assert CALLS.count("records.put") == 2


def test_a_thumbnail_is_written_before_its_row(bench: Bench, stores: dict[str, Any]) -> None:
    step = PersistThumbnailStep(stores["blobs"], stores["records"])
    step([Thumbnail("a" * 40, "180px-jpg", b"picture")])
    assert list_calls() == ["blobs.put", "records.put", "records.change"]
