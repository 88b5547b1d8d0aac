"""parse_story: how a page ends, and that its body is archived in every case."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from fonds.extract.page_extraction import PageExtraction, PageStatus
from fonds.ingest.steps.parse_story import ParseStoryStep
from fonds.model.capture import Capture, RssEntry
from fonds.model.disposition import (
    DONE,
    Disposition,
    Reason,
    drop,
    quarantine,
)
from fonds.model.errors import ChildError, DamagedInputError
from fonds.model.file import UnparsedPage
from fonds.model.step import Result
from fonds.model.story import ContentMetadata, HttpMetadata, ParsedPage, UnarchivedBody
from fonds.urls.normalization import compute_story_id
from step_bench import LATER, MOMENT, PAGE, Bench, page_file

CONTENT = ContentMetadata(
    original_url="http://news.example/original",
    url="http://news.example/own",
    canonical_domain="news.example",
    article_title="A page",
    text_content="The river rose over the wall at night.",
)
READ = PageExtraction(PageStatus.SUCCESS, CONTENT, charset="windows-1252")


def run_step(
    bench: Bench,
    capture: Capture,
    answer: PageExtraction | ChildError = READ,
    *,
    copy_bodies: bool = False,
) -> tuple[Result, list[tuple[object, ...]]]:
    """Return the result of the step for a page with this answer of the reader, and the reader's arguments."""
    arguments: list[tuple[object, ...]] = []

    def parse(
        body: bytes,
        url: str,
        charset: str | None,
        captured_at: datetime,
        is_fetched: bool,
        is_plain_text: bool,
    ) -> PageExtraction:
        assert not is_plain_text
        arguments.append((body, url, charset, captured_at, is_fetched))
        if isinstance(answer, ChildError):
            raise answer
        return answer

    step = ParseStoryStep(bench.archive, parse, "reader 1", copy_bodies, lambda: LATER)
    return step(UnparsedPage(capture, page_file(), "iso-8859-1")), arguments


def test_a_page_in_a_warc_becomes_a_story_without_archiving(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    result, arguments = run_step(bench, capture)
    assert result.disposition is DONE
    (parsed,) = result.items
    assert isinstance(parsed, ParsedPage)
    assert (parsed.capture, parsed.file, parsed.extractor) == (capture, page_file(), "reader 1")
    assert parsed.story_id == compute_story_id("http://news.example/own")
    assert arguments == [(PAGE, capture.url, "iso-8859-1", MOMENT, True)]


def test_the_story_states_where_how_and_when_the_page_was_found(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    result, _ = run_step(bench, capture)
    (parsed,) = result.items
    assert isinstance(parsed, ParsedPage)
    story = parsed.story
    assert story.rss_entry == RssEntry(link=capture.url, via=str(capture.place))
    assert story.http_metadata == HttpMetadata(200, MOMENT.timestamp(), capture.url, "iso-8859-1")
    assert story.content_metadata == replace(CONTENT, parsed_date="2024-03-06T06:07:08+00:00")
    assert (story.raw_html.html, story.raw_html.encoding) == (None, "windows-1252")


def test_a_page_without_its_own_url_uses_the_url_of_its_capture(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    result, _ = run_step(bench, capture, replace(READ, content=replace(CONTENT, url=None)))
    (parsed,) = result.items
    assert isinstance(parsed, ParsedPage)
    assert parsed.story_id == compute_story_id(capture.url)


def test_a_loose_page_is_archived_with_its_story(bench: Bench) -> None:
    capture = bench.write_file()
    result, arguments = run_step(bench, capture)
    parsed, body = result.items
    assert isinstance(parsed, ParsedPage)
    assert body == UnarchivedBody(capture, page_file(), story=parsed.story)
    assert parsed.story.http_metadata.response_code is None
    assert arguments == [(PAGE, capture.url, "iso-8859-1", MOMENT, False)]


def test_a_page_in_a_warc_is_archived_if_bodies_are_copied(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    result, _ = run_step(bench, capture, copy_bodies=True)
    assert [type(item) for item in result.items] == [ParsedPage, UnarchivedBody]


FAILURES: list[tuple[PageExtraction | ChildError, Disposition]] = [
    (
        PageExtraction(PageStatus.NO_TEXT, CONTENT, error_msg="too few"),
        drop(Reason.NO_TEXT, "too few"),
    ),
    (PageExtraction(PageStatus.IS_FEED, CONTENT, error_msg="RSS"), drop(Reason.IS_FEED, "RSS")),
    (PageExtraction(PageStatus.TOO_LARGE, CONTENT), drop(Reason.TOO_LARGE, "")),
    (ChildError(Reason.TIMEOUT, "60 s"), quarantine(Reason.TIMEOUT, "60 s")),
    (ChildError(Reason.OUT_OF_MEMORY, "2 GiB"), quarantine(Reason.OUT_OF_MEMORY, "2 GiB")),
    (ChildError(Reason.CRASHED_READER, "11"), quarantine(Reason.CRASHED_READER, "11")),
]
each_failure = pytest.mark.parametrize(
    ("answer", "expected"), FAILURES, ids=[str(ended.reason) for _, ended in FAILURES]
)


def test_the_failure_cases_cover_every_status_with_a_reason() -> None:
    ways = {answer.status for answer, _ in FAILURES if isinstance(answer, PageExtraction)}
    assert ways == {status for status in PageStatus if status.reason is not None}


@each_failure
def test_the_body_of_a_failed_loose_page_is_archived(
    bench: Bench, answer: PageExtraction | ChildError, expected: Disposition
) -> None:
    capture = bench.write_file()
    result, _ = run_step(bench, capture, answer)
    assert result.disposition == expected
    assert result.items == (UnarchivedBody(capture, page_file()),)


@each_failure
def test_a_failed_page_in_a_warc_returns_no_items(
    bench: Bench, answer: PageExtraction | ChildError, expected: Disposition
) -> None:
    (capture,) = bench.in_warc(PAGE)
    result, _ = run_step(bench, capture, answer)
    assert (result.disposition, result.items) == (expected, ())


def test_bytes_that_changed_since_identification_are_refused(bench: Bench) -> None:
    capture = bench.write_file()
    Path(capture.place.path).write_bytes(PAGE + b"<p>And it fell again.</p>")
    with pytest.raises(DamagedInputError, match="no longer match") as caught:
        run_step(bench, capture)
    assert caught.value.reason is Reason.DAMAGED_RECORD
