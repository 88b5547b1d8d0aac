"""A story with several versions has one document, in any order of import."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.audit.repair.reindex import ReindexResult, reindex
from fonds.derivatives import documents
from fonds.derivatives.documents import UNKNOWN, index_until_stable
from fonds.derivatives.story import build_document
from fonds.derivatives.story_versions import load_current_versions
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.model.document import IndexDocument
from fonds.model.errors import StoreUnavailableError
from fonds.model.keys import build_text_blob_key
from fonds.model.rows import StoryMetaRow
from fonds.model.search import SearchQuery
from fonds.model.story import ContentMetadata, ParsedPage, Story
from fonds.ports import Index
from step_bench import LATER, MOMENT, PAGE, Bench, open_bench, page_file

STORY_1, STORY_2 = "1" * 64, "2" * 64
VERSIONS = 5
SECONDS = (0, 60, 60, 7, 60)
"""Capture time of each version; the SHA-1 decides between equal times."""


def build_version(bench: Bench, number: int, story_id: str = STORY_1) -> ParsedPage:
    """Return a page with a unique token, captured at its second."""
    body = PAGE + b"<!-- token %d -->" % number
    capture = replace(
        bench.write_file(body),
        id=f"c{number}",
        url="http://news.example/story",
        captured_at=MOMENT + timedelta(seconds=SECONDS[number], microseconds=number),
        collection=f"crawl {number}",
    )
    bench.enter(capture)
    content = ContentMetadata(
        url="http://news.example/story", text_content=f"words of {number}", article_title="A page"
    )
    return ParsedPage(
        capture, page_file(body), Story(content_metadata=content), story_id, "reader 1"
    )


def create_importer(bench: Bench, index: Index | None = None) -> ImportStoryStep:
    return ImportStoryStep(bench.records, bench.blobs, index or bench.index, lambda: LATER)


def choose_newest(numbers: Sequence[int]) -> int:
    """Return the version expected in the index, by an independent form of the rule."""
    keys = {n: page_file(PAGE + b"<!-- token %d -->" % n).sha1 for n in numbers}
    return max(numbers, key=lambda n: (SECONDS[n], keys[n]))


def build_order_key(number: int) -> tuple[int, str]:
    """Sort key of versions, earliest first."""
    return SECONDS[number], page_file(PAGE + b"<!-- token %d -->" % number).sha1


def list_texts(bench: Bench) -> dict[str, str]:
    """Return the indexed texts by story id."""
    documents_by_id = bench.index.get([STORY_1, STORY_2])
    assert len(documents_by_id) == bench.index.count()
    return {id_: document.text_content for id_, document in documents_by_id.items()}


def check_earlier(bench: Bench, stories: Mapping[int, str]) -> None:
    """Check that each story is found by the words of its own versions only."""
    for number in range(VERSIONS):
        hits = bench.index.search(SearchQuery(f'version:all "words of {number}"')).hits
        expected = [stories[number]] if number in stories else []
        assert [hit.document.id for hit in hits] == expected
    for id_, stored_document in bench.index.get([STORY_1, STORY_2]).items():
        numbers = sorted(
            (n for n, story in stories.items() if story == id_), key=build_order_key, reverse=True
        )
        keys = [page_file(PAGE + b"<!-- token %d -->" % n).sha1 for n in numbers]
        assert [
            stored_document.sha1hex,
            *(earlier.sha1hex for earlier in stored_document.earlier),
        ] == keys
        assert stored_document.earlier_left_out == 0


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, VERSIONS - 1), st.sampled_from([STORY_1, STORY_2])),
            min_size=1,
            max_size=3,
        )
        | st.just("reindex"),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=examples(10), deadline=None)
def test_the_index_matches_the_records_after_any_order_of_imports(
    acts: list[list[tuple[int, str]] | str],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = open_bench(Path(folder))
        stories: dict[int, str] = {}
        for act in acts:
            if isinstance(act, str):
                reindex(bench.records, bench.blobs, bench.index, lambda _: None)
                continue
            create_importer(bench)(
                [build_version(bench, number, story_id) for number, story_id in act]
            )
            stories |= dict(act)
        expected = {}
        for story_id in set(stories.values()):
            numbers = [number for number, story in stories.items() if story == story_id]
            expected[story_id] = f"words of {choose_newest(numbers)}"
        assert list_texts(bench) == expected
        check_earlier(bench, stories)
        bench.close()


def test_reindex_restores_the_documents_of_the_steps(bench: Bench) -> None:
    for number in (3, 1, 0):
        create_importer(bench)([build_version(bench, number)])
    before = bench.index.get([STORY_1])
    assert before[STORY_1].text_content == "words of 1"
    assert reindex(bench.records, bench.blobs, bench.index, lambda _: None) == ReindexResult(
        indexed=1
    )
    after = bench.index.get([STORY_1])
    # The file of an unpersisted capture has no owner in the records, so it gets the default collection.
    assert after == {STORY_1: replace(before[STORY_1], collection="default")}


def test_a_page_with_a_new_url_leaves_its_old_story(
    bench: Bench,
) -> None:
    create_importer(bench)([build_version(bench, 0), build_version(bench, 1)])
    create_importer(bench)([build_version(bench, 1, STORY_2)])
    assert list_texts(bench) == {STORY_1: "words of 0", STORY_2: "words of 1"}
    check_earlier(bench, {0: STORY_1, 1: STORY_2})
    create_importer(bench)([build_version(bench, 0, STORY_2)])
    assert list_texts(bench) == {STORY_2: "words of 1"}
    check_earlier(bench, {0: STORY_2, 1: STORY_2})


def test_a_kill_before_the_row_is_written_leaves_nothing_under_the_old_url(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise nothing would show that the file had been a version of the old story."""
    create_importer(bench)([build_version(bench, 1)])

    def kill(*_: object, **__: object) -> None:
        raise StoreUnavailableError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(bench.records.__class__, "put", kill)
        with pytest.raises(StoreUnavailableError):
            create_importer(bench)([build_version(bench, 1, STORY_2)])
    assert list_texts(bench) == {}
    create_importer(bench)([build_version(bench, 1, STORY_2)])
    assert list_texts(bench) == {STORY_2: "words of 1"}


