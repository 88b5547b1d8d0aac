"""Searches by the three kinds of date on every backend, compared with a simple filter."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import matches
from contract.index_backends import BACKENDS, document, open_index
from depth import examples
from fonds.model.document import DateOf, IndexDocument
from fonds.model.search import DAYS_COUNTED_MAX, SearchQuery
from fonds.ports import Index
from fonds.search.facets import count_dates
from fonds.search.query.parser import parse
from real_servers import backend_params

DOCUMENTS = 40
FIRST = date(2023, 11, 1)
DAYS = st.dates(FIRST - timedelta(days=5), FIRST + timedelta(days=200))


def make_documents() -> list[IndexDocument]:
    """Return documents with three independent dates; some lack one or two of them."""
    chance = random.Random(11)

    def day() -> date:
        return FIRST + timedelta(days=chance.randrange(190))

    return [
        document(
            f"d{number}",
            chance.choice(["flood", "river flood"]),
            publication_date=chance.choice([day(), day(), None]),
            captured=chance.choice([day(), day(), None]),
            indexed_date=datetime.combine(day(), datetime.min.time(), UTC)
            + timedelta(seconds=chance.choice([0, chance.randrange(86_400), 86_399])),
        )
        for number in range(DOCUMENTS)
    ]


@pytest.fixture(scope="module", params=backend_params(BACKENDS))
def index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Index]:
    with open_index(request.param, tmp_path_factory.mktemp("dates") / "index") as filled_index:
        filled_index.put(make_documents())
        yield filled_index


def search_ids(index: Index, query: SearchQuery) -> list[str]:
    results = index.search(query)
    assert results.total == len(results.hits)
    return [hit.document.id for hit in results.hits]


@given(date_kind=st.sampled_from(list(DateOf)), first=DAYS, last=DAYS)
@settings(max_examples=examples(10), deadline=None)
def test_date_limits_apply_to_the_chosen_kind_of_date(
    index: Index, date_kind: DateOf, first: date, last: date
) -> None:
    first, last = min(first, last), max(first, last)
    query = SearchQuery(dates=date_kind, date_from=first, date_to=last, count_max=DOCUMENTS)
    expected = {
        item.id
        for item in make_documents()
        if (day := item.get_day(date_kind)) and first <= day <= last
    }
    assert set(search_ids(index, query)) == expected


@pytest.mark.parametrize("date_kind", DateOf)
def test_documents_within_few_days_are_counted_by_day(index: Index, date_kind: DateOf) -> None:
    dated = sorted(day for item in make_documents() if (day := item.get_day(date_kind)))
    first = dated[len(dated) // 3]
    for days, form in ((DAYS_COUNTED_MAX, "%Y-%m-%d"), (DAYS_COUNTED_MAX + 1, "%Y-%m")):
        last = first + timedelta(days=days - 1)
        results = index.search(SearchQuery(dates=date_kind, date_from=first, date_to=last))
        expected = Counter(day.strftime(form) for day in dated if first <= day <= last)
        assert list(results.dates) == sorted(expected.items())
        assert (results.total, results.undated) == (expected.total(), 0)


@given(date_kind=st.sampled_from(list(DateOf)), first=DAYS, days=st.integers(0, 100))
@settings(max_examples=examples(10), deadline=None)
def test_dates_within_two_months_are_counted_by_day_despite_wide_limits(
    index: Index, date_kind: DateOf, first: date, days: int
) -> None:
    last = first + timedelta(days=days)
    days_by_id = {
        item.id: day
        for item in make_documents()
        if (day := item.get_day(date_kind)) and first <= day <= last
    }
    query = SearchQuery(
        dates=date_kind, ids=tuple(days_by_id) or ("none",), date_from=date(1800, 1, 1)
    )
    counted = list(count_dates(index, query, index.search(query)))
    ends = [day.year * 12 + day.month for day in days_by_id.values()]
    months = max(ends) - min(ends) + 1 if ends else 0
    # Days are counted for at most two months.
    form = "%Y-%m-%d" if months <= 2 else "%Y-%m"
    assert counted == sorted(Counter(day.strftime(form) for day in days_by_id.values()).items())


@pytest.mark.parametrize("date_kind", DateOf)
def test_sorting_and_counts_use_the_chosen_kind_of_date(index: Index, date_kind: DateOf) -> None:
    days = {item.id: item.get_day(date_kind) for item in make_documents()}
    dated = sorted(day for day in days.values() if day)
    undated = [None] * (DOCUMENTS - len(dated))
    for sort, sorted_days in (("oldest", dated), ("newest", dated[::-1])):
        hit_ids = search_ids(index, SearchQuery(sort=sort, dates=date_kind, count_max=DOCUMENTS))
        assert [days[id_] for id_ in hit_ids] == [*sorted_days, *undated]
    results = index.search(SearchQuery(dates=date_kind))
    assert dict(results.dates) == Counter(f"{day:%Y-%m}" for day in dated)
    assert results.undated == len(undated)
    undated_ids = search_ids(index, SearchQuery(dates=date_kind, undated=True, count_max=DOCUMENTS))
    assert set(undated_ids) == {id_ for id_, day in days.items() if day is None}


def test_sorting_by_added_is_precise_to_the_second(index: Index) -> None:
    indexed_at = {item.id: item.indexed_date for item in make_documents()}
    hit_ids = search_ids(index, SearchQuery(sort="added", count_max=DOCUMENTS))
    assert [indexed_at[id_] for id_ in hit_ids] == sorted(indexed_at.values(), reverse=True)


@pytest.mark.parametrize(
    "query",
    [
        "captured:2024-01", "captured:2023", "captured:>=2024-02-10", "captured:none", "added:2024-03-04",
        "added:2023-11..2024-01-15", "added:<2024", "added:none", "date:2024 captured:2023",
        "flood -added:2024", "added:>2024-01-01 OR captured:none",
    ],
)  # fmt: skip
def test_queries_support_fields_of_each_kind_of_date(index: Index, query: str) -> None:
    tree = parse(query)
    expected = {item.id for item in make_documents() if matches(tree, item)}
    assert set(search_ids(index, SearchQuery(query, count_max=DOCUMENTS))) == expected
