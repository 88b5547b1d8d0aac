"""What people note about groups of failures, and whom these are left to."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
_WORDS = ("step", "reason", "note", "owner", "noted_by")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "failure_notes",
        sa.Column("pipeline", TEXT, primary_key=True, nullable=False),
        sa.Column("failure_group", TEXT, primary_key=True, nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in _WORDS),
        sa.Column("noted_at", TIME, nullable=False),
    )
