"""Captures found by the order of their SURTs, and with the HTTP status they were answered with."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """`surt_key` takes the place of `surt_sha1hex`; what was noted before has no status."""
    op.add_column("cdx", sa.Column("surt_key", TEXT, nullable=False, server_default=""))
    op.add_column("cdx", sa.Column("status", sa.Integer))
    op.execute(
        "UPDATE cdx SET surt_key = CASE WHEN length(surt) <= 400 THEN surt"
        " ELSE substr(surt, 1, 359) || '~' || surt_sha1hex END"
    )
    op.drop_index("cdx_surt_sha1hex", "cdx")
    op.drop_column("cdx", "surt_sha1hex")
    op.create_index("cdx_surt_key", "cdx", ["surt_key", "datetime"])
