"""What sources brought by day, what of it was refused, and since when they list nothing."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the columns; the days of polls before are not counted."""
    counted = sa.Column("silent_polls", sa.BigInteger, nullable=False, server_default="0")
    op.add_column("sources", counted)
    op.add_column("sources", sa.Column("silent_since", TIME))
    op.add_column("sources", sa.Column("refused_tally", JSON))
    op.add_column("sources", sa.Column("days", JSON))
