"""Where WARCs lie, how often a crawler had met a file before Fonds, and files by SHA-256 and MD5."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make `warc_files` and `crawler_counts`."""
    op.create_table(
        "warc_files",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("path", TEXT, primary_key=True),
        sa.Column("head_sha1", TEXT, nullable=False),
        sa.Column("row_created", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("warc_files_path", "warc_files", ["path"])
    op.create_table(
        "crawler_counts",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint("length(sha1hex) = 40"), primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
    )
    op.create_index("file_meta_sha256hex", "file_meta", ["sha256hex"])
    op.create_index("file_meta_md5hex", "file_meta", ["md5hex"])
