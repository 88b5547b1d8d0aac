"""Rows as Parquet: partial dates, and times with and without a zone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

from fonds.search.export_formats import iter_parquet

COLUMNS = {"day": "date", "at": "time", "names": "texts", "count": "integer"}


def read(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    def iter_rows() -> Iterator[dict[str, Any]]:
        yield from rows

    return list(
        parquet.read_table(io.BytesIO(b"".join(iter_parquet(iter_rows(), COLUMNS)))).to_pylist()
    )


def test_values_have_the_types_of_their_columns() -> None:
    noon = datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert read(
        {"day": "2024-02-29", "at": "20240229120000", "names": ["A", "B"], "count": 1},
        {"day": "2024-02", "at": "2024-02-29T13:00:00+01:00", "names": [], "count": 0},
        {"day": "2024", "at": "2024-02-29T12:00:00", "names": None, "count": None},
        {"day": "spring", "at": "20249999000000", "names": None, "count": None},
        {"day": None, "at": None, "names": None, "count": None},
    ) == [
        {"day": date(2024, 2, 29), "at": noon, "names": ["A", "B"], "count": 1},
        {"day": date(2024, 2, 1), "at": noon, "names": [], "count": 0},
        {"day": date(2024, 1, 1), "at": noon, "names": None, "count": None},
        {"day": None, "at": None, "names": None, "count": None},
        {"day": None, "at": None, "names": None, "count": None},
    ]


@given(st.text(), st.text())
@example("99999999999999999999", "2024-99999999999999999999-1")
@example("9" * 5_000, "0-0-0")
def test_any_text_can_be_written(day: str, at: str) -> None:
    assert len(read({"day": day, "at": at, "names": [], "count": 1})) == 1
