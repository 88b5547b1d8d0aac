"""Who may do what: keys, sessions of browsers, and what was done with them."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `access_keys`, `sessions` and `acts`."""
    op.create_table(
        "access_keys",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("prefix", TEXT, nullable=False),
        _sha256hex(),
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
        _sha256hex(),
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


def _sha256hex() -> sa.Column[str]:
    return sa.Column(
        "sha256hex", TEXT, sa.CheckConstraint("length(sha256hex) = 64"), nullable=False
    )
