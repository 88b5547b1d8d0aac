"""The road of a story from its bytes to rows, index and archive, at the places where others lose some of it.

`docs/story-faults.md` says which fault each of these is.
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
from fonds.extract.page import PageExtraction, parse_page
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


def page(text: str = TEXT, head: str = "", charset: str = "utf-8") -> bytes:
    paragraphs = "".join(f"<p>{one}</p>" for one in text.split("\n"))
    whole = (
        f"<!doctype html><html><head>{head}<title>Le café ferme</title></head>"
        f"<body><article><h1>Le café ferme</h1>{paragraphs}</article></body></html>"
    )
    return whole.encode(charset)


def parsed(
    bench: Bench,
    capture: Capture,
    body: bytes,
    parse: Callable[..., PageExtraction] = parse_page,
) -> Result:
    """The step on a page, with the real reader and no other process."""
    step = ParseStoryStep(bench.archive, parse, "reader 1", False, lambda: LATER)
    charset = bench.archive.read(capture.place).http
    return step(UnparsedPage(capture, page_file(body), charset.charset if charset else None))


def story(result: Result) -> ParsedPage:
    return next(item for item in result.items if isinstance(item, ParsedPage))


@pytest.mark.parametrize(
    "content_type",
    ["text/html", "text/html; charset=ISO-8859-1", "text/html;charset=iso-8859-1", "text/plain"],
)
@pytest.mark.parametrize("head", ["", '<meta charset="utf-8">'])
def test_utf8_under_a_servers_default_is_no_mojibake(
    content_type: str, head: str, bench: Bench
) -> None:
    body = page(head=head)
    (capture,) = bench.in_warc(body, headers=(("Content-Type", content_type),))
    content = story(parsed(bench, replace(capture, url=URL), body)).story.content_metadata
    assert content.article_title == "Le café ferme"
    assert content.text_content is not None
    assert "après quarante ans" in content.text_content
    assert "Ã" not in content.text_content


def test_latin1_that_is_declared_is_latin1(bench: Bench) -> None:
    body = page(TEXT.replace("’", "'"), charset="latin-1")
    headers = (("Content-Type", "text/html; charset=ISO-8859-1"),)
    (capture,) = bench.in_warc(body, headers=headers)
    content = story(parsed(bench, replace(capture, url=URL), body)).story.content_metadata
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
def test_no_story_is_lost_for_its_short_address(url: str, bench: Bench) -> None:
    body = page()
    (capture,) = bench.in_warc(body)
    result = parsed(bench, replace(capture, url=url), body)
    assert result.disposition is DONE
    assert story(result).story.content_metadata.text_content


def test_what_a_reader_cannot_read_is_set_apart_at_the_first_attempt(bench: Bench) -> None:
    def fails(*_: object) -> PageExtraction:
        raise ChildError(Reason.TIMEOUT, "it took too long")

    body = page()
    (capture,) = bench.in_warc(body)
    ended = parsed(bench, capture, body, fails).disposition
    assert (ended.verdict, ended.reason) == (Verdict.QUARANTINED, Reason.TIMEOUT)


NASTY = (
    b"",
    b"<html><body><p>",
    b"\x00\xff\xfe<not>markup",
    b"<table>" * 2_000,
    b"<!doctype html><title>Only a title</title>",
)


@given(st.permutations([*range(len(NASTY) + 2)]))
@settings(max_examples=8, deadline=None)
def test_no_page_leaves_anything_to_the_next(order: Sequence[int]) -> None:
    """Readers that keep what they read last give it out again for a page they stumble over."""
    bodies = [page(), page("Ein ganz anderer Bericht über den Hafen und das Eis.\n" * 4), *NASTY]
    alone = [parse_page(body, URL, None, LATER, True) for body in bodies]
    for number in order:
        assert parse_page(bodies[number], URL, None, LATER, True) == alone[number]


@pytest.mark.parametrize("letter", ["a", "ж", "山"])
def test_a_text_longer_than_a_term_of_lucene_is_kept_whole(letter: str, bench: Bench) -> None:
    sentence = f"{letter * 7} {letter * 4} {letter * 9}, {letter * 3} {letter * 6}. "
    times = 1 + LUCENE_TERM_BYTES * 5 // 4 // (6 * len(sentence.encode()))
    text = "\n".join(sentence * 6 for _ in range(times))
    body = page(text + "\nfinalword stands behind everything else here.", '<meta charset="utf-8">')
    (capture,) = bench.in_warc(body)
    found = story(parsed(bench, replace(capture, url=URL), body))
    importer(bench)([found])
    kept = (bench.blobs.get(build_text_blob_key(found.file.sha1)) or b"").decode()
    assert len(kept.encode()) > LUCENE_TERM_BYTES
    assert kept.endswith("finalword stands behind everything else here.")
    document = bench.index.get([found.story_id])[found.story_id]
    assert document.text_content == kept


def importer(bench: Bench) -> ImportStoryStep:
    return ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER)


def archiver(bench: Bench) -> ArchiveBodyStep:
    kept = (bench.archive, bench.records, bench.table, bench.blobs)
    return create_archive_body(*kept, JOURNAL, lambda: LATER)


@pytest.mark.parametrize("killed_after_import", [False, True])
@pytest.mark.parametrize("import_first", [False, True])
def test_what_is_in_the_index_is_archived_and_the_other_way_round(
    import_first: bool, killed_after_import: bool, bench: Bench, tmp_path: Path
) -> None:
    """Both follow from parsing; neither asks the other whether there is anything left to do."""
    body = page()
    capture = replace(bench.write_file(body), url=URL)
    result = parsed(bench, capture, body)
    found = story(result)
    (waiting,) = [item for item in result.items if isinstance(item, UnarchivedBody)]
    steps = [lambda: importer(bench)([found]), lambda: archiver(bench)([waiting])]
    if killed_after_import:
        # The document was made, and nothing was settled: the message comes again.
        importer(bench)([found])
        again = parsed(bench, capture, body)
        (waiting,) = [item for item in again.items if isinstance(item, UnarchivedBody)]
    for step in steps if import_first else steps[::-1]:
        step()
    assert bench.index.count() == 1
    (row,) = bench.records.find(CdxRow, {"capture_id": capture.id})
    assert (row.url, row.sha1hex) == (URL, found.file.sha1)


@pytest.mark.parametrize(
    "announced",
    [
        "Mon, 04 Mar 2024 10:00:00 -0000",
        "Mon, 04 Mar 2024 10:00:00 GMT",
        "Mon, 4 Mar 2024 10:00 +0000",
        "04 Mar 2024 10:00:00 EST",
    ],
)
def test_an_announced_day_fills_in_and_the_story_still_tells_it_from_a_found_one(
    announced: str, bench: Bench
) -> None:
    body = page()
    told = RssEntry(link=URL, pub_date=announced)
    capture = replace(bench.write_file(body), url=URL, rss_entry=told)
    found = story(parsed(bench, capture, body))
    importer(bench)([found])
    (row,) = bench.records.get(StoryMetaRow, [found.file.sha1])
    assert row.publication_date == "2024-03-04"
    assert row.story.content_metadata.publication_date is None
    assert row.story.rss_entry.pub_date == announced


def test_a_batch_goes_into_the_index_with_one_request(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number in range(20):
        body = page(f"{TEXT} {number}")
        capture = replace(bench.write_file(body), id=f"c{number}", url=f"{URL}-{number}")
        found.append(story(parsed(bench, capture, body)))
    puts = []
    put = bench.index.put
    monkeypatch.setattr(bench.index, "put", lambda some: (puts.append(len(some)), put(some)))
    importer(bench)(found)
    assert puts == [20]
    assert bench.index.count() == 20


def test_times_are_those_of_their_acts(bench: Bench) -> None:
    """Published, fetched and parsed are three moments, each with a zone."""
    body = page(head='<meta property="article:published_time" content="2024-02-28T08:00:00Z">')
    (capture,) = bench.in_warc(body)
    found = story(parsed(bench, replace(capture, url=URL), body)).story
    assert found.content_metadata.publication_date == "2024-02-28"
    assert found.http_metadata.fetch_timestamp == capture.captured_at.timestamp()
    parsed_at = datetime.fromisoformat(found.content_metadata.parsed_date or "")
    assert parsed_at == LATER
