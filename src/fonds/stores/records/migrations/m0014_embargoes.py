"""What nobody is shown until a date."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `embargoes`."""
    op.create_table(
        "embargoes",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("reason_class", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("until", TIME, nullable=False),
        sa.Column("made_by", TEXT, nullable=False),
        sa.Column("row_created", TIME, nullable=False),
        sa.Column("lifting", TIME),
        sa.Column("ended", TIME),
    )
