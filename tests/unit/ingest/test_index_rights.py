"""What captures of a file state reaches its document, in whatever order the steps come to it."""

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

OTHER = PAGE + b"<!-- another -->"
NOAI = Statement(Subject.PREFERENCE, "noai", "noai", StatementSource.HEADER, "X-Robots-Tag")


@pytest.fixture
def bench(tmp_path) -> Bench:  # type: ignore[no-untyped-def]
    return open_bench(tmp_path)


@dataclass
class Watched:
    """An index that counts what is put."""

    real: Index
    put_count: int = 0

    def put(self, found: Sequence[IndexDocument]) -> None:
        self.put_count += len(found)
        self.real.put(found)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


def captured(bench: Bench, signal: str | None, body: bytes = PAGE) -> Capture:
    signals = (("X-Robots-Tag", signal),) if signal else ()
    (found,) = bench.in_warc(body, headers=(("Content-Type", "text/html"), *signals))
    return replace(found, url="http://news.example/a")


def persist(bench: Bench, *captures: Capture) -> list[object]:
    """What comes of the captures, each in a batch of its own."""
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    step = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    return [
        made
        for capture in captures
        for result in step(
            [item for item in identify(capture).items if isinstance(item, IdentifiedCapture)]
        )
        for made in result.items
    ]


def parsed(bench: Bench, made: Sequence[object]) -> list[ParsedPage]:
    parse = ParseStoryStep(bench.archive, parse_page, "reader 1", False, lambda: LATER)
    work = [one for one in made if isinstance(one, UnparsedPage)]
    return [item for one in work for item in parse(one).items if isinstance(item, ParsedPage)]


def import_page(bench: Bench, some: Sequence[ParsedPage], index: Index | None = None) -> None:
    ImportStoryStep(bench.records, bench.blobs, index or bench.index, lambda: LATER)(some)


def stated(bench: Bench, story: ParsedPage) -> tuple[str, ...]:
    return bench.index.get([story.story_id])[story.story_id].prefers


def test_a_later_capture_that_states_something_changes_the_document(bench: Bench) -> None:
    (story,) = parsed(bench, persist(bench, captured(bench, "noai")))
    import_page(bench, [story])
    assert stated(bench, story) == ("noai",)
    made = persist(bench, captured(bench, "noindex"))
    assert made == [UnindexedFile(story.file.sha1)]
    index = Watched(bench.index)
    step = IndexRightsStep(bench.records, bench.blobs, index)  # type: ignore[arg-type]
    for _ in range(2):
        step([UnindexedFile(story.file.sha1), UnindexedFile("0" * 40)])
        assert sorted(stated(bench, story)) == ["noai", "noindex"]
    assert index.put_count == 1
    text = bench.index.get([story.story_id])[story.story_id].text_content
    assert text == story.story.content_metadata.text_content


def test_a_later_capture_that_states_nothing_sends_nothing(bench: Bench) -> None:
    persist(bench, captured(bench, "noai"))
    assert persist(bench, captured(bench, None)) == []


def test_a_capture_that_comes_before_the_page_is_read_is_in_its_document(bench: Bench) -> None:
    made = persist(bench, captured(bench, "noai"), captured(bench, "noindex"))
    (story,) = parsed(bench, made)
    IndexRightsStep(bench.records, bench.blobs, bench.index)([UnindexedFile(story.file.sha1)])
    assert bench.index.get([story.story_id]) == {}
    import_page(bench, [story])
    assert sorted(stated(bench, story)) == ["noai", "noindex"]


def test_a_capture_that_comes_while_the_document_is_put_is_in_it(bench: Bench) -> None:
    (story,) = parsed(bench, persist(bench, captured(bench, "noai")))

    @dataclass
    class Overtaken(Watched):
        def put(self, found: Sequence[IndexDocument]) -> None:
            if self.put_count == 0:
                persist(bench, captured(bench, "noindex"))
            super().put(found)

    import_page(bench, [story], Overtaken(bench.index))  # type: ignore[arg-type]
    assert sorted(stated(bench, story)) == ["noai", "noindex"]


def test_of_very_many_captures_the_last_are_looked_at_and_other_files_keep_theirs(
    bench: Bench,
) -> None:
    persist(bench, captured(bench, "noai", OTHER))
    tags = [f"tag-{number}" for number in range(2 * CAPTURES_MAX + 5)]
    persist(bench, *(captured(bench, tag) for tag in tags))
    many, one = describe(PAGE, "text/html").sha1, describe(OTHER, "text/html").sha1
    found = load_file_rights(bench.records, [many, one])
    assert build_values(found[one]).prefers == ("noai",)
    assert len(build_values(found[many]).prefers) == CAPTURES_MAX
    told = file_rights(bench.records, many)
    assert sum(len(group.captures) for group in told.captures) == CAPTURES_MAX
    assert not told.is_complete
    assert file_rights(bench.records, one).is_complete


def test_the_robots_txt_of_a_file_is_that_of_its_last_capture_that_has_one(bench: Bench) -> None:
    """Later captures without one, for example from a WARC of others, change nothing."""
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
