"""A message that comes back says when; links that sources listed and that were refused are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0024"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
_WORDS = ("url", "source_url", "pipeline", "input_id", "reason", "detail")


def upgrade() -> None:
    """Add the time of the next attempt, which what waits already has once it is tried again; make the table
    of refused links."""
    op.add_column("dispositions", sa.Column("next_attempt_at", TIME))
    op.create_table(
        "refused_links",
        sa.Column("url_sha1", TEXT, primary_key=True, nullable=False),
        sa.Column("source_id", TEXT, primary_key=True, nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in _WORDS),
        sa.Column("refused_at", TIME, nullable=False),
    )
