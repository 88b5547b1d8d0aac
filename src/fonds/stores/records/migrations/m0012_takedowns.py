"""What was taken down, and is taken in no more."""

import sqlalchemy as sa
from alembic import op

from fonds.stores.records.schema.column_types import CleanJson

revision = "0012"
down_revision = "0011"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `takedowns`."""
    op.create_table(
        "takedowns",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("reason_class", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("made_by", TEXT, nullable=False),
        sa.Column("row_created", TIME, nullable=False),
        sa.Column("rest", CleanJson, nullable=False),
        sa.Column("finished", TIME),
    )
