"""One story at one address, however many files: in the index it is one, whatever came first."""

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

ONE, TWO = "1" * 64, "2" * 64
VERSIONS = 5
SECONDS = (0, 60, 60, 7, 60)
"""When each version was captured; of the last of them the SHA-1 decides."""


def version(bench: Bench, number: int, story_id: str = ONE) -> ParsedPage:
    """A page with a token of its own, captured at its second."""
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


def importer(bench: Bench, index: Index | None = None) -> ImportStoryStep:
    return ImportStoryStep(bench.records, bench.blobs, index or bench.index, lambda: LATER)


def newest(numbers: Sequence[int]) -> int:
    """The one that ought to be in the index, by the rule in plain words."""
    keys = {n: page_file(PAGE + b"<!-- token %d -->" % n).sha1 for n in numbers}
    return max(numbers, key=lambda n: (SECONDS[n], keys[n]))


def captured(number: int) -> tuple[int, str]:
    """What decides which of two versions is the earlier one."""
    return SECONDS[number], page_file(PAGE + b"<!-- token %d -->" % number).sha1


def texts(bench: Bench) -> dict[str, str]:
    """What is in the index, by story."""
    found = bench.index.get([ONE, TWO])
    assert len(found) == bench.index.count()
    return {id_: document.text_content for id_, document in found.items()}


def check_earlier(bench: Bench, stories: Mapping[int, str]) -> None:
    """Each story is found by the words of all its versions, and by those of no other."""
    for number in range(VERSIONS):
        found = bench.index.search(SearchQuery(f'version:all "words of {number}"')).hits
        wanted = [stories[number]] if number in stories else []
        assert [hit.document.id for hit in found] == wanted
    for id_, held in bench.index.get([ONE, TWO]).items():
        numbers = sorted((n for n, of in stories.items() if of == id_), key=captured, reverse=True)
        keys = [page_file(PAGE + b"<!-- token %d -->" % n).sha1 for n in numbers]
        assert [held.sha1hex, *(one.sha1hex for one in held.earlier)] == keys
        assert held.earlier_left_out == 0


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, VERSIONS - 1), st.sampled_from([ONE, TWO])),
            min_size=1,
            max_size=3,
        )
        | st.just("reindex"),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=examples(10), deadline=None)
def test_in_any_order_and_however_often_the_index_holds_what_the_records_say(
    acts: list[list[tuple[int, str]] | str],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = open_bench(Path(folder))
        stories: dict[int, str] = {}
        for act in acts:
            if isinstance(act, str):
                reindex(bench.records, bench.blobs, bench.index, lambda _: None)
                continue
            importer(bench)([version(bench, number, story_id) for number, story_id in act])
            stories |= dict(act)
        expected = {}
        for story_id in set(stories.values()):
            numbers = [number for number, of in stories.items() if of == story_id]
            expected[story_id] = f"words of {newest(numbers)}"
        assert texts(bench) == expected
        check_earlier(bench, stories)
        bench.close()


def test_a_reindexed_home_is_as_the_steps_left_it(bench: Bench) -> None:
    for number in (3, 1, 0):
        importer(bench)([version(bench, number)])
    before = bench.index.get([ONE])
    assert before[ONE].text_content == "words of 1"
    assert reindex(bench.records, bench.blobs, bench.index, lambda _: None) == ReindexResult(
        indexed=1
    )
    after = bench.index.get([ONE])
    # The file of an unpersisted capture has no owner on the books, so its collection is the usual one.
    assert after == {ONE: replace(before[ONE], collection="default")}


def test_a_page_that_says_another_address_when_read_again_leaves_its_story_behind(
    bench: Bench,
) -> None:
    importer(bench)([version(bench, 0), version(bench, 1)])
    importer(bench)([version(bench, 1, TWO)])
    assert texts(bench) == {ONE: "words of 0", TWO: "words of 1"}
    check_earlier(bench, {0: ONE, 1: TWO})
    importer(bench)([version(bench, 0, TWO)])
    assert texts(bench) == {TWO: "words of 1"}
    check_earlier(bench, {0: TWO, 1: TWO})


def test_killed_before_the_row_was_written_nothing_is_left_under_the_old_address(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Afterwards nobody would know that the file had been a version of that story."""
    importer(bench)([version(bench, 1)])

    def killed(*_: object, **__: object) -> None:
        raise StoreUnavailableError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(bench.records.__class__, "put", killed)
        with pytest.raises(StoreUnavailableError):
            importer(bench)([version(bench, 1, TWO)])
    assert texts(bench) == {}
    importer(bench)([version(bench, 1, TWO)])
    assert texts(bench) == {TWO: "words of 1"}


@dataclass
class Overtaken:
    """An index somebody else writes to, just before or just after what is put here."""

    real: Index
    meanwhile: Callable[[], object]
    before: bool
    times: int = 1

    def put(self, found: Sequence[IndexDocument]) -> None:
        if self.times and self.before:
            self.times -= 1
            self.meanwhile()
        self.real.put(found)
        if self.times and not self.before:
            self.times -= 1
            self.meanwhile()

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(("mine", "theirs"), [(0, 1), (1, 0)])
def test_two_who_import_versions_at_once_leave_the_newest(
    bench: Bench, mine: int, theirs: int, before: bool
) -> None:
    other = importer(bench)
    overtaken = Overtaken(bench.index, lambda: other([version(bench, theirs)]), before)
    importer(bench, overtaken)([version(bench, mine)])  # type: ignore[arg-type]
    assert texts(bench) == {ONE: "words of 1"}
    check_earlier(bench, {0: ONE, 1: ONE})


def test_rows_that_never_rest_are_given_up_for_a_while(bench: Bench) -> None:
    importer(bench)([version(bench, 0)])
    (row,) = bench.records.get(StoryMetaRow, [version(bench, 0).file.sha1])
    rows = (replace(row, word_count=number) for number in count())
    puts: list[object] = []
    index = Overtaken(bench.index, lambda: None, True, 0)
    index.put = puts.append  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError, match=ONE):
        index_until_stable(
            bench.records,
            index,
            [ONE],
            lambda: {ONE: next(rows)},
            lambda some: [build_document(one, b"", UNKNOWN) for one in some],
        )
    assert len(puts) == documents.ROUNDS_MAX


def test_versions_without_number_are_asked_for_by_their_times_alone(bench: Bench) -> None:
    importer(bench)([version(bench, number) for number in range(3)])
    (row,) = bench.records.get(StoryMetaRow, [version(bench, 0).file.sha1])
    bench.records.put(
        [replace(row, sha1hex=f"{n:040x}", captured="20200101000000") for n in range(2000)]
    )
    assert bench.blobs.filter_existing([build_text_blob_key(row.sha1hex)])
    current_versions = load_current_versions(bench.records, [ONE, TWO])
    assert current_versions.keys() == {ONE}
    assert current_versions[ONE].row.captured == "20240305060808"
    assert load_current_versions(bench.records, []) == {}
    others = load_current_versions(
        bench.records, [ONE], excluded={current_versions[ONE].row.sha1hex}
    )
    assert others[ONE].row.sha1hex != current_versions[ONE].row.sha1hex
