"""What entered, how each message ended at each step, and what became of each capture over all."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)

# Both find the disposition that decided: none while anything is still to come or to be tried again,
# unless something was quarantined; else of the heaviest verdict the latest.
#
# SQLite has no lateral joins: the step that decided is the tail of the largest of texts made of weight,
# time (26 characters) and step, so that one pass over the few rows of a capture finds it.
OUTCOMES_SQLITE = """
CREATE VIEW outcomes AS
SELECT c.capture_id, c.input_id, c.url, c.datetime, c.place,
    (SELECT k.sha1hex FROM dispositions AS k
        WHERE k.capture_id = c.capture_id AND k.sha1hex IS NOT NULL
        ORDER BY k.step LIMIT 1) AS sha1hex,
    coalesce(d.verdict, 'pending') AS outcome,
    d.reason, d.step, d.detail, d.settled_at
FROM captures AS c
LEFT JOIN dispositions AS d ON d.capture_id = c.capture_id AND d.step = (
    SELECT CASE
        WHEN max(s.verdict = 'quarantined') = 1
            OR (max(s.verdict = 'retried') = 0 AND count(*) >= 1 + sum(s.emitted_count))
        THEN substr(
            max(CASE s.verdict WHEN 'quarantined' THEN '2' WHEN 'dropped' THEN '1' ELSE '0' END
                || s.settled_at || s.step), 28)
        END
    FROM dispositions AS s
    WHERE s.capture_id = c.capture_id
)
"""

# PostgreSQL goes through captures in the order of their keys and stops when a page is full, which it
# would not do with the join above. Asked for max(sha1hex) it would walk the index of all hashes backwards
# for each capture (measured: 9 minutes for 100,000), so the first one by step is taken.
OUTCOMES_POSTGRESQL = """
CREATE VIEW outcomes AS
SELECT c.capture_id, c.input_id, c.url, c.datetime, c.place,
    (SELECT k.sha1hex FROM dispositions AS k
        WHERE k.capture_id = c.capture_id AND k.sha1hex IS NOT NULL
        ORDER BY k.step LIMIT 1) AS sha1hex,
    coalesce(d.verdict, 'pending') AS outcome,
    d.reason, d.step, d.detail, d.settled_at
FROM captures AS c
LEFT JOIN LATERAL (
    SELECT s.verdict, s.reason, s.step, s.detail, s.settled_at,
        count(*) OVER () AS settled, sum(s.emitted_count) OVER () AS emitted,
        bool_or(s.verdict = 'retried') OVER () AS retried
    FROM dispositions AS s
    WHERE s.capture_id = c.capture_id
    ORDER BY CASE s.verdict WHEN 'quarantined' THEN 2 WHEN 'dropped' THEN 1 ELSE 0 END DESC,
        s.settled_at DESC, s.step DESC
    LIMIT 1
) AS d ON d.verdict = 'quarantined' OR (NOT d.retried AND d.settled >= 1 + d.emitted)
"""


def upgrade() -> None:
    """Make `inputs`, `captures`, `dispositions` and the view `outcomes`."""
    op.create_table(
        "inputs",
        sa.Column("input_id", TEXT, primary_key=True),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("captures", sa.BigInteger, nullable=False),
        sa.Column("tally", JSON, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
        sa.Column("error", TEXT),
        sa.Column("updated", TIME, nullable=False),
    )
    op.create_index("inputs_updated", "inputs", ["updated"])
    op.create_table(
        "captures",
        sa.Column("capture_id", TEXT, primary_key=True),
        sa.Column("input_id", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("datetime", TEXT, sa.CheckConstraint("length(datetime) = 14"), nullable=False),
        sa.Column("place", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("entered_at", TIME, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("captures_input_id", "captures", ["input_id"])
    _make_dispositions()
    op.execute(OUTCOMES_SQLITE if op.get_bind().dialect.name == "sqlite" else OUTCOMES_POSTGRESQL)


def _make_dispositions() -> None:
    op.create_table(
        "dispositions",
        sa.Column("capture_id", TEXT, nullable=False),
        sa.Column("step", TEXT, nullable=False),
        sa.Column("verdict", TEXT, nullable=False),
        sa.Column("reason", TEXT),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("sha1hex", TEXT),
        sa.Column("emitted", JSON, nullable=False),
        sa.Column(
            "emitted_count", sa.Integer, sa.CheckConstraint("emitted_count >= 0"), nullable=False
        ),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("settled_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("capture_id", "step"),
        sqlite_with_rowid=False,
    )
    op.create_index("dispositions_reason_step", "dispositions", ["reason", "step"])
    op.create_index("dispositions_sha1hex", "dispositions", ["sha1hex"])
