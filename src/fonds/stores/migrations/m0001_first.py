"""First migration of the SQL database: create all tables as of the first release."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
COMPRESSED_JSON = JSON.with_variant(sa.LargeBinary(), "sqlite")
TIME = sa.DateTime(timezone=True)
SHORT_TIME = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")
BYTES = sa.LargeBinary


def upgrade() -> None:
    """Create all tables and indexes of the first release."""
    _create_files()
    _create_papers()
    _create_stories()
    _create_fetching()
    _create_accounting()
    _create_failures()
    _create_rights()
    _create_access()
    _create_work()
    if op.get_bind().dialect.name == "sqlite":
        _write_statistics()


def _create_files() -> None:
    """Create tables of files, their captures, and the WARCs that contain them."""
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
    op.create_index("file_meta_md5hex", "file_meta", ["md5hex"])
    op.create_index("file_meta_mimetype", "file_meta", ["mimetype", "row_created"])
    op.create_index("file_meta_row_created", "file_meta", ["row_created"])
    op.create_index("file_meta_sha256hex", "file_meta", ["sha256hex"])
    op.create_table(
        "cdx",
        sa.Column("capture_id", TEXT, nullable=False),
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), nullable=False),
        sa.Column("url", TEXT, sa.CheckConstraint("length(url) >= 1"), nullable=False),
        sa.Column("surt", TEXT, nullable=False),
        sa.Column("surt_key", TEXT, nullable=False, server_default=""),
        sa.Column("datetime", TEXT, sa.CheckConstraint("length(datetime) = 14"), nullable=False),
        sa.Column("mimetype", TEXT, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column(
            "warc_path", TEXT, sa.CheckConstraint("length(warc_path) >= 1"), primary_key=True
        ),
        sa.Column("warc_csize", sa.BigInteger),
        sa.Column("warc_offset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("row_created", TIME, nullable=False),
    )
    op.create_index("cdx_capture_id", "cdx", ["capture_id"])
    op.create_index("cdx_sha1hex", "cdx", ["sha1hex"])
    op.create_index("cdx_surt_key", "cdx", ["surt_key", "datetime"])
    op.create_table(
        "warc_files",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("path", TEXT, primary_key=True),
        sa.Column("head_sha1", TEXT, nullable=False),
        sa.Column("row_created", TIME, nullable=False),
        sa.Column("file_name", TEXT, nullable=False, server_default=""),
    )
    op.create_index("warc_files_file_name", "warc_files", ["file_name", "name"])
    op.create_index("warc_files_path", "warc_files", ["path"])
    op.create_table(
        "crawler_counts",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "fixity",
        sa.Column("sha1hex", BYTES, sa.CheckConstraint("length(sha1hex) = 20"), primary_key=True),
        sa.Column("part", TEXT, primary_key=True),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("sha256hex", BYTES, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_papers() -> None:
    """Create tables of PDFs, articles, their references and their matches in the catalogue."""
    op.create_table(
        "pdf_meta",
        sa.Column("sha1hex", TEXT, _bytes("sha1hex", "= 40"), primary_key=True),
        sa.Column("updated", TIME, nullable=False, server_default=sa.func.now()),
        sa.Column("status", TEXT, _bytes("status", ">= 1"), nullable=False),
        sa.Column("has_page0_thumbnail", sa.Boolean, nullable=False),
        sa.Column("page_count", sa.Integer, sa.CheckConstraint("page_count >= 0")),
        sa.Column("word_count", sa.Integer, sa.CheckConstraint("word_count >= 0")),
        sa.Column("page0_height", sa.REAL, sa.CheckConstraint("page0_height >= 0")),
        sa.Column("page0_width", sa.REAL, sa.CheckConstraint("page0_width >= 0")),
        sa.Column("permanent_id", TEXT, _bytes("permanent_id", ">= 1")),
        sa.Column("pdf_created", TIME),
        sa.Column("pdf_version", TEXT, _bytes("pdf_version", ">= 1")),
        sa.Column("metadata", JSON),
        sa.Column("extractor", TEXT, nullable=False, server_default=""),
        sa.Column("error_msg", TEXT),
    )
    op.create_index("pdf_meta_updated", "pdf_meta", ["updated", "sha1hex"])
    op.create_table(
        "stopped",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("extractor", TEXT, primary_key=True),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("stopped", TIME, nullable=False),
        sa.Column("expires", TIME, nullable=False),
    )
    op.create_table(
        "grobid",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("grobid_version", TEXT),
        sa.Column("status_code", sa.BigInteger, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("fatcat_release", TEXT),
        sa.Column("metadata", JSON),
        sa.Column("quality", TEXT),
        sa.Column("extractor", TEXT, nullable=False),
        sa.Column("error_msg", TEXT),
    )
    op.create_table(
        "jats",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("updated", TIME, nullable=False),
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
    op.create_table(
        "bibliography",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("quality", TEXT),
        sa.Column("title", TEXT),
        sa.Column("doi", TEXT),
        sa.Column("arxiv_id", TEXT),
        sa.Column("reference_count", sa.BigInteger, nullable=False),
        sa.Column("metadata", JSON),
        sa.Column("extractor", TEXT, nullable=False),
    )
    op.create_table(
        "matches",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("updated", TIME, nullable=False),
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
        sa.Column("updated", TIME, nullable=False),
        sa.Column("reference", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("work", TEXT),
        sa.Column("doi", TEXT),
        sa.Column("printed_doi", TEXT),
        sa.Column("score", sa.REAL),
    )
    op.create_index("citations_doi", "citations", ["doi", "sha1hex", "number"])
    op.create_index("citations_work", "citations", ["work", "sha1hex", "number"])


def _create_stories() -> None:
    """Create tables of stories, and of the sketches that find near-duplicates."""
    op.create_table(
        "story_meta",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("story_id", TEXT, nullable=False),
        sa.Column("captured", TEXT, sa.CheckConstraint("length(captured) = 14"), nullable=False),
        sa.Column("updated", SHORT_TIME, nullable=False),
        sa.Column("status", TEXT, sa.CheckConstraint("length(status) >= 1"), nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("canonical_domain", TEXT, nullable=False),
        sa.Column("publication_date", TEXT),
        sa.Column("language", TEXT),
        sa.Column("article_title", TEXT),
        sa.Column("word_count", sa.Integer, sa.CheckConstraint("word_count >= 0"), nullable=False),
        sa.Column("story", COMPRESSED_JSON, nullable=False),
        sa.Column("extractor", TEXT, nullable=False),
    )
    op.create_index("story_meta_captured", "story_meta", ["captured", "sha1hex"])
    op.create_index("story_meta_site", "story_meta", ["canonical_domain", "captured", "sha1hex"])
    op.create_index("story_meta_story_id", "story_meta", ["story_id", "captured", "sha1hex"])
    op.create_index("story_meta_updated", "story_meta", ["updated", "sha1hex"])
    op.create_table(
        "text_sketch",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("story_id", TEXT, nullable=False),
        sa.Column("captured", TEXT, nullable=False),
        sa.Column("updated", SHORT_TIME, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("text_sha256hex", BYTES, nullable=False),
        sa.Column("signature", BYTES, nullable=False),
        sa.Column("extractor", TEXT, nullable=False),
    )
    op.create_index("text_sketch_story_id", "text_sketch", ["story_id", "captured", "sha1hex"])
    op.create_table(
        "text_band",
        sa.Column("band", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("sha1hex", BYTES, sa.CheckConstraint("length(sha1hex) = 20"), primary_key=True),
        sqlite_with_rowid=False,
    )


def _create_fetching() -> None:
    """Create tables of followed sources, fetched pages, and rate limits of domains."""
    op.create_table(
        "sources",
        sa.Column("source_id", TEXT, primary_key=True),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("folder", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("pipeline", TEXT, nullable=False),
        sa.Column("tls", TEXT, nullable=False),
        sa.Column("added_at", TIME, nullable=False),
        sa.Column("next_poll", TIME, nullable=False),
        sa.Column("polls", sa.BigInteger, nullable=False),
        sa.Column("polling", sa.Boolean, nullable=False),
        sa.Column("lease_holder", TEXT),
        sa.Column("lease_version", sa.BigInteger, nullable=False),
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
        sa.Column("silent_polls", sa.BigInteger, nullable=False),
        sa.Column("silent_since", TIME),
        sa.Column("refused_tally", JSON),
        sa.Column("days", JSON),
        sa.Column("health", TEXT, nullable=False),
        sa.Column("failing_since", TIME),
        sa.Column("muted_at", TIME),
        sa.Column("muted_until", TIME),
        sa.Column("mute_note", TEXT, nullable=False),
        sa.Column("form", TEXT),
        sa.Column("form_before", TEXT),
        sa.Column("form_changed", TIME),
        sa.Column("backfill", JSON),
        sa.Column("backfill_changes", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "refused_links",
        sa.Column("url_sha1", TEXT, primary_key=True),
        sa.Column("source_id", TEXT, primary_key=True),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("source_url", TEXT, nullable=False),
        sa.Column("pipeline", TEXT, nullable=False),
        sa.Column("input_id", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("refused_at", TIME, nullable=False),
    )
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
    )
    op.create_index(
        "fetched_in_spool",
        "fetched",
        ["in_spool"],
        sqlite_where=sa.text("in_spool"),
        postgresql_where=sa.text("in_spool"),
    )
    op.create_index("fetched_url", "fetched", ["url", "fetched"])
    op.create_table(
        "paces",
        sa.Column("domain", TEXT, primary_key=True),
        sa.Column("lease_holder", TEXT),
        sa.Column("lease_version", sa.BigInteger, nullable=False),
        sa.Column("paces", JSON, nullable=False),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("requested_by", TEXT),
        sa.Column("requested_at", TIME),
    )
    op.create_table(
        "address_uses",
        sa.Column("address", TEXT, primary_key=True),
        sa.Column("used_by", TEXT, primary_key=True),
        sa.Column("updated", TIME, nullable=False),
    )


def _create_accounting() -> None:
    """Create tables of inputs, entries and messages, with their counts."""
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
        sa.Column("checksum", sa.BigInteger, nullable=False),
    )
    op.create_index("inputs_error", "inputs", ["error"])
    op.create_index("inputs_tally_count", "inputs", ["tally_count"])
    op.create_index("inputs_updated", "inputs", ["updated"])
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
        sa.Column("entered_at", SHORT_TIME, nullable=False),
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
        sa.Column("settled_at", SHORT_TIME),
        sa.Column("failure_group", TEXT),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "entries_entered", "entries", ["pipeline", "outcome", "entered_at", "entry_id", "reason"]
    )
    op.create_index(
        "entries_failure_group",
        "entries",
        ["failure_group", "pipeline", "settled_at"],
        sqlite_where=sa.text("failure_group IS NOT NULL"),
        postgresql_where=sa.text("failure_group IS NOT NULL"),
    )
    op.create_index("entries_input_id", "entries", ["input_id"])
    op.create_index("entries_outcome", "entries", ["pipeline", "outcome", "settled_at", "entry_id"])
    op.create_index(
        "entries_reason",
        "entries",
        ["pipeline", "outcome", "reason", "step", "settled_at", "entry_id"],
    )
    op.create_index("entries_url", "entries", ["url", "pipeline"])
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
        sa.Column("promised_at", SHORT_TIME, nullable=False),
        sa.Column("settled_at", SHORT_TIME),
        sa.Column("next_attempt_at", SHORT_TIME),
        sqlite_with_rowid=False,
    )
    op.create_index("dispositions_about", "dispositions", ["about", "reason"])
    op.create_index("dispositions_entry_id", "dispositions", ["entry_id"])
    op.create_index(
        "dispositions_open",
        "dispositions",
        ["pipeline", "step", "promised_at", "message_id"],
        sqlite_where=sa.text("is_open = 1"),
        postgresql_where=sa.text("is_open"),
    )
    op.create_index(
        "dispositions_reason_step",
        "dispositions",
        ["reason", "step"],
        sqlite_where=sa.text("reason IS NOT NULL"),
        postgresql_where=sa.text("reason IS NOT NULL"),
    )
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
    op.create_index("tallies_second", "tallies", ["counted", "second"])


def _create_failures() -> None:
    """Create tables of decisions and notes about failures, and of audit findings."""
    op.create_table(
        "decisions",
        sa.Column("decision_id", TEXT, primary_key=True),
        sa.Column("act", TEXT, nullable=False),
        sa.Column("pipeline", TEXT, nullable=False),
        sa.Column("failure_group", TEXT),
        sa.Column("entry_id", TEXT),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("taken_by", TEXT, nullable=False),
        sa.Column("begun_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("count", sa.BigInteger),
    )
    op.create_table(
        "failure_notes",
        sa.Column("pipeline", TEXT, primary_key=True),
        sa.Column("failure_group", TEXT, primary_key=True),
        sa.Column("step", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("noted_by", TEXT, nullable=False),
        sa.Column("noted_at", TIME, nullable=False),
    )
    op.create_table(
        "faults",
        sa.Column("subject", TEXT, primary_key=True),
        sa.Column("message", TEXT, primary_key=True),
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


def _create_rights() -> None:
    """Create tables of statements about the use of captures, files and hosts."""
    op.create_table(
        "capture_rights",
        sa.Column("capture_id", TEXT, primary_key=True),
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), nullable=False),
        sa.Column("robots_url", TEXT),
        sa.Column("robots_answer", TEXT),
        sa.Column("robots_capture_id", TEXT),
        sa.Column("robots_rule", TEXT),
        sa.Column("stated", JSON, nullable=False),
        sa.Column("updated", TIME, nullable=False),
    )
    op.create_index("capture_rights_sha1hex", "capture_rights", ["sha1hex"])
    op.create_table(
        "file_rights",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("stated", JSON, nullable=False),
        sa.Column("extractor", TEXT, nullable=False),
        sa.Column("updated", TIME, nullable=False),
    )
    op.create_table(
        "host_files",
        sa.Column("origin", TEXT, primary_key=True),
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("captured_at", TIME, primary_key=True),
        sa.Column("capture_id", TEXT, primary_key=True),
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), nullable=False),
    )
    op.create_index("host_files_sha1hex", "host_files", ["sha1hex"])
    op.create_table(
        "host_captures",
        sa.Column("origin", TEXT, primary_key=True),
        sa.Column("captured_at", SHORT_TIME, primary_key=True),
        sa.Column("capture_id", TEXT, primary_key=True),
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("crawler", TEXT, nullable=False),
        sa.Column("is_fetched", sa.Boolean, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("host_captures_sha1hex", "host_captures", ["sha1hex"])
    op.create_table(
        "host_texts",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("text", TEXT, nullable=False),
    )
    op.create_table(
        "tdmrep_answers",
        sa.Column("origin", TEXT, primary_key=True),
        sa.Column("requested_at", TIME, nullable=False),
        sa.Column("answer", TEXT, nullable=False),
        sa.Column("capture_id", TEXT),
    )


def _create_access() -> None:
    """Create tables of access keys, browser sessions, administrative actions, takedowns and
    embargoes.
    """
    op.create_table(
        "access_keys",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("prefix", TEXT, nullable=False),
        sa.Column("sha256hex", TEXT, sa.CheckConstraint("length(sha256hex) = 64"), nullable=False),
        sa.Column("made_by", TEXT, nullable=False),
        sa.Column("row_created", TIME, nullable=False),
        sa.Column("until", TIME),
        sa.Column("last_used", TIME),
        sa.Column("revoked", TIME),
        sa.Column("revoked_by", TEXT),
        sa.Column("revoked_reason", TEXT),
    )
    op.create_index("access_keys_prefix", "access_keys", ["prefix"])
    op.create_table(
        "sessions",
        sa.Column("session_id", TEXT, primary_key=True),
        sa.Column("sha256hex", TEXT, sa.CheckConstraint("length(sha256hex) = 64"), nullable=False),
        sa.Column("key_name", TEXT, nullable=False),
        sa.Column("row_created", TIME, nullable=False),
        sa.Column("until", TIME, nullable=False),
    )
    op.create_index("sessions_key_name", "sessions", ["key_name", "until"])
    op.create_table(
        "acts",
        sa.Column("act_id", TEXT, primary_key=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("what", TEXT, nullable=False),
        sa.Column("outcome", sa.BigInteger),
    )
    op.create_index("acts_at", "acts", ["at", "act_id"])
    op.create_table(
        "takedowns",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("reason_class", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("made_by", TEXT, nullable=False),
        sa.Column("row_created", TIME, nullable=False),
        sa.Column("rest", JSON, nullable=False),
        sa.Column("finished", TIME),
    )
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


def _create_work() -> None:
    """Create tables of workers, the timetable, and leases."""
    op.create_table(
        "timetable",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("pipeline", TEXT, nullable=False),
        sa.Column("every_s", sa.BigInteger, sa.CheckConstraint("every_s >= 1"), nullable=False),
        sa.Column("daily_at", TEXT, nullable=False),
        sa.Column("next_due", TIME, nullable=False),
        sa.Column("lease_holder", TEXT),
        sa.Column("lease_version", sa.BigInteger, nullable=False),
        sa.Column("last_started", TIME),
        sa.Column("last_finished", TIME),
        sa.Column("last_error", TEXT),
        sa.Column("failures", sa.BigInteger, nullable=False),
        sa.Column("runs", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "workers",
        sa.Column("worker", TEXT, primary_key=True),
        sa.Column("step", TEXT, primary_key=True),
        sa.Column("pipeline", TEXT, nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("seen", TIME, nullable=False),
        sa.Column("every_s", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger, nullable=False),
        sa.Column("last_ended", TIME),
        sa.Column("trouble", TEXT),
    )
    op.create_table(
        "lease",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("lease_holder", TEXT),
        sa.Column("lease_version", sa.BigInteger, nullable=False),
    )


def _bytes(column: str, bound: str) -> sa.CheckConstraint:
    """Return a CHECK constraint on the length of a text column in bytes; `bound` is a comparison
    such as `= 40`.

    SQLite has octet_length only since 3.43, so the text is cast there.
    """
    if op.get_bind().dialect.name == "postgresql":
        return sa.CheckConstraint(f"octet_length({column}) {bound}")
    return sa.CheckConstraint(f"length(CAST({column} AS BLOB)) {bound}")


STATISTICS = {
    "entries": "1000000 1 1",
    "entries_input_id": "1000000 1000",
    "entries_outcome": "1000000 500000 10000 1 1",
    "entries_reason": "1000000 500000 10000 2000 1000 1 1",
    "entries_entered": "1000000 500000 10000 2 1 1",
    "entries_url": "1000000 2 1",
}
"""Number of rows of each index of `entries`, and of its rows that agree in the first column, in the
first two, and so on. A library has few pipelines. Most queries by outcome look for a rare one.
"""


def _write_statistics() -> None:
    """Tell SQLite how selective the indexes of `entries` are.

    Without statistics, it would read all entries of a pipeline to count those of one input. These
    never change, so that a query has the same plan in every library.
    """
    op.execute("ANALYZE")  # Creates the table of statistics.
    table = sa.table("sqlite_stat1", sa.column("tbl"), sa.column("idx"), sa.column("stat"))
    op.bulk_insert(
        table,
        [{"tbl": "entries", "idx": index, "stat": stat} for index, stat in STATISTICS.items()],
    )
    op.execute("ANALYZE sqlite_schema")  # Loads them into this connection.
