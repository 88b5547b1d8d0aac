"""Revisits without a SHA-1 digest are recorded in the CDX and replayed."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from hashlib import new
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from e2e.running import call, fonds
from filled_home import open_home
from fixtures.warcs import PAGE, gzip_records, http_response, warc_record
from fonds.web.replay import create_replay

CASES = Path(__file__).parents[2].parent / "shared" / "corpus" / "cases"
REPLAY = "http://localhost:8766"
URL = "http://news.example/windmill"
CAPTURED_AT = "2024-03-05T06:07:08Z"
REVISITED_AT = "2024-03-06T06:07:08Z"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
NOT_MODIFIED = b"HTTP/1.1 304 Not Modified\r\n\r\n"


@dataclass(frozen=True)
class Revisit:
    """A page, and a revisit of it without a SHA-1, with the same URL or that of a copy."""

    name: str
    digest: str = ""
    has_reference: bool = False
    is_copy: bool = True
    head: bytes = HEAD

    @property
    def page(self) -> bytes:
        return PAGE.replace(b"</body>", f"<p>Read for {self.name}.</p></body>".encode())

    @property
    def sha1hex(self) -> str:
        return hashlib.sha1(self.page).hexdigest()

    @property
    def page_url(self) -> str:
        return f"{URL}/{self.name.replace(' ', '-')}"

    @property
    def url(self) -> str:
        return f"{self.page_url}-copy" if self.is_copy else self.page_url

    def build_warc(self) -> bytes:
        headers = {}
        if self.digest:
            headers["WARC-Payload-Digest"] = (
                f"{self.digest}:{new(self.digest, self.page).hexdigest()}"
            )
        if self.has_reference:
            headers["WARC-Refers-To-Target-URI"] = self.page_url
            headers["WARC-Refers-To-Date"] = CAPTURED_AT
        revisit = warc_record(
            self.head, url=self.url, date=REVISITED_AT, record_type="revisit", headers=headers,
            content_type="application/http; msgtype=response",
        )  # fmt: skip
        return gzip_records(
            [http_response(self.page, url=self.page_url, date=CAPTURED_AT), revisit]
        )


REVISITS = (
    Revisit("sha256 and reference", "sha256", has_reference=True, is_copy=False),
    Revisit("sha256", "sha256"),
    Revisit("md5", "md5"),
    Revisit("reference", has_reference=True),
    Revisit("304 without reference", is_copy=False, head=NOT_MODIFIED),
)


def test_revisits_without_sha1_are_recorded_and_replayed(tmp_path: Path) -> None:
    home, crawl = tmp_path / "home", tmp_path / "crawl"
    crawl.mkdir()
    assert len({revisit.sha1hex for revisit in REVISITS}) == len(REVISITS)
    for revisit in REVISITS:
        (crawl / f"{revisit.name}.warc.gz").write_bytes(revisit.build_warc())
    result = fonds(home, "ingest", crawl)
    assert result.code == 0, result.err
    with sqlite3.connect(home / "records.sqlite") as database:
        rows = database.execute("select sha1hex, url, datetime, mimetype from cdx").fetchall()
    assert len(rows) == 2 * len(REVISITS), rows
    assert {row for row in rows if row[3] == "warc/revisit"} == {
        (revisit.sha1hex, revisit.url, "20240306060708", "warc/revisit") for revisit in REVISITS
    }
    for revisit in REVISITS:
        file_data = call(home, "show", "--json", revisit.sha1hex)
        assert len(file_data.last["captures"]) == 2, revisit.name
        assert fetch_replayed(home, "20240306060708", revisit.url) == revisit.page, revisit.name
    audited = fonds(home, "audit", "--deep")
    assert audited.code == 0, audited.out


def fetch_replayed(home: Path, moment: str, url: str) -> bytes:
    """Return the bytes of a replayed capture, without banner or rewriting."""
    with open_home(home) as stores, TestClient(create_replay(stores), base_url=REPLAY) as client:
        answer = client.get(f"/web/{moment}id_/{url}")
        assert answer.status_code == 200, answer.text
        return answer.content


@pytest.mark.nightly
@pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases in {CASES}")
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_revisits_of_reported_bugs_are_replayed(tmp_path: Path, number: int) -> None:
    warc, home = CASES / f"revisit-digest-{number}.warc", tmp_path / "home"
    assert fonds(home, "ingest", warc).code == 0
    with sqlite3.connect(home / "records.sqlite") as database:
        rows = database.execute(
            "select sha1hex, url, datetime from cdx order by datetime"
        ).fetchall()
    assert len(rows) == 2
    bodies = [fetch_replayed(home, moment, url) for _, url, moment in rows]
    assert bodies[0] == bodies[1]
    assert {hashlib.sha1(body).hexdigest() for body in bodies} == {row[0] for row in rows}
