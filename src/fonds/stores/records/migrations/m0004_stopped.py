"""PDFs that cost a reader its life are remembered, and for how long."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `stopped`."""
    op.create_table(
        "stopped",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("extractor", TEXT, primary_key=True),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("stopped", TIME, nullable=False),
        sa.Column("expires", TIME, nullable=False),
    )
