"""Conversion of exported rows to Apache Parquet: schema of the columns, and types of the values.

The type of a column is `text`, `integer`, `number`, `bytes`, `texts` (a list of texts), `date` or
`time` (in UTC). Rows contain dates and times as texts, as in JSON and CSV. A date that is only a
month or a year becomes the first day of the month or year.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from fonds.model.capture import parse_datetime14
from fonds.model.partial_date import parse_first_day

Columns = Mapping[str, str]


def build_arrow_schema(columns: Columns) -> Any:
    """Return the pyarrow schema for columns, given as column types by column name."""
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
    """Convert the texts in date and time columns of rows to dates and times.

    `columns` maps column names to types; those of dates and times are `date` and `time`. A
    malformed text becomes None.
    """
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
    """Parse a time of 14 digits (YYYYMMDDhhmmss) or in ISO 8601 to an aware UTC datetime.

    A time without a zone is in UTC. Returns None for any other value.
    """
    text = str(value or "")
    try:
        moment = parse_datetime14(text) if text.isdigit() else datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
