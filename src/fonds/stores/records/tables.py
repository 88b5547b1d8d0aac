"""Current tables of the SQL database. The migrations create the tables, and a test compares both.

A row type of `fonds.model.rows` without a table in this module gets a table derived from its
fields.

Source: seed document 003 for `pdf_meta`; the row types of `fonds.model.rows` for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

import sqlalchemy as sa
from sqlalchemy import CheckConstraint, Column, Index, Table

from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rights import StatedRights
from fonds.model.rows import ROWS, Row
from fonds.model.source import StoredPace
from fonds.model.stored_json import is_stored_type
from fonds.stores.records.column_types import (
    BigNumber,
    ByteLength,
    CleanText,
    Flag,
    HexBytes,
    RealNumber,
    StoredJson,
    UtcTime,
    WholeNumber,
)
from fonds.stores.records.story_column import StoryColumn


def add_access_tables(metadata: sa.MetaData) -> None:
    """Add the tables `access_keys`, `sessions` and `acts` (administrative actions) to
    `metadata`.
    """
    Table(
        "access_keys",
        metadata,
        Column("name", CleanText, primary_key=True),
        Column("role", CleanText, nullable=False),
        Column("prefix", CleanText, nullable=False),
        Column("sha256hex", CleanText, CheckConstraint("length(sha256hex) = 64"), nullable=False),
        Column("made_by", CleanText, nullable=False),
        Column("row_created", UtcTime, nullable=False),
        Column("until", UtcTime),
        Column("last_used", UtcTime),
        Column("revoked", UtcTime),
        Column("revoked_by", CleanText),
        Column("revoked_reason", CleanText),
        Index("access_keys_prefix", "prefix"),
    )
    Table(
        "sessions",
        metadata,
        Column("session_id", CleanText, primary_key=True),
        Column("sha256hex", CleanText, CheckConstraint("length(sha256hex) = 64"), nullable=False),
        Column("key_name", CleanText, nullable=False),
        Column("row_created", UtcTime, nullable=False),
        Column("until", UtcTime, nullable=False),
        Index("sessions_key_name", "key_name", "until"),
    )
    Table(
        "acts",
        metadata,
        Column("act_id", CleanText, primary_key=True),
        Column("at", UtcTime, nullable=False),
        Column("who", CleanText, nullable=False),
        Column("what", CleanText, nullable=False),
        Column("outcome", BigNumber),
        Index("acts_at", "at", "act_id"),
    )


SHA1HEX = "sha1hex"
_TYPES: Mapping[type, Any] = {
    str: CleanText,
    int: BigNumber,
    float: RealNumber,
    bool: Flag,
    datetime: UtcTime,
}


def derive(kind: type[Row], metadata: sa.MetaData) -> Table:
    """Add a table derived from the fields of a row type to `metadata`, and return the table.

    The field type determines the column type: `str` is text, `int` a big integer, `float` a real,
    `bool` a boolean and `datetime` a time in UTC. Structs, dataclasses and `Mapping` are JSON. `|
    None` makes a column nullable. A column `sha1hex` must have 40 characters. Raises TypeError for
    a field of another type.
    """
    hints = get_type_hints(kind)
    columns = [
        _build_column(kind, row_field.name, hints[row_field.name])
        for row_field in fields(kind)  # type: ignore[arg-type]
    ]
    return Table(kind.TABLE, metadata, *columns)


def _build_column(kind: type[Row], name: str, hint: Any) -> Column[Any]:
    options = [option for option in get_args(hint) if option is not NoneType]
    is_nullable = isinstance(hint, UnionType) and len(options) < len(get_args(hint))
    plain = options[0] if is_nullable and len(options) == 1 else hint
    column_type = StoredJson(plain) if is_stored_type(plain) else _TYPES.get(plain)
    if column_type is None:
        raise TypeError(f"{kind.TABLE}.{name}: there is no column for {hint}")
    checks = [CheckConstraint("length(sha1hex) = 40")] if name == SHA1HEX else []
    # Numeric keys are set by us, not by the database.
    return Column(
        name,
        column_type,
        *checks,
        primary_key=name in kind.KEY,
        nullable=is_nullable,
        autoincrement=False,
    )


POSTGRESQL_WHERE = "postgresql_where"
"""Name of the entry in an index's `info` with the condition of a partial index on PostgreSQL. As an
option of the index, the condition would make SQLAlchemy import PostgreSQL's dialect.
"""

metadata = sa.MetaData()


def _build_sha1hex(*, key: bool = False) -> Column[str]:
    return Column(
        "sha1hex",
        CleanText,
        CheckConstraint("length(sha1hex) = 40"),
        primary_key=key,
        nullable=False,
    )


def _build_sha1_bytes() -> Column[str]:
    """Return the key column for the SHA-1 of a file in a table of many short rows."""
    check = CheckConstraint("length(sha1hex) = 20")
    return Column("sha1hex", HexBytes, check, primary_key=True, nullable=False)


Table(
    "file_meta",
    metadata,
    _build_sha1hex(key=True),
    Column("sha256hex", CleanText, CheckConstraint("length(sha256hex) = 64"), nullable=False),
    Column("md5hex", CleanText, CheckConstraint("length(md5hex) = 32"), nullable=False),
    Column("size_bytes", BigNumber, CheckConstraint("size_bytes >= 0"), nullable=False),
    Column("mimetype", CleanText, CheckConstraint("length(mimetype) >= 1"), nullable=False),
    Column("capture_id", CleanText, nullable=False),
    Column("row_created", UtcTime, nullable=False),
    Index("file_meta_mimetype", "mimetype", "row_created"),
    Index("file_meta_row_created", "row_created"),
    Index("file_meta_sha256hex", "sha256hex"),
    Index("file_meta_md5hex", "md5hex"),
)

Table(
    "cdx",
    metadata,
    Column("capture_id", CleanText, nullable=False),
    _build_sha1hex(),
    Column("url", CleanText, CheckConstraint("length(url) >= 1"), nullable=False),
    Column("surt", CleanText, nullable=False),
    Column("surt_key", CleanText, nullable=False, server_default=""),
    Column("datetime", CleanText, CheckConstraint("length(datetime) = 14"), nullable=False),
    Column("mimetype", CleanText, nullable=False),
    Column("status", WholeNumber),
    Column("warc_path", CleanText, CheckConstraint("length(warc_path) >= 1"), primary_key=True),
    Column("warc_csize", BigNumber),
    Column("warc_offset", BigNumber, primary_key=True, autoincrement=False),
    Column("row_created", UtcTime, nullable=False),
    Index("cdx_sha1hex", "sha1hex"),
    Index("cdx_surt_key", "surt_key", "datetime"),
    Index("cdx_capture_id", "capture_id"),
)

Table(
    "warc_files",
    metadata,
    Column("name", CleanText, primary_key=True),
    Column("path", CleanText, primary_key=True),
    Column("head_sha1", CleanText, nullable=False),
    Column("row_created", UtcTime, nullable=False),
    Column("file_name", CleanText, nullable=False, server_default=""),
    Index("warc_files_path", "path"),
    Index("warc_files_file_name", "file_name", "name"),
)

# Other programs write this table by the DDL of seed 003, so columns that Fonds adds are nullable or
# have a default.
Table(
    "pdf_meta",
    metadata,
    Column(
        "sha1hex",
        CleanText,
        CheckConstraint(ByteLength(sa.text("sha1hex")) == 40),
        primary_key=True,
    ),
    Column("updated", UtcTime, nullable=False, server_default=sa.func.now()),
    Column(
        "status", CleanText, CheckConstraint(ByteLength(sa.text("status")) >= 1), nullable=False
    ),
    Column("has_page0_thumbnail", Flag, nullable=False),
    Column("page_count", WholeNumber, CheckConstraint("page_count >= 0")),
    Column("word_count", WholeNumber, CheckConstraint("word_count >= 0")),
    Column("page0_height", RealNumber, CheckConstraint("page0_height >= 0")),
    Column("page0_width", RealNumber, CheckConstraint("page0_width >= 0")),
    Column("permanent_id", CleanText, CheckConstraint(ByteLength(sa.text("permanent_id")) >= 1)),
    Column("pdf_created", UtcTime),
    Column("pdf_version", CleanText, CheckConstraint(ByteLength(sa.text("pdf_version")) >= 1)),
    Column("metadata", StoredJson(PdfMetadata)),
    Column("extractor", CleanText, nullable=False, server_default=""),
    Column("error_msg", CleanText),
    Index("pdf_meta_updated", "updated", "sha1hex"),
)

Table(
    "citations",
    metadata,
    _build_sha1hex(key=True),
    Column("number", BigNumber, primary_key=True, autoincrement=False),
    Column("updated", UtcTime, nullable=False),
    Column("reference", CleanText, nullable=False),
    Column("status", CleanText, nullable=False),
    Column("reason", CleanText, nullable=False),
    Column("work", CleanText),
    Column("doi", CleanText),
    Column("printed_doi", CleanText),
    Column("score", RealNumber),
    Index("citations_work", "work", "sha1hex", "number"),
    Index("citations_doi", "doi", "sha1hex", "number"),
)

Table(
    "stopped",
    metadata,
    _build_sha1hex(key=True),
    Column("extractor", CleanText, primary_key=True),
    Column("status", CleanText, nullable=False),
    Column("detail", CleanText, nullable=False),
    Column("stopped", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False),
)

Table(
    "timetable",
    metadata,
    Column("name", CleanText, primary_key=True),
    Column("pipeline", CleanText, nullable=False),
    Column("every_s", BigNumber, CheckConstraint("every_s >= 1"), nullable=False),
    Column("daily_at", CleanText, nullable=False),
    Column("next_due", UtcTime, nullable=False),
    Column("lease_holder", CleanText),
    Column("lease_version", BigNumber, nullable=False),
    Column("last_started", UtcTime),
    Column("last_finished", UtcTime),
    Column("last_error", CleanText),
    Column("failures", BigNumber, nullable=False),
    Column("runs", BigNumber, nullable=False),
)

Table(
    "story_meta",
    metadata,
    _build_sha1hex(key=True),
    Column("story_id", CleanText, nullable=False),
    Column("captured", CleanText, CheckConstraint("length(captured) = 14"), nullable=False),
    Column("updated", UtcTime(is_short=True), nullable=False),
    Column("status", CleanText, CheckConstraint("length(status) >= 1"), nullable=False),
    Column("url", CleanText, nullable=False),
    Column("canonical_domain", CleanText, nullable=False),
    Column("publication_date", CleanText),
    Column("language", CleanText),
    Column("article_title", CleanText),
    Column("word_count", WholeNumber, CheckConstraint("word_count >= 0"), nullable=False),
    Column("story", StoryColumn(), nullable=False),
    Column("extractor", CleanText, nullable=False),
    Index("story_meta_story_id", "story_id", "captured", "sha1hex"),
    Index("story_meta_updated", "updated", "sha1hex"),
    Index("story_meta_captured", "captured", "sha1hex"),
    Index("story_meta_site", "canonical_domain", "captured", "sha1hex"),
)

Table(
    "text_sketch",
    metadata,
    _build_sha1hex(key=True),
    Column("story_id", CleanText, nullable=False),
    Column("captured", CleanText, nullable=False),
    Column("updated", UtcTime(is_short=True), nullable=False),
    Column("status", CleanText, nullable=False),
    Column("url", CleanText, nullable=False),
    Column("text_sha256hex", HexBytes, nullable=False),
    Column("signature", HexBytes, nullable=False),
    Column("extractor", CleanText, nullable=False),
    Index("text_sketch_story_id", "story_id", "captured", "sha1hex"),
)

Table(
    "text_band",
    metadata,
    Column("band", WholeNumber, primary_key=True, autoincrement=False),
    _build_sha1_bytes(),
    # Clustered by key; it is queried by nothing else.
    sqlite_with_rowid=False,
)

Table(
    "fetched",
    metadata,
    Column("capture_id", CleanText, primary_key=True),
    Column("url", CleanText, nullable=False),
    Column("final_url", CleanText, nullable=False),
    Column("fetched", UtcTime, nullable=False),
    Column("status", WholeNumber, nullable=False),
    Column("mime", CleanText),
    Column("address", CleanText, nullable=False),
    Column("tls", CleanText),
    Column("tls_check", CleanText, nullable=False),
    Column("redirects", WholeNumber, nullable=False),
    Column("in_spool", Flag, nullable=False),
    Column("etag", CleanText),
    Column("last_modified", CleanText),
    Index("fetched_url", "url", "fetched"),
    Index(
        "fetched_in_spool",
        "in_spool",
        sqlite_where=sa.text("in_spool"),
        info={POSTGRESQL_WHERE: "in_spool"},
    ),
)

Table(
    "paces",
    metadata,
    Column("domain", CleanText, primary_key=True),
    Column("lease_holder", CleanText),
    Column("lease_version", BigNumber, nullable=False),
    Column("paces", StoredJson(Mapping[str, StoredPace]), nullable=False),
    Column("updated", UtcTime, nullable=False),
    Column("requested_by", CleanText),
    Column("requested_at", UtcTime),
)

Table(
    "inputs",
    metadata,
    Column("input_id", CleanText, primary_key=True),
    Column("path", CleanText, nullable=False),
    Column("kind", CleanText, nullable=False),
    Column("fingerprint", CleanText, nullable=False),
    Column("position", BigNumber, nullable=False),
    Column("entries", BigNumber, nullable=False),
    Column("tally", StoredJson(Mapping[str, int]), nullable=False),
    Column("tally_count", BigNumber, nullable=False),
    Column("finished", Flag, nullable=False),
    Column("error", CleanText),
    Column("updated", UtcTime, nullable=False),
    Column("pipeline", CleanText, primary_key=True),
    Column("checksum", BigNumber, nullable=False),
    Index("inputs_updated", "updated"),
    Index("inputs_tally_count", "tally_count"),
    Index("inputs_error", "error"),
)

Table(
    "entries",
    metadata,
    Column("entry_id", CleanText, primary_key=True),
    Column("pipeline", CleanText, primary_key=True),
    Column("kind", CleanText, nullable=False),
    Column("input_id", CleanText, nullable=False),
    Column("url", CleanText, nullable=False),
    Column("seen", CleanText),
    Column("place", CleanText),
    Column("collection", CleanText, nullable=False),
    Column("entered_at", UtcTime(is_short=True), nullable=False),
    Column("outcome", CleanText, nullable=False),
    Column("open_count", BigNumber, CheckConstraint("open_count >= 0"), nullable=False),
    Column("weight", WholeNumber, nullable=False),
    Column("reason", CleanText),
    Column("step", CleanText),
    Column("message_id", CleanText),
    Column("about", CleanText),
    Column("detail", CleanText),
    Column("settled_at", UtcTime(is_short=True)),
    Column("failure_group", CleanText),
    Index("entries_input_id", "input_id"),
    # With the pipeline, which as part of the key costs nothing. For several URLs in one pipeline,
    # SQLite would else read all entries of the pipeline.
    Index("entries_url", "url", "pipeline"),
    # With the rest of the key, in which lists of entries are sorted. SQLite adds it on its own.
    # Without it, PostgreSQL reads a whole pipeline in order of its key for one page of a list.
    Index("entries_outcome", "pipeline", "outcome", "settled_at", "entry_id"),
    Index("entries_reason", "pipeline", "outcome", "reason", "step", "settled_at", "entry_id"),
    Index("entries_entered", "pipeline", "outcome", "entered_at", "entry_id", "reason"),
    Index(
        "entries_failure_group",
        "failure_group",
        "pipeline",
        "settled_at",
        sqlite_where=sa.text("failure_group IS NOT NULL"),
        info={POSTGRESQL_WHERE: "failure_group IS NOT NULL"},
    ),
    sqlite_with_rowid=False,
)

Table(
    "dispositions",
    metadata,
    Column("message_id", CleanText, primary_key=True),
    Column("pipeline", CleanText, primary_key=True),
    Column("step", CleanText, primary_key=True),
    Column("entry_id", CleanText, nullable=False),
    Column("parent_id", CleanText),
    Column("parent_step", CleanText),
    Column("verdict", CleanText, nullable=False),
    Column("is_open", Flag, nullable=False),
    Column("reason", CleanText),
    Column("detail", CleanText, nullable=False),
    Column("about", CleanText),
    Column("attempt", WholeNumber, nullable=False),
    Column("promised_at", UtcTime(is_short=True), nullable=False),
    Column("settled_at", UtcTime(is_short=True)),
    Column("next_attempt_at", UtcTime(is_short=True)),
    Index("dispositions_entry_id", "entry_id"),
    # With the reason. For the duplicates of a file, SQLite would else read all duplicates.
    Index("dispositions_about", "about", "reason"),
    Index(
        "dispositions_reason_step",
        "reason",
        "step",
        # Most messages are done, without a reason.
        sqlite_where=sa.text("reason IS NOT NULL"),
        info={POSTGRESQL_WHERE: "reason IS NOT NULL"},
    ),
    Index(
        "dispositions_open",
        "pipeline",
        "step",
        "promised_at",
        "message_id",
        # SQLite uses a partial index only for queries that repeat its condition word for word.
        sqlite_where=sa.text("is_open = 1"),
        info={POSTGRESQL_WHERE: "is_open"},
    ),
    # Clustered by key, by which the ledger reads and writes.
    sqlite_with_rowid=False,
)

Table(
    "tallies",
    metadata,
    Column("counted", CleanText, primary_key=True),
    Column("pipeline", CleanText, primary_key=True),
    Column("first", CleanText, primary_key=True),
    Column("second", CleanText, primary_key=True),
    Column("third", CleanText, primary_key=True),
    Column("count", BigNumber, nullable=False),
    Index("tallies_second", "counted", "second"),
    sqlite_with_rowid=False,
)

Table(
    "failure_notes",
    metadata,
    Column("pipeline", CleanText, primary_key=True),
    Column("failure_group", CleanText, primary_key=True),
    Column("step", CleanText, nullable=False),
    Column("reason", CleanText, nullable=False),
    Column("note", CleanText, nullable=False),
    Column("owner", CleanText, nullable=False),
    Column("noted_by", CleanText, nullable=False),
    Column("noted_at", UtcTime, nullable=False),
)

Table(
    "capture_rights",
    metadata,
    Column("capture_id", CleanText, primary_key=True),
    Column("sha1hex", CleanText, CheckConstraint("length(sha1hex) = 40"), nullable=False),
    Column("robots_url", CleanText),
    Column("robots_answer", CleanText),
    Column("robots_capture_id", CleanText),
    Column("robots_rule", CleanText),
    Column("stated", StoredJson(StatedRights), nullable=False),
    Column("updated", UtcTime, nullable=False),
    Index("capture_rights_sha1hex", "sha1hex"),
)

Table(
    "host_files",
    metadata,
    Column("origin", CleanText, primary_key=True),
    Column("name", CleanText, primary_key=True),
    Column("captured_at", UtcTime, primary_key=True),
    Column("capture_id", CleanText, primary_key=True),
    Column("sha1hex", CleanText, CheckConstraint("length(sha1hex) = 40"), nullable=False),
    Index("host_files_sha1hex", "sha1hex"),
)

Table(
    "fixity",
    metadata,
    _build_sha1_bytes(),
    Column("part", CleanText, primary_key=True),
    Column("size_bytes", BigNumber, nullable=False),
    Column("sha256hex", HexBytes, nullable=False),
    # Clustered by key; an index would repeat the key of a short row.
    sqlite_with_rowid=False,
)

Table(
    "host_captures",
    metadata,
    Column("origin", CleanText, primary_key=True),
    Column("captured_at", UtcTime(is_short=True), primary_key=True),
    Column("capture_id", CleanText, primary_key=True),
    Column("sha1hex", CleanText, CheckConstraint("length(sha1hex) = 40"), nullable=False),
    Column("target", CleanText, nullable=False),
    Column("crawler", CleanText, nullable=False),
    Column("is_fetched", Flag, nullable=False),
    Index("host_captures_sha1hex", "sha1hex"),
    # Clustered by key, which is most of the row.
    sqlite_with_rowid=False,
)

add_access_tables(metadata)

for _row in ROWS:
    if _row.TABLE not in metadata.tables:
        derive(_row, metadata)


def get_table(kind: type[Row]) -> Table:
    """Return the SQL table of a row type."""
    return metadata.tables[kind.TABLE]


def list_key_columns(kind: type[Row]) -> list[Column[Any]]:
    """Return the primary key columns of a row type's SQL table, in the order of the key."""
    return [get_table(kind).c[name] for name in kind.KEY]
