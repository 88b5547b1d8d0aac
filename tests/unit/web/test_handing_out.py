"""HEAD, refused methods, ranges, validators and codings: what is handed out is what was asked for."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from filled_home import FilledHome
from fonds.web.serving.downloads import build_response, parse_range
from fonds.web.serving.responses import takes_gzip

PAGES = ("/", "/search?q=flood", "/records", "/files", "/failures", "/show", "/docs", "/healthz",
         "/api/overview", "/robots.txt", "/static/fonds.css", "/openapi.json", "/nope")  # fmt: skip
PLAIN = {"Accept-Encoding": "identity"}
PACKED = {"Accept-Encoding": "gzip"}


@pytest.mark.parametrize("path", PAGES)
def test_head_is_get_without_its_body(client: TestClient, path: str) -> None:
    for coding in (PLAIN, PACKED):
        whole, head = client.get(path, headers=coding), client.head(path, headers=coding)
        assert head.status_code == whole.status_code
        assert head.content == b""
        for name in ("content-type", "content-encoding", "etag", "content-security-policy"):
            assert head.headers.get(name) == whole.headers.get(name), name
        assert ("content-length" in head.headers) == ("content-length" in whole.headers)


def test_downloads_can_be_asked_for_by_head(client: TestClient, filled_home: FilledHome) -> None:
    for what in ("body", "text", "thumbnail"):
        path = f"/file/{filled_home.pdfs[0]}/{what}"
        head, whole = client.head(path, headers=PLAIN), client.get(path, headers=PLAIN)
        assert head.headers["content-length"] == str(len(whole.content))
        assert head.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize(
    "method", ["TRACE", "TRACK", "CONNECT", "PUT", "DELETE", "PATCH", "PROPFIND"]
)
def test_what_changes_nothing_here_is_refused(client: TestClient, method: str) -> None:
    told = client.request(method, "/", headers={"Sec-Fetch-Site": "same-origin"})
    assert told.status_code == 405
    assert told.headers["allow"] == "GET, HEAD"
    assert "X-Content-Type-Options" in told.headers


def test_a_trace_sends_nothing_back(client: TestClient) -> None:
    told = client.request("TRACE", "/", headers={"X-Secret": "hunter"})
    assert told.status_code == 405
    assert "hunter" not in told.text + str(told.headers)


def test_crawlers_are_told_to_leave(client: TestClient) -> None:
    told = client.get("/robots.txt")
    assert told.text == "User-agent: *\nDisallow: /\n"
    assert told.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("what", ["body", "text", "thumbnail"])
def test_parts_make_up_the_whole(client: TestClient, filled_home: FilledHome, what: str) -> None:
    path = f"/file/{filled_home.long}/{what}"
    whole = client.get(path, headers=PLAIN).content
    step, parts = max(1, len(whole) // 3), []
    for start in range(0, len(whole), step):
        told = client.get(path, headers={**PACKED, "Range": f"bytes={start}-{start + step - 1}"})
        assert told.status_code == 206
        assert "content-encoding" not in told.headers
        end = min(start + step, len(whole)) - 1
        assert told.headers["content-range"] == f"bytes {start}-{end}/{len(whole)}"
        parts.append(told.content)
    assert b"".join(parts) == whole
    behind = client.get(path, headers={"Range": f"bytes={len(whole)}-"})
    assert (behind.status_code, behind.content) == (416, b"")
    assert behind.headers["content-range"] == f"bytes */{len(whole)}"
    assert behind.headers["content-security-policy"].startswith("default-src 'none'; sandbox")


def test_what_a_browser_has_is_not_sent_again(client: TestClient, filled_home: FilledHome) -> None:
    path = f"/file/{filled_home.pdfs[0]}/body"
    etag = client.get(path).headers["etag"]
    assert etag == f'"{filled_home.pdfs[0]}"'
    for known in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        told = client.get(path, headers={"If-None-Match": known})
        assert (told.status_code, told.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    asked = {"Range": "bytes=0-1"}
    assert client.get(path, headers={**asked, "If-Range": etag}).status_code == 206
    assert client.get(path, headers={**asked, "If-Range": '"other"'}).status_code == 200
    assert client.get(path, headers={**asked, "If-Range": f"W/{etag}"}).status_code == 200


@given(st.integers(0, 50), st.integers(0, 60), st.integers(0, 60))
def test_a_range_is_the_slice_it_names(size: int, first: int, last: int) -> None:
    content = bytes(range(size))
    for asked, wanted in (
        (f"bytes={first}-{last}", content[first : last + 1] if first <= last else None),
        (f"bytes={first}-", content[first:]),
        (f"bytes=-{last}", content[max(0, size - last) :] if last else b""),
    ):
        response = build_response(Headers({"Range": asked}), content, "text/plain", "x", {})
        if wanted is None:
            assert (response.status_code, response.body) == (200, content)
        elif wanted:
            assert (response.status_code, response.body) == (206, wanted)
        else:
            assert (response.status_code, response.body) == (416, b"")


@given(
    st.text(max_size=30) | st.from_regex(r"bytes=[0-9,-]{0,30}", fullmatch=True), st.integers(0, 99)
)
def test_any_text_is_a_range_within_or_none(asked: str, size: int) -> None:
    try:
        found = parse_range(size, asked)
    except ValueError:
        return
    assert found is None or 0 <= found[0] < found[1] <= size


@pytest.mark.parametrize(
    "path", ["/", "/search?q=flood", "/api/overview", "/static/fonds.css", "/openapi.json"]
)
def test_packed_is_the_same_as_plain(client: TestClient, path: str) -> None:
    packed, plain = client.get(path, headers=PACKED), client.get(path, headers=PLAIN)
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    for told in (packed, plain):
        assert told.headers["vary"].lower().count("accept-encoding") == 1
    assert int(packed.headers["content-length"]) < len(packed.content)
    if path != "/":
        assert packed.json() == plain.json() if "json" in path else True
    etag = plain.headers.get("etag")
    assert packed.headers.get("etag") == (etag and f"W/{etag}")


def test_bytes_of_archives_are_never_packed(client: TestClient, filled_home: FilledHome) -> None:
    for what in ("body", "thumbnail"):
        told = client.get(f"/file/{filled_home.pdfs[0]}/{what}", headers=PACKED)
        assert "content-encoding" not in told.headers


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True), ("GZIP", True), ("br, gzip;q=0.5", True), ("*", True), ("x-gzip", True),
        ("gzip;q=0", False), ("gzip; q=0.000", False), ("*;q=0", False), ("*, gzip;q=0", False),
        ("identity", False), ("", False), ("br", False), ("gzip;q=x", False),
    ],
)  # fmt: skip
def test_gzip_is_sent_to_who_takes_it(client: TestClient, accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes
    told = client.get("/search?q=flood", headers={"Accept-Encoding": accepted})
    assert ("content-encoding" in told.headers) is takes


def test_a_packed_page_unpacks_to_its_length(client: TestClient) -> None:
    with client.stream("GET", "/search?q=flood", headers=PACKED) as told:
        raw = b"".join(told.iter_raw())
    assert len(raw) == int(told.headers["content-length"])
    assert gzip.decompress(raw).startswith(b"<!doctype html>".upper()[:1])
