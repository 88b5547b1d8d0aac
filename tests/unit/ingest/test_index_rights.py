"""Statements of captures reach the document of their file, in any order of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from fonds.extract.mime import describe
from fonds.extract.page import parse_page
from fonds.ingest.steps.identify import IdentifyStep
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.ingest.steps.index_rights import IndexRightsStep
from fonds.ingest.steps.parse_story import ParseStoryStep
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.model.capture import Capture
from fonds.model.document import IndexDocument
from fonds.model.file import IdentifiedCapture, UnindexedFile, UnparsedPage
from fonds.model.rights import Rights, RobotsInForce, Statement, StatementSource, Subject
from fonds.model.story import ParsedPage
from fonds.ports import Index
from fonds.rights.capture_rights import build_capture_rights_row
from fonds.rights.combined_rights import CAPTURES_MAX, build_values, load_file_rights
from fonds.viewer.rights import load_file_rights as file_rights
from step_bench import JOURNAL, LATER, PAGE, Bench, open_bench

OTHER_BODY = PAGE + b"<!-- another -->"
NOAI = Statement(Subject.PREFERENCE, "noai", "noai", StatementSource.HEADER, "X-Robots-Tag")


@pytest.fixture
def bench(tmp_path) -> Bench:  # type: ignore[no-untyped-def]
    return open_bench(tmp_path)


@dataclass
class CountingIndex:
    """An index that counts the documents put."""

    real: Index
    put_count: int = 0

    def put(self, documents: Sequence[IndexDocument]) -> None:
        self.put_count += len(documents)
        self.real.put(documents)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


def write_capture(bench: Bench, signal: str | None, body: bytes = PAGE) -> Capture:
    signals = (("X-Robots-Tag", signal),) if signal else ()
    (capture,) = bench.in_warc(body, headers=(("Content-Type", "text/html"), *signals))
    return replace(capture, url="http://news.example/a")


def persist(bench: Bench, *captures: Capture) -> list[object]:
    """Return the items that persisting the captures creates. Each capture is a separate batch."""
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    step = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    return [
        item
        for capture in captures
        for result in step(
            [
                identified
                for identified in identify(capture).items
                if isinstance(identified, IdentifiedCapture)
            ]
        )
        for item in result.items
    ]


def parse_pages(bench: Bench, items: Sequence[object]) -> list[ParsedPage]:
    parse = ParseStoryStep(bench.archive, parse_page, "reader 1", False, lambda: LATER)
    work = [page for page in items if isinstance(page, UnparsedPage)]
    return [item for page in work for item in parse(page).items if isinstance(item, ParsedPage)]


def import_page(bench: Bench, pages: Sequence[ParsedPage], index: Index | None = None) -> None:
    ImportStoryStep(bench.records, bench.blobs, index or bench.index, lambda: LATER)(pages)


def get_preferences(bench: Bench, story: ParsedPage) -> tuple[str, ...]:
    return bench.index.get([story.story_id])[story.story_id].prefers


def test_a_later_statement_changes_the_document(bench: Bench) -> None:
    (story,) = parse_pages(bench, persist(bench, write_capture(bench, "noai")))
    import_page(bench, [story])
    assert get_preferences(bench, story) == ("noai",)
    items = persist(bench, write_capture(bench, "noindex"))
    assert items == [UnindexedFile(story.file.sha1)]
    index = CountingIndex(bench.index)
    step = IndexRightsStep(bench.records, bench.blobs, index)  # type: ignore[arg-type]
    for _ in range(2):
        step([UnindexedFile(story.file.sha1), UnindexedFile("0" * 40)])
        assert sorted(get_preferences(bench, story)) == ["noai", "noindex"]
    assert index.put_count == 1
    text = bench.index.get([story.story_id])[story.story_id].text_content
    assert text == story.story.content_metadata.text_content


def test_a_later_capture_without_statement_sends_nothing(bench: Bench) -> None:
    persist(bench, write_capture(bench, "noai"))
    assert persist(bench, write_capture(bench, None)) == []


def test_a_statement_persisted_before_import_is_in_the_document(bench: Bench) -> None:
    items = persist(bench, write_capture(bench, "noai"), write_capture(bench, "noindex"))
    (story,) = parse_pages(bench, items)
    IndexRightsStep(bench.records, bench.blobs, bench.index)([UnindexedFile(story.file.sha1)])
    assert bench.index.get([story.story_id]) == {}
    import_page(bench, [story])
    assert sorted(get_preferences(bench, story)) == ["noai", "noindex"]


def test_a_statement_persisted_during_indexing_is_in_the_document(bench: Bench) -> None:
    (story,) = parse_pages(bench, persist(bench, write_capture(bench, "noai")))

    @dataclass
    class OvertakenIndex(CountingIndex):
        def put(self, documents: Sequence[IndexDocument]) -> None:
            if self.put_count == 0:
                persist(bench, write_capture(bench, "noindex"))
            super().put(documents)

    import_page(bench, [story], OvertakenIndex(bench.index))  # type: ignore[arg-type]
    assert sorted(get_preferences(bench, story)) == ["noai", "noindex"]


def test_only_the_last_captures_of_a_file_are_read(
    bench: Bench,
) -> None:
    persist(bench, write_capture(bench, "noai", OTHER_BODY))
    tags = [f"tag-{number}" for number in range(2 * CAPTURES_MAX + 5)]
    persist(bench, *(write_capture(bench, tag) for tag in tags))
    frequent, single = describe(PAGE, "text/html").sha1, describe(OTHER_BODY, "text/html").sha1
    file_rights_by_sha1 = load_file_rights(bench.records, [frequent, single])
    assert build_values(file_rights_by_sha1[single]).prefers == ("noai",)
    assert len(build_values(file_rights_by_sha1[frequent]).prefers) == CAPTURES_MAX
    summary = file_rights(bench.records, frequent)
    assert sum(len(group.captures) for group in summary.captures) == CAPTURES_MAX
    assert not summary.is_complete
    assert file_rights(bench.records, single).is_complete


def test_the_robots_txt_of_a_file_comes_from_its_last_capture_with_one(bench: Bench) -> None:
    """Later captures without robots.txt, for example from another crawler's WARC, change nothing."""
    sha1hex = describe(PAGE, "text/html").sha1
    for number, status in enumerate(("404", "200", None)):
        robots = RobotsInForce("http://news.example/robots.txt", status) if status else None
        rights = Rights(robots, (NOAI,))
        updated = LATER + timedelta(days=number)
        row = build_capture_rights_row(f"capture-{number}", sha1hex, rights, updated)
        assert row is not None
        bench.records.put([row])
    robots = load_file_rights(bench.records, [sha1hex])[sha1hex].robots
    assert robots is not None
    assert robots.answer == "200"
