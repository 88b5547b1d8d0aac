"""The three kinds of date a search can go by, over every backend, against dates that are simply compared."""

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


def made() -> list[IndexDocument]:
    """Documents whose three dates have nothing to do with each other; some lack one or two of them."""
    drawn = random.Random(11)

    def day() -> date:
        return FIRST + timedelta(days=drawn.randrange(190))

    return [
        document(
            f"d{number}",
            drawn.choice(["flood", "river flood"]),
            publication_date=drawn.choice([day(), day(), None]),
            captured=drawn.choice([day(), day(), None]),
            indexed_date=datetime.combine(day(), datetime.min.time(), UTC)
            + timedelta(seconds=drawn.choice([0, drawn.randrange(86_400), 86_399])),
        )
        for number in range(DOCUMENTS)
    ]


@pytest.fixture(scope="module", params=backend_params(BACKENDS))
def index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Index]:
    with open_index(request.param, tmp_path_factory.mktemp("dates") / "index") as found:
        found.put(made())
        yield found


def ids(index: Index, query: SearchQuery) -> list[str]:
    found = index.search(query)
    assert found.total == len(found.hits)
    return [hit.document.id for hit in found.hits]


@given(of=st.sampled_from(list(DateOf)), first=DAYS, last=DAYS)
@settings(max_examples=examples(10), deadline=None)
def test_limits_are_days_of_the_kind_asked_for(
    index: Index, of: DateOf, first: date, last: date
) -> None:
    first, last = min(first, last), max(first, last)
    query = SearchQuery(dates=of, date_from=first, date_to=last, count_max=DOCUMENTS)
    wanted = {one.id for one in made() if (day := one.get_day(of)) and first <= day <= last}
    assert set(ids(index, query)) == wanted


@pytest.mark.parametrize("of", DateOf)
def test_within_few_days_documents_are_counted_by_day(index: Index, of: DateOf) -> None:
    dated = sorted(day for one in made() if (day := one.get_day(of)))
    first = dated[len(dated) // 3]
    for days, form in ((DAYS_COUNTED_MAX, "%Y-%m-%d"), (DAYS_COUNTED_MAX + 1, "%Y-%m")):
        last = first + timedelta(days=days - 1)
        found = index.search(SearchQuery(dates=of, date_from=first, date_to=last))
        wanted = Counter(day.strftime(form) for day in dated if first <= day <= last)
        assert list(found.dates) == sorted(wanted.items())
        assert (found.total, found.undated) == (wanted.total(), 0)


@given(of=st.sampled_from(list(DateOf)), first=DAYS, days=st.integers(0, 100))
@settings(max_examples=examples(10), deadline=None)
def test_what_lies_within_few_days_is_counted_by_day_though_its_limits_are_wide(
    index: Index, of: DateOf, first: date, days: int
) -> None:
    last = first + timedelta(days=days)
    among = {one.id: day for one in made() if (day := one.get_day(of)) and first <= day <= last}
    query = SearchQuery(dates=of, ids=tuple(among) or ("none",), date_from=date(1800, 1, 1))
    counted = list(count_dates(index, query, index.search(query)))
    ends = [day.year * 12 + day.month for day in among.values()]
    months = max(ends) - min(ends) + 1 if ends else 0
    # Two months have 72 days at most, and three never.
    form = "%Y-%m-%d" if months <= 2 else "%Y-%m"
    assert counted == sorted(Counter(day.strftime(form) for day in among.values()).items())


@pytest.mark.parametrize("of", DateOf)
def test_orders_and_counts_go_by_the_kind_asked_for(index: Index, of: DateOf) -> None:
    days = {one.id: one.get_day(of) for one in made()}
    dated = sorted(day for day in days.values() if day)
    undated = [None] * (DOCUMENTS - len(dated))
    for sort, wanted in (("oldest", dated), ("newest", dated[::-1])):
        found = ids(index, SearchQuery(sort=sort, dates=of, count_max=DOCUMENTS))
        assert [days[id_] for id_ in found] == [*wanted, *undated]
    found = index.search(SearchQuery(dates=of))
    assert dict(found.dates) == Counter(f"{day:%Y-%m}" for day in dated)
    assert found.undated == len(undated)
    without = ids(index, SearchQuery(dates=of, undated=True, count_max=DOCUMENTS))
    assert set(without) == {id_ for id_, day in days.items() if day is None}


def test_what_came_last_stands_first_to_the_second(index: Index) -> None:
    came = {one.id: one.indexed_date for one in made()}
    found = ids(index, SearchQuery(sort="added", count_max=DOCUMENTS))
    assert [came[id_] for id_ in found] == sorted(came.values(), reverse=True)


@pytest.mark.parametrize(
    "query",
    [
        "captured:2024-01", "captured:2023", "captured:>=2024-02-10", "captured:none", "added:2024-03-04",
        "added:2023-11..2024-01-15", "added:<2024", "added:none", "date:2024 captured:2023",
        "flood -added:2024", "added:>2024-01-01 OR captured:none",
    ],
)  # fmt: skip
def test_they_are_fields_of_a_query(index: Index, query: str) -> None:
    tree = parse(query)
    wanted = {one.id for one in made() if matches(tree, one)}
    assert set(ids(index, SearchQuery(query, count_max=DOCUMENTS))) == wanted