@dataclass
class OvertakenIndex:
    """An index that another process writes to, just before or after each put."""

    real: Index
    meanwhile: Callable[[], object]
    before: bool
    times: int = 1

    def put(self, documents: Sequence[IndexDocument]) -> None:
        if self.times and self.before:
            self.times -= 1
            self.meanwhile()
        self.real.put(documents)
        if self.times and not self.before:
            self.times -= 1
            self.meanwhile()

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(("own", "other"), [(0, 1), (1, 0)])
def test_concurrent_imports_leave_the_newest_version(
    bench: Bench, own: int, other: int, before: bool
) -> None:
    other_importer = create_importer(bench)
    overtaken = OvertakenIndex(
        bench.index, lambda: other_importer([build_version(bench, other)]), before
    )
    create_importer(bench, overtaken)([build_version(bench, own)])  # type: ignore[arg-type]
    assert list_texts(bench) == {STORY_1: "words of 1"}
    check_earlier(bench, {0: STORY_1, 1: STORY_1})


def test_rows_that_keep_changing_raise_after_a_limit(bench: Bench) -> None:
    create_importer(bench)([build_version(bench, 0)])
    (row,) = bench.records.get(StoryMetaRow, [build_version(bench, 0).file.sha1])
    rows = (replace(row, word_count=number) for number in count())
    puts: list[object] = []
    index = OvertakenIndex(bench.index, lambda: None, True, 0)
    index.put = puts.append  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError, match=STORY_1):
        index_until_stable(
            bench.records,
            index,
            [STORY_1],
            lambda: {STORY_1: next(rows)},
            lambda rows: [build_document(row, b"", UNKNOWN) for row in rows],
        )
    assert len(puts) == documents.ROUNDS_MAX


def test_many_versions_are_compared_by_time_only(bench: Bench) -> None:
    create_importer(bench)([build_version(bench, number) for number in range(3)])
    (row,) = bench.records.get(StoryMetaRow, [build_version(bench, 0).file.sha1])
    bench.records.put(
        [replace(row, sha1hex=f"{n:040x}", captured="20200101000000") for n in range(2000)]
    )
    assert bench.blobs.filter_existing([build_text_blob_key(row.sha1hex)])
    current_versions = load_current_versions(bench.records, [STORY_1, STORY_2])
    assert current_versions.keys() == {STORY_1}
    assert current_versions[STORY_1].row.captured == "20240305060808"
    assert load_current_versions(bench.records, []) == {}
    without_current = load_current_versions(
        bench.records, [STORY_1], excluded_files={current_versions[STORY_1].row.sha1hex}
    )
    assert without_current[STORY_1].row.sha1hex != current_versions[STORY_1].row.sha1hex
