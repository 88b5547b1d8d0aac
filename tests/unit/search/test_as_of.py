"""Searches as of a day, compared with the index of each day of a random history."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha1, sha256
from pathlib import Path

import pytest

from filled_home import open_home
from fonds.derivatives.documents import DocumentOrigin
from fonds.derivatives.pdf import build_document as pdf_document
from fonds.derivatives.story import build_document
from fonds.derivatives.story_versions import load_current_versions
from fonds.model.archive import Blob
from fonds.model.capture import format_datetime14
from fonds.model.keys import build_text_blob_key
from fonds.model.restrictions import TakedownRest
from fonds.model.rows import (
    EmbargoRow,
    FileMetaRow,
    PdfMetaRow,
    StoryMetaRow,
    TakedownRow,
)
from fonds.model.search import SearchQuery
from fonds.model.story import Story
from fonds.ports import Stores
from fonds.restrictions.embargo import EmbargoService
from fonds.search.as_of import SORTS, AsOfContext, AsOfResult, validate_day
from fonds.wiring.index import match_documents

QUERY = SearchQuery("flood")
FIRST, DAYS = date(2026, 3, 1), 8
WORDS = ("flood", "river", "harvest", "bridge")


@dataclass
class History:
    """Library that grows day by day. `index` has the texts by id at the end of each day."""

    stores: Stores
    chance: random.Random
    stories: dict[str, list[str]] = field(default_factory=dict)
    pdfs: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    takedowns: dict[date, int] = field(default_factory=dict)
    index: dict[date, dict[str, str]] = field(default_factory=dict)
    number: int = 0

    def simulate(self, change_count: int) -> None:
        """Simulate the days with this many changes each, and store the index after each day."""
        for day in (FIRST + timedelta(days=number) for number in range(DAYS)):
            self.takedowns[day] = 0
            for second in range(change_count):
                at = datetime.combine(day, time(9, 0, second), UTC)
                self.chance.choice(self.list_changes())(at)
            hits = self.stores.index.search(SearchQuery(count_max=1_000)).hits
            self.index[day] = {hit.document.id: self.texts[hit.document.sha1hex] for hit in hits}

    def list_changes(self) -> list[Callable[[datetime], None]]:
        return [
            self.story,
            self.story,
            self.version,
            self.version,
            self.pdf,
            self.reread_pdf,
            self.take_down,
        ]

    def story(self, at: datetime) -> None:
        self.stories[sha256(b"%d" % self.number).hexdigest()] = []
        self.read_story(list(self.stories)[-1], at, at)

    def version(self, at: datetime) -> None:
        """Add a version of a story with an earlier capture time. Not every version becomes current."""
        if self.stories:
            story_id = self.chance.choice(list(self.stories))
            self.read_story(story_id, at, at - timedelta(hours=self.chance.randrange(72)))

    def read_story(self, story_id: str, at: datetime, captured: datetime) -> None:
        sha1hex, text = self.file(at, "text/html"), self.text()
        self.stories[story_id].append(sha1hex)
        self.keep(sha1hex, text)
        row = StoryMetaRow(
            sha1hex, story_id, format_datetime14(captured), at, "success", f"http://a.example/{story_id}",
            "a.example", None, "en", None, 2, Story(), "trafilatura 2",
        )  # fmt: skip
        self.stores.records.put([row])
        self.show(story_id)

    def show(self, story_id: str) -> None:
        (current,) = load_current_versions(self.stores.records, [story_id]).values()
        row = current.row
        blob = self.stores.blobs.get(build_text_blob_key(row.sha1hex))
        self.stores.index.put([build_document(row, blob, DocumentOrigin("", "", "default"))])

    def pdf(self, at: datetime) -> None:
        self.pdfs.append(self.file(at, "application/pdf"))
        self.read_pdf(self.pdfs[-1], at)

    def reread_pdf(self, at: datetime) -> None:
        if self.pdfs:
            self.read_pdf(self.chance.choice(self.pdfs), at)

    def read_pdf(self, sha1hex: str, at: datetime) -> None:
        text = self.text()
        self.keep(sha1hex, text)
        row = PdfMetaRow(
            sha1hex,
            at,
            "success",
            False,
            1,
            2,
            None,
            None,
            None,
            None,
            None,
            None,
            "pdfium 5",
            None,
        )
        self.stores.records.put([row])
        origin = DocumentOrigin("http://a.example/x.pdf", "a.example", "default")
        self.stores.index.put([pdf_document(row, text.encode(), origin)])

    def take_down(self, at: datetime) -> None:
        """Take down a PDF, leaving the rows of a takedown."""
        if self.pdfs:
            sha1hex = self.pdfs.pop(self.chance.randrange(len(self.pdfs)))
            self.stores.records.delete(PdfMetaRow, [sha1hex])
            self.stores.records.delete(FileMetaRow, [sha1hex])
            self.stores.blobs.delete([build_text_blob_key(sha1hex)])
            self.stores.index.delete([sha1hex])
            self.stores.records.put(
                [TakedownRow(sha1hex, "privacy", "", "ann", at, TakedownRest(), at)]
            )
            self.takedowns[at.date()] += 1

    def file(self, at: datetime, mimetype: str) -> str:
        self.number += 1
        sha1hex = sha1(b"%d" % self.number).hexdigest()
        row = FileMetaRow(sha1hex, "0" * 64, "0" * 32, 1, mimetype, f"capture {self.number}", at)
        self.stores.records.put([row])
        return sha1hex

    def text(self) -> str:
        return f"{self.chance.choice(WORDS)} {self.chance.choice(WORDS)}"

    def keep(self, sha1hex: str, text: str) -> None:
        self.texts[sha1hex] = text
        self.stores.blobs.put([Blob(build_text_blob_key(sha1hex), text.encode(), "text/plain")])


def collect_ids(result: AsOfResult, *sorts: str) -> set[str]:
    ids = [row.id for name in sorts for row in result.listed.get(name, [])]
    assert len(ids) == len(set(ids))
    return set(ids)


def check(
    result: AsOfResult, then_texts: dict[str, str], now_texts: dict[str, str], takedown_count: int
) -> None:
    """Check that each document is in the right sort, and that the counts add up."""
    found_then = {id_ for id_, text in then_texts.items() if "flood" in text.split()}
    found_now = {id_ for id_, text in now_texts.items() if "flood" in text.split()}
    ids_by_found_then = {
        expected: collect_ids(
            result, *(name for name, sort in SORTS.items() if sort.was_found is expected)
        )
        - {""}
        for expected in (True, False)
    }
    unknown_ids = collect_ids(
        result,
        "read_again",
        "read_again_no_longer_found",
        "not_compared",
        "not_compared_no_longer_found",
    )
    purged_ids = then_texts.keys() - now_texts.keys()
    assert ids_by_found_then[True] <= found_then
    assert found_then <= ids_by_found_then[True] | unknown_ids | purged_ids
    assert not ids_by_found_then[False] & found_then
    assert (
        collect_ids(result, *(name for name, sort in SORTS.items() if sort.is_still_found))
        == found_now
    )
    assert result.found_now_count == result.total == len(found_now)
    counts = {sort.name: sort.count for sort in result.sort_counts}
    assert counts["taken_down"] == takedown_count
    assert result.found_then_count == len(ids_by_found_then[True])
    assert (
        result.found_then_count <= len(found_then) <= result.found_then_count + result.unknown_count
    )


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as stores:
        yield stores


@pytest.mark.parametrize("seed", range(4))
def test_results_as_of_each_day_match_the_index_of_that_day(stores: Stores, seed: int) -> None:
    history = History(stores, random.Random(seed))
    history.simulate(change_count=8)
    now_texts = history.index[FIRST + timedelta(days=DAYS - 1)]
    sorts: set[str] = set()
    for day, then_texts in history.index.items():
        result = AsOfContext(stores, match_documents)(QUERY, day)
        takedowns_since = sum(
            count for takedown_day, count in history.takedowns.items() if takedown_day > day
        )
        check(result, then_texts, now_texts, takedowns_since)
        assert (result.has_all_found, result.is_all_changed) == (True, True)
        sorts |= {sort.name for sort in result.sort_counts if sort.count}
    assert {"unchanged", "added"} <= sorts


def test_the_histories_contain_every_sort(tmp_path: Path) -> None:
    sorts: set[str] = set()
    for seed in range(3):
        with open_home(tmp_path / str(seed)) as stores:
            history = History(stores, random.Random(seed))
            history.simulate(change_count=8)
            for day in history.index:
                for versions_max in (0, 2_000):
                    result = AsOfContext(stores, match_documents, versions_max=versions_max)(
                        QUERY, day
                    )
                    sorts |= {sort.name for sort in result.sort_counts if sort.count}
    assert sorts == SORTS.keys() - {"under_embargo"}


def test_limits_are_reported_and_never_give_wrong_results(stores: Stores) -> None:
    history = History(stores, random.Random(5))
    history.simulate(change_count=9)
    for day, texts in history.index.items():
        found_then = {id_ for id_, text in texts.items() if "flood" in text.split()}
        with_few_versions = AsOfContext(stores, match_documents, versions_max=1)(QUERY, day)
        assert (
            collect_ids(with_few_versions, "unchanged", "other_version", "no_longer_found")
            <= found_then
        )
        assert (
            with_few_versions.found_then_count
            <= len(found_then)
            <= with_few_versions.found_then_count + with_few_versions.unknown_count
        )
        with_few_results = AsOfContext(stores, match_documents, results_max=3)(QUERY, day)
        assert (with_few_results.found_now_count, with_few_results.has_all_found) == (3, False)
        assert (
            collect_ids(with_few_results, "unchanged", "other_version", "no_longer_found")
            <= found_then
        )
    with_few_changes = AsOfContext(stores, match_documents, changed_max=2)(QUERY, FIRST)
    assert not with_few_changes.is_all_changed
    assert with_few_changes.found_now_count == with_few_changes.total


def test_only_curators_see_embargoed_documents(stores: Stores) -> None:
    history = History(stores, random.Random(1))
    at = datetime.combine(FIRST, time(9), UTC)
    for _ in range(3):
        history.pdf(at)
    hidden_pdf = history.pdfs[0]
    embargo_start = at + timedelta(days=2)
    row = EmbargoRow(
        hidden_pdf, "review", "", embargo_start + timedelta(days=9), "ann", embargo_start
    )
    EmbargoService(stores, None, lambda: embargo_start).hide(row)
    reader = AsOfContext(stores.for_readers(), match_documents)(SearchQuery(), FIRST)
    assert "under_embargo" not in {sort.name for sort in reader.sort_counts}
    assert hidden_pdf not in str(reader.listed)
    curator = AsOfContext(stores.for_readers(), match_documents, stores.records)(
        SearchQuery(), FIRST
    )
    assert collect_ids(curator, "under_embargo") == {hidden_pdf}
    assert (curator.found_then_count, curator.unknown_count) == (2, 1)
    before = AsOfContext(stores.for_readers(), match_documents, stores.records)
    assert collect_ids(before(SearchQuery(), FIRST + timedelta(days=2)), "under_embargo") == set()


def test_documents_after_an_embargo_count_as_added(stores: Stores) -> None:
    history = History(stores, random.Random(1))
    at = datetime.combine(FIRST, time(9), UTC)
    history.pdf(at)
    (sha1hex,) = history.pdfs
    row = EmbargoRow(sha1hex, "review", "", at, "ann", at, at + timedelta(days=3), at)
    stores.records.put([row])
    context = AsOfContext(stores, match_documents)
    assert collect_ids(context(SearchQuery(), FIRST), "added") == {sha1hex}
    assert collect_ids(context(SearchQuery(), FIRST + timedelta(days=3)), "unchanged") == {sha1hex}
    stores.records.put([replace(row, row_created=at + timedelta(days=1))])
    assert collect_ids(context(SearchQuery(), FIRST), "unchanged") == {sha1hex}


def test_a_day_that_is_not_over_is_refused() -> None:
    assert validate_day(FIRST, FIRST + timedelta(days=1)) == FIRST
    with pytest.raises(ValueError, match="is not over"):
        validate_day(FIRST, FIRST)
    with pytest.raises(ValueError, match="give a day"):
        validate_day(None, FIRST)
