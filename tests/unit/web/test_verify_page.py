"""A manifest is held against the library: on the page, as a file or pasted, and in the API."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from starlette.testclient import TestClient

from filled_crawl import HOSTILE_TITLE
from fonds.search.manifest import MANIFEST_MAX_BYTES
from page_reading import PageRead

OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def manifest(client: TestClient) -> bytes:
    answer = client.get("/search/export/csv.zip?q=flood")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return archive.read("search.csv.manifest.json")


def test_page_and_api_say_the_same(client: TestClient, manifest: bytes) -> None:
    told = client.post("/api/verify", content=manifest).json()
    assert told["result_is_same"] is True
    assert told["compared"]["unchanged"] == told["then"] == told["now"] > 10
    file = client.post("/verify", files={"file": ("m.json", manifest)}, headers=OURS)
    pasted = client.post("/verify", data={"pasted": manifest.decode()}, headers=OURS)
    both = client.post(
        "/verify", files={"file": ("", b"")}, data={"pasted": manifest.decode()}, headers=OURS
    )
    for answer in (file, pasted, both):
        page = PageRead(answer.text)
        assert page.heading == "The search finds the same documents with the same files"
        assert page.words("//tbody/tr[1]/td") == str(told["then"])


def test_what_came_since_is_listed_and_is_text(client: TestClient, manifest: bytes) -> None:
    """All documents came since, to a manifest that names none of them."""
    told = json.loads(manifest)
    told["documents"], told["rows"] = [], 0
    told["documents_sha256"] = "0" * 64
    answer = client.post("/verify", data={"pasted": json.dumps(told)}, headers=OURS)
    page = PageRead(answer.text)
    now = client.get("/api/search?q=flood").json()["total"]
    assert page.heading == f"0 documents then, {now} now"
    assert page.words("//p[@class='lead']") == (
        f"{now} now = 0 then − 0 taken down − 0 gone − 0 no longer found + {now} added."
    )
    assert page.links("//table")["#added"] == str(now)
    assert page.words("//h2[@id='added']") == "Added since"
    listed = page.words("//section[@aria-labelledby='added']")
    assert HOSTILE_TITLE in listed
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize(
    "pasted",
    ["", " ", "[]", "{}", "[" * 100_000, '{"file": 1}', "\x00", "<script>alert(1)</script>"],
)
def test_what_is_no_manifest_is_refused_in_a_sentence(client: TestClient, pasted: str) -> None:
    answer = client.post("/verify", data={"pasted": pasted}, headers=OURS)
    assert answer.status_code == 400
    page = PageRead(answer.text)
    told = page.words("//p[@role='alert']")
    assert "This manifest cannot be verified" in told or "Choose the manifest" in told
    assert len(told) < 600
    assert client.post("/api/verify", content=pasted.encode()).status_code == 400


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=", b"--\r\n"),
        ("multipart/form-data; boundary=b", b"--b\r\nno head\r\n--b--"),
        ("multipart/form-data; boundary=b", b"--b\r\n" * 1_000),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\nx\r\n--b--',
        ),
        ("application/x-www-form-urlencoded", b"a=1&b=2&c=3&d=4&e=5&f=6"),
        ("application/x-www-form-urlencoded", b"\xff"),
        ("text/plain", b"pasted=x"),
    ],
)
def test_a_form_that_is_none_of_ours_is_refused(client: TestClient, kind: str, body: bytes) -> None:
    answer = client.post("/verify", content=body, headers={**OURS, "Content-Type": kind})
    assert answer.status_code == 400


def test_more_than_a_manifest_can_have_is_refused(client: TestClient) -> None:
    body = b" " * (MANIFEST_MAX_BYTES + 20_000)
    assert client.post("/api/verify", content=body).status_code == 413


def test_a_page_from_elsewhere_sends_nothing(client: TestClient, manifest: bytes) -> None:
    for path in ("/verify", "/api/verify"):
        answer = client.post(path, content=manifest, headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403
