"""Verifying a manifest against the library: on the page, as a file or pasted, and in the API."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from starlette.testclient import TestClient

from filled_crawl import HOSTILE_TITLE
from fonds.search.manifest import MANIFEST_MAX_BYTES
from page_reading import PageRead

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def manifest(client: TestClient) -> bytes:
    response = client.get("/search/export/csv.zip?q=flood")
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        return archive.read("search.csv.manifest.json")


def test_the_page_and_the_api_report_the_same_comparison(
    client: TestClient, manifest: bytes
) -> None:
    comparison = client.post("/api/verify", content=manifest).json()
    assert comparison["result_is_same"] is True
    assert comparison["compared"]["unchanged"] == comparison["then"] == comparison["now"] > 10
    file_response = client.post(
        "/verify", files={"file": ("m.json", manifest)}, headers=SAME_ORIGIN
    )
    pasted_response = client.post(
        "/verify", data={"pasted": manifest.decode()}, headers=SAME_ORIGIN
    )
    pasted_with_empty_file = client.post(
        "/verify",
        files={"file": ("", b"")},
        data={"pasted": manifest.decode()},
        headers=SAME_ORIGIN,
    )
    for response in (file_response, pasted_response, pasted_with_empty_file):
        page = PageRead(response.text)
        assert page.heading == "The search finds the same documents with the same files"
        assert page.words("//tbody/tr[1]/td") == str(comparison["then"])


def test_added_documents_are_listed_and_escaped(client: TestClient, manifest: bytes) -> None:
    """A manifest without documents reports all documents as added."""
    changed_manifest = json.loads(manifest)
    changed_manifest["documents"], changed_manifest["rows"] = [], 0
    changed_manifest["documents_sha256"] = "0" * 64
    response = client.post(
        "/verify", data={"pasted": json.dumps(changed_manifest)}, headers=SAME_ORIGIN
    )
    page = PageRead(response.text)
    count = client.get("/api/search?q=flood").json()["total"]
    assert page.heading == f"0 documents then, {count} now"
    assert page.words("//p[@class='lead']") == (
        f"{count} now = 0 then − 0 taken down − 0 gone − 0 no longer found + {count} added."
    )
    assert page.links("//table")["#added"] == str(count)
    assert page.words("//h2[@id='added']") == "Added since"
    text = page.words("//section[@aria-labelledby='added']")
    assert HOSTILE_TITLE in text
    assert "<script>alert" not in response.text


@pytest.mark.parametrize(
    "pasted_text",
    ["", " ", "[]", "{}", "[" * 100_000, '{"file": 1}', "\x00", "<script>alert(1)</script>"],
)
def test_an_invalid_manifest_is_refused_with_a_message(
    client: TestClient, pasted_text: str
) -> None:
    response = client.post("/verify", data={"pasted": pasted_text}, headers=SAME_ORIGIN)
    assert response.status_code == 400
    page = PageRead(response.text)
    message = page.words("//p[@role='alert']")
    assert "This manifest cannot be verified" in message or "Choose the manifest" in message
    assert len(message) < 600
    assert client.post("/api/verify", content=pasted_text.encode()).status_code == 400


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
def test_an_invalid_form_is_refused(client: TestClient, kind: str, body: bytes) -> None:
    response = client.post("/verify", content=body, headers={**SAME_ORIGIN, "Content-Type": kind})
    assert response.status_code == 400


def test_a_manifest_that_is_too_large_is_refused(client: TestClient) -> None:
    body = b" " * (MANIFEST_MAX_BYTES + 20_000)
    assert client.post("/api/verify", content=body).status_code == 413


def test_requests_from_other_sites_are_refused(client: TestClient, manifest: bytes) -> None:
    for path in ("/verify", "/api/verify"):
        response = client.post(path, content=manifest, headers={"Origin": "https://evil.example"})
        assert response.status_code == 403
