"""Conditional changes of rows; each change has one winner (`fonds.ports.Records.change`)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from contract.ledger_rows import input_row
from contract.record_rows import NOON, pdf_row
from fonds.model.row_change import RowChange
from fonds.model.rows import CrashedPdfRow, InputRow, PdfMetaRow
from fonds.model.rows.row import Prefix
from fonds.ports import Records


def test_columns_of_existing_rows_are_changed(records: Records) -> None:
    existing, absent = "a" * 40, "b" * 40
    records.put([pdf_row(has_page0_thumbnail=False), pdf_row(sha1hex="c" * 40, status="partial")])
    records.change(PdfMetaRow, [existing, absent, existing], {"has_page0_thumbnail": True})
    values = {
        row.sha1hex: (row.has_page0_thumbnail, row.status) for row in records.find(PdfMetaRow)
    }
    assert values == {existing: (True, "success"), "c" * 40: (True, "partial")}
    records.change(PdfMetaRow, [], {"status": "nothing"})
    with pytest.raises(ValueError, match="no column 'colour'"):
        records.change(PdfMetaRow, [existing], {"colour": 1})


def test_rows_with_a_composed_key_are_changed(records: Records) -> None:
    stop = CrashedPdfRow("a" * 40, "reader 1", "error-timeout", "why", NOON, NOON)
    second_stop = replace(stop, extractor="reader 2")
    records.put([stop, second_stop])
    records.change(CrashedPdfRow, [("a" * 40, "reader 2")], {"detail": "another"})
    assert sorted(row.detail for row in records.find(CrashedPdfRow)) == ["another", "why"]


def test_only_rows_with_expected_values_are_changed_and_counted(records: Records) -> None:
    records.put([input_row("a", error="x"), input_row("b", error=None), input_row("c", error="y")])
    keys = [(id_, "library") for id_ in ("a", "b", "c", "absent")]
    assert records.change(InputRow, keys, {"error": "new"}, {"error": ["x", None]}) == 2
    assert [row.error for row in records.find(InputRow)] == ["new", "new", "y"]
    assert records.change(InputRow, keys, {"error": None}, {"error": "x"}) == 0
    assert records.change(InputRow, keys, {"error": None}, {"error": Prefix("n")}) == 2
    assert records.change(InputRow, keys, {"entries": 9}) == 3
    assert records.change(InputRow, [], {"entries": 1}) == 0
    assert (
        records.change(InputRow, keys[:1], {"updated": NOON}, {"updated": NOON, "entries": 9}) == 1
    )
    with pytest.raises(ValueError, match="no column 'colour'"):
        records.change(InputRow, keys[:1], {"entries": 1}, {"colour": 1})
    with pytest.raises(ValueError, match="nothing to change"):
        records.change(InputRow, keys[:1], {})


def test_more_rows_than_one_statement_allows_are_changed(records: Records) -> None:
    records.put([input_row(f"{number:04d}") for number in range(1200)])
    keys = [(f"{number:04d}", "library") for number in range(1500)]
    assert records.change(InputRow, keys, {"finished": True}, {"finished": False}) == 1200
    assert records.change(InputRow, keys, {"finished": True}, {"finished": False}) == 0


def test_each_change_has_its_own_condition(records: Records) -> None:
    records.put([input_row(name, error=name) for name in "abcd"])
    changes = [
        RowChange((name, "library"), values, {"error": expected})
        for name, values, expected in (
            ("d", {"error": "new", "entries": 4}, "d"),
            ("a", {"error": "new"}, "another"),
            ("b", None, "b"),
            ("c", None, "another"),
            ("absent", {"error": "new"}, "absent"),
        )
    ]
    assert records.change_each(InputRow, changes) == [True, False, True, False, False]
    errors = {row.input_id: row.error for row in records.find(InputRow)}
    assert errors == {"a": "a", "c": "c", "d": "new"}
    assert records.change_each(InputRow, []) == []
    with pytest.raises(ValueError, match="no column 'colour'"):
        records.change_each(InputRow, [RowChange(("a", "library"), {"colour": 1}, {})])


def test_concurrent_changes_of_a_row_have_one_winner(
    open_records: Callable[[], Records], records: Records
) -> None:
    """Both change all rows repeatedly, in opposite order. A lost update would show as a row that both
    count, or as a missing number."""
    names = [f"{number:02d}" for number in range(20)]
    records.put([input_row(name, entries=0) for name in names])
    barrier = Barrier(2)
    won: dict[str, list[tuple[str, int]]] = {"one": [], "two": []}

    def compete(writer: str, store: Records, order: list[str]) -> None:
        for turn in range(10):
            barrier.wait(timeout=60)
            for name in order:
                new_values = {"entries": turn + 1, "error": writer}
                if store.change(InputRow, [(name, "library")], new_values, {"entries": turn}):
                    won[writer].append((name, turn))

    with ThreadPoolExecutor(2) as threads:
        futures = [
            threads.submit(compete, "one", open_records(), names),
            threads.submit(compete, "two", open_records(), names[::-1]),
        ]
        for future in futures:
            future.result(timeout=120)
    assert sorted(won["one"] + won["two"]) == [(name, turn) for name in names for turn in range(10)]
    for row in records.find(InputRow):
        assert row.entries == 10
        assert (row.input_id, 9) in won[str(row.error)]
