"""Who wants a domain another process asks, which processes ask an address, and which began a poll."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

TIME = sa.DateTime(timezone=True)
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make `address_uses`, and `wanted_by` and `wanted_at` of `paces`, `claimed_by` of `sources`."""
    op.add_column("paces", sa.Column("wanted_by", TEXT))
    op.add_column("paces", sa.Column("wanted_at", TIME))
    op.add_column("sources", sa.Column("claimed_by", TEXT))
    op.create_table(
        "address_uses",
        sa.Column("address", TEXT, primary_key=True),
        sa.Column("used_by", TEXT, primary_key=True),
        sa.Column("updated", TIME, nullable=False),
    )
