"""Files, captures in WARCs, and what was learned from PDFs and pages."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `file_meta`, `cdx`, `pdf_meta` and `story_meta`."""
    op.create_table(
        "file_meta",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("sha256hex", TEXT, sa.CheckConstraint("length(sha256hex) = 64"), nullable=False),
        sa.Column("md5hex", TEXT, sa.CheckConstraint("length(md5hex) = 32"), nullable=False),
        sa.Column(
            "size_bytes", sa.BigInteger, sa.CheckConstraint("size_bytes >= 0"), nullable=False
        ),
        sa.Column("mimetype", TEXT, sa.CheckConstraint("length(mimetype) >= 1"), nullable=False),
        sa.Column("capture_id", TEXT, nullable=False),
        sa.Column("row_created", TIME, nullable=False),
    )
    _make_cdx()
    _make_pdf_meta()
    _make_story_meta()


def _make_cdx() -> None:
    op.create_table(
        "cdx",
        sa.Column("capture_id", TEXT, nullable=False),
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), nullable=False),
        sa.Column("url", TEXT, sa.CheckConstraint("length(url) >= 1"), nullable=False),
        sa.Column("surt", TEXT, nullable=False),
        sa.Column(
            "surt_sha1hex", TEXT, sa.CheckConstraint("length(surt_sha1hex) = 40"), nullable=False
        ),
        sa.Column("datetime", TEXT, sa.CheckConstraint("length(datetime) = 14"), nullable=False),
        sa.Column("mimetype", TEXT, nullable=False),
        sa.Column("warc_path", TEXT, sa.CheckConstraint("length(warc_path) >= 1"), nullable=False),
        sa.Column("warc_csize", sa.BigInteger),
        sa.Column("warc_offset", sa.BigInteger, nullable=False),
        sa.Column("row_created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("warc_path", "warc_offset"),
    )
    op.create_index("cdx_sha1hex", "cdx", ["sha1hex"])
    op.create_index("cdx_surt_sha1hex", "cdx", ["surt_sha1hex"])
    op.create_index("cdx_capture_id", "cdx", ["capture_id"])


def _make_pdf_meta() -> None:
    op.create_table(
        "pdf_meta",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("updated", TIME, nullable=False, server_default=sa.func.now()),
        sa.Column("status", TEXT, sa.CheckConstraint("length(status) >= 1"), nullable=False),
        sa.Column("has_page0_thumbnail", sa.Boolean, nullable=False),
        sa.Column("page_count", sa.Integer, sa.CheckConstraint("page_count >= 0")),
        sa.Column("word_count", sa.Integer, sa.CheckConstraint("word_count >= 0")),
        sa.Column("page0_height", sa.REAL, sa.CheckConstraint("page0_height >= 0")),
        sa.Column("page0_width", sa.REAL, sa.CheckConstraint("page0_width >= 0")),
        sa.Column("permanent_id", TEXT, sa.CheckConstraint("length(permanent_id) >= 1")),
        sa.Column("pdf_created", TIME),
        sa.Column("pdf_version", TEXT, sa.CheckConstraint("length(pdf_version) >= 1")),
        sa.Column("metadata", JSON),
        sa.Column("extractor", TEXT, nullable=False),
        sa.Column("error_msg", TEXT),
    )


def _make_story_meta() -> None:
    op.create_table(
        "story_meta",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("story_id", TEXT, nullable=False),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("status", TEXT, sa.CheckConstraint("length(status) >= 1"), nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("canonical_domain", TEXT, nullable=False),
        sa.Column("publication_date", TEXT),
        sa.Column("language", TEXT),
        sa.Column("article_title", TEXT),
        sa.Column("word_count", sa.Integer, sa.CheckConstraint("word_count >= 0"), nullable=False),
        sa.Column("story", JSON, nullable=False),
        sa.Column("extractor", TEXT, nullable=False),
    )
    op.create_index("story_meta_story_id", "story_meta", ["story_id"])
