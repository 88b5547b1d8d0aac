"""What papers say of themselves: read by GROBID, and read here."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON = sa.JSON().with_variant(sa.dialects.postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Make `grobid` and `bibliography`; `fonds catchup grobid` and `fonds catchup pdf` fill them for PDFs
    that are here already."""
    _make_grobid()
    _make_bibliography()
    _make_jats()


def _make_grobid() -> None:
    op.create_table(
        "grobid",
        sa.Column(
            "sha1hex",
            TEXT,
            sa.CheckConstraint("length(sha1hex) = 40"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
        sa.Column("grobid_version", TEXT),
        sa.Column("status_code", sa.BigInteger, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("fatcat_release", TEXT),
        sa.Column("metadata", JSON),
        sa.Column("quality", TEXT),
        sa.Column("extractor", TEXT, nullable=False),
        sa.Column("error_msg", TEXT),
    )


def _make_bibliography() -> None:
    op.create_table(
        "bibliography",
        sa.Column(
            "sha1hex",
            TEXT,
            sa.CheckConstraint("length(sha1hex) = 40"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("quality", TEXT),
        sa.Column("title", TEXT),
        sa.Column("doi", TEXT),
        sa.Column("arxiv_id", TEXT),
        sa.Column("reference_count", sa.BigInteger, nullable=False),
        sa.Column("metadata", JSON),
        sa.Column("extractor", TEXT, nullable=False),
    )


def _make_jats() -> None:
    op.create_table(
        "jats",
        sa.Column(
            "sha1hex",
            TEXT,
            sa.CheckConstraint("length(sha1hex) = 40"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("quality", TEXT),
        sa.Column("title", TEXT),
        sa.Column("doi", TEXT),
        sa.Column("published", TEXT),
        sa.Column("language", TEXT),
        sa.Column("word_count", sa.BigInteger),
        sa.Column("reference_count", sa.BigInteger, nullable=False),
        sa.Column("metadata", JSON),
        sa.Column("error_msg", TEXT),
        sa.Column("extractor", TEXT, nullable=False),
    )
