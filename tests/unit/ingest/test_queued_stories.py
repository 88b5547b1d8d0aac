"""Messages of each step are dumped as stories that a reader of Media Cloud's archives can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO

from fixtures.media_cloud import ReadStory, read_stories
from fonds.archive.warc.messages import MessageWriter, read_messages
from fonds.extract.page_extraction import PageExtraction, PageStatus
from fonds.following.link_rules import build_link
from fonds.ingest.queued_stories import QueuedStories
from fonds.ingest.steps.parse_story import ParseStoryStep
from fonds.model.capture import RssEntry
from fonds.model.entry import Link
from fonds.model.file import IdentifiedCapture, UnparsedPage
from fonds.model.message import Message
from fonds.model.step import Topic
from fonds.model.story import ContentMetadata, ParsedPage, UnarchivedBody
from fonds.pipelines.flavours.stages import (
    CAPTURED,
    UNARCHIVED,
    UNPARSED,
)
from fonds.queues.messages.envelope import encode
from step_bench import LATER, PAGE, PDF, Bench, page_file, pdf_file

IDENTIFIED = Topic("t.identified", IdentifiedCapture)
STORIES = Topic("t.stories", ParsedPage)
LINKS = Topic("t.links", Link)
ENTRY = RssEntry(link="http://news.example/0", title="A flood", source_feed_id=7)
READ = PageExtraction(
    PageStatus.SUCCESS,
    ContentMetadata(
        url="http://news.example/0",
        article_title="A page",
        text_content="The river rose over the wall at night.",
        parsed_date="2026-11-24T01:02:03",
    ),
    charset="utf-8",
)


def dump_and_read(bench: Bench, topic: Topic, *payloads: object) -> tuple[list[ReadStory], bytes]:
    """Return the stories read from a dump of messages with these payloads, and the dump."""
    stories, out = QueuedStories(topic, bench.archive), BytesIO()
    writer = MessageWriter(out, "x.warc.gz")
    for message in build_messages(payloads):
        writer.write("csv.some-in", message, stories(message))
    return list(read_stories(BytesIO(out.getvalue()))), out.getvalue()


def build_messages(payloads: Sequence[object]) -> list[Message]:
    headers = {"x-mc-retries": "2", "reason": "zu groß"}
    return [
        Message(f"id-{number}", encode(payload), "news.example", 1, headers)
        for number, payload in enumerate(payloads)
    ]


def test_a_link_is_a_story_without_a_page(bench: Bench) -> None:
    link = build_link("http://news.example/ö?a=1#x", "list", replace(ENTRY, link=None))
    ((story,), dump) = dump_and_read(bench, LINKS, link)
    assert (story.html, story.encoding) == (b"", None)
    assert (story.rss_entry.link, story.rss_entry.title) == (
        "http://news.example/ö?a=1#x",
        "A flood",
    )
    assert (story.rss_entry.source_feed_id, story.http_metadata.response_code) == (7, None)
    assert story.content_metadata.original_url == "http://news.example/ö?a=1"
    assert story.rabbitmq_headers == {"x-mc-retries": "2", "reason": "zu groß"}
    assert list(read_messages(BytesIO(dump))) == [("csv.some-in", *build_messages([link]))]


def test_every_message_about_a_page_contains_the_page(bench: Bench) -> None:
    (warc_capture,) = bench.in_warc(PAGE, status_line="HTTP/1.1 203 Other")
    capture = replace(warc_capture, rss_entry=ENTRY)
    for topic, payload in (
        (CAPTURED, capture),
        (IDENTIFIED, IdentifiedCapture(capture, page_file(), "iso-8859-1")),
        (UNPARSED, UnparsedPage(capture, page_file(), "iso-8859-1")),
        (UNARCHIVED, UnarchivedBody(capture, page_file())),
    ):
        ((story,), dump) = dump_and_read(bench, topic, payload)
        assert story.html == PAGE
        assert story.rss_entry.title == "A flood"
        assert (story.http_metadata.response_code, story.http_metadata.final_url) == (
            203,
            capture.url,
        )
        assert list(read_messages(BytesIO(dump))) == [("csv.some-in", *build_messages([payload]))]


def test_a_parsed_story_keeps_its_extracted_metadata(bench: Bench) -> None:
    (warc_capture,) = bench.in_warc(PAGE)
    capture = replace(warc_capture, rss_entry=ENTRY)
    step = ParseStoryStep(bench.archive, lambda *arguments: READ, "reader 1", False, lambda: LATER)
    (parsed_page,) = step(UnparsedPage(capture, page_file(), None)).items
    stories, dump = dump_and_read(bench, STORIES, parsed_page, parsed_page)
    assert [story.html for story in stories] == [PAGE, PAGE]
    first = stories[0].content_metadata
    assert (first.article_title, first.text_content) == ("A page", READ.content.text_content)
    assert stories[0].rss_entry.source_feed_id == 7
    assert len(list(read_messages(BytesIO(dump)))) == 2


def test_messages_without_a_story_are_skipped_by_readers_but_can_be_loaded(
    bench: Bench,
) -> None:
    (paper,) = bench.in_warc(PDF, mime="application/pdf")
    (page,) = bench.in_warc(PAGE)
    mixed = [UnarchivedBody(paper, pdf_file()), UnarchivedBody(page, page_file())]
    stories, dump = dump_and_read(bench, UNARCHIVED, *mixed)
    assert [story.html for story in stories] == [PAGE]
    assert len(list(read_messages(BytesIO(dump)))) == 2


def test_a_missing_page_is_empty(bench: Bench) -> None:
    (warc_capture,) = bench.in_warc(PAGE)
    missing = replace(warc_capture, place=replace(warc_capture.place, path="/nowhere.warc.gz"))
    ((story,), _) = dump_and_read(bench, UNPARSED, UnparsedPage(missing, page_file()))
    assert story.html == b""
