"""What one process alone may do at a time: changing a collection, building a clustering of it."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make `claim`."""
    op.create_table(
        "claim",
        sa.Column("name", TEXT, primary_key=True, nullable=False),
        sa.Column("claimed_by", TEXT),
        sa.Column("beats", sa.BigInteger, nullable=False),
    )
