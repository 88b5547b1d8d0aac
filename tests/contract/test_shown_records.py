"""Readers see the rows, counts and tallies of a library without hidden files."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from typing import Any

import pytest

from contract.ledger_rows import input_row
from contract.record_rows import NOON, cdx_row, file_row, pdf_row
from fonds.model.rows import (
    ROWS,
    CdxRow,
    DispositionRow,
    EmbargoRow,
    EntryRow,
    FaultRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    StoryMetaRow,
    TallyRow,
    TextBandRow,
)
from fonds.model.tallies import INPUTS_BY_DAY, SEAL
from fonds.ports.records import UnfilteredRecords

HIDDEN, VISIBLE = "a" * 40, "d" * 40
SHOWN_KINDS = (
    CdxRow,
    EntryRow,
    DispositionRow,
    FaultRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    StoryMetaRow,
    TextBandRow,
)

SHARED_INPUT = "0123456789ab.000001"
"""A poll, whose links are also counted by source."""


def _entry(id_: str, about: str | None, input_id: str) -> EntryRow:
    return EntryRow(
        id_, "library", "link", input_id, f"http://{id_}/", None, None, "c", NOON, about=about
    )


def _disposition(id_: str, about: str | None) -> DispositionRow:
    return DispositionRow(
        f"{id_}-1",
        "library",
        "identify",
        id_,
        None,
        None,
        "done",
        False,
        None,
        "",
        about,
        0,
        NOON,
        NOON,
    )


def _fill(records: Any, sha1hex: str, mark: str) -> None:
    """Add a file with two captures, a PDF row, and an input with only the first capture."""
    entries = [
        _entry(f"{mark}1", None, f"input-{mark}"),
        _entry(f"{mark}2", sha1hex, SHARED_INPUT),
        _entry(f"{mark}3", None, SHARED_INPUT),
    ]
    records.ledger.enter(
        [input_row(f"input-{mark}"), input_row(SHARED_INPUT)], entries, ["identify"]
    )
    records.ledger.write(
        [
            _disposition(f"{mark}1", None),
            _disposition(f"{mark}2", None),
            _disposition(f"{mark}3", sha1hex),
        ]
    )
    records.put(
        [
            replace(file_row(1), sha1hex=sha1hex, capture_id=f"{mark}1"),
            cdx_row(f"{mark}.warc", 0, sha1hex=sha1hex, capture_id=f"{mark}2"),
            pdf_row(sha1hex=sha1hex),
            FaultRow(sha1hex, "something", "row", NOON),
            TextBandRow(7, sha1hex),
        ]
    )


def _load_all(records: Any) -> dict[str, Any]:
    rows_by_table = {kind.TABLE: list(records.find(kind)) for kind in SHOWN_KINDS}
    counts = {kind.TABLE: records.count(kind) for kind in SHOWN_KINDS}
    # Records that an input only counted were never files. The seal of the embargoes, which readers
    # may see, changes with them.
    others = (InputRow.TABLE, INPUTS_BY_DAY, SEAL)
    rows = [row for row in records.find(TallyRow) if row.count and row.counted not in others]
    tallies = {replace(row, count=0): row.count for row in rows}
    return {"rows": rows_by_table, "counts": counts, "tallies": tallies}


def _embargo(sha1hex: str, **changes: Any) -> EmbargoRow:
    return replace(EmbargoRow(sha1hex, "rights", "", NOON, "ann", NOON), **changes)


def test_readers_see_a_library_without_hidden_files(records: Any) -> None:
    _fill(records, VISIBLE, "seen")
    visible_only = _load_all(records)
    readers: UnfilteredRecords = records.for_readers()
    _fill(records, HIDDEN, "hidden")
    all_visible = _load_all(records)
    assert _load_all(readers) == all_visible
    records.put([_embargo(HIDDEN)])
    assert _load_all(readers) == visible_only
    assert readers.get(FileMetaRow, [HIDDEN, VISIBLE]) == records.get(FileMetaRow, [VISIBLE])
    assert readers.get(CdxRow, [("hidden.warc", 0)]) == []
    assert list(readers.find(TextBandRow, {"band": [7]})) == [TextBandRow(7, VISIBLE)]
    places = [("hidden.warc", 0), ("seen.warc", 0)]
    assert readers.find_missing(CdxRow, places) == places[:1]
    assert readers.find_missing(FileMetaRow, [VISIBLE, HIDDEN]) == [HIDDEN]
    assert _load_all(records) == all_visible
    records.change(EmbargoRow, [HIDDEN], {"lifting": NOON}, {"lifting": None})
    assert _load_all(readers) == all_visible


def test_pages_for_readers_are_full_and_in_order(records: Any) -> None:
    records.put([file_row(at, row_created=NOON) for at in range(1, 30)])
    records.put([_embargo(f"{at:040x}") for at in range(1, 30, 2)])
    readers = records.for_readers()
    for order in ((), ("row_created",), ("-row_created",)):
        rows = list(readers.find(FileMetaRow, order=order, count_max=10))
        assert [int(row.sha1hex, 16) for row in rows] == list(range(2, 21, 2))
        last = rows[-1]
        after = {"sha1hex": last.sha1hex, "row_created": last.row_created}
        next_rows = list(readers.find(FileMetaRow, order=order, after=after, count_max=10))
        assert [int(row.sha1hex, 16) for row in next_rows] == list(range(22, 29, 2))
    by = ("-count", *TallyRow.KEY)
    (tally,) = [row for row in readers.find(TallyRow, order=by) if row.counted == "file_meta"]
    assert tally.count == 14


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.TABLE)
def test_every_table_with_files_or_captures_is_filtered(kind: Any) -> None:
    from fonds.stores.records.tables import get_table
    from fonds.stores.records.visible_rows import ALWAYS, visible_rows

    naming = {"sha1hex", "about", "capture_id", "entry_id", "subject", "input_id"}
    names = {field.name for field in fields(kind)} & naming
    is_covered = visible_rows(kind) is not get_table(kind)
    assert is_covered == ((bool(names) and kind not in ALWAYS) or kind is TallyRow)


@pytest.mark.parametrize("has_hidden", [False, True])
def test_rows_come_in_the_order_of_their_keys(
    records: UnfilteredRecords, *, has_hidden: bool
) -> None:
    """The order would otherwise tell readers whether a file is hidden."""
    rows = [file_row(number) for number in range(1_200)]
    records.put(rows)
    records.put([cdx_row("a.warc", number) for number in range(40)])
    if has_hidden:
        records.put([_embargo("e" * 40)])
    readers = records.for_readers()
    keys = [row.sha1hex for row in rows]
    random.Random(1).shuffle(keys)
    places = [("a.warc", number) for number in (7, 3, 21, 5)]
    for source in (records, readers):
        assert [row.sha1hex for row in source.get(FileMetaRow, [*keys, keys[0]])] == keys
        stored_rows = source.get(CdxRow, places)
        assert [(row.warc_path, row.warc_offset) for row in stored_rows] == places
