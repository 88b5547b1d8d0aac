"""Files, captures in WARCs, what was learned from PDFs and pages, and the accounting."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make all tables."""
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
    op.create_index("file_meta_mimetype", "file_meta", ["mimetype", "row_created"])
    op.create_index("file_meta_row_created", "file_meta", ["row_created"])
    _make_cdx()
    _make_pdf_meta()
    _make_stopped()
    _make_story_meta()
    _make_accounting()


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


def _make_stopped() -> None:
    op.create_table(
        "stopped",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("extractor", TEXT, primary_key=True),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("stopped", TIME, nullable=False),
        sa.Column("expires", TIME, nullable=False),
    )


def _make_story_meta() -> None:
    op.create_table(
        "story_meta",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("story_id", TEXT, nullable=False),
        sa.Column("captured", TEXT, sa.CheckConstraint("length(captured) = 14"), nullable=False),
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
    op.create_index("story_meta_story_id", "story_meta", ["story_id", "captured", "sha1hex"])


def _make_accounting() -> None:
    """Make what says what entered and how it ended."""
    _make_inputs()
    _make_entries()
    _make_dispositions()
    _make_tallies()
    _make_fetched()
    _make_paces()
    _make_sources()


def _make_inputs() -> None:
    op.create_table(
        "inputs",
        sa.Column("input_id", TEXT, primary_key=True),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("entries", sa.BigInteger, nullable=False),
        sa.Column("tally", JSON, nullable=False),
        sa.Column("tally_count", sa.BigInteger, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
        sa.Column("error", TEXT),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("pipeline", TEXT, primary_key=True),
    )
    op.create_index("inputs_updated", "inputs", ["updated"])
    op.create_index("inputs_tally_count", "inputs", ["tally_count"])
    op.create_index("inputs_error", "inputs", ["error"])


def _make_entries() -> None:
    op.create_table(
        "entries",
        sa.Column("entry_id", TEXT, primary_key=True),
        sa.Column("pipeline", TEXT, primary_key=True),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("input_id", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("seen", TEXT),
        sa.Column("place", TEXT),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("entered_at", TIME, nullable=False),
        sa.Column("outcome", TEXT, nullable=False),
        sa.Column(
            "open_count", sa.BigInteger, sa.CheckConstraint("open_count >= 0"), nullable=False
        ),
        sa.Column("weight", sa.Integer, nullable=False),
        sa.Column("reason", TEXT),
        sa.Column("step", TEXT),
        sa.Column("message_id", TEXT),
        sa.Column("about", TEXT),
        sa.Column("detail", TEXT),
        sa.Column("settled_at", TIME),
        sqlite_with_rowid=False,
    )
    op.create_index("entries_input_id", "entries", ["input_id"])
    op.create_index("entries_url", "entries", ["url"])
    op.create_index("entries_outcome", "entries", ["pipeline", "outcome", "settled_at"])
    op.create_index(
        "entries_reason", "entries", ["pipeline", "outcome", "reason", "step", "settled_at"]
    )


def _make_dispositions() -> None:
    op.create_table(
        "dispositions",
        sa.Column("message_id", TEXT, primary_key=True),
        sa.Column("pipeline", TEXT, primary_key=True),
        sa.Column("step", TEXT, primary_key=True),
        sa.Column("entry_id", TEXT, nullable=False),
        sa.Column("parent_id", TEXT),
        sa.Column("parent_step", TEXT),
        sa.Column("verdict", TEXT, nullable=False),
        sa.Column("is_open", sa.Boolean, nullable=False),
        sa.Column("reason", TEXT),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("about", TEXT),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("promised_at", TIME, nullable=False),
        sa.Column("settled_at", TIME),
        sqlite_with_rowid=False,
    )
    op.create_index("dispositions_entry_id", "dispositions", ["entry_id"])
    op.create_index("dispositions_about", "dispositions", ["about"])
    op.create_index("dispositions_reason_step", "dispositions", ["reason", "step"])
    op.create_index(
        "dispositions_open",
        "dispositions",
        ["pipeline", "step"],
        sqlite_where=sa.text("is_open"),
        postgresql_where=sa.text("is_open"),
    )


def _make_tallies() -> None:
    op.create_table(
        "tallies",
        sa.Column("counted", TEXT, primary_key=True),
        sa.Column("pipeline", TEXT, primary_key=True),
        sa.Column("first", TEXT, primary_key=True),
        sa.Column("second", TEXT, primary_key=True),
        sa.Column("third", TEXT, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )


def _make_fetched() -> None:
    op.create_table(
        "fetched",
        sa.Column("capture_id", TEXT, primary_key=True),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("final_url", TEXT, nullable=False),
        sa.Column("fetched", TIME, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("mime", TEXT),
        sa.Column("address", TEXT, nullable=False),
        sa.Column("tls", TEXT),
        sa.Column("tls_check", TEXT, nullable=False),
        sa.Column("redirects", sa.Integer, nullable=False),
        sa.Column("in_spool", sa.Boolean, nullable=False),
        sa.Column("etag", TEXT),
        sa.Column("last_modified", TEXT),
        sa.Column("content_usage", TEXT),
        sa.Column("x_robots_tag", TEXT),
        sa.Column("tdm_reservation", TEXT),
        sa.Column("tdm_policy", TEXT),
    )
    op.create_index("fetched_url", "fetched", ["url", "fetched"])
    op.create_index(
        "fetched_in_spool",
        "fetched",
        ["in_spool"],
        sqlite_where=sa.text("in_spool"),
        postgresql_where=sa.text("in_spool"),
    )


def _make_paces() -> None:
    op.create_table(
        "paces",
        sa.Column("domain", TEXT, primary_key=True),
        sa.Column("claimed_by", TEXT),
        sa.Column("beats", sa.BigInteger, nullable=False),
        sa.Column("paces", JSON, nullable=False),
        sa.Column("updated", TIME, nullable=False),
    )


def _make_sources() -> None:
    op.create_table(
        "sources",
        sa.Column("source_id", TEXT, primary_key=True),
        *(
            sa.Column(name, TEXT, nullable=False)
            for name in ("url", "kind", "state", "title", "folder", "collection", "pipeline", "tls")
        ),
        sa.Column("added_at", TIME, nullable=False),
        sa.Column("next_poll", TIME, nullable=False),
        sa.Column("polls", sa.BigInteger, nullable=False),
        sa.Column("polling", sa.Boolean, nullable=False),
        sa.Column("claims", sa.BigInteger, nullable=False),
        sa.Column("etag", TEXT),
        sa.Column("last_modified", TEXT),
        sa.Column("digest", TEXT),
        sa.Column("mark", sa.BigInteger, nullable=False),
        sa.Column("rate_day", sa.REAL),
        sa.Column("listed", sa.BigInteger, nullable=False),
        sa.Column("links", sa.BigInteger, nullable=False),
        sa.Column("last_polled", TIME),
        sa.Column("last_well", TIME),
        sa.Column("last_new", TIME),
        sa.Column("failures", sa.BigInteger, nullable=False),
        sa.Column("status", sa.BigInteger),
        sa.Column("error", TEXT),
        sa.Column("moved_from", TEXT),
        sa.Column("refused", JSON),
        sa.Column("hints", JSON),
    )
