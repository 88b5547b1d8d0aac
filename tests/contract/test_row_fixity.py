"""The fixity of a row is the same before it is written and after it is read, in every database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.derivatives.fixity import build_row_fixity
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import PdfMetaRow
from fonds.stores.records.sql import SqlRecords

PDF = "0" * 39 + "1"
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
TEXTS = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


def build_row(values: dict[str, Any], height: float = 841.8898) -> PdfMetaRow:
    sizes = (3, 5, height, 595.27563)
    metadata = PdfMetadata(unknown=values)
    return PdfMetaRow(
        PDF, NOON, "success", True, *sizes, None, NOON, "1.7", metadata, "reader", None
    )


def read_back(records: SqlRecords, row: PdfMetaRow) -> PdfMetaRow:
    records.put([row])
    (stored_row,) = records.get(PdfMetaRow, [PDF])
    return stored_row


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(values=st.dictionaries(TEXTS, VALUES, max_size=4))
@example({"text": "a\x00b\ud800", "nan": float("nan"), "infinite": -float("inf")})
@example({"large": 1e20, "larger": 3e200, "whole": 2.0, "zero": -0.0, "small": 1e-9, "half": -0.5})
@example({"largest exact": 2**53 - 1, "above": 2**53, "huge": 10**300, "below": -(2**60)})
@example({"as text": ':-0, [1e20, :9007199254740993} "\\u0000'})
def test_a_row_and_its_stored_form_have_the_same_fixity(
    records: SqlRecords, values: dict[str, Any]
) -> None:
    row = build_row(values)
    stored_row = read_back(records, row)
    assert build_row_fixity(stored_row) == build_row_fixity(row)
    assert build_row_fixity(read_back(records, stored_row)) == build_row_fixity(row)


@pytest.mark.parametrize(
    ("old", "new"),
    [(2, 3), (0.25, 0.5), ("a:1.0,", "a:1,"), ("-0", "0"), (1e20, 2e20), (None, 0), ([1], [1, 1])],
)
def test_a_changed_value_changes_the_fixity(records: SqlRecords, old: object, new: object) -> None:
    rows = [read_back(records, build_row({"value": value})) for value in (old, new)]
    assert build_row_fixity(rows[0]) != build_row_fixity(rows[1])
