"""Who is at work, and when each gave its last sign of life."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `workers`."""
    op.create_table(
        "workers",
        sa.Column("worker", TEXT, primary_key=True),
        sa.Column("step", TEXT, primary_key=True),
        sa.Column("pipeline", TEXT, nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("seen", TIME, nullable=False),
        sa.Column("every_s", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger, nullable=False),
        sa.Column("last_ended", TIME),
        sa.Column("trouble", TEXT),
    )
