"""One statement is made for each shape of a question, and answers whatever values it is asked with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fonds.model.rows import TallyRow
from fonds.model.rows.row import Prefix
from fonds.stores.records import statements
from fonds.stores.records.sql import SqlRecords, open_sqlite

ROW = TallyRow("entries", "ours", "dropped", "timeout", "fetch", 1)
AFTER = {"counted": "entries", "pipeline": "ours", "second": "timeout", "third": "fetch"}


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    found = open_sqlite(tmp_path / "records.sqlite")
    found.put([replace(ROW, first=first, count=number) for number, first in enumerate("abc")])
    statements._build_cached_select.cache_clear()
    statements._build_cached_count.cache_clear()
    yield found
    found.close()


def firsts(records: SqlRecords, where: Mapping[str, Any], **more: Any) -> list[str]:
    return [row.first for row in records.find(TallyRow, where, **more)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([{"first": "a"}, {"first": "b"}, {"first": "none"}], ["a", "b", ""]),
        ([{"count": 2}, {"count": 0}], ["c", "a"]),
        (
            [{"first": ["a", "c"]}, {"first": ("b",)}, {"first": {"a", "b", "c"}}],
            ["ac", "b", "abc"],
        ),
        ([{"first": None}], [""]),
    ],
)
def test_other_values_are_asked_with_the_same_statement(
    records: SqlRecords, asked: list[dict[str, Any]], found: list[str]
) -> None:
    assert ["".join(firsts(records, where)) for where in asked] == found
    assert statements._build_cached_select.cache_info().misses == 1
    sizes = [sum(records.count(TallyRow, ("first",), where).values()) for where in asked]
    assert sizes == [len(one) for one in found]
    assert statements._build_cached_count.cache_info().misses == 1


def test_what_stands_behind_a_row_and_how_many_are_asked_with_the_same_statement(
    records: SqlRecords,
) -> None:
    def behind(count: int, first: str, **more: Any) -> str:
        after = {**AFTER, "first": first, "count": count}
        return "".join(firsts(records, {}, order=("-count",), after=after, **more))

    assert (behind(2, "c"), behind(1, "b"), behind(2, "c", count_max=1)) == ("ba", "a", "b")
    assert "".join(firsts(records, {}, order=("-count",))) == "cba"
    assert statements._build_cached_select.cache_info().misses == 2


def test_each_shape_has_its_own(records: SqlRecords) -> None:
    asked: list[dict[str, Any]] = [{"first": "a"}, {"first": ["a"]}, {"first": None}, {}]
    asked += [{"first": "a", "counted": "entries"}, {"counted": "entries", "first": "a"}]
    assert [len(firsts(records, where)) for where in asked] == [1, 1, 0, 3, 1, 1]
    assert statements._build_cached_select.cache_info().misses == len(asked)


@pytest.mark.parametrize("value", [Prefix("a"), ["b", Prefix("a")], [None, "a"], []])
def test_what_is_no_plain_value_is_made_for_the_one_time(
    records: SqlRecords, value: object
) -> None:
    expected = {"b"} if isinstance(value, list) and "b" in value else set()
    expected |= {"a"} if value else set()
    assert set(firsts(records, {"first": value})) == expected
    assert statements._build_cached_select.cache_info().misses == 0


def test_a_column_there_is_not_is_refused_each_time_it_is_asked_for(records: SqlRecords) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="no column 'color'"):
            records.find(TallyRow, {"color": "red"})
        with pytest.raises(ValueError, match="no column 'color'"):
            records.count(TallyRow, (), {"color": "red"})
