"""Every sink writes what a row promises before the row, and the row before what leads to it.

A death in between then leaves something nobody refers to, which is written again, and never a row that
speaks of what is not there.
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
from fonds.model.story import ContentMetadata, ParsedPage, Story, UnarchivedBody
from order_of_writes import record_writes
from step_bench import JOURNAL, LATER, PAGE, PDF, Bench, identify_capture, page_file, pdf_file

CALLS: list[str] = []


@pytest.fixture
def stores(bench: Bench) -> dict[str, Any]:
    CALLS.clear()
    names = ("archive", "table", "records", "blobs", "index")
    return record_writes(CALLS, **{name: getattr(bench, name) for name in names})


def calls() -> list[str]:
    """In their order, several in a row told once."""
    return [one for n, one in enumerate(CALLS) if n == 0 or one != CALLS[n - 1]]


def clock() -> Any:
    return LATER


def test_a_body_lies_in_its_warc_before_its_cells_and_these_before_its_row(
    bench: Bench, stores: dict[str, Any]
) -> None:
    """The row says that it is archived: what is behind it would never be written again. The
    lease is acquired first and released last."""
    capture = bench.write_file()
    bench.enter(capture)
    CALLS.clear()
    step = create_archive_body(
        stores["archive"], stores["records"], stores["table"], stores["blobs"], JOURNAL, clock
    )
    step([UnarchivedBody(capture, page_file())])
    assert calls() == [
        "records.put",
        "archive.write",
        "table.put",
        "records.put",
        "records.change_each",
    ]


def fetched(bench: Bench) -> FetchedLink:
    hop = Hop(
        "http://news.example/0", LATER, 200, "HTTP/1.1 200 OK", (("Content-Type", "text/html"),)
    )
    return FetchedLink(build_link("http://news.example/0", "poll"), Exchange((hop,), "full"), PAGE)


def test_what_was_fetched_is_in_the_spool_before_its_row_says_so(
    bench: Bench, stores: dict[str, Any]
) -> None:
    """And both before anybody hears of it: the capture is what `keep` returns."""
    Spool(stores["blobs"], stores["records"], bench.archive).save([fetched(bench)])
    assert calls() == ["blobs.put", "records.put"]


def test_the_spool_forgets_nothing_that_is_not_in_a_warc_and_on_the_books(
    bench: Bench, stores: dict[str, Any]
) -> None:
    (capture,) = Spool(bench.blobs, bench.records, bench.archive).save([fetched(bench)])
    spooled = SpooledBodies(stores["archive"], bench.blobs, lambda _: None, 10_000)
    archive = LayeredArchive(stores["archive"], spooled)
    books = (stores["records"], stores["table"], stores["blobs"])
    step = create_archive_body(archive, *books, JOURNAL, clock)
    step([UnarchivedBody(capture, page_file())])
    written = ["records.put", "archive.write", "table.put", "records.put", "records.change_each"]
    assert calls() == [*written, "blobs.delete", "records.change"]


def test_a_file_is_on_the_books_before_the_captures_that_lead_to_it(
    bench: Bench, stores: dict[str, Any]
) -> None:
    """Who owns a file is known before anything is said of it."""
    (capture,) = bench.in_warc(b"<p>x")
    step = PersistFileStep(stores["table"], stores["records"], JOURNAL, False, clock)
    step([identify_capture(capture, b"<p>x")])
    assert calls() == ["records.put", "table.put", "records.put"]


def test_a_storys_text_comes_before_its_row_and_that_before_the_index(
    bench: Bench, stores: dict[str, Any]
) -> None:
    (capture,) = bench.in_warc(PAGE)
    story = Story(content_metadata=ContentMetadata(url=capture.url, text_content="The river rose."))
    step = ImportStoryStep(stores["records"], stores["blobs"], stores["index"], clock)
    step([ParsedPage(capture, page_file(), story, "5" * 64, "reader 1")])
    assert calls() == ["blobs.put", "records.put", "index.put"]


def text_of(bench: Bench) -> PdfText:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    return PdfText(
        sha1hex=pdf_file().sha1,
        status=PdfStatus.SUCCESS,
        text="The river rose.",
        page0_thumbnail=True,
        meta_xml=None,
        pdf_info={},
        pdf_extra={"word_count": 3},
        file_meta=pdf_file(),
        source=capture,
        extractor="reader 1",
    )


def test_a_pdfs_text_comes_before_its_row_and_that_before_the_index(
    bench: Bench, stores: dict[str, Any]
) -> None:
    step = PersistPdfTextStep(stores["records"], stores["blobs"], stores["index"], clock, 30.0)
    step([text_of(bench)])
    written = [one for one in calls() if one != "records.change"]
    assert written[0] == "blobs.put"
    assert written[-2:] == ["records.put", "index.put"]


def test_what_stopped_a_reader_is_remembered_before_its_row_says_so(
    bench: Bench, stores: dict[str, Any]
) -> None:
    step = PersistPdfTextStep(stores["records"], stores["blobs"], stores["index"], clock, 30.0)
    step([replace(text_of(bench), status=PdfStatus.ERROR_TIMEOUT, text=None)])
    assert "index.put" not in calls()
    assert CALLS.count("records.put") == 2


def test_a_picture_is_there_before_the_row_says_so(bench: Bench, stores: dict[str, Any]) -> None:
    step = PersistThumbnailStep(stores["blobs"], stores["records"])
    step([Thumbnail("a" * 40, "180px-jpg", b"picture")])
    assert calls() == ["blobs.put", "records.put", "records.change"]
