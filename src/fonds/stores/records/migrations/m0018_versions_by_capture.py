"""Versions of stories are found by when they were captured, all of them and those of one site."""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Make the indexes that silent edits are found by."""
    op.create_index("story_meta_captured", "story_meta", ["captured", "sha1hex"])
    op.create_index("story_meta_site", "story_meta", ["canonical_domain", "captured", "sha1hex"])
