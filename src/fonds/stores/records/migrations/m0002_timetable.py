"""What recurs, when it is due and who does it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `timetable`."""
    op.create_table(
        "timetable",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("pipeline", TEXT, nullable=False),
        sa.Column("every_s", sa.BigInteger, sa.CheckConstraint("every_s >= 1"), nullable=False),
        sa.Column("daily_at", TEXT, nullable=False),
        sa.Column("next_due", TIME, nullable=False),
        sa.Column("claimed_by", TEXT),
        sa.Column("claimed_until", TIME),
        sa.Column("beats", sa.BigInteger, nullable=False),
        sa.Column("last_started", TIME),
        sa.Column("last_finished", TIME),
        sa.Column("last_error", TEXT),
        sa.Column("failures", sa.BigInteger, nullable=False),
        sa.Column("runs", sa.BigInteger, nullable=False),
    )
