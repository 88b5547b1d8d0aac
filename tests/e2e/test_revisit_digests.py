"""Revisits without a SHA-1 digest are captures like others: in the CDX, and replayed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import opened
from fixtures.warcs import PAGE, gzipped, http_response, warc_record
from fonds.web.replay import create_replay

CASES = Path(__file__).parents[2].parent / "shared" / "corpus" / "cases"
REPLAY = "http://localhost:8766"
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
    assert replayed(tmp_path / "home", "20240306060708", url) == PAGE


def replayed(home: Path, moment: str, url: str) -> bytes:
    """The bytes of a capture as the replay gives them, without our banner or rewriting."""
    with opened(home) as stores, TestClient(create_replay(stores), base_url=REPLAY) as client:
        answer = client.get(f"/web/{moment}id_/{url}")
        assert answer.status_code == 200, answer.text
        return answer.content


@pytest.mark.nightly
@pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases in {CASES}")
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_revisits_of_reported_bugs_are_replayed(tmp_path: Path, number: int) -> None:
    warc, home = CASES / f"revisit-digest-{number}.warc", tmp_path / "home"
    fonds = [sys.executable, "-m", "fonds", "--home", home]
    subprocess.run([*fonds, "ingest", warc], check=True, timeout=240)
    with sqlite3.connect(home / "records.sqlite") as books:
        rows = books.execute("select sha1hex, url, datetime from cdx order by datetime").fetchall()
    assert len(rows) == 2
    bodies = [replayed(home, moment, url) for _, url, moment in rows]
    assert bodies[0] == bodies[1]
    assert {hashlib.sha1(body).hexdigest() for body in bodies} == {row[0] for row in rows}
