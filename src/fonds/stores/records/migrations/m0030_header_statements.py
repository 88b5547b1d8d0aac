"""What the headers of fetched pages state about their use moves from `fetched` to `capture_rights`.

What hosts say to crawlers has tables of its own.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from fonds.model.http_head import HttpHead
from fonds.ports.rights import to_stored
from fonds.rights.preferences import header_statements

revision = "0030"
down_revision = "0028"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
SIGNALS = {
    "content_usage": "Content-Usage",
    "x_robots_tag": "X-Robots-Tag",
    "tdm_reservation": "tdm-reservation",
    "tdm_policy": "tdm-policy",
}
AT_ONCE = 1_000
_SHA1 = "length(sha1hex) = 40"
_STATING = " OR ".join(f"f.{name} IS NOT NULL" for name in SIGNALS)
_FOUND = sa.text(
    f"SELECT f.capture_id, c.sha1hex, f.final_url, f.fetched, {', '.join(f'f.{one}' for one in SIGNALS)}"  # noqa: S608
    " FROM fetched f JOIN (SELECT capture_id, sha1hex FROM cdx UNION"
    " SELECT capture_id, sha1hex FROM file_meta) c ON c.capture_id = f.capture_id"
    f" WHERE f.capture_id > :after AND ({_STATING}) ORDER BY f.capture_id LIMIT {AT_ONCE}"
).columns(fetched=TIME)
_RIGHTS = sa.table(
    "capture_rights",
    sa.column("capture_id", sa.Text),
    sa.column("sha1hex", sa.Text),
    sa.column("stated", JSON),
    sa.column("updated", TIME),
)


def upgrade() -> None:
    """Interpret what was noted as it was sent, then drop its columns."""
    connection, after = op.get_bind(), ""
    while rows := connection.execute(_FOUND, {"after": after}).mappings().all():
        after = rows[-1]["capture_id"]
        found = {row["capture_id"]: row for row in rows}
        stated = {
            capture_id: header_statements(_head(row), row["final_url"])
            for capture_id, row in found.items()
        }
        values = [
            {
                "capture_id": capture_id,
                "sha1hex": found[capture_id]["sha1hex"],
                "stated": to_stored(statements),
                "updated": found[capture_id]["fetched"],
            }
            for capture_id, statements in stated.items()
            if statements
        ]
        if values:
            connection.execute(sa.insert(_RIGHTS), values)
    for name in SIGNALS:
        op.drop_column("fetched", name)
    _make_tables()


def _make_tables() -> None:
    for name, columns in (("host_files", ("origin", "name")), ("host_captures", ("origin",))):
        op.create_table(
            name,
            *(sa.Column(one, TEXT, primary_key=True, nullable=False) for one in columns),
            sa.Column("captured_at", TIME, primary_key=True, nullable=False),
            sa.Column("capture_id", TEXT, primary_key=True, nullable=False),
            sa.Column("sha1hex", TEXT, sa.CheckConstraint(_SHA1), nullable=False),
            *(
                sa.Column(one, TEXT, nullable=False)
                for one in (("target", "crawler") if name == "host_captures" else ())
            ),
        )
        op.create_index(f"{name}_sha1hex", name, ["sha1hex"])
    op.create_table(
        "host_texts",
        sa.Column("sha1hex", TEXT, sa.CheckConstraint(_SHA1), primary_key=True, nullable=False),
        sa.Column("text", TEXT, nullable=False),
    )


def _head(row: sa.RowMapping) -> HttpHead:
    headers = [(name, row[column]) for column, name in SIGNALS.items() if row[column]]
    return HttpHead(200, "HTTP/1.1 200 OK", headers)
