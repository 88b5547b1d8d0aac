"""Near-duplicates are one result, on every backend of the index; each document is listed once."""

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


def make_report(family: int, number: int) -> str:
    """Return a text that shares all words but the last two with its family."""
    words = random.Random(family).choices([f"w{family}x{n}" for n in range(90)], k=200)
    return " ".join([*words, f"copy{number}", f"of{number}"])


def make_documents() -> list[IndexDocument]:
    """Return documents of seven families and some unique ones in mixed order, each with one to three tags."""
    chosen = random.Random(5)
    documents = []
    for number in range(DOCUMENTS):
        family = chosen.randrange(FAMILIES) if number % 4 else 100 + number
        tags = [tag for tag in ("ash", "birch", "cedar") if chosen.random() < 0.6] or ["ash"]
        text = f"{' '.join(tags * chosen.randrange(1, 4))} {make_report(family, number)}"
        day = FIRST + timedelta(days=chosen.randrange(300))
        documents.append(document(f"d{number}", text, f"Title {number}", publication_date=day))
    return documents


def build_sketch_row(document: IndexDocument) -> TextSketchRow:
    facts = (
        "20240101000000",
        document.indexed_date,
        "success",
        document.url,
        "",
        None,
        "en",
        "t",
        9,
        Story(),
        "x",
    )
    return build_page_sketch(
        StoryMetaRow(document.sha1hex, document.id, *facts), document.text_content
    )  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    sketch_records = open_records(tmp_path_factory.mktemp("records") / "records.sqlite")
    sketch_records.put([build_sketch_row(item) for item in make_documents()])
    yield sketch_records
    sketch_records.close()


@pytest.fixture(scope="module", params=backend_params(BACKENDS))
def index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Index]:
    with open_index(request.param, tmp_path_factory.mktemp("collapsed") / "index") as filled_index:
        filled_index.put(make_documents())
        yield filled_index


def group_duplicates(ids: Sequence[str]) -> dict[str, list[str]]:
    """Group ids by comparing every pair: the near-duplicates of each first document."""
    signatures = {
        item.id: bytes.fromhex(build_sketch_row(item).signature) for item in make_documents()
    }
    firsts: dict[str, list[str]] = {}
    for id_ in ids:
        near = (
            other
            for other in firsts
            if estimate_resemblance(signatures[other], signatures[id_]) >= RUNS_RESEMBLANCE_MIN
        )
        first = next(near, None)
        if first is None:
            firsts[id_] = []
        else:
            firsts[first].append(id_)
    return firsts


def search_all_ids(index: Index, query: SearchQuery) -> list[str]:
    return [hit.document.id for hit in index.search(replace(query, count_max=1_000)).hits]


def iter_pages(
    index: Index, records: Records, query: SearchQuery, size: int
) -> Iterator[list[str]]:
    for begin in range(0, DOCUMENTS + size, size):
        page_query = replace(query, offset=begin, count_max=size)
        yield [hit.document.id for hit in search_collapsed(index, records, page_query).results.hits]


QUERIES = [
    SearchQuery(text, sort=sort)
    for text in ("", "ash", "birch OR cedar", "ash -cedar", "never")
    for sort in ("score", "newest", "oldest", "id")
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: f"{query.text}-{query.sort}")
@pytest.mark.parametrize("size", [1, 3, 10, 50])
def test_all_pages_list_the_first_of_each_group(
    index: Index, records: Records, query: SearchQuery, size: int
) -> None:
    ids = search_all_ids(index, query)
    groups = group_duplicates(ids)
    listed = [id_ for page in iter_pages(index, records, query, size) for id_ in page]
    assert listed == list(groups)
    collapsed = search_collapsed(index, records, replace(query, count_max=size))
    assert (collapsed.results.total, collapsed.listed, collapsed.reachable) == (
        len(ids),
        len(groups),
        len(groups),
    )
    assert dict(collapsed.collapsed_counts) == {
        first: len(duplicates) for first, duplicates in groups.items() if duplicates
    }
    assert collapsed.compared == len(ids)


