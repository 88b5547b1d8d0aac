"""Faults of other programs on the way of a story from its bytes to rows, index and archive.

`docs/story-faults.md` lists the fault that each test covers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive_bodies import create_archive_body
from fonds.extract.page import parse_page
from fonds.extract.page_extraction import PageExtraction
from fonds.ingest.steps.archive_body import ArchiveBodyStep
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.ingest.steps.parse_story import ParseStoryStep
from fonds.model.capture import Capture, RssEntry
from fonds.model.disposition import DONE, Reason, Verdict
from fonds.model.errors import ChildError
from fonds.model.file import UnparsedPage
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import CdxRow, StoryMetaRow
from fonds.model.step import Result
from fonds.model.story import ParsedPage, UnarchivedBody
from step_bench import JOURNAL, LATER, Bench, page_file

URL = "https://news.example.fr/politique/le-cafe-ferme-apres-quarante-ans"
TEXT = (
    "Le café de la mairie ferme après quarante ans. Les habitués y étaient hier soir, et le maire, très"
    " ému, a promis qu’un autre ouvrirait à l’été. « On se reverra », a dit la gérante."
)
LUCENE_TERM_BYTES = 32_766


def build_html(text: str = TEXT, head: str = "", charset: str = "utf-8") -> bytes:
    paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in text.split("\n"))
    html = (
        f"<!doctype html><html><head>{head}<title>Le café ferme</title></head>"
        f"<body><article><h1>Le café ferme</h1>{paragraphs}</article></body></html>"
    )
    return html.encode(charset)


def parse_body(
    bench: Bench,
    capture: Capture,
    body: bytes,
    parse: Callable[..., PageExtraction] = parse_page,
) -> Result:
    """Run the step on a page with the real reader in this process."""
    step = ParseStoryStep(bench.archive, parse, "reader 1", False, lambda: LATER)
    charset = bench.archive.read(capture.place).http
    return step(UnparsedPage(capture, page_file(body), charset.charset if charset else None))


def get_parsed_page(result: Result) -> ParsedPage:
    return next(item for item in result.items if isinstance(item, ParsedPage))


@pytest.mark.parametrize(
    "content_type",
    ["text/html", "text/html; charset=ISO-8859-1", "text/html;charset=iso-8859-1", "text/plain"],
)
@pytest.mark.parametrize("head", ["", '<meta charset="utf-8">'])
def test_utf8_under_a_latin1_default_charset_is_not_mojibake(
    content_type: str, head: str, bench: Bench
) -> None:
    body = build_html(head=head)
    (capture,) = bench.in_warc(body, headers=(("Content-Type", content_type),))
    content = get_parsed_page(
        parse_body(bench, replace(capture, url=URL), body)
    ).story.content_metadata
    assert content.article_title == "Le café ferme"
    assert content.text_content is not None
    assert "après quarante ans" in content.text_content
    assert "Ã" not in content.text_content


def test_declared_latin1_is_decoded_as_latin1(bench: Bench) -> None:
    body = build_html(TEXT.replace("’", "'"), charset="latin-1")
    headers = (("Content-Type", "text/html; charset=ISO-8859-1"),)
    (capture,) = bench.in_warc(body, headers=headers)
    content = get_parsed_page(
        parse_body(bench, replace(capture, url=URL), body)
    ).story.content_metadata
    assert "après quarante ans" in (content.text_content or "")


@pytest.mark.parametrize(
    "url",
    [
        "https://news.example/p/hello-world",
        "https://news.example/trump-resigns",
        "https://news.example/breaking-news/",
        "https://news.example/?p=123",
        "https://news.example/",
    ],
)
def test_a_short_url_does_not_drop_a_story(url: str, bench: Bench) -> None:
    body = build_html()
    (capture,) = bench.in_warc(body)
    result = parse_body(bench, replace(capture, url=url), body)
    assert result.disposition is DONE
    assert get_parsed_page(result).story.content_metadata.text_content


def test_a_page_the_reader_cannot_read_is_quarantined_at_the_first_attempt(bench: Bench) -> None:
    def time_out(*_: object) -> PageExtraction:
        raise ChildError(Reason.TIMEOUT, "it took too long")

    body = build_html()
    (capture,) = bench.in_warc(body)
    disposition = parse_body(bench, capture, body, time_out).disposition
    assert (disposition.verdict, disposition.reason) == (Verdict.QUARANTINED, Reason.TIMEOUT)


NASTY = (
    b"",
    b"<html><body><p>",
    b"\x00\xff\xfe<not>markup",
    b"<table>" * 2_000,
    b"<!doctype html><title>Only a title</title>",
)


@given(st.permutations([*range(len(NASTY) + 2)]))
@settings(max_examples=8, deadline=None)
def test_reading_a_page_leaves_no_state_for_the_next(order: Sequence[int]) -> None:
    """Readers that keep state can return the text of the previous page for a broken one."""
    bodies = [
        build_html(),
        build_html("Ein ganz anderer Bericht über den Hafen und das Eis.\n" * 4),
        *NASTY,
    ]
    expected = [parse_page(body, URL, None, LATER, True) for body in bodies]
    for number in order:
        assert parse_page(bodies[number], URL, None, LATER, True) == expected[number]


@pytest.mark.parametrize("letter", ["a", "ж", "山"])
def test_a_text_longer_than_a_lucene_term_is_stored_in_full(letter: str, bench: Bench) -> None:
    sentence = f"{letter * 7} {letter * 4} {letter * 9}, {letter * 3} {letter * 6}. "
    times = 1 + LUCENE_TERM_BYTES * 5 // 4 // (6 * len(sentence.encode()))
    text = "\n".join(sentence * 6 for _ in range(times))
    body = build_html(text + "\nfinalword ends this text.", '<meta charset="utf-8">')
    (capture,) = bench.in_warc(body)
    parsed_page = get_parsed_page(parse_body(bench, replace(capture, url=URL), body))
    create_importer(bench)([parsed_page])
    stored_text = (bench.blobs.get(build_text_blob_key(parsed_page.file.sha1)) or b"").decode()
    assert len(stored_text.encode()) > LUCENE_TERM_BYTES
    assert stored_text.endswith("finalword ends this text.")
    document = bench.index.get([parsed_page.story_id])[parsed_page.story_id]
    assert document.text_content == stored_text


def create_importer(bench: Bench) -> ImportStoryStep:
    return ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER)


def create_archiver(bench: Bench) -> ArchiveBodyStep:
    stores = (bench.archive, bench.records, bench.table, bench.blobs)
    return create_archive_body(*stores, JOURNAL, lambda: LATER)


@pytest.mark.parametrize("killed_after_import", [False, True])
@pytest.mark.parametrize("import_first", [False, True])
def test_a_story_is_indexed_and_archived_in_either_order(
    import_first: bool, killed_after_import: bool, bench: Bench, tmp_path: Path
) -> None:
    """Index and archive both depend only on parsing, not on each other."""
    body = build_html()
    capture = replace(bench.write_file(body), url=URL)
    result = parse_body(bench, capture, body)
    parsed_page = get_parsed_page(result)
    (unarchived,) = [item for item in result.items if isinstance(item, UnarchivedBody)]
    steps = [
        lambda: create_importer(bench)([parsed_page]),
        lambda: create_archiver(bench)([unarchived]),
    ]
    if killed_after_import:
        # The document was indexed but no message was settled, so the message is delivered again.
        create_importer(bench)([parsed_page])
        second_result = parse_body(bench, capture, body)
        (unarchived,) = [item for item in second_result.items if isinstance(item, UnarchivedBody)]
    for step in steps if import_first else steps[::-1]:
        step()
    assert bench.index.count() == 1
    (row,) = bench.records.find(CdxRow, {"capture_id": capture.id})
    assert (row.url, row.sha1hex) == (URL, parsed_page.file.sha1)


@pytest.mark.parametrize(
    "announced",
    [
        "Mon, 04 Mar 2024 10:00:00 -0000",
        "Mon, 04 Mar 2024 10:00:00 GMT",
        "Mon, 4 Mar 2024 10:00 +0000",
        "04 Mar 2024 10:00:00 EST",
    ],
)
def test_an_announced_day_is_used_and_distinguished_from_an_extracted_one(
    announced: str, bench: Bench
) -> None:
    body = build_html()
    entry = RssEntry(link=URL, pub_date=announced)
    capture = replace(bench.write_file(body), url=URL, rss_entry=entry)
    parsed_page = get_parsed_page(parse_body(bench, capture, body))
    create_importer(bench)([parsed_page])
    (row,) = bench.records.get(StoryMetaRow, [parsed_page.file.sha1])
    assert row.publication_date == "2024-03-04"
    assert row.story.content_metadata.publication_date is None
    assert row.story.rss_entry.pub_date == announced


def test_a_batch_is_indexed_with_one_request(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = []
    for number in range(20):
        body = build_html(f"{TEXT} {number}")
        capture = replace(bench.write_file(body), id=f"c{number}", url=f"{URL}-{number}")
        pages.append(get_parsed_page(parse_body(bench, capture, body)))
    puts = []
    put_documents = bench.index.put
    monkeypatch.setattr(
        bench.index,
        "put",
        lambda documents: (puts.append(len(documents)), put_documents(documents)),
    )
    create_importer(bench)(pages)
    assert puts == [20]
    assert bench.index.count() == 20


def test_published_fetched_and_parsed_times_are_stored_separately(bench: Bench) -> None:
    """Published, fetched and parsed are three times, each with a time zone."""
    body = build_html(
        head='<meta property="article:published_time" content="2024-02-28T08:00:00Z">'
    )
    (capture,) = bench.in_warc(body)
    parsed_story = get_parsed_page(parse_body(bench, replace(capture, url=URL), body)).story
    assert parsed_story.content_metadata.publication_date == "2024-02-28"
    assert parsed_story.http_metadata.fetch_timestamp == capture.captured_at.timestamp()
    parsed_at = datetime.fromisoformat(parsed_story.content_metadata.parsed_date or "")
    assert parsed_at == LATER
