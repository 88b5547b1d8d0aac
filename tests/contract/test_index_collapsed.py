"""Near-duplicates as one result, over every backend of the index: each document once, on whatever page."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.index_backends import BACKENDS, document, open_index
from depth import examples
from empty_records import open_records
from fonds.derivatives.sketch import build_page_sketch
from fonds.model.document import IndexDocument
from fonds.model.rows import StoryMetaRow, TextSketchRow
from fonds.model.search import SearchQuery
from fonds.model.story import Story
from fonds.ports import Index, Records
from fonds.search import results as module
from fonds.search.results import list_collapsed_ids, search_collapsed
from fonds.text.similarity import RUNS_RESEMBLANCE_MIN, estimate_resemblance
from real_servers import backend_params

FAMILIES, DOCUMENTS = 7, 40
FIRST = date(2024, 1, 1)


def report(family: int, number: int) -> str:
    """Most of its words are its family's, the last are its own."""
    words = random.Random(family).choices([f"w{family}x{n}" for n in range(90)], k=200)
    return " ".join([*words, f"copy{number}", f"of{number}"])


def made() -> list[IndexDocument]:
    """Seven families and some that stand alone, in no order, each with some of three words."""
    chosen = random.Random(5)
    found = []
    for number in range(DOCUMENTS):
        family = chosen.randrange(FAMILIES) if number % 4 else 100 + number
        tags = [tag for tag in ("ash", "birch", "cedar") if chosen.random() < 0.6] or ["ash"]
        text = f"{' '.join(tags * chosen.randrange(1, 4))} {report(family, number)}"
        day = FIRST + timedelta(days=chosen.randrange(300))
        found.append(document(f"d{number}", text, f"Title {number}", publication_date=day))
    return found


def row(one: IndexDocument) -> TextSketchRow:
    facts = (
        "20240101000000",
        one.indexed_date,
        "success",
        one.url,
        "",
        None,
        "en",
        "t",
        9,
        Story(),
        "x",
    )
    return build_page_sketch(StoryMetaRow(one.sha1hex, one.id, *facts), one.text_content)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    kept = open_records(tmp_path_factory.mktemp("records") / "records.sqlite")
    kept.put([row(one) for one in made()])
    yield kept
    kept.close()


@pytest.fixture(scope="module", params=backend_params(BACKENDS))
def index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Index]:
    with open_index(request.param, tmp_path_factory.mktemp("collapsed") / "index") as found:
        found.put(made())
        yield found


def standing_for(ids: Sequence[str]) -> dict[str, list[str]]:
    """By comparing every pair: the first of those alike, and those that stand behind it."""
    signed = {one.id: bytes.fromhex(row(one).signature) for one in made()}
    firsts: dict[str, list[str]] = {}
    for id_ in ids:
        near = (
            one
            for one in firsts
            if estimate_resemblance(signed[one], signed[id_]) >= RUNS_RESEMBLANCE_MIN
        )
        first = next(near, None)
        if first is None:
            firsts[id_] = []
        else:
            firsts[first].append(id_)
    return firsts


def everything(index: Index, query: SearchQuery) -> list[str]:
    return [hit.document.id for hit in index.search(replace(query, count_max=1_000)).hits]


def paged(index: Index, records: Records, query: SearchQuery, size: int) -> Iterator[list[str]]:
    for begin in range(0, DOCUMENTS + size, size):
        asked = replace(query, offset=begin, count_max=size)
        yield [hit.document.id for hit in search_collapsed(index, records, asked).results.hits]


QUERIES = [
    SearchQuery(text, sort=sort)
    for text in ("", "ash", "birch OR cedar", "ash -cedar", "never")
    for sort in ("score", "newest", "oldest", "id")
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda one: f"{one.text}-{one.sort}")
@pytest.mark.parametrize("size", [1, 3, 10, 50])
def test_pages_together_show_the_first_of_those_alike(
    index: Index, records: Records, query: SearchQuery, size: int
) -> None:
    ids = everything(index, query)
    wanted = standing_for(ids)
    shown = [one for page in paged(index, records, query, size) for one in page]
    assert shown == list(wanted)
    collapsed = search_collapsed(index, records, replace(query, count_max=size))
    assert (collapsed.results.total, collapsed.listed, collapsed.reachable) == (
        len(ids),
        len(wanted),
        len(wanted),
    )
    assert dict(collapsed.collapsed_counts) == {
        one: len(some) for one, some in wanted.items() if some
    }
    assert collapsed.compared == len(ids)


