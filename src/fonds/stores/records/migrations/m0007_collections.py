"""What one process alone may do at a time; and what was noted of files in the order of its times."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make `claim`, and the indexes by which rules of collections find what is new."""
    op.create_table(
        "claim",
        sa.Column("name", TEXT, primary_key=True, nullable=False),
        sa.Column("claimed_by", TEXT),
        sa.Column("beats", sa.BigInteger, nullable=False),
    )
    op.create_index("pdf_meta_updated", "pdf_meta", ["updated", "sha1hex"])
    op.create_index("story_meta_updated", "story_meta", ["updated", "sha1hex"])
