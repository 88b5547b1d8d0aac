"""Finding rows by value, list and prefix, in order and by page, and counting them."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.ledger_rows import build_disposition, input_row
from contract.record_rows import key
from depth import examples
from fonds.model.rows import DispositionRow, InputRow
from fonds.model.rows.row import Prefix, TimeRange
from fonds.ports import Records
from home_rows import NOW

ERRORS = (None, "torn", "gone")


def test_conditions_match_a_value_a_list_or_null(records: Records) -> None:
    records.put(
        [input_row("a", error=None), input_row("b", error="torn"), input_row("c", error="gone")]
    )

    def find_ids(conditions: dict[str, object]) -> list[str]:
        return [row.input_id for row in records.find(InputRow, conditions)]

    assert find_ids({"error": "torn"}) == ["b"]
    assert find_ids({"error": None}) == ["a"]
    assert find_ids({"error": ["torn", None]}) == ["a", "b"]
    assert find_ids({"error": [Prefix("to"), "gone"]}) == ["b", "c"]
    assert find_ids({"error": []}) == []
    assert find_ids({"error": "torn", "input_id": "c"}) == []
    assert find_ids({"finished": False, "entries": [5, 6]}) == ["a", "b", "c"]


def test_a_prefix_is_literal_and_case_sensitive(records: Records) -> None:
    urls = ["50%_off", "50%_offers", "50x", "50% off", "50%_OFF", "5", "\U0010ffff\U0010ffff", "ü"]
    records.put([input_row(str(i), path=path) for i, path in enumerate(urls)])

    def find_paths(prefix: str) -> set[str]:
        return {row.path for row in records.find(InputRow, {"path": Prefix(prefix)})}

    assert find_paths("50%_off") == {"50%_off", "50%_offers"}
    assert find_paths("50%") == {"50%_off", "50%_offers", "50% off", "50%_OFF"}
    assert find_paths("\U0010ffff") == {"\U0010ffff\U0010ffff"}
    assert find_paths("") == set(urls)
    assert find_paths("ü") == {"ü"}


def test_a_text_with_a_trailing_star_matches_only_itself(records: Records) -> None:
    records.put([input_row(id_) for id_ in ("http://x.org/*", "http://x.org/a", "*")])
    for input_id in ("http://x.org/*", "*"):
        rows = records.find(InputRow, {"input_id": input_id})
        assert [row.input_id for row in rows] == [input_id]
        assert records.count(InputRow, (), {"input_id": [input_id]}) == {(): 1}


def test_a_prefix_of_a_column_without_text_is_refused(records: Records) -> None:
    for name in ("entries", "finished", "updated", "tally"):
        with pytest.raises(ValueError, match="not a text column"):
            records.find(InputRow, {name: Prefix("1")})


ALPHABET = "aAé%_\\*\ud7ff\ue000\uffff\U00010000\U0010ffff"


@settings(
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    texts=st.sets(st.text(ALPHABET, max_size=4), min_size=1, max_size=8),
    prefix=st.text(ALPHABET, max_size=3),
)
def test_prefixes_and_order_follow_code_points(
    records: Records, texts: set[str], prefix: str
) -> None:
    records.delete(InputRow, [key(row) for row in records.find(InputRow)])
    records.put([input_row(f"i{text}") for text in texts])
    texts_found = [
        row.input_id[1:] for row in records.find(InputRow, {"input_id": Prefix(f"i{prefix}")})
    ]
    assert texts_found == sorted(text for text in texts if text.startswith(prefix))


def test_long_lists_are_accepted_and_too_long_ones_refused(records: Records) -> None:
    records.put([input_row("5")])
    assert list(records.find(InputRow, {"input_id": [str(i) for i in range(20_000)]}))
    with pytest.raises(ValueError, match="split the query"):
        records.find(InputRow, {"input_id": [str(i) for i in range(40_000)]})


def test_rows_are_sorted_in_both_directions_with_null_lowest(records: Records) -> None:
    records.put(
        [
            input_row("a", error="x", entries=1),
            input_row("b", error=None, entries=2),
            input_row("c", error="y", entries=1),
        ]
    )

    def order(*names: str) -> str:
        return "".join(row.input_id for row in records.find(InputRow, order=names))

    assert order() == "abc"
    assert order("error") == "bac"
    assert order("-error") == "cab"
    assert order("entries", "-input_id") == "cab"
    assert order("-entries") == "bac"


def test_after_and_count_select_a_page(records: Records) -> None:
    records.put([input_row(f"{i:04d}") for i in range(1500)])

    def page(**limits: Any) -> list[int]:
        return [int(row.input_id) for row in records.find(InputRow, **limits)]

    assert page(count_max=3) == [0, 1, 2]
    assert page(count_max=0) == []
    assert page(count_max=1200) == list(range(1200))
    assert page(after=asdict(input_row("1497"))) == [1498, 1499]
    assert page(after=asdict(input_row("0009")), count_max=2) == [10, 11]
    with pytest.raises(ValueError, match="'pipeline'"):
        page(after={"input_id": "1497"})
    newest = records.find(InputRow, order=("-input_id",), count_max=2)
    assert [row.input_id for row in newest] == ["1499", "1498"]


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    rows=st.lists(st.tuples(st.sampled_from([None, "x", "y"]), st.integers(0, 2)), max_size=12),
    order=st.lists(st.sampled_from(["error", "-error", "entries", "-entries"]), max_size=2),
    size=st.integers(1, 4),
)
def test_all_pages_together_are_the_complete_list(
    records: Records, rows: list[tuple[str | None, int]], order: list[str], size: int
) -> None:
    """With absent and equal values, in any direction."""
    records.delete(InputRow, [key(row) for row in records.find(InputRow)])
    records.put([input_row(f"{n}", error=e, entries=k) for n, (e, k) in enumerate(rows)])
    names = list({name.removeprefix("-"): name for name in order}.values())
    all_rows = list(records.find(InputRow, order=names))
    assert len(all_rows) == len(rows)
    paged_rows: list[InputRow] = []
    while page := list(
        records.find(
            InputRow,
            order=names,
            after=asdict(paged_rows[-1]) if paged_rows else None,
            count_max=size,
        )
    ):
        paged_rows += page
    assert paged_rows == all_rows


def test_an_iteration_can_be_abandoned_and_can_write_rows(records: Records) -> None:
    records.put([input_row(f"{i:04d}") for i in range(2500)])
    for row in records.find(InputRow):
        if row.input_id == "1100":
            break
        if row.input_id in ("0000", "0999"):
            records.put([replace(row, finished=True)])
    assert records.count(InputRow, ("finished",)) == {(False,): 2498, (True,): 2}
    walk = records.find(InputRow, order=("-updated",))
    next(walk)
    records.put([input_row("while it is open")])
    assert sum(1 for _ in walk) == 2499


def test_unknown_columns_are_refused(records: Records) -> None:
    with pytest.raises(ValueError, match="no column 'nonsense'"):
        records.find(InputRow, {"nonsense": 1})
    with pytest.raises(ValueError, match="no column 'nonsense'"):
        records.find(InputRow, order=("-nonsense",))
    with pytest.raises(ValueError, match="no column 'nonsense'"):
        records.count(InputRow, ("nonsense",))


def test_counts_are_grouped_by_combination(records: Records) -> None:
    records.put(
        [
            build_disposition("a", "a", "x", "done"),
            build_disposition("b", "b", "x", "done"),
            build_disposition("a", "a", "y", "dropped", reason="duplicate"),
        ]
    )
    assert records.count(DispositionRow) == {(): 3}
    assert records.count(DispositionRow, ("step", "reason")) == {
        ("x", None): 2,
        ("y", "duplicate"): 1,
    }
    assert records.count(DispositionRow, ("step",), {"message_id": Prefix("b")}) == {("x",): 1}
    assert records.count(DispositionRow, ("step",), {"message_id": "none"}) == {}


@pytest.mark.parametrize("order", [("path",), ("-path",), ("error",), ("-error", "entries")])
def test_first_of_each_returns_the_first_row_per_condition(
    records: Records, order: tuple[str, ...]
) -> None:
    """More conditions than one statement accepts, some without rows, in any order."""
    records.put(
        [
            input_row(f"{n:03}", path=str(n * 7919 % 101), entries=n % 60, error=ERRORS[n % 3])
            for n in range(300)
        ]
    )
    conditions_list: list[dict[str, object]] = [{"entries": n % 70} for n in range(260)]
    conditions_list += [{"error": None}, {"error": ["torn", None], "entries": [1, 2]}, {}]
    lists = [
        list(records.find(InputRow, conditions, order=order, count_max=1))
        for conditions in conditions_list
    ]
    expected = [rows[0] if rows else None for rows in lists]
    assert records.first_of_each(InputRow, conditions_list, order) == expected
    assert None in expected
    assert records.first_of_each(InputRow, [], order) == []
    with pytest.raises(ValueError, match="has no column 'nothing'"):
        records.first_of_each(InputRow, [{"nothing": 1}], order)


def test_a_time_range_includes_both_ends(records: Records) -> None:
    at = [NOW + timedelta(minutes=n) for n in range(6)]
    records.put([input_row(str(n), updated=time) for n, time in enumerate(at)])
    conditions = {"updated": TimeRange(at[1], at[4])}
    ids = [row.input_id for row in records.find(InputRow, conditions, order=("-updated",))]
    assert ids == ["4", "3", "2", "1"]
    assert records.count(InputRow, (), conditions) == {(): 4}
    assert records.count(InputRow, (), {"updated": [TimeRange(at[0], at[0]), at[5]]}) == {(): 2}
    assert records.count(InputRow, (), {"updated": TimeRange(at[2], at[1])}) == {(): 0}
    with pytest.raises(ValueError, match="not a time column"):
        records.count(InputRow, (), {"path": TimeRange(at[0], at[1])})


def test_a_count_stops_at_its_maximum(records: Records) -> None:
    records.put([input_row(str(n), error=ERRORS[n % 2]) for n in range(10)])
    assert records.count(InputRow, (), count_max=4) == {(): 4}
    assert records.count(InputRow, (), {"error": "torn"}, count_max=9) == {(): 5}
    assert sum(records.count(InputRow, ("error",), count_max=7).values()) == 7
    assert records.count(InputRow, ("error",), count_max=11) == {(None,): 5, ("torn",): 5}
    assert records.count(InputRow, (), {"error": "none"}, count_max=4) == {(): 0}
