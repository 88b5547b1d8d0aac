"""What entered is counted by day, what failed by group and day, what came and ended at each step by hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_TALLIES = sa.table(
    "tallies", *map(sa.column, ("counted", "pipeline", "first", "second", "third", "count"))
)
_ENTRIES = """
SELECT 'entries_by_day', pipeline, {entered_day}, outcome,
       CASE WHEN outcome = 'pending' THEN '' ELSE coalesce(reason, '') END, count(*)
FROM entries GROUP BY 2, 3, 4, 5
"""
_FAILURES = """
SELECT 'failures_by_day', pipeline, failure_group, coalesce({settled_day}, ''), '', count(*)
FROM entries WHERE failure_group IS NOT NULL GROUP BY 2, 3, 4
"""
_CAME = """
SELECT 'messages_by_hour', pipeline, step, {promised_hour}, 'came', count(*)
FROM dispositions GROUP BY 2, 3, 4
"""
_ENDED = """
SELECT 'messages_by_hour', pipeline, step, coalesce({settled_hour}, ''), 'ended', count(*)
FROM dispositions WHERE NOT is_open GROUP BY 2, 3, 4
"""
_TIMES = {
    "entered_day": ("entered_at", 10),
    "settled_day": ("settled_at", 10),
    "promised_hour": ("promised_at", 13),
    "settled_hour": ("settled_at", 13),
}


def upgrade() -> None:
    """Count what is there, and find entries by when they entered."""
    cuts = {name: _cut(*what) for name, what in _TIMES.items()}
    for query in (_ENTRIES, _FAILURES, _CAME, _ENDED):
        op.execute(f"INSERT INTO tallies {query.format(**cuts)}")
    counts: Counter[tuple[str, str, str]] = Counter()
    for pipeline, day, tally in _inputs():
        for reason, count in tally.items():
            counts[pipeline, day, reason] += count
    for (pipeline, day, reason), count in counts.items():
        values = {"pipeline": pipeline, "first": day, "second": reason, "third": ""}
        op.execute(_TALLIES.insert().values(counted="inputs_by_day", count=count, **values))
    listed = ["pipeline", "outcome", "entered_at", "entry_id", "reason"]
    op.create_index("entries_entered", "entries", listed)


def _cut(column: str, characters: int) -> str:
    """The day or the hour of a time, in UTC: SQLite keeps times as such text."""
    if op.get_bind().dialect.name == "sqlite":
        return f"substr({column}, 1, {characters})"
    return f"left(to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24'), {characters})"


def _inputs() -> Iterator[Any]:
    tally = sa.column("tally", sa.JSON)
    table = sa.table("inputs", sa.column("pipeline"), tally, sa.column("tally_count"))
    day: sa.ColumnElement[str] = sa.literal_column(_cut("updated", 10))
    query = sa.select(table.c.pipeline, day, tally).where(table.c.tally_count > 0)
    yield from op.get_bind().execute(query)
