"""Finding and counting rows that have, or lack, a matching row in a table."""

from __future__ import annotations

import pytest

from contract.ledger_rows import build_disposition
from contract.record_rows import cdx_row, file_row
from fonds.model.rows import CdxRow, DispositionRow, EmbargoRow, FileMetaRow
from fonds.model.rows.row import InTable, NotInTable, TableCondition
from fonds.ports.records import UnfilteredRecords
from home_rows import NOW

FILES = [file_row(number) for number in range(5)]
SHA1S = [row.sha1hex for row in FILES]


def find_numbers(records: UnfilteredRecords, condition: TableCondition) -> list[int]:
    """Return the numbers of the files that match a condition on their SHA-1."""
    where = {"sha1hex": condition}
    numbers = [SHA1S.index(row.sha1hex) for row in records.find(FileMetaRow, where)]
    assert records.count(FileMetaRow, (), where) == {(): len(numbers)}
    assert records.count(FileMetaRow, ("sha1hex",), where) == {(SHA1S[n],): 1 for n in numbers}
    return numbers


def test_rows_with_and_without_a_row_in_another_table(records: UnfilteredRecords) -> None:
    records.put([*FILES, cdx_row("w", 0, sha1hex=SHA1S[1]), cdx_row("w", 9, sha1hex=SHA1S[1])])
    records.put([cdx_row("v", 0, sha1hex=SHA1S[3], mimetype="warc/revisit")])
    assert find_numbers(records, InTable(CdxRow, "sha1hex")) == [1, 3]
    assert find_numbers(records, NotInTable(CdxRow, "sha1hex")) == [0, 2, 4]
    revisits = {"mimetype": ["warc/revisit"]}
    assert find_numbers(records, InTable(CdxRow, "sha1hex", where=revisits)) == [3]
    assert find_numbers(records, NotInTable(CdxRow, "sha1hex", where=revisits)) == [0, 1, 2, 4]


def test_further_columns_must_be_equal(records: UnfilteredRecords) -> None:
    owner = cdx_row("w", 0, sha1hex=SHA1S[1], capture_id=FILES[1].capture_id)
    records.put([*FILES, owner, cdx_row("w", 9, sha1hex=SHA1S[2], capture_id="another")])
    equal = {"capture_id": "capture_id"}
    assert find_numbers(records, InTable(CdxRow, "sha1hex", equal)) == [1]
    assert find_numbers(records, NotInTable(CdxRow, "sha1hex", equal)) == [0, 2, 3, 4]


def test_a_missing_value_matches_neither(records: UnfilteredRecords) -> None:
    dispositions = [
        build_disposition("a", "a", "x", "done", about=None),
        build_disposition("b", "b", "x", "done", about=SHA1S[0]),
        build_disposition("c", "c", "x", "done", about=SHA1S[1]),
    ]
    records.put([FILES[0], *dispositions])
    for condition, ids in (
        (InTable(FileMetaRow, "sha1hex"), ["b"]),
        (NotInTable(FileMetaRow, "sha1hex"), ["c"]),
        ([None, NotInTable(FileMetaRow, "sha1hex")], ["a", "c"]),
    ):
        rows = records.find(DispositionRow, {"about": condition, "verdict": "done"})
        assert [row.message_id for row in rows] == ids


def test_only_other_rows_of_the_own_table_count(records: UnfilteredRecords) -> None:
    records.put([cdx_row("v", 0), cdx_row("w", 0), cdx_row("w", 9)])
    same_offset = InTable(CdxRow, "sha1hex", {"warc_offset": "warc_offset"})
    rows = list(records.find(CdxRow, {"sha1hex": same_offset}))
    assert [(row.warc_path, row.warc_offset) for row in rows] == [("v", 0), ("w", 0)]


def test_conditions_can_be_nested_and_combined(records: UnfilteredRecords) -> None:
    records.put([*FILES, *(cdx_row("w", n, sha1hex=SHA1S[n]) for n in range(4))])
    records.put([build_disposition("w:1", "w:1", "x", "done")])
    explained = {"capture_id": InTable(DispositionRow, "entry_id")}
    assert find_numbers(records, InTable(CdxRow, "sha1hex", where=explained)) == [1]
    where = {"sha1hex": InTable(CdxRow, "sha1hex"), "capture_id": FILES[0].capture_id}
    rows = records.find(FileMetaRow, where, order=("-sha1hex",), count_max=2)
    assert [row.sha1hex for row in rows] == [SHA1S[3], SHA1S[2]]


def test_readers_do_not_see_hidden_rows_of_the_other_table(records: UnfilteredRecords) -> None:
    records.put([*FILES[:2], *(cdx_row("w", n, sha1hex=SHA1S[n]) for n in range(2))])
    records.put([EmbargoRow(SHA1S[0], "rights", "", NOW, "ann", NOW)])
    embargoed = {"sha1hex": InTable(CdxRow, "sha1hex")}
    assert records.count(EmbargoRow, (), embargoed) == {(): 1}
    readers = records.for_readers()
    assert find_numbers(readers, InTable(CdxRow, "sha1hex")) == [1]
    assert readers.count(EmbargoRow, (), embargoed) == {(): 0}


def test_more_rows_than_one_page_are_found(records: UnfilteredRecords) -> None:
    records.put([file_row(number) for number in range(2500)])
    records.put([cdx_row("w", 0, sha1hex=SHA1S[1])])
    rows = list(records.find(FileMetaRow, {"sha1hex": NotInTable(CdxRow, "sha1hex")}))
    assert len({row.sha1hex for row in rows}) == len(rows) == 2499


def test_unknown_columns_are_refused(records: UnfilteredRecords) -> None:
    for condition in (
        InTable(CdxRow, "nothing"),
        InTable(CdxRow, "sha1hex", {"nothing": "sha1hex"}),
        InTable(CdxRow, "sha1hex", {"sha1hex": "nothing"}),
        NotInTable(CdxRow, "sha1hex", where={"nothing": 1}),
    ):
        with pytest.raises(ValueError, match="has no column 'nothing'"):
            records.find(FileMetaRow, {"sha1hex": condition})
