"""Other programs insert into `pdf_meta` by the DDL of seed 003: `extractor` has a default, the CHECKs count
bytes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0027"
down_revision = "0026"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)
_CHECKS = {"sha1hex": "= 40", "status": ">= 1", "permanent_id": ">= 1", "pdf_version": ">= 1"}


def upgrade() -> None:
    """Change the table in place on PostgreSQL. SQLite cannot change a CHECK, so the table is made again."""
    if op.get_bind().dialect.name == "postgresql":
        _change()
    else:
        _make_again()


def _change() -> None:
    op.alter_column("pdf_meta", "extractor", server_default="")
    for column, bound in _CHECKS.items():
        name = f"pdf_meta_{column}_check"
        op.execute(
            f"ALTER TABLE pdf_meta DROP CONSTRAINT {name},"
            f" ADD CONSTRAINT {name} CHECK (octet_length({column}) {bound})"
        )


def _make_again() -> None:
    op.rename_table("pdf_meta", "pdf_meta_0026")
    op.create_table(
        "pdf_meta",
        sa.Column("sha1hex", TEXT, _bytes("sha1hex"), primary_key=True),
        sa.Column("updated", TIME, nullable=False, server_default=sa.func.now()),
        sa.Column("status", TEXT, _bytes("status"), nullable=False),
        sa.Column("has_page0_thumbnail", sa.Boolean, nullable=False),
        sa.Column("page_count", sa.Integer, sa.CheckConstraint("page_count >= 0")),
        sa.Column("word_count", sa.Integer, sa.CheckConstraint("word_count >= 0")),
        sa.Column("page0_height", sa.REAL, sa.CheckConstraint("page0_height >= 0")),
        sa.Column("page0_width", sa.REAL, sa.CheckConstraint("page0_width >= 0")),
        sa.Column("permanent_id", TEXT, _bytes("permanent_id")),
        sa.Column("pdf_created", TIME),
        sa.Column("pdf_version", TEXT, _bytes("pdf_version")),
        sa.Column("metadata", JSON),
        sa.Column("extractor", TEXT, nullable=False, server_default=""),
        sa.Column("error_msg", TEXT),
    )
    op.execute("INSERT INTO pdf_meta SELECT * FROM pdf_meta_0026")
    op.drop_table("pdf_meta_0026")
    op.create_index("pdf_meta_updated", "pdf_meta", ["updated", "sha1hex"])


def _bytes(column: str) -> sa.CheckConstraint:
    """SQLite has octet_length only since 3.43."""
    return sa.CheckConstraint(f"length(CAST({column} AS BLOB)) {_CHECKS[column]}")
