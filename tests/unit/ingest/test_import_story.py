"""import_story: writes a complete story to blobs, records and index, and chooses its date."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.ingest.steps.import_story import ImportStoryStep, choose_publication_date
from fonds.model.capture import RssEntry
from fonds.model.disposition import DONE
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import Kind
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import StoryMetaRow
from fonds.model.stored_json import encode_stored
from fonds.model.story import ContentMetadata, ParsedPage, Story
from step_bench import LATER, OTHER_PAGE, PAGE, Bench, page_file

KEY, ID = page_file().sha1, "5" * 64
TEXT = "The river\nrose over the wall. Überall Wasser."
CONTENT = ContentMetadata(
    url="http://news.example/own",
    canonical_domain="news.example",
    publication_date="2024-02-29",
    language="en",
    article_title="A page",
    text_content=TEXT,
    parsed_date="2024-03-05T07:00:00+00:00",
)
STORY = Story(rss_entry=RssEntry(link="http://news.example/0"), content_metadata=CONTENT)


@pytest.fixture
def step(bench: Bench) -> ImportStoryStep:
    return ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER)


def build_page(
    bench: Bench, story: Story = STORY, body: bytes = PAGE, story_id: str = ID
) -> ParsedPage:
    capture = replace(bench.in_warc(body)[0], collection="floods")
    return ParsedPage(capture, page_file(body), story, story_id, "reader 1")


def get_document(bench: Bench, id_: str = ID) -> IndexDocument:
    return bench.index.get([id_])[id_]


def build_story(**changes: object) -> Story:
    return replace(STORY, content_metadata=replace(CONTENT, **changes))  # type: ignore[arg-type]


def get_row(bench: Bench, key: str = KEY) -> StoryMetaRow:
    (row,) = bench.records.get(StoryMetaRow, [key])
    return row


def test_the_text_is_stored_as_a_blob_and_the_rest_as_a_row(
    step: ImportStoryStep, bench: Bench
) -> None:
    assert [result.disposition for result in step([build_page(bench)])] == [DONE]
    assert bench.blobs.get(build_text_blob_key(KEY)) == TEXT.encode()
    row = get_row(bench)
    assert (row.story_id, row.status, row.extractor) == (ID, "success", "reader 1")
    assert (row.url, row.canonical_domain) == ("http://news.example/own", "news.example")
    assert (row.publication_date, row.language, row.article_title) == ("2024-02-29", "en", "A page")
    assert (row.word_count, row.updated) == (8, LATER)
    parts = {"rss_entry", "http_metadata", "content_metadata", "page_metadata", "schema_version"}
    assert encode_stored(row.story).keys() == parts
    assert row.story.rss_entry.link == "http://news.example/0"
    assert row.story.content_metadata.text_content is None


def test_the_index_document_is_complete(step: ImportStoryStep, bench: Bench) -> None:
    step([build_page(bench)])
    assert get_document(bench) == IndexDocument(
        id=ID,
        sha1hex=KEY,
        kind=Kind.STORY,
        url="http://news.example/own",
        canonical_domain="news.example",
        publication_date=date(2024, 2, 29),
        language="en",
        article_title="A page",
        text_content=TEXT,
        indexed_date=datetime(2024, 3, 5, 7, tzinfo=UTC),
        collection="floods",
        story_id=ID,
        word_count=8,
        status="success",
        date_kind=DateKind.PUBLISHED,
        captured=date(2024, 3, 5),
    )


def test_a_story_with_little_metadata_keeps_its_text(step: ImportStoryStep, bench: Bench) -> None:
    item = build_page(bench, Story(content_metadata=ContentMetadata(text_content="Some words")))
    step([item])
    row, document = get_row(bench), get_document(bench)
    assert (row.url, row.canonical_domain, row.publication_date) == (item.capture.url, "", None)
    assert (document.url, document.canonical_domain) == (item.capture.url, "")
    assert (document.publication_date, document.language, document.article_title) == (None,) * 3
    assert (document.text_content, document.indexed_date) == ("Some words", LATER)


def test_a_story_without_text_gets_an_empty_text(step: ImportStoryStep, bench: Bench) -> None:
    step([build_page(bench, build_story(text_content=None))])
    assert bench.blobs.get(build_text_blob_key(KEY)) == b""
    assert (get_row(bench).word_count, get_document(bench).text_content) == (0, "")


def test_a_lone_surrogate_is_replaced_or_removed(step: ImportStoryStep, bench: Bench) -> None:
    step([build_page(bench, build_story(text_content="a \ud800 b", article_title="t\ud800\x00t"))])
    assert bench.blobs.get(build_text_blob_key(KEY)) == b"a ? b"
    assert get_document(bench).text_content == "a ? b"
    assert (get_row(bench).article_title, get_document(bench).article_title) == ("tt", "tt")


def test_importing_twice_stores_one_row_and_the_last_version_wins(
    step: ImportStoryStep, bench: Bench
) -> None:
    item, other_item = build_page(bench), build_page(bench, body=OTHER_PAGE, story_id="6" * 64)
    newer = replace(item, story=build_story(article_title="A newer title"), extractor="reader 2")
    assert len(step([item, other_item, item])) == 3
    step([newer])
    assert bench.records.count(StoryMetaRow) == {(): 2}
    assert bench.index.count() == 2
    assert (get_row(bench).extractor, get_row(bench).article_title) == ("reader 2", "A newer title")
    assert get_document(bench).article_title == "A newer title"


@pytest.mark.parametrize(
    ("extracted", "announced", "expected"),
    [
        ("2024-02-29", "Mon, 01 Jan 2024 10:00:00 GMT", date(2024, 2, 29)),
        (None, "Mon, 01 Jan 2024 23:30:00 -0500", date(2024, 1, 1)),
        ("2024-02-30", "Mon, 01 Jan 2024 10:00:00 GMT", date(2024, 1, 1)),
        ("", None, None),
        ("yesterday", "soon", None),
        (None, "Mon, 1 Jan 99999999999999999999999 00:00:00 GMT", None),
        (None, "Mon, 1 Jan 2020 00:00:00 +9999", None),
    ],
)
def test_the_extracted_date_takes_precedence_over_the_announced_date(
    extracted: str | None, announced: str | None, expected: date | None
) -> None:
    story = Story(
        rss_entry=RssEntry(pub_date=announced),
        content_metadata=ContentMetadata(publication_date=extracted),
    )
    assert choose_publication_date(story) == expected


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ [+-]?\d+"))
def test_no_announced_date_raises(announced: str) -> None:
    chosen = choose_publication_date(Story(rss_entry=RssEntry(pub_date=announced)))
    assert chosen is None or isinstance(chosen, date)
