"""Which captures are being archived, and by whom."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make `archiving`."""
    op.create_table(
        "archiving",
        sa.Column("capture_id", TEXT, primary_key=True),
        sa.Column("claimed_by", TEXT, nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
    )
