"""Apache Parquet: the schema for columns, and conversion of rows.

A column is `text`, `integer`, `number`, `bytes`, `texts` (a list), `date` or `time` (in UTC). Rows
have dates and times as texts, as in JSON and CSV. A date that is a month or a year becomes its
first day.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from fonds.model.capture import parse_datetime14
from fonds.model.partial_date import parse_first_day

Columns = Mapping[str, str]


def build_arrow_schema(columns: Columns) -> Any:
    """Return the pyarrow schema for these columns."""
    import pyarrow  # The largest library here; only Parquet writers load it.

    types = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "bytes": pyarrow.binary(),
        "texts": pyarrow.list_(pyarrow.string()),
        "date": pyarrow.date32(),
        "time": pyarrow.timestamp("us", tz="UTC"),
    }
    return pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])


def convert_rows(rows: Iterable[Mapping[str, Any]], columns: Columns) -> list[dict[str, Any]]:
    """Convert date and time texts in rows; malformed ones become None."""
    dates = [name for name, kind in columns.items() if kind == "date"]
    times = [name for name, kind in columns.items() if kind == "time"]
    return [
        {
            **row,
            **{name: parse_first_day(row.get(name)) for name in dates},
            **{name: parse_time(row.get(name)) for name in times},
        }
        for row in rows
    ]


def parse_time(value: object) -> datetime | None:
    """Parse a time of 14 digits or in ISO 8601, in UTC if it has no zone; None for anything else."""
    text = str(value or "")
    try:
        moment = parse_datetime14(text) if text.isdigit() else datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
