"""WARCs are found by their file name, whatever folder or item they are named with."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
AT_ONCE = 1_000
_FILES = sa.table(
    "warc_files", sa.column("name", TEXT), sa.column("path", TEXT), sa.column("file_name", TEXT)
)


def upgrade() -> None:
    """Add `warc_files.file_name`, the last part of each name, with an index."""
    connection, after = op.get_bind(), ("", "")
    op.add_column("warc_files", sa.Column("file_name", TEXT, nullable=False, server_default=""))
    of = _FILES.c
    behind = sa.tuple_(of.name, of.path) > sa.tuple_(sa.bindparam("n"), sa.bindparam("p"))
    found = sa.select(of.name, of.path).where(behind).order_by(of.name, of.path).limit(AT_ONCE)
    change = (
        sa.update(_FILES)
        .where(of.name == sa.bindparam("n"), of.path == sa.bindparam("p"))
        .values(file_name=sa.bindparam("f"))
    )
    while rows := connection.execute(found, {"n": after[0], "p": after[1]}).all():
        after = (rows[-1].name, rows[-1].path)
        values = [{"n": row.name, "p": row.path, "f": row.name.rpartition("/")[2]} for row in rows]
        connection.execute(change, values)
    op.create_index("warc_files_file_name", "warc_files", ["file_name", "name"])
