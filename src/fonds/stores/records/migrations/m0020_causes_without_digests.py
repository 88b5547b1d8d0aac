"""Causes are told without digests in base32 and base64: what failed gets its group anew."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from fonds.model.failure import failure_group

revision = "0020"
down_revision = "0019"

PAGE_ROWS = 1_000
_KNOWN = ("step", "reason", "detail", "url", "failure_group")
_ENTRIES = sa.table("entries", *map(sa.column, ("entry_id", "pipeline", *_KNOWN)))
_GROUPS = """
INSERT INTO tallies
SELECT 'failure_groups', pipeline, failure_group, coalesce(step, ''), coalesce(reason, ''), count(*)
FROM entries WHERE failure_group IS NOT NULL GROUP BY 2, 3, 4, 5
"""
_DAYS = """
INSERT INTO tallies
SELECT 'failures_by_day', pipeline, failure_group, coalesce({day}, ''), '', count(*)
FROM entries WHERE failure_group IS NOT NULL GROUP BY 2, 3, 4
"""
_DAY = {
    "sqlite": "substr(settled_at, 1, 10)",
    "postgresql": "left(to_char(settled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24'), 10)",
}


def upgrade() -> None:
    """Give each failure the group of its cause as it is told now; count groups anew, in all and by day, and
    find counts by their day."""
    after: tuple[str, str] = ("", "")
    while page := _page(after):
        for row in page:
            _give(row)
        after = (page[-1].entry_id, page[-1].pipeline)
    op.execute("DELETE FROM tallies WHERE counted IN ('failure_groups', 'failures_by_day')")
    op.execute(_GROUPS)
    op.execute(_DAYS.format(day=_DAY[op.get_bind().dialect.name]))
    op.create_index("tallies_second", "tallies", ["counted", "second"])


def _page(after: tuple[str, str]) -> list[Any]:
    """Failures behind one, in order of their keys."""
    key = sa.tuple_(_ENTRIES.c.entry_id, _ENTRIES.c.pipeline)
    query = (
        sa.select(_ENTRIES)
        .where(_ENTRIES.c.failure_group.is_not(None), key > sa.tuple_(*map(sa.literal, after)))
        .order_by(_ENTRIES.c.entry_id, _ENTRIES.c.pipeline)
        .limit(PAGE_ROWS)
    )
    return list(op.get_bind().execute(query))


def _give(row: Any) -> None:
    group = failure_group(row.step or "", row.reason or "", row.detail or "", row.url)
    if group != row.failure_group:
        whole = (_ENTRIES.c.entry_id == row.entry_id, _ENTRIES.c.pipeline == row.pipeline)
        op.execute(_ENTRIES.update().where(*whole).values(failure_group=group))
