"""The tables of who may do what: keys, sessions and acts, with what they are found by."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Table

from fonds.stores.records.schema.column_types import CleanText, UtcTime


def add_access_tables(metadata: sa.MetaData) -> None:
    """Make `access_keys`, `sessions` and `acts` in `metadata`."""
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
        Column("outcome", BigInteger),
        Index("acts_at", "at", "act_id"),
    )
