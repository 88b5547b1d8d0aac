"""What a search found before, held against what it found: random histories, the index of each day kept."""

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
from fonds.wiring.stores import match_documents

QUERY = SearchQuery("flood")
FIRST, DAYS = date(2026, 3, 1), 8
WORDS = ("flood", "river", "harvest", "bridge")


@dataclass
class History:
    """A library that grows day by day; `index` is what each day ended with: texts by id."""

    stores: Stores
    chance: random.Random
    stories: dict[str, list[str]] = field(default_factory=dict)
    pdfs: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    down: dict[date, int] = field(default_factory=dict)
    index: dict[date, dict[str, str]] = field(default_factory=dict)
    number: int = 0

    def live(self, acts: int) -> None:
        """Some days, each with some acts, and the index as each of them left it."""
        for day in (FIRST + timedelta(days=n) for n in range(DAYS)):
            self.down[day] = 0
            for second in range(acts):
                at = datetime.combine(day, time(9, 0, second), UTC)
                self.chance.choice(self.possible())(at)
            found = self.stores.index.search(SearchQuery(count_max=1_000)).hits
            self.index[day] = {one.document.id: self.texts[one.document.sha1hex] for one in found}

    def possible(self) -> list[Callable[[datetime], None]]:
        return [self.story, self.story, self.version, self.version, self.pdf, self.again, self.gone]

    def story(self, at: datetime) -> None:
        self.stories[sha256(b"%d" % self.number).hexdigest()] = []
        self.read_story(list(self.stories)[-1], at, at)

    def version(self, at: datetime) -> None:
        """Of any story, captured any time before: not every one comes to be shown."""
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

    def again(self, at: datetime) -> None:
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

    def gone(self, at: datetime) -> None:
        """A PDF, as a takedown leaves the rows."""
        if self.pdfs:
            sha1hex = self.pdfs.pop(self.chance.randrange(len(self.pdfs)))
            self.stores.records.delete(PdfMetaRow, [sha1hex])
            self.stores.records.delete(FileMetaRow, [sha1hex])
            self.stores.blobs.delete([build_text_blob_key(sha1hex)])
            self.stores.index.delete([sha1hex])
            self.stores.records.put(
                [TakedownRow(sha1hex, "privacy", "", "ann", at, TakedownRest(), at)]
            )
            self.down[at.date()] += 1

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


def ids(told: AsOfResult, *sorts: str) -> set[str]:
    listed = [one.id for name in sorts for one in told.listed.get(name, [])]
    assert len(listed) == len(set(listed))
    return set(listed)


def check(told: AsOfResult, then: dict[str, str], now: dict[str, str], down: int) -> None:
    """Every document is accounted for in one sort, which is the right one, and the sums are right."""
    found_then = {id_ for id_, text in then.items() if "flood" in text.split()}
    found_now = {id_ for id_, text in now.items() if "flood" in text.split()}
    by_then = {
        wanted: ids(told, *(name for name, one in SORTS.items() if one.was_found is wanted)) - {""}
        for wanted in (True, False)
    }
    unknown = ids(
        told,
        "read_again",
        "read_again_no_longer_found",
        "not_compared",
        "not_compared_no_longer_found",
    )
    purged = then.keys() - now.keys()
    assert by_then[True] <= found_then
    assert found_then <= by_then[True] | unknown | purged
    assert not by_then[False] & found_then
    assert ids(told, *(name for name, one in SORTS.items() if one.is_still_found)) == found_now
    assert told.found_now_count == told.total == len(found_now)
    counts = {one.name: one.count for one in told.sort_counts}
    assert counts["taken_down"] == down
    assert told.found_then_count == len(by_then[True])
    assert told.found_then_count <= len(found_then) <= told.found_then_count + told.unknown_count


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as found:
        yield found


@pytest.mark.parametrize("seed", range(4))
def test_each_day_of_a_random_history_is_told_as_it_was(stores: Stores, seed: int) -> None:
    history = History(stores, random.Random(seed))
    history.live(acts=8)
    now = history.index[FIRST + timedelta(days=DAYS - 1)]
    seen: set[str] = set()
    for day, then in history.index.items():
        told = AsOfContext(stores, match_documents)(QUERY, day)
        since = sum(count for when, count in history.down.items() if when > day)
        check(told, then, now, since)
        assert (told.has_all_found, told.is_all_changed) == (True, True)
        seen |= {one.name for one in told.sort_counts if one.count}
    assert {"unchanged", "added"} <= seen