def test_a_collapsed_page_has_the_hits_and_facets_of_a_search(
    index: Index, records: Records
) -> None:
    query = SearchQuery("ash", count_max=5)
    plain = {hit.document.id: hit for hit in index.search(replace(query, count_max=100)).hits}
    results = search_collapsed(index, records, query).results
    assert len(results.hits) == 5
    for hit in results.hits:
        plain_hit = plain[hit.document.id]
        assert (hit.document, hit.snippets) == (plain_hit.document, plain_hit.snippets)
        assert hit.score == pytest.approx(plain_hit.score)
    plain_results = index.search(query)
    assert (results.facets, results.dates) == (plain_results.facets, plain_results.dates)


@pytest.mark.parametrize("query", QUERIES[4:8], ids=lambda query: query.sort)
def test_a_group_is_listed_by_any_of_its_documents(
    index: Index, records: Records, query: SearchQuery
) -> None:
    for first, duplicates in group_duplicates(search_all_ids(index, query)).items():
        for id_ in (first, *duplicates):
            assert list_collapsed_ids(index, records, query, id_) == [first, *duplicates]


def test_a_group_lists_only_documents_that_the_search_finds(index: Index, records: Records) -> None:
    all_query = SearchQuery("", sort="id")
    groups = group_duplicates(search_all_ids(index, all_query))
    first, duplicates = next(pair for pair in groups.items() if pair[1])
    query = replace(all_query, ids=duplicates)
    assert list_collapsed_ids(index, records, query, first) == search_all_ids(index, query)
    assert list_collapsed_ids(index, records, query, "never") == ["never"]


@pytest.mark.parametrize("bound", [1, 7, 20])
@pytest.mark.parametrize("size", [1, 4, 10])
def test_documents_beyond_the_limit_are_not_grouped(
    index: Index, records: Records, bound: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPARED_MAX", bound)
    query = SearchQuery("", sort="newest")
    ids = search_all_ids(index, query)
    expected = [*group_duplicates(ids[:bound]), *ids[bound:]]
    assert [id_ for page in iter_pages(index, records, query, size) for id_ in page] == expected
    collapsed = search_collapsed(index, records, query)
    assert (collapsed.listed, collapsed.compared) == (len(expected), bound)


def test_reachable_results_end_at_the_search_limit(
    index: Index, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPARED_MAX", 10)
    monkeypatch.setattr(module, "RESULTS_MAX", 25)
    query = SearchQuery("", sort="newest")
    ids = search_all_ids(index, query)
    expected = [*group_duplicates(ids[:10]), *ids[10:25]]
    assert [id_ for page in iter_pages(index, records, query, 4) for id_ in page] == expected
    assert search_collapsed(index, records, query).reachable == len(expected)


@settings(max_examples=examples(15), deadline=None)
@given(
    numbers=st.sets(st.integers(0, DOCUMENTS - 1), min_size=1),
    sort=st.sampled_from(["score", "newest", "oldest", "id"]),
    size=st.integers(1, 12),
    bound=st.integers(1, DOCUMENTS + 1),
)
def test_every_document_is_listed_or_counted_as_duplicate(
    index: Index, records: Records, numbers: set[int], sort: str, size: int, bound: int
) -> None:
    query = SearchQuery(
        "", sort=sort, ids=[document(f"d{number}").id for number in sorted(numbers)]
    )
    ids = search_all_ids(index, query)
    groups = group_duplicates(ids[:bound])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "COMPARED_MAX", bound)
        listed = [id_ for page in iter_pages(index, records, query, size) for id_ in page]
        collapsed = search_collapsed(index, records, query)
    assert listed == [*groups, *ids[bound:]]
    assert (
        collapsed.results.total
        == collapsed.listed + sum(collapsed.collapsed_counts.values())
        == len(numbers)
    )
    assert dict(collapsed.collapsed_counts) == {
        first: len(duplicates) for first, duplicates in groups.items() if duplicates
    }
