"""What every SQL store promises (`fonds.ports.Records`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.ledger_rows import entry, input_row, settled
from contract.record_rows import NOON, cdx_row, file_row, pdf_row, story_row
from fonds.model.errors import LimitError
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    Row,
    StoppedRow,
    TallyRow,
    TimetableRow,
)
from fonds.ports import Prefix, Records

EVERY_KIND: list[Row] = [
    file_row(1), cdx_row("a.warc.gz", 2**40), pdf_row(), story_row(), input_row("i"), entry("c"),
    settled("c", "c", "identify", "done", about="a" * 40), TallyRow("files", "", "a", "", "", 3),
    StoppedRow("a" * 40, "reader 1", "error-timeout", "why", NOON, NOON),
    TimetableRow("poll", "", 60, "", NOON, "host:1", NOON, 2**40, NOON, None, "why", 1, 2),
]  # fmt: skip


def key(row: Row) -> Any:
    values = tuple(getattr(row, name) for name in row.KEY)
    return values if len(values) > 1 else values[0]


@pytest.mark.parametrize("row", EVERY_KIND, ids=lambda row: row.TABLE)
def test_a_row_is_read_as_it_was_put(records: Records, row: Row) -> None:
    records.put([row])
    assert records.get(type(row), [key(row)]) == [row]
    assert list(records.find(type(row))) == [row]


@pytest.mark.parametrize("row", EVERY_KIND, ids=lambda row: row.TABLE)
def test_deleted_rows_are_gone(records: Records, row: Row) -> None:
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
    empty = pdf_row(page_count=0, word_count=0, page0_height=0.0, page0_width=0.0, metadata={})
    records.put([empty])
    assert records.get(PdfMetaRow, [empty.sha1hex]) == [empty]


def test_rows_of_several_tables_go_in_one_put(records: Records) -> None:
    records.put(EVERY_KIND)
    assert [records.get(type(row), [key(row)]) for row in EVERY_KIND] == [
        [row] for row in EVERY_KIND
    ]


def test_a_put_is_whole_or_nothing(records: Records) -> None:
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
def test_rows_the_schema_rules_out_are_refused(records: Records, wrong: Row) -> None:
    with pytest.raises(Exception, match=r"(?i)constraint"):
        records.put([wrong])
    assert records.count(type(wrong)) == {(): 0}


def test_put_replaces_and_the_last_of_one_key_wins(records: Records) -> None:
    records.put([file_row(1, mimetype="a/a")])
    records.put([file_row(1, mimetype="b/b"), file_row(2), file_row(1, mimetype="c/c")])
    assert [row.mimetype for row in records.get(FileMetaRow, [file_row(1).sha1hex])] == ["c/c"]
    assert records.count(FileMetaRow) == {(): 2}


def test_without_replacing_what_is_there_stays_and_the_first_of_one_key_wins(
    records: Records,
) -> None:
    records.put([file_row(1, mimetype="a/a")])
    records.put(
        [file_row(1, mimetype="b/b"), file_row(2, mimetype="c/c"), file_row(2, mimetype="d/d")],
        replace=False,
    )
    assert [row.mimetype for row in records.find(FileMetaRow)] == ["a/a", "c/c"]


def test_nothing_to_write_is_no_error(records: Records) -> None:
    records.put([])
    records.put([], replace=False)
    assert records.get(FileMetaRow, []) == []


def test_times_come_back_in_utc_whatever_zone_they_were_given_in(records: Records) -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=-7)))
    records.put([file_row(1, row_created=elsewhere)])
    (row,) = records.find(FileMetaRow)
    assert row.row_created == NOON
    assert row.row_created.utcoffset() == timedelta(0)
    assert list(records.find(FileMetaRow, {"row_created": elsewhere})) == [row]


def test_a_time_without_a_zone_is_refused(records: Records) -> None:
    with pytest.raises(Exception, match="zone"):
        records.put([file_row(1, row_created=NOON.replace(tzinfo=None))])


def test_nul_and_lone_surrogates_are_removed_everywhere(records: Records) -> None:
    dirty = "a\x00b\ud800c\udfffd\U0001f4d6"
    clean = "abcd\U0001f4d6"
    records.put(
        [
            pdf_row(metadata={dirty: [dirty, {"x": dirty}]}, error_msg=dirty),
            entry(f"id{dirty}"),
            settled("c", "c", "step", "done", detail=dirty),
        ]
    )
    (pdf,) = records.find(PdfMetaRow)
    assert pdf.error_msg == clean
    assert pdf.metadata == {clean: [clean, {"x": clean}]}
    found = records.get(EntryRow, [(f"id{dirty}", "library")])
    assert [row.entry_id for row in found] == [f"id{clean}"]
    assert [row.entry_id for row in records.find(EntryRow, {"entry_id": f"id{dirty}"})]
    assert [row.detail for row in records.find(DispositionRow)] == [clean]


def test_json_holds_any_mapping_and_no_number_json_lacks(records: Records) -> None:
    records.put(
        [pdf_row(metadata=MappingProxyType({"nan": float("nan"), "inf": [float("inf")], "x": 0.5}))]
    )
    assert next(records.find(PdfMetaRow)).metadata == {"nan": None, "inf": [None], "x": 0.5}


def test_json_that_is_nested_without_end_is_refused(records: Records) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"d": deep}
    with pytest.raises(LimitError, match="nested"):
        records.put([pdf_row(metadata=deep)])


def test_more_rows_and_keys_than_fit_one_statement(records: Records) -> None:
    rows = [cdx_row(f"{i % 7}.warc.gz", i) for i in range(2500)]
    records.put(rows)
    keys = [(row.warc_path, row.warc_offset) for row in rows]
    found = records.get(CdxRow, [*keys, *keys, ("none", 1)])
    assert len(found) == len(rows)
    assert set(found) == set(rows)
    assert list(records.find(CdxRow)) == sorted(rows, key=lambda r: (r.warc_path, r.warc_offset))
    records.delete(CdxRow, keys[:-1])
    assert list(records.find(CdxRow)) == rows[-1:]


def test_composed_keys_match_as_pairs(records: Records) -> None:
    records.put([settled(c, c, s, "done") for c, s in itertools.product("ab", "xy")])
    found = records.get(DispositionRow, [("a", "library", "x"), ("b", "library", "y")])
    assert sorted((row.message_id, row.step) for row in found) == [("a", "x"), ("b", "y")]


def test_where_means_equal_or_any_of_or_absent(records: Records) -> None:
    records.put(
        [input_row("a", error=None), input_row("b", error="torn"), input_row("c", error="gone")]
    )

    def found(where: dict[str, object]) -> list[str]:
        return [row.input_id for row in records.find(InputRow, where)]

    assert found({"error": "torn"}) == ["b"]
    assert found({"error": None}) == ["a"]
    assert found({"error": ["torn", None]}) == ["a", "b"]
    assert found({"error": [Prefix("to"), "gone"]}) == ["b", "c"]
    assert found({"error": []}) == []
    assert found({"error": "torn", "input_id": "c"}) == []
    assert found({"finished": False, "entries": [5, 6]}) == ["a", "b", "c"]


def test_a_prefix_is_no_pattern_and_letter_case_counts(records: Records) -> None:
    urls = ["50%_off", "50%_offers", "50x", "50% off", "50%_OFF", "5", "\U0010ffff\U0010ffff", "ü"]
    records.put([input_row(str(i), path=path) for i, path in enumerate(urls)])

    def found(prefix: str) -> set[str]:
        return {row.path for row in records.find(InputRow, {"path": Prefix(prefix)})}

    assert found("50%_off") == {"50%_off", "50%_offers"}
    assert found("50%") == {"50%_off", "50%_offers", "50% off", "50%_OFF"}
    assert found("\U0010ffff") == {"\U0010ffff\U0010ffff"}
    assert found("") == set(urls)
    assert found("ü") == {"ü"}


def test_a_text_that_ends_in_a_star_matches_itself_alone(records: Records) -> None:
    records.put([input_row(one) for one in ("http://x.org/*", "http://x.org/a", "*")])
    for asked in ("http://x.org/*", "*"):
        found = records.find(InputRow, {"input_id": asked})
        assert [row.input_id for row in found] == [asked]
        assert records.count(InputRow, (), {"input_id": [asked]}) == {(): 1}


def test_a_prefix_of_what_is_no_text_is_refused_at_once(records: Records) -> None:
    for name in ("entries", "finished", "updated", "tally"):
        with pytest.raises(ValueError, match="no text"):
            records.find(InputRow, {name: Prefix("1")})


ALPHABET = "aAé%_\\*\ud7ff\ue000\uffff\U00010000\U0010ffff"


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    texts=st.sets(st.text(ALPHABET, max_size=4), min_size=1, max_size=8),
    prefix=st.text(ALPHABET, max_size=3),
)
def test_prefixes_and_order_are_those_of_code_points(
    records: Records, texts: set[str], prefix: str
) -> None:
    records.delete(InputRow, [key(row) for row in records.find(InputRow)])
    records.put([input_row(f"i{text}") for text in texts])
    found = [row.input_id[1:] for row in records.find(InputRow, {"input_id": Prefix(f"i{prefix}")})]
    assert found == sorted(text for text in texts if text.startswith(prefix))


def test_a_list_may_be_long_and_is_refused_when_it_is_too_long(records: Records) -> None:
    records.put([input_row("5")])
    assert list(records.find(InputRow, {"input_id": [str(i) for i in range(20_000)]}))
    with pytest.raises(ValueError, match="parts"):
        records.find(InputRow, {"input_id": [str(i) for i in range(40_000)]})


def test_order_goes_both_ways_and_absent_sorts_lowest(records: Records) -> None:
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


def test_where_to_begin_and_count_cut_a_page_out(records: Records) -> None:
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
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    rows=st.lists(st.tuples(st.sampled_from([None, "x", "y"]), st.integers(0, 2)), max_size=12),
    order=st.lists(st.sampled_from(["error", "-error", "entries", "-entries"]), max_size=2),
    size=st.integers(1, 4),
)
def test_pages_behind_each_other_are_the_whole_list(
    records: Records, rows: list[tuple[str | None, int]], order: list[str], size: int
) -> None:
    """Whatever is absent, equal or turned round."""
    records.delete(InputRow, [key(row) for row in records.find(InputRow)])
    records.put([input_row(f"{n}", error=e, entries=k) for n, (e, k) in enumerate(rows)])
    names = list({name.removeprefix("-"): name for name in order}.values())
    whole = list(records.find(InputRow, order=names))
    assert len(whole) == len(rows)
    walked: list[InputRow] = []
    while page := list(
        records.find(
            InputRow, order=names, after=asdict(walked[-1]) if walked else None, count_max=size
        )
    ):
        walked += page
    assert walked == whole


def test_a_walk_may_be_left_and_may_write_on_its_way(records: Records) -> None:
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


def test_unknown_columns_are_refused_at_once(records: Records) -> None:
    with pytest.raises(ValueError, match="no column 'nonsense'"):
        records.find(InputRow, {"nonsense": 1})
    with pytest.raises(ValueError, match="no column 'nonsense'"):
        records.find(InputRow, order=("-nonsense",))
    with pytest.raises(ValueError, match="no column 'nonsense'"):
        records.count(InputRow, ("nonsense",))


def test_counts_are_by_combination(records: Records) -> None:
    records.put(
        [
            settled("a", "a", "x", "done"),
            settled("b", "b", "x", "done"),
            settled("a", "a", "y", "dropped", reason="duplicate"),
        ]
    )
    assert records.count(DispositionRow) == {(): 3}
    assert records.count(DispositionRow, ("step", "reason")) == {
        ("x", None): 2,
        ("y", "duplicate"): 1,
    }
    assert records.count(DispositionRow, ("step",), {"message_id": Prefix("b")}) == {("x",): 1}
    assert records.count(DispositionRow, ("step",), {"message_id": "none"}) == {}


def test_what_is_written_outlives_the_handle(
    open_records: Callable[[], Records], records: Records
) -> None:
    records.put([input_row("a")])
    assert list(open_records().find(InputRow)) == [input_row("a")]
