"""What is kept of texts to find those that are nearly the same, and to tell a story's versions apart."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make `text_sketch` and `text_band`; `fonds reindex` fills them for stories that are here already."""
    op.create_table(
        "text_sketch",
        sa.Column(
            "sha1hex",
            TEXT,
            sa.CheckConstraint("length(sha1hex) = 40"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("story_id", TEXT, nullable=False),
        sa.Column("captured", TEXT, nullable=False),
        sa.Column("updated", TIME, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("text_sha256hex", TEXT, nullable=False),
        sa.Column("signature", TEXT, nullable=False),
        sa.Column("extractor", TEXT, nullable=False),
    )
    op.create_index("text_sketch_story_id", "text_sketch", ["story_id", "captured", "sha1hex"])
    op.create_table(
        "text_band",
        sa.Column("band", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sqlite_with_rowid=False,
    )
