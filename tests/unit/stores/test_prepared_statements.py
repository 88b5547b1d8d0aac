"""One statement is built for each shape of a condition and reused for other values."""

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
    records = open_sqlite(tmp_path / "records.sqlite")
    records.put([replace(ROW, first=first, count=number) for number, first in enumerate("abc")])
    statements._build_cached_select.cache_clear()
    statements._build_cached_count.cache_clear()
    yield records
    records.close()


def list_firsts(records: SqlRecords, where: Mapping[str, Any], **options: Any) -> list[str]:
    return [row.first for row in records.find(TallyRow, where, **options)]


@pytest.mark.parametrize(
    ("conditions", "expected"),
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
def test_other_values_reuse_the_statement(
    records: SqlRecords, conditions: list[dict[str, Any]], expected: list[str]
) -> None:
    assert ["".join(list_firsts(records, where)) for where in conditions] == expected
    assert statements._build_cached_select.cache_info().misses == 1
    sizes = [sum(records.count(TallyRow, ("first",), where).values()) for where in conditions]
    assert sizes == [len(names) for names in expected]
    assert statements._build_cached_count.cache_info().misses == 1


def test_other_start_rows_and_limits_reuse_the_statement(
    records: SqlRecords,
) -> None:
    def list_after(count: int, first: str, **options: Any) -> str:
        after = {**AFTER, "first": first, "count": count}
        return "".join(list_firsts(records, {}, order=("-count",), after=after, **options))

    assert (list_after(2, "c"), list_after(1, "b"), list_after(2, "c", count_max=1)) == (
        "ba",
        "a",
        "b",
    )
    assert "".join(list_firsts(records, {}, order=("-count",))) == "cba"
    assert statements._build_cached_select.cache_info().misses == 2


def test_each_shape_of_a_condition_has_its_own_statement(records: SqlRecords) -> None:
    conditions: list[dict[str, Any]] = [{"first": "a"}, {"first": ["a"]}, {"first": None}, {}]
    conditions += [{"first": "a", "counted": "entries"}, {"counted": "entries", "first": "a"}]
    assert [len(list_firsts(records, where)) for where in conditions] == [1, 1, 0, 3, 1, 1]
    assert statements._build_cached_select.cache_info().misses == len(conditions)


@pytest.mark.parametrize("value", [Prefix("a"), ["b", Prefix("a")], [None, "a"], []])
def test_conditions_with_prefixes_or_none_are_not_cached(
    records: SqlRecords, value: object
) -> None:
    expected = {"b"} if isinstance(value, list) and "b" in value else set()
    expected |= {"a"} if value else set()
    assert set(list_firsts(records, {"first": value})) == expected
    assert statements._build_cached_select.cache_info().misses == 0


def test_an_unknown_column_is_refused_each_time(records: SqlRecords) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="no column 'color'"):
            records.find(TallyRow, {"color": "red"})
        with pytest.raises(ValueError, match="no column 'color'"):
            records.count(TallyRow, (), {"color": "red"})
