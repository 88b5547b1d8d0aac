"""What is open is found by its age, and in SQLite without reading what has ended."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Make the index of open messages anew; SQLite uses it for what is asked word for word as it says."""
    op.drop_index("dispositions_open", "dispositions")
    op.create_index(
        "dispositions_open",
        "dispositions",
        ["pipeline", "step", "promised_at"],
        sqlite_where=sa.text("is_open = 1"),
        postgresql_where=sa.text("is_open"),
    )
