"""Captures are looked up by their URL, also by its beginning."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the index."""
    op.create_index("captures_url", "captures", ["url"])
