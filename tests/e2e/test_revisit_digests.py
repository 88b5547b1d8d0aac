"""Revisits without a SHA-1 digest are captures like others: in the CDX, and replayed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.warcs import PAGE, gzipped, http_response, warc_record

pytestmark = pytest.mark.slow
URL = "http://news.example/windmill"
WHEN = "2024-03-05T06:07:08Z"
LATER = "2024-03-06T06:07:08Z"
REFERS = (("WARC-Refers-To-Target-URI", URL), ("WARC-Refers-To-Date", WHEN))
SHA256 = f"sha256:{hashlib.sha256(PAGE).hexdigest()}"
MD5 = f"md5:{hashlib.md5(PAGE).hexdigest()}"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
NOT_MODIFIED = b"HTTP/1.1 304 Not Modified\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "head", "url"),
    [
        ((("WARC-Payload-Digest", SHA256), *REFERS), HEAD, URL),
        ((("WARC-Payload-Digest", SHA256),), HEAD, f"{URL}-copy"),
        ((("WARC-Payload-Digest", MD5),), HEAD, f"{URL}-copy"),
        (REFERS, HEAD, f"{URL}-copy"),
        ((), NOT_MODIFIED, URL),
    ],
    ids=["sha256 and reference", "sha256", "md5", "reference", "304 without reference"],
)
def test_a_revisit_without_sha1_is_noted(
    tmp_path: Path, headers: tuple[tuple[str, str], ...], head: bytes, url: str
) -> None:
    again = warc_record(
        head, url=url, date=LATER, record_type="revisit", headers=dict(headers),
        content_type="application/http; msgtype=response",
    )  # fmt: skip
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "a.warc.gz").write_bytes(
        gzipped([http_response(PAGE, url=URL, date=WHEN), again])
    )
    fonds = [sys.executable, "-m", "fonds", "--home", tmp_path / "home"]
    subprocess.run([*fonds, "ingest", tmp_path / "crawl"], check=True, timeout=240)
    with sqlite3.connect(tmp_path / "home" / "records.sqlite") as books:
        rows = books.execute(
            "select sha1hex, url, datetime, mimetype from cdx order by datetime"
        ).fetchall()
    assert len(rows) == 2, rows
    sha1 = hashlib.sha1(PAGE).hexdigest()
    assert rows[1] == (sha1, url, "20240306060708", "warc/revisit")
    shown = subprocess.run(
        [*fonds, "show", "--json", sha1], check=True, capture_output=True, timeout=240
    )
    assert len(json.loads(shown.stdout)["captures"]) == 2
    subprocess.run([*fonds, "audit", "--deep"], check=True, timeout=240)
