"""How hosts answered when they were asked for their tdmrep.json; which captures Fonds fetched."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make `tdmrep_answers`, and `is_fetched` of `host_captures`, which had others' captures alone so far."""
    fetched = sa.Column("is_fetched", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("host_captures", fetched)
    op.create_table(
        "tdmrep_answers",
        sa.Column("origin", TEXT, primary_key=True, nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", TEXT, nullable=False),
        sa.Column("capture_id", TEXT),
    )
