"""Links are counted by source; sources say how they stand, since when they fail, and if they are muted."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
_LINKS = """
INSERT INTO tallies
SELECT 'entries_by_source', pipeline, substr(input_id, 1, 12), outcome,
       CASE WHEN outcome = 'pending' THEN '' ELSE coalesce(step, '') || ' ' || coalesce(reason, '') END,
       count(*)
FROM entries WHERE kind = 'link' AND length(input_id) >= 19 AND substr(input_id, 13, 1) = '.'
GROUP BY 2, 3, 4, 5
"""
_STANDING = """
UPDATE sources SET standing = CASE
  WHEN failures >= 10 AND {since_well} >= 14 THEN 'dead'
  WHEN failures > 0 THEN 'failing'
  WHEN last_well IS NULL THEN 'waiting'
  WHEN silent_polls > 0 THEN 'silent'
  WHEN {since_new} >= 90 THEN 'quiet'
  ELSE 'active' END
"""


def upgrade() -> None:
    """Count what is there, and judge each source by when it was polled last. Since when one fails that does
    so already is not known."""
    op.execute(_LINKS)
    op.add_column("sources", sa.Column("standing", TEXT, nullable=False, server_default="waiting"))
    for name in ("failing_since", "muted_at", "muted_until"):
        op.add_column("sources", sa.Column(name, TIME))
    op.add_column("sources", sa.Column("mute_note", TEXT, nullable=False, server_default=""))
    for name in ("form", "form_before"):
        op.add_column("sources", sa.Column(name, TEXT))
    op.add_column("sources", sa.Column("form_changed", TIME))
    well, new = (
        _days_since("coalesce(last_well, added_at)"),
        _days_since("coalesce(last_new, added_at)"),
    )
    op.execute(_STANDING.format(since_well=well, since_new=new))


def _days_since(moment: str) -> str:
    """From a time until the last poll, in days."""
    if op.get_bind().dialect.name == "sqlite":
        return f"(julianday(last_polled) - julianday({moment}))"
    return f"(extract(epoch FROM last_polled - {moment}) / 86400)"
