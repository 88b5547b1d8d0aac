"""What is stated about the use of captures and of files."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0028"
down_revision = "0027"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)
_ROBOTS = ("robots_url", "robots_answer", "robots_capture_id", "robots_rule")
_SHA1 = "length(sha1hex) = 40"


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "capture_rights",
        sa.Column("capture_id", TEXT, primary_key=True, nullable=False),
        sa.Column("sha1hex", TEXT, sa.CheckConstraint(_SHA1), nullable=False),
        *(sa.Column(name, TEXT) for name in _ROBOTS),
        sa.Column("stated", JSON, nullable=False),
        sa.Column("updated", TIME, nullable=False),
    )
    op.create_index("capture_rights_sha1hex", "capture_rights", ["sha1hex"])
    op.create_table(
        "file_rights",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint(_SHA1), primary_key=True, nullable=False),
        sa.Column("stated", JSON, nullable=False),
        sa.Column("extractor", TEXT, nullable=False),
        sa.Column("updated", TIME, nullable=False),
    )
