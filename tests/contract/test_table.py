"""Promises of every wide-row table (`fonds.ports.Table`)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.model.errors import ConfigurationError
from fonds.ports import Table

FAMILIES = ("f", "file")
TURNS = 20


@pytest.fixture
def tables(open_tables: Callable[[], Table], name: str) -> Table:
    store = open_tables()
    store.declare(name, FAMILIES)
    return store


def test_cells_are_read_as_they_were_written(tables: Table, name: str) -> None:
    cells = {"f:c": b"\x00\xff", "file:size": b"", "file:größe": b"x"}
    tables.put(name, [(b"key", cells)])
    assert tables.get(name, [b"key"]) == {b"key": cells}


def test_a_put_replaces_its_cells_and_keeps_the_others(tables: Table, name: str) -> None:
    tables.put(name, [(b"key", {"f:a": b"old", "f:b": b"kept"})])
    tables.put(name, [(b"key", {"f:a": b"new", "file:c": b"added"})])
    assert tables.get(name, [b"key"])[b"key"] == {
        "f:a": b"new",
        "f:b": b"kept",
        "file:c": b"added",
    }


def test_the_last_value_of_a_cell_in_a_put_wins(tables: Table, name: str) -> None:
    tables.put(name, [(b"key", {"f:a": b"1"}), (b"key", {"f:a": b"2"})])
    assert tables.get(name, [b"key"]) == {b"key": {"f:a": b"2"}}


def test_a_conditional_put_writes_only_rows_with_the_expected_cell(
    tables: Table, name: str
) -> None:
    tables.put(
        name, [(b"a", {"f:x": b"1", "f:y": b"kept"}), (b"b", {"f:x": b"9"}), (b"c", {"f:y": b"1"})]
    )
    rows = [(key, {"f:x": b"2"}) for key in (b"a", b"b", b"c", b"none")]
    tables.put(name, rows, where_equal=dict.fromkeys((b"a", b"b", b"c", b"none"), b"1"))
    assert tables.scan(name) == [
        (b"a", {"f:x": b"2", "f:y": b"kept"}),
        (b"b", {"f:x": b"9"}),
        (b"c", {"f:y": b"1"}),
    ]
    tables.put(name, [], where_equal={})
    with pytest.raises(ConfigurationError):
        tables.put(name, [(b"a", {"undeclared:x": b"2"})], where_equal={b"a": b"1"})
    with pytest.raises(ValueError, match="empty cell"):
        tables.put(name, [(b"c", {"f:x": b"2"})], where_equal={b"c": b""})


def test_concurrent_conditional_puts_lose_no_change(tables: Table, name: str) -> None:
    tables.put(name, [(b"key", {"f:x": b"begun "})])

    def add(number: int) -> None:
        for mark in (b"%d.%d " % (number, turn) for turn in range(TURNS)):
            while mark not in (before := tables.get(name, [b"key"])[b"key"]["f:x"]):
                tables.put(name, [(b"key", {"f:x": before + mark})], where_equal={b"key": before})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    marks = tables.get(name, [b"key"])[b"key"]["f:x"].split()[1:]
    assert sorted(marks) == sorted(b"%d.%d" % (n, turn) for n in range(4) for turn in range(TURNS))


def test_get_omits_missing_rows(tables: Table, name: str) -> None:
    tables.put(name, [(b"here", {"f:a": b"1"})])
    assert tables.get(name, [b"here", b"not", b"here"]) == {b"here": {"f:a": b"1"}}
    assert tables.get(name, []) == {}


def test_more_keys_than_one_request_allows_are_read(tables: Table, name: str) -> None:
    keys = [i.to_bytes(4, "big") for i in range(3000)]
    tables.put(name, [(key, {"f:a": key}) for key in keys])
    assert tables.get(name, keys) == {key: {"f:a": key} for key in keys}


def test_deleting_cells_keeps_the_other_cells_of_a_row(tables: Table, name: str) -> None:
    tables.put(name, [(b"a", {"f:x": b"1", "file:y": b"2"}), (b"b", {"f:x": b"3"})])
    tables.delete(name, [b"a", b"b", b"c"], ["f:x", "f:never"])
    assert tables.scan(name) == [(b"a", {"file:y": b"2"})]
    tables.delete(name, [b"a"], [])
    assert tables.scan(name) == [(b"a", {"file:y": b"2"})]
    with pytest.raises(ValueError, match="deleted by column"):
        tables.delete(name, [b"a"], ["file:"])


def test_deleting_rows_keeps_other_rows(tables: Table, name: str) -> None:
    tables.put(name, [(b"a", {"f:x": b"1", "file:y": b"2"}), (b"b", {"f:x": b"3"})])
    tables.delete(name, [b"a", b"never there"])
    assert tables.scan(name) == [(b"b", {"f:x": b"3"})]


def test_tables_have_separate_rows(tables: Table, name: str) -> None:
    tables.declare(f"{name}-b", ["f"])
    tables.put(name, [(b"key", {"f:a": b"first"})])
    tables.put(f"{name}-b", [(b"key", {"f:a": b"second"})])
    tables.delete(f"{name}-b", [b"key"])
    assert tables.get(name, [b"key"]) == {b"key": {"f:a": b"first"}}


def test_a_repeated_declare_keeps_the_rows(tables: Table, name: str) -> None:
    tables.put(name, [(b"key", {"f:a": b"1"})])
    tables.declare(name, tuple(reversed(FAMILIES)))
    assert tables.get(name, [b"key"])


def test_a_declare_with_other_families_is_refused(tables: Table, name: str) -> None:
    with pytest.raises(ConfigurationError, match="families"):
        tables.declare(name, ["f"])


def test_tables_are_listed_with_their_families(tables: Table, name: str) -> None:
    tables.declare(f"{name}-b", ["grobid0"], compressions={"grobid0": "GZ"})
    families = tables.list_tables()
    assert families[name] == set(FAMILIES)
    assert families[f"{name}-b"] == {"grobid0"}


def test_an_undeclared_table_is_refused(tables: Table, name: str) -> None:
    with pytest.raises(ConfigurationError, match="No table"):
        tables.put(f"{name}-unknown", [(b"key", {"f:a": b"1"})])
    with pytest.raises(ConfigurationError, match="No table"):
        tables.get(f"{name}-unknown", [b"key"])


@pytest.mark.parametrize("column", ["grobid0:status", "nofamily", ":a"])
def test_an_undeclared_family_is_refused_and_its_row_not_written(
    tables: Table, name: str, column: str
) -> None:
    with pytest.raises(ConfigurationError, match="family"):
        tables.put(name, [(b"fine", {"f:a": b"1"}), (b"wrong", {column: b"2"})])
    assert tables.get(name, [b"wrong"]) == {}


def test_a_scan_continues_after_the_last_key(tables: Table, name: str) -> None:
    keys = [i.to_bytes(2, "big") for i in range(25)]
    tables.put(name, [(key, {"f:a": key, "f:b": b""}) for key in keys])
    scanned_keys: list[bytes] = []
    after: bytes | None = None
    while rows := tables.scan(name, after=after, count_max=10):
        assert len(rows) <= 10
        scanned_keys += [key for key, _ in rows]
        after = rows[-1][0]
    assert scanned_keys == keys


def test_a_scan_for_zero_rows_returns_none(tables: Table, name: str) -> None:
    tables.put(name, [(b"a", {"f:x": b"1"})])
    assert tables.scan(name, count_max=0) == []


def test_written_rows_are_visible_in_another_handle(
    open_tables: Callable[[], Table], tables: Table, name: str
) -> None:
    tables.put(name, [(b"key", {"f:a": b"1"})])
    assert open_tables().get(name, [b"key"]) == {b"key": {"f:a": b"1"}}


KEYS = st.binary(min_size=1, max_size=4) | st.sampled_from(
    [b"\xff", b"\xff\xff", b"\xff\xfe", b"\x00", b"a\xff", b"a\xff\xff\x00", b"b"]
)


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    keys=st.sets(KEYS, max_size=12),
    prefix=st.binary(max_size=2) | st.sampled_from([b"\xff", b"a\xff", b"\xff\xff"]),
    after=st.none() | KEYS,
    count_max=st.integers(1, 6),
)
def test_a_scan_sorts_and_filters_keys_by_bytes(
    tables: Table, name: str, keys: set[bytes], prefix: bytes, after: bytes | None, count_max: int
) -> None:
    tables.delete(name, [key for key, _ in tables.scan(name)])
    tables.put(name, [(key, {"f:a": key}) for key in keys])
    expected = [
        key for key in sorted(keys) if key.startswith(prefix) and (after is None or key > after)
    ]
    rows = tables.scan(name, prefix, after=after, count_max=count_max)
    assert rows == [(key, {"f:a": key}) for key in expected[:count_max]]


ROWS = {
    b"a": {"f:a": b"1", "f:ab": b"2", "file:a": b"3"},
    b"b": {"file:a": b"4"},
    b"c": {"f:": b"5", "f:a": b"6"},
}


def select_columns(
    rows: dict[bytes, dict[str, bytes]], columns: list[str]
) -> dict[bytes, dict[str, bytes]]:
    """Select columns of plain dicts, as a read of `columns` does."""
    selected = {
        key: {
            name: value
            for name, value in cells.items()
            if name in columns or f"{name.partition(':')[0]}:" in columns
        }
        for key, cells in rows.items()
    }
    return {key: cells for key, cells in selected.items() if cells}


@pytest.mark.parametrize(
    "columns",
    [["f:a"], ["f:a", "file:a"], ["f:"], ["f:a", "f:"], ["f:", "f:ab"], ["file:none"], []],
    ids=" ".join,
)
def test_only_the_given_columns_are_read(tables: Table, name: str, columns: list[str]) -> None:
    tables.put(name, list(ROWS.items()))
    assert tables.get(name, [*ROWS, b"absent"], columns) == select_columns(ROWS, columns)
    assert dict(tables.scan(name, columns=columns)) == select_columns(ROWS, columns)


@pytest.mark.parametrize("column", ["grobid0:", "grobid0:status", "nofamily", ":a", ""])
def test_reading_an_undeclared_family_is_refused(tables: Table, name: str, column: str) -> None:
    with pytest.raises(ConfigurationError, match="family"):
        tables.get(name, [b"a"], ["f:a", column])
    with pytest.raises(ConfigurationError, match="family"):
        tables.scan(name, columns=[column])


def test_at_most_a_thousand_columns_are_accepted(tables: Table, name: str) -> None:
    tables.put(name, list(ROWS.items()))
    columns = [f"f:{number}" for number in range(999)]
    assert tables.get(name, [b"a"], [*columns, "f:a"]) == {b"a": {"f:a": b"1"}}
    with pytest.raises(ValueError, match="1000"):
        tables.get(name, [b"a"], [*columns, "f:a", "f:b"])


NAMES = [
    f"{family}:{rest}" for family in FAMILIES for rest in ("a", "b", "ab", "é", ";", ":", "a:b")
]


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    rows=st.dictionaries(
        KEYS, st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=3), min_size=1), max_size=8
    ),
    columns=st.none() | st.lists(st.sampled_from([*NAMES, "f:", "file:"]), max_size=5),
    after=st.none() | KEYS,
    count_max=st.integers(1, 6),
)
def test_reads_of_columns_equal_a_selection_of_dicts(
    tables: Table,
    name: str,
    rows: dict[bytes, dict[str, bytes]],
    columns: list[str] | None,
    after: bytes | None,
    count_max: int,
) -> None:
    tables.delete(name, [key for key, _ in tables.scan(name)])
    tables.put(name, list(rows.items()))
    expected = rows if columns is None else select_columns(rows, columns)
    assert tables.get(name, list(rows), columns) == expected
    scanned_rows = tables.scan(name, after=after, count_max=count_max, columns=columns)
    following = [key for key in sorted(expected) if after is None or key > after]
    assert scanned_rows == [(key, expected[key]) for key in following[:count_max]]
