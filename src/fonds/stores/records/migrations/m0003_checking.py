"""What the audit holds the stores against, what its deep part found, and how far that got."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `fixity`, `faults` and `deep_audits`."""
    op.create_table(
        "fixity",
        sa.Column(
            "sha1hex",
            TEXT,
            sa.CheckConstraint("length(sha1hex) = 40"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("part", TEXT, primary_key=True),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("sha256hex", TEXT, nullable=False),
    )
    op.create_table(
        "faults",
        sa.Column("subject", TEXT, primary_key=True),
        sa.Column("told", TEXT, primary_key=True),
        sa.Column("check", TEXT, nullable=False),
        sa.Column("found_at", TIME, nullable=False),
    )
    op.create_table(
        "deep_audits",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("last_key", TEXT, nullable=False),
        sa.Column("checked", sa.BigInteger, nullable=False),
        sa.Column("found", sa.BigInteger, nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
    )