def test_every_sort_is_met_in_some_history(tmp_path: Path) -> None:
    seen: set[str] = set()
    for seed in range(3):
        with open_home(tmp_path / str(seed)) as stores:
            history = History(stores, random.Random(seed))
            history.live(acts=8)
            for day in history.index:
                for versions_max in (0, 2_000):
                    told = AsOfContext(stores, match_documents, versions_max=versions_max)(
                        QUERY, day
                    )
                    seen |= {one.name for one in told.sort_counts if one.count}
    assert seen == SORTS.keys() - {"under_embargo"}


def test_where_a_bound_cuts_that_is_told_and_nothing_is_said_that_is_not_so(stores: Stores) -> None:
    history = History(stores, random.Random(5))
    history.live(acts=9)
    for day, then in history.index.items():
        found_then = {id_ for id_, text in then.items() if "flood" in text.split()}
        cut = AsOfContext(stores, match_documents, versions_max=1)(QUERY, day)
        assert ids(cut, "unchanged", "other_version", "no_longer_found") <= found_then
        assert cut.found_then_count <= len(found_then) <= cut.found_then_count + cut.unknown_count
        few = AsOfContext(stores, match_documents, results_max=3)(QUERY, day)
        assert (few.found_now_count, few.has_all_found) == (3, False)
        assert ids(few, "unchanged", "other_version", "no_longer_found") <= found_then
    first = AsOfContext(stores, match_documents, changed_max=2)(QUERY, FIRST)
    assert not first.is_all_changed
    assert first.found_now_count == first.total


def test_who_may_know_of_embargoes_is_told_of_them_and_nobody_else(stores: Stores) -> None:
    history = History(stores, random.Random(1))
    at = datetime.combine(FIRST, time(9), UTC)
    for _ in range(3):
        history.pdf(at)
    hidden = history.pdfs[0]
    later = at + timedelta(days=2)
    row = EmbargoRow(hidden, "review", "", later + timedelta(days=9), "ann", later)
    EmbargoService(stores, None, lambda: later).hide(row)
    reader = AsOfContext(stores.for_readers(), match_documents)(SearchQuery(), FIRST)
    assert "under_embargo" not in {one.name for one in reader.sort_counts}
    assert hidden not in str(reader.listed)
    curator = AsOfContext(stores.for_readers(), match_documents, stores.records)(
        SearchQuery(), FIRST
    )
    assert ids(curator, "under_embargo") == {hidden}
    assert (curator.found_then_count, curator.unknown_count) == (2, 1)
    before = AsOfContext(stores.for_readers(), match_documents, stores.records)
    assert ids(before(SearchQuery(), FIRST + timedelta(days=2)), "under_embargo") == set()


def test_what_was_under_embargo_then_and_is_shown_now_was_not_found_then(stores: Stores) -> None:
    history = History(stores, random.Random(1))
    at = datetime.combine(FIRST, time(9), UTC)
    history.pdf(at)
    (shown,) = history.pdfs
    row = EmbargoRow(shown, "review", "", at, "ann", at, at + timedelta(days=3), at)
    stores.records.put([row])
    asking = AsOfContext(stores, match_documents)
    assert ids(asking(SearchQuery(), FIRST), "added") == {shown}
    assert ids(asking(SearchQuery(), FIRST + timedelta(days=3)), "unchanged") == {shown}
    stores.records.put([replace(row, row_created=at + timedelta(days=1))])
    assert ids(asking(SearchQuery(), FIRST), "unchanged") == {shown}


def test_a_day_has_to_be_over() -> None:
    assert validate_day(FIRST, FIRST + timedelta(days=1)) == FIRST
    with pytest.raises(ValueError, match="is not over"):
        validate_day(FIRST, FIRST)
    with pytest.raises(ValueError, match="which day"):
        validate_day(None, FIRST)
