"""Which works papers are, and which they cite."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make `matches` and `citations`; `fonds match` fills them for papers that are here already."""
    op.create_table(
        "matches",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("work", TEXT),
        sa.Column("doi", TEXT),
        sa.Column("evidence", TEXT),
        sa.Column("reference_count", sa.BigInteger, nullable=False),
        sa.Column("extractor", TEXT, nullable=False),
    )
    op.create_table(
        "citations",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reference", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("work", TEXT),
        sa.Column("doi", TEXT),
        sa.Column("told_doi", TEXT),
        sa.Column("score", sa.REAL),
    )
    op.create_index("citations_work", "citations", ["work", "sha1hex", "number"])
    op.create_index("citations_doi", "citations", ["doi", "sha1hex", "number"])
