"""Follows section 2b of `docs/howto/papers.md`: PDFs chosen by SQL are read, and not found again."""

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
from fixtures.warcs import gzipped, http_response

pytestmark = pytest.mark.servers

PAGE = Path(__file__).parents[2] / "docs/howto/papers.md"
DAY = "20240305060708"
READ = text_pdf(["Rivers are slow, and they turn."])
KNOWN = text_pdf(["This paper was read before."])
NO_PDF = b"<html><body><p>The paper is not here any more.</p></body></html>"
BODIES = {"read": READ, "known": KNOWN, "gone": NO_PDF}


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A WARC of two papers and a page that an index calls a PDF, and that index."""
    folder = tmp_path / "warcs"
    folder.mkdir()
    lines, place = [" CDX N b a m s k r M S V g\n"], 0
    with (folder / "papers.warc.gz").open("wb") as warc:
        for name, body in BODIES.items():
            url = f"http://rivers.example/{name}.pdf"
            headers = (("Content-Type", "application/pdf"),)
            member = gzipped([http_response(body, url=url, headers=headers)])
            digest = b32encode(hashlib.sha1(body).digest()).decode()
            lines.append(
                f"example,rivers)/{name}.pdf {DAY} {url} application/pdf 200 {digest} - -"
                f" {len(member)} {place} papers.warc.gz\n"
            )
            place += warc.write(member)
    (tmp_path / "papers.cdx").write_text("".join(lines))
    return folder


def chosen(records: str, path: Path) -> set[str]:
    """Write what the page's query finds as `psql -At` does; return the SHA-1s."""
    found = re.search(r"^```sql\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    with psycopg.connect(records) as connection:
        rows = [row for (row,) in connection.execute(found[1].encode())]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return {row["sha1hex"] for row in rows}


def test_what_a_query_finds_is_read_once(crawl: Path, tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work.jsonl"
    sha1hexes = {name: hashlib.sha1(body).hexdigest() for name, body in BODIES.items()}
    (tmp_path / "known.pdf").write_bytes(KNOWN)
    with create_deployment("rabbitmq", "elasticsearch", {}) as settings:
        environment = variables(settings)
        assert fonds(home, "ingest", tmp_path / "known.pdf", **environment).code == 0
        assert fonds(home, "backfill", "cdx", tmp_path / "papers.cdx", **environment).code == 0
        wanted = {sha1hexes["read"], sha1hexes["gone"]}
        assert chosen(settings["records"], work) == wanted
        ran = fonds(home, "ingest", "--warc-base", crawl, work, **environment)
        assert ran.code in (0, 1), ran.out + ran.err
        assert chosen(settings["records"], work) == set()
        with psycopg.connect(settings["records"]) as connection:
            extracted = connection.execute("SELECT sha1hex, status FROM pdf_meta").fetchall()
            types = connection.execute("SELECT url, mimetype FROM cdx").fetchall()
        audited = fonds(home, "audit", "--deep", **environment)
        assert audited.code == 0, audited.out
    assert dict(extracted) == {sha1hexes["read"]: "success", sha1hexes["known"]: "success"}
    assert ("http://rivers.example/gone.pdf", "text/html") in types
