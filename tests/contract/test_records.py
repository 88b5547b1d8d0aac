"""Promises of every SQL store (`fonds.ports.Records`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta, timezone
from math import inf, nan
from types import MappingProxyType
from typing import Any

import pytest

from contract.ledger_rows import build_disposition, entry, input_row
from contract.record_rows import NOON, cdx_row, file_row, key, pdf_row, story_row
from fonds.model.errors import LimitError
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import (
    CdxRow,
    CrashedPdfRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    Row,
    TallyRow,
    TextBandRow,
    TextSketchRow,
    TimetableRow,
)
from fonds.ports import Records

ROWS_OF_EACH_KIND: list[Row] = [
    file_row(1), cdx_row("a.warc.gz", 2**40), pdf_row(), story_row(), input_row("i"), entry("c"),
    build_disposition("c", "c", "identify", "done", about="a" * 40), TallyRow("files", "", "a", "", "", 3),
    CrashedPdfRow("a" * 40, "reader 1", "error-timeout", "why", NOON, NOON),
    TimetableRow("poll", "", 60, "", NOON, "host:1", 2**40, NOON, None, "why", 1, 2),
    TextSketchRow("a" * 40, "b" * 64, "2024", NOON, "success", "http://a/", "c" * 64, "00", "m/1"),
    TextBandRow(-(2**31), "a" * 40),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS_OF_EACH_KIND, ids=lambda row: row.TABLE)
def test_a_row_is_read_as_it_was_put(records: Records, row: Row) -> None:
    records.put([row])
    assert records.get(type(row), [key(row)]) == [row]
    assert list(records.find(type(row))) == [row]


@pytest.mark.parametrize("row", ROWS_OF_EACH_KIND, ids=lambda row: row.TABLE)
def test_deleted_rows_are_removed(records: Records, row: Row) -> None:
    records.put([row])
    records.delete(type(row), [key(row)])
    records.delete(type(row), [key(row)])
    assert records.count(type(row)) == {(): 0}


def test_absent_values_stay_absent(records: Records) -> None:
    bare = pdf_row(
        page_count=None, word_count=None, page0_height=None, page0_width=None, permanent_id=None,
        pdf_created=None, pdf_version=None, metadata=None,
    )  # fmt: skip
    records.put([bare])
    assert records.get(PdfMetaRow, [bare.sha1hex]) == [bare]
    assert list(records.find(PdfMetaRow, {"metadata": None})) == [bare]


def test_zero_is_not_absent(records: Records) -> None:
    empty = pdf_row(
        page_count=0, word_count=0, page0_height=0.0, page0_width=0.0, metadata=PdfMetadata()
    )
    records.put([empty])
    assert records.get(PdfMetaRow, [empty.sha1hex]) == [empty]


def test_one_put_accepts_rows_of_several_tables(records: Records) -> None:
    records.put(ROWS_OF_EACH_KIND)
    assert [records.get(type(row), [key(row)]) for row in ROWS_OF_EACH_KIND] == [
        [row] for row in ROWS_OF_EACH_KIND
    ]


def test_a_put_with_an_invalid_row_writes_nothing(records: Records) -> None:
    with pytest.raises(Exception, match=r"(?i)constraint"):
        records.put([file_row(1), pdf_row(page_count=-1)])
    assert records.count(FileMetaRow) == {(): 0}


@pytest.mark.parametrize(
    "wrong",
    [
        pdf_row(sha1hex="a" * 39),
        pdf_row(status=""),
        pdf_row(word_count=-1),
        pdf_row(page0_width=-0.5),
        pdf_row(pdf_version=""),
        pdf_row(permanent_id=""),
        cdx_row("a", 1, datetime="2024"),
    ],
)
def test_rows_that_violate_the_schema_are_refused(records: Records, wrong: Row) -> None:
    with pytest.raises(Exception, match=r"(?i)constraint"):
        records.put([wrong])
    assert records.count(type(wrong)) == {(): 0}


def test_put_replaces_and_the_last_of_one_key_wins(records: Records) -> None:
    records.put([file_row(1, mimetype="a/a")])
    records.put([file_row(1, mimetype="b/b"), file_row(2), file_row(1, mimetype="c/c")])
    assert [row.mimetype for row in records.get(FileMetaRow, [file_row(1).sha1hex])] == ["c/c"]
    assert records.count(FileMetaRow) == {(): 2}


def test_rows_of_keys_only_can_be_put_again(records: Records) -> None:
    rows = [TextBandRow(band, f"{n:040x}") for band in (2**31 - 1, -5) for n in range(3)]
    records.put(rows)
    records.put([*rows, TextBandRow(0, "a" * 40)])
    assert records.count(TextBandRow) == {(): 7}
    rows_of_band = list(records.find(TextBandRow, {"band": [-5, 0]}, count_max=3))
    assert rows_of_band == [row for row in rows if row.band == -5]


def test_a_put_without_replace_keeps_the_first_row_of_a_key(
    records: Records,
) -> None:
    records.put([file_row(1, mimetype="a/a")])
    records.put(
        [file_row(1, mimetype="b/b"), file_row(2, mimetype="c/c"), file_row(2, mimetype="d/d")],
        replace=False,
    )
    assert [row.mimetype for row in records.find(FileMetaRow)] == ["a/a", "c/c"]


def test_empty_batches_are_accepted(records: Records) -> None:
    records.put([])
    records.put([], replace=False)
    assert records.get(FileMetaRow, []) == []


def test_times_of_any_zone_are_returned_in_utc(records: Records) -> None:
    local_noon = NOON.astimezone(timezone(timedelta(hours=-7)))
    records.put([file_row(1, row_created=local_noon)])
    (row,) = records.find(FileMetaRow)
    assert row.row_created == NOON
    assert row.row_created.utcoffset() == timedelta(0)
    assert list(records.find(FileMetaRow, {"row_created": local_noon})) == [row]


def test_a_time_without_a_zone_is_refused(records: Records) -> None:
    with pytest.raises(Exception, match="zone"):
        records.put([file_row(1, row_created=NOON.replace(tzinfo=None))])


def test_nul_and_lone_surrogates_are_removed_everywhere(records: Records) -> None:
    dirty = "a\x00b\ud800c\udfffd\U0001f4d6"
    clean = "abcd\U0001f4d6"
    metadata = PdfMetadata(title=dirty, unknown={dirty: [dirty, {"x": dirty}]})
    records.put(
        [
            pdf_row(metadata=metadata, error_msg=dirty),
            entry(f"id{dirty}"),
            build_disposition("c", "c", "step", "done", detail=dirty),
        ]
    )
    (pdf,) = records.find(PdfMetaRow)
    assert pdf.error_msg == clean
    assert pdf.metadata == PdfMetadata(title=clean, unknown={clean: [clean, {"x": clean}]})
    entries = records.get(EntryRow, [(f"id{dirty}", "library")])
    assert [row.entry_id for row in entries] == [f"id{clean}"]
    assert [row.entry_id for row in records.find(EntryRow, {"entry_id": f"id{dirty}"})]
    assert [row.detail for row in records.find(DispositionRow)] == [clean]


def test_json_accepts_any_mapping_and_replaces_nan_by_null(records: Records) -> None:
    records.put(
        [
            pdf_row(
                metadata=PdfMetadata(unknown={"nan": nan, "inf": [inf], "x": MappingProxyType({})})
            )
        ]
    )
    (row,) = records.find(PdfMetaRow)
    assert row.metadata == PdfMetadata(unknown={"nan": None, "inf": [None], "x": {}})


def test_deeply_nested_json_is_refused(records: Records) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"d": deep}
    with pytest.raises(LimitError, match="nested"):
        records.put([pdf_row(metadata=PdfMetadata(unknown=deep))])


def test_more_rows_and_keys_than_one_statement_allows_are_handled(records: Records) -> None:
    rows = [cdx_row(f"{i % 7}.warc.gz", i) for i in range(2500)]
    records.put(rows)
    keys = [(row.warc_path, row.warc_offset) for row in rows]
    stored = records.get(CdxRow, [*keys, *keys, ("none", 1)])
    assert len(stored) == len(rows)
    assert set(stored) == set(rows)
    assert list(records.find(CdxRow)) == sorted(rows, key=lambda r: (r.warc_path, r.warc_offset))
    records.delete(CdxRow, keys[:-1])
    assert list(records.find(CdxRow)) == rows[-1:]


def test_keys_without_a_row_are_missing(records: Records) -> None:
    bands = [
        TextBandRow(band, f"{n:040x}") for n in range(40) for band in range(0, n * 2**20, 2**20)
    ]
    records.put([*bands, file_row(1), build_disposition("c", "c", "identify", "done")])
    keys = [(row.band, row.sha1hex) for row in bands]
    wrong_keys: list[object] = [(-1, bands[0].sha1hex), (bands[0].band, "f" * 40)]
    assert records.find_missing(TextBandRow, keys) == []
    assert records.find_missing(TextBandRow, [*wrong_keys, *keys, *wrong_keys]) == wrong_keys
    assert records.find_missing(FileMetaRow, [f"{1:040x}", f"{2:040x}"]) == [f"{2:040x}"]
    messages = [("c", "library", step) for step in ("identify", "persist_file")]
    assert records.find_missing(DispositionRow, messages) == [messages[1]]
    assert records.find_missing(FileMetaRow, []) == []


def test_keys_that_a_database_stores_alike_give_one_row(records: Records) -> None:
    records.put([build_disposition("c", "c", "identify", "done"), file_row(1)])
    messages = [(name, "library", "identify") for name in ("c", "c\x00", "\x00c")]
    assert [row.message_id for row in records.get(DispositionRow, messages)] == ["c"]
    sha1hexes = [f"{1:040x}", f"{1:040x}\x00"]
    assert [row.sha1hex for row in records.get(FileMetaRow, sha1hexes)] == sha1hexes[:1]


def test_composed_keys_match_as_pairs(records: Records) -> None:
    records.put([build_disposition(c, c, s, "done") for c, s in itertools.product("ab", "xy")])
    stored = records.get(DispositionRow, [("a", "library", "x"), ("b", "library", "y")])
    assert sorted((row.message_id, row.step) for row in stored) == [("a", "x"), ("b", "y")]


def test_written_rows_are_visible_in_another_handle(
    open_records: Callable[[], Records], records: Records
) -> None:
    records.put([input_row("a")])
    assert list(open_records().find(InputRow)) == [input_row("a")]
