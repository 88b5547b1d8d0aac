"""Sources keep the backfill somebody asked for, and how it stands."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0023"
down_revision = "0022"

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Nobody has asked for one yet."""
    op.add_column("sources", sa.Column("backfill", JSON))
    changes = sa.Column("backfill_changes", sa.BigInteger, nullable=False, server_default="0")
    op.add_column("sources", changes)
