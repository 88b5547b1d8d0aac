"""The catalogue table: works are found by each key, rows do not depend on order, and lists are limited."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.model.errors import ConfigurationError
from fonds.papers.catalog.lookup import find
from fonds.papers.catalog.match_query import MatchQuery
from fonds.papers.catalog.store import (
    LISTED_MAX,
    Catalog,
    build_pointer_keys,
    build_work_key,
    decode_work_ids,
    name_catalog_table,
)
from fonds.papers.catalog.work import Work, WorkAuthor
from fonds.stores.table.sqlite import SqliteTable

WORK = Work(
    id="doi:10.5555/river.1",
    source="crossref",
    title="On the slow meandering of lowland rivers",
    authors=(WorkAuthor("van Stroom", "Ada"),),
    year=2011,
    volume="12",
    pages="101-120",
    doi="10.5555/river.1",
    pmid="77",
)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    table = SqliteTable(tmp_path / "table.sqlite")
    opened = Catalog(table, name_catalog_table("fonds", "test"))
    opened.declare()
    yield opened
    table.close()


def list_rows(catalog: Catalog) -> list[tuple[bytes, dict[str, bytes]]]:
    return catalog.table.scan(catalog.name, count_max=10_000)


def test_a_work_is_found_by_each_of_its_keys(catalog: Catalog) -> None:
    assert catalog.is_empty()
    catalog.put([WORK])
    assert not catalog.is_empty()
    assert catalog.load_works([WORK.id, "doi:10.5555/none"]) == {WORK.id: WORK}
    assert catalog.find_by_identifier("pmid:77").ids == ("pmid:77", WORK.id)
    for title in (WORK.title, "On the slow meandering", "on the SLOW meandering of lowland rivers"):
        assert catalog.find_by_title(title or "").ids == (WORK.id,)
    assert catalog.find_by_author("Stroom", 2011, "012").ids == (WORK.id,)
    assert (
        catalog.find_by_author("Stroom", 2011).ids
        == catalog.find_by_author("Stroom", None).ids
        == (WORK.id,)
    )
    assert (
        catalog.find_by_author("Stroom", 2012).ids == catalog.find_by_title("Elsewhere").ids == ()
    )


def test_putting_again_changes_nothing_and_a_changed_record_drops_old_pointers(
    catalog: Catalog,
) -> None:
    catalog.put([WORK])
    before = list_rows(catalog)
    catalog.put([WORK])
    assert list_rows(catalog) == before
    catalog.put([msgspec.structs.replace(WORK, title="Another title altogether here")])
    assert catalog.find_by_title(WORK.title or "").ids == ()
    catalog.put([WORK])
    assert list_rows(catalog) == before


def test_records_of_several_sources_become_one_work_in_any_order(
    catalog: Catalog, tmp_path: Path
) -> None:
    other_record = msgspec.structs.replace(
        WORK, source="openalex", title="Meandering", pmid=None, pmcid="PMC5"
    )
    catalog.put([WORK])
    catalog.put([other_record])
    merged = catalog.load_works([WORK.id])[WORK.id]
    assert (merged.title, merged.pmid, merged.pmcid) == (WORK.title, "77", "PMC5")
    second_catalog = Catalog(SqliteTable(tmp_path / "other.sqlite"), catalog.name)
    second_catalog.declare()
    second_catalog.put([other_record, WORK])
    assert list_rows(second_catalog) == list_rows(catalog)
    second_catalog.table.close()  # type: ignore[attr-defined]


def test_common_titles_are_counted_instead_of_listed(catalog: Catalog) -> None:
    works = [
        Work(
            id=f"doi:10.5555/{number}",
            source="crossref",
            title="Editorial",
            doi=f"10.5555/{number}",
            authors=(WorkAuthor(f"Name{chr(97 + number % 26)}{chr(97 + number // 26)}"),),
            year=2000,
        )
        for number in range(LISTED_MAX + 5)
    ]
    catalog.put(works)
    assert catalog.find_by_title("Editorial").ids == ()
    assert catalog.find_by_title("Editorial").has_more
    assert catalog.find_by_title("Editorial", "Namecb").ids == ("doi:10.5555/28",)
    result = find(catalog, MatchQuery(title="Editorial"))
    assert (result.status, result.reason, result.common) == ("none", "too-common", True)
    named = MatchQuery(title="Editorial", authors=("A. Namecb",), surname="Namecb", year=2000)
    assert find(catalog, named).work == "doi:10.5555/28"


def test_names_and_series_before_a_title_do_not_hide_it(catalog: Catalog) -> None:
    catalog.put([WORK])
    for title in (
        f"Working papers of the river office {WORK.title}",
        f"{WORK.title} and much more",
    ):
        result = find(
            catalog, MatchQuery(title=title, authors=("Ada van Stroom",), surname="Stroom")
        )
        assert result.work == WORK.id


def test_a_wrong_identifier_does_not_stop_the_search(catalog: Catalog) -> None:
    wrong = Work(id="doi:10.5555/w", source="crossref", title="Glass in the cold", doi="10.5555/w")
    catalog.put([WORK, wrong])
    sought = MatchQuery(
        doi="10.5555/w", title=WORK.title, authors=("A Stroom",), surname="Stroom", year=2011
    )
    assert find(catalog, sought).work == WORK.id


def test_an_invalid_table_name_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        name_catalog_table("a b", "test")


texts = st.text(max_size=12)
works = st.builds(
    Work,
    id=texts.map(lambda text: f"x:{text}"),
    source=st.just("bibjson"),
    title=st.none() | texts,
    subtitle=st.none() | texts,
    authors=st.lists(st.builds(WorkAuthor, texts, texts), max_size=2).map(tuple),
    year=st.none() | st.integers(1400, 2100),
    volume=st.none() | texts,
    pages=st.none() | texts,
    pmid=st.none() | st.integers(1, 10**7).map(str),
)


@settings(max_examples=examples(50))
@given(works)
def test_every_pointer_refers_to_its_work(work: Work) -> None:
    pointer_keys = build_pointer_keys(work)
    assert all(
        decode_work_ids([key]) == [work.id.encode("utf-8", "replace").decode()]
        for key in pointer_keys
    )
    assert build_work_key(work.id) not in pointer_keys


class DyingTable:
    """A table whose process dies before a write."""

    def __init__(self, table: SqliteTable, writes_left: int) -> None:
        self._table, self._writes_left = table, writes_left

    def __getattr__(self, name: str) -> Any:
        if name in ("put", "delete"):
            if not self._writes_left:
                raise KeyboardInterrupt
            self._writes_left -= 1
        return getattr(self._table, name)


@pytest.mark.parametrize("writes", range(4))
def test_a_call_repeated_after_a_kill_leaves_the_same_rows(
    catalog: Catalog, tmp_path: Path, writes: int
) -> None:
    replacement = msgspec.structs.replace(WORK, title="Another title altogether here", pmid="78")
    undisturbed = Catalog(SqliteTable(tmp_path / "undisturbed.sqlite"), catalog.name)
    undisturbed.declare()
    for work in (WORK, replacement):
        undisturbed.put([work])
    catalog.put([WORK])
    dying = Catalog(DyingTable(catalog.table, writes), catalog.name)  # type: ignore[arg-type]
    with suppress(KeyboardInterrupt):
        dying.put([replacement])
    catalog.put([replacement])
    assert list_rows(catalog) == list_rows(undisturbed)
    undisturbed.table.close()