def test_a_page_has_what_a_search_has_of_its_documents(index: Index, records: Records) -> None:
    query = SearchQuery("ash", count_max=5)
    plain = {hit.document.id: hit for hit in index.search(replace(query, count_max=100)).hits}
    told = search_collapsed(index, records, query).results
    assert len(told.hits) == 5
    for hit in told.hits:
        other = plain[hit.document.id]
        assert (hit.document, hit.snippets) == (other.document, other.snippets)
        assert hit.score == pytest.approx(other.score)
    whole = index.search(query)
    assert (told.facets, told.dates) == (whole.facets, whole.dates)


@pytest.mark.parametrize("query", QUERIES[4:8], ids=lambda one: one.sort)
def test_those_that_stand_together_are_listed_by_any_of_them(
    index: Index, records: Records, query: SearchQuery
) -> None:
    for first, others in standing_for(everything(index, query)).items():
        for one in (first, *others):
            assert list_collapsed_ids(index, records, query, one) == [first, *others]


def test_what_the_search_does_not_find_names_only_what_it_does(
    index: Index, records: Records
) -> None:
    every = SearchQuery("", sort="id")
    first, others = next(pair for pair in standing_for(everything(index, every)).items() if pair[1])
    query = replace(every, ids=others)
    assert list_collapsed_ids(index, records, query, first) == everything(index, query)
    assert list_collapsed_ids(index, records, query, "never") == ["never"]


@pytest.mark.parametrize("bound", [1, 7, 20])
@pytest.mark.parametrize("size", [1, 4, 10])
def test_behind_the_bound_each_stands_for_itself(
    index: Index, records: Records, bound: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPARED_MAX", bound)
    query = SearchQuery("", sort="newest")
    ids = everything(index, query)
    wanted = [*standing_for(ids[:bound]), *ids[bound:]]
    assert [one for page in paged(index, records, query, size) for one in page] == wanted
    collapsed = search_collapsed(index, records, query)
    assert (collapsed.listed, collapsed.compared) == (len(wanted), bound)


def test_no_more_is_reached_than_a_search_may_reach(
    index: Index, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPARED_MAX", 10)
    monkeypatch.setattr(module, "RESULTS_MAX", 25)
    query = SearchQuery("", sort="newest")
    ids = everything(index, query)
    wanted = [*standing_for(ids[:10]), *ids[10:25]]
    assert [one for page in paged(index, records, query, 4) for one in page] == wanted
    assert search_collapsed(index, records, query).reachable == len(wanted)


@settings(max_examples=examples(15), deadline=None)
@given(
    some=st.sets(st.integers(0, DOCUMENTS - 1), min_size=1),
    sort=st.sampled_from(["score", "newest", "oldest", "id"]),
    size=st.integers(1, 12),
    bound=st.integers(1, DOCUMENTS + 1),
)
def test_whatever_is_found_each_document_stands_once_or_behind_one(
    index: Index, records: Records, some: set[int], sort: str, size: int, bound: int
) -> None:
    query = SearchQuery("", sort=sort, ids=[document(f"d{number}").id for number in sorted(some)])
    ids = everything(index, query)
    behind = standing_for(ids[:bound])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "COMPARED_MAX", bound)
        shown = [one for page in paged(index, records, query, size) for one in page]
        collapsed = search_collapsed(index, records, query)
    assert shown == [*behind, *ids[bound:]]
    assert (
        collapsed.results.total
        == collapsed.listed + sum(collapsed.collapsed_counts.values())
        == len(some)
    )
    assert dict(collapsed.collapsed_counts) == {
        one: len(others) for one, others in behind.items() if others
    }
