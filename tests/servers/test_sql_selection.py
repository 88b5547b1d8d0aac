"""Follow section 2b of `docs/howto/papers.md`: PDFs selected by SQL are read, and not selected again."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b32encode
from pathlib import Path

import psycopg
import pytest

from deployments import create_deployment, variables
from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response

pytestmark = pytest.mark.servers

PAGE = Path(__file__).parents[2] / "docs/howto/papers.md"
DAY = "20240305060708"
NEW_PAPER = text_pdf(["Rivers are slow, and they turn."])
KNOWN_PAPER = text_pdf(["This paper was read before."])
HTML_PAGE = b"<html><body><p>The paper is not here any more.</p></body></html>"
BODIES = {"read": NEW_PAPER, "known": KNOWN_PAPER, "gone": HTML_PAGE}


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A WARC of two papers and a page, and an index that states PDF for all three."""
    folder = tmp_path / "warcs"
    folder.mkdir()
    lines, place = [" CDX N b a m s k r M S V g\n"], 0
    with (folder / "papers.warc.gz").open("wb") as warc:
        for name, body in BODIES.items():
            url = f"http://rivers.example/{name}.pdf"
            headers = (("Content-Type", "application/pdf"),)
            member = gzip_records([http_response(body, url=url, headers=headers)])
            digest = b32encode(hashlib.sha1(body).digest()).decode()
            lines.append(
                f"example,rivers)/{name}.pdf {DAY} {url} application/pdf 200 {digest} - -"
                f" {len(member)} {place} papers.warc.gz\n"
            )
            place += warc.write(member)
    (tmp_path / "papers.cdx").write_text("".join(lines))
    return folder


def select_work(records: str, path: Path) -> set[str]:
    """Write the results of the query on the page like `psql -At`; return their SHA-1s."""
    query = re.search(r"^```sql\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert query is not None
    with psycopg.connect(records) as connection:
        rows = [row for (row,) in connection.execute(query[1].encode())]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return {row["sha1hex"] for row in rows}


def test_pdfs_selected_by_sql_are_read_once(crawl: Path, tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work.jsonl"
    sha1hexes = {name: hashlib.sha1(body).hexdigest() for name, body in BODIES.items()}
    (tmp_path / "known.pdf").write_bytes(KNOWN_PAPER)
    with create_deployment("rabbitmq", "elasticsearch", {}) as settings:
        environment = variables(settings)
        assert fonds(home, "ingest", tmp_path / "known.pdf", **environment).code == 0
        assert fonds(home, "backfill", "cdx", tmp_path / "papers.cdx", **environment).code == 0
        expected = {sha1hexes["read"], sha1hexes["gone"]}
        assert select_work(settings["records"], work) == expected
        result = fonds(home, "ingest", "--warc-base", crawl, work, **environment)
        assert result.code in (0, 1), result.out + result.err
        assert select_work(settings["records"], work) == set()
        with psycopg.connect(settings["records"]) as connection:
            extracted = connection.execute("SELECT sha1hex, status FROM pdf_meta").fetchall()
            types = connection.execute("SELECT url, mimetype FROM cdx").fetchall()
        audited = fonds(home, "audit", "--deep", **environment)
        assert audited.code == 0, audited.out
    assert dict(extracted) == {sha1hexes["read"]: "success", sha1hexes["known"]: "success"}
    assert ("http://rivers.example/gone.pdf", "text/html") in types
