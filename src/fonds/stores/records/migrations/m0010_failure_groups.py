"""Failures by what they have in common, and what people decided about them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import sqlalchemy as sa
from alembic import op

from fonds.model.failure import failure_group

revision = "0010"
down_revision = "0009"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
PAGE_ROWS = 1_000
_KNOWN = ("step", "reason", "detail", "url")
_ENTRIES = sa.table(
    "entries",
    *map(sa.column, ("entry_id", "pipeline", "outcome", *_KNOWN, "failure_group")),
)
_TALLIES = sa.table(
    "tallies", *map(sa.column, ("counted", "pipeline", "first", "second", "third", "count"))
)


def upgrade() -> None:
    """Give what is quarantined its group, and count it by that."""
    op.add_column("entries", sa.Column("failure_group", TEXT))
    counts: Counter[tuple[str, str, str, str]] = Counter()
    after: tuple[str, str] = ("", "")
    while page := _page(after):
        _give(page, counts)
        after = (page[-1].entry_id, page[-1].pipeline)
    for (pipeline, *values), count in counts.items():
        first, second, third = values
        op.execute(
            _TALLIES.insert().values(
                counted="failure_groups",
                pipeline=pipeline,
                first=first,
                second=second,
                third=third,
                count=count,
            )
        )
    op.create_index(
        "entries_failure_group",
        "entries",
        ["failure_group", "pipeline", "settled_at"],
        sqlite_where=sa.text("failure_group IS NOT NULL"),
        postgresql_where=sa.text("failure_group IS NOT NULL"),
    )
    _make_decisions()


def _make_decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("decision_id", TEXT, primary_key=True, nullable=False),
        sa.Column("act", TEXT, nullable=False),
        sa.Column("pipeline", TEXT, nullable=False),
        sa.Column("failure_group", TEXT),
        sa.Column("entry_id", TEXT),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("taken_by", TEXT, nullable=False),
        sa.Column("begun_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("count", sa.BigInteger),
    )


def _page(after: tuple[str, str]) -> list[Any]:
    """Quarantined entries behind one, in order of their keys."""
    key = sa.tuple_(_ENTRIES.c.entry_id, _ENTRIES.c.pipeline)
    query = (
        sa.select(_ENTRIES)
        .where(_ENTRIES.c.outcome == "quarantined", key > sa.tuple_(*map(sa.literal, after)))
        .order_by(_ENTRIES.c.entry_id, _ENTRIES.c.pipeline)
        .limit(PAGE_ROWS)
    )
    return list(op.get_bind().execute(query))


def _give(page: list[Any], counts: Counter[tuple[str, str, str, str]]) -> None:
    for row in page:
        step, reason = row.step or "", row.reason or ""
        group = failure_group(step, reason, row.detail or "", row.url)
        counts[row.pipeline, group, step, reason] += 1
        whole = (_ENTRIES.c.entry_id == row.entry_id, _ENTRIES.c.pipeline == row.pipeline)
        op.execute(_ENTRIES.update().where(*whole).values(failure_group=group))
