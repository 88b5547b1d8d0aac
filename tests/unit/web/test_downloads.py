"""HTTP semantics of downloads: HEAD, refused methods, ranges, validators and codings."""

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
def test_head_returns_the_headers_of_get(client: TestClient, path: str) -> None:
    for coding in (PLAIN, PACKED):
        get_response, head_response = (
            client.get(path, headers=coding),
            client.head(path, headers=coding),
        )
        assert head_response.status_code == get_response.status_code
        assert head_response.content == b""
        for name in ("content-type", "content-encoding", "etag", "content-security-policy"):
            assert head_response.headers.get(name) == get_response.headers.get(name), name
        assert ("content-length" in head_response.headers) == (
            "content-length" in get_response.headers
        )


def test_head_of_a_download_returns_its_length(client: TestClient, filled_home: FilledHome) -> None:
    for download in ("body", "text", "thumbnail"):
        path = f"/file/{filled_home.pdfs[0]}/{download}"
        head_response, get_response = (
            client.head(path, headers=PLAIN),
            client.get(path, headers=PLAIN),
        )
        assert head_response.headers["content-length"] == str(len(get_response.content))
        assert head_response.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize(
    "method", ["TRACE", "TRACK", "CONNECT", "PUT", "DELETE", "PATCH", "PROPFIND"]
)
def test_unsupported_methods_return_405(client: TestClient, method: str) -> None:
    response = client.request(method, "/", headers={"Sec-Fetch-Site": "same-origin"})
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD"
    assert "X-Content-Type-Options" in response.headers


def test_trace_does_not_repeat_request_headers(client: TestClient) -> None:
    response = client.request("TRACE", "/", headers={"X-Secret": "hunter"})
    assert response.status_code == 405
    assert "hunter" not in response.text + str(response.headers)


def test_robots_txt_disallows_crawlers(client: TestClient) -> None:
    response = client.get("/robots.txt")
    assert response.text == "User-agent: *\nDisallow: /\n"
    assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("download", ["body", "text", "thumbnail"])
def test_ranges_add_up_to_the_content(
    client: TestClient, filled_home: FilledHome, download: str
) -> None:
    path = f"/file/{filled_home.long}/{download}"
    content = client.get(path, headers=PLAIN).content
    step, parts = max(1, len(content) // 3), []
    for start in range(0, len(content), step):
        response = client.get(
            path, headers={**PACKED, "Range": f"bytes={start}-{start + step - 1}"}
        )
        assert response.status_code == 206
        assert "content-encoding" not in response.headers
        end = min(start + step, len(content)) - 1
        assert response.headers["content-range"] == f"bytes {start}-{end}/{len(content)}"
        parts.append(response.content)
    assert b"".join(parts) == content
    after_end = client.get(path, headers={"Range": f"bytes={len(content)}-"})
    assert (after_end.status_code, after_end.content) == (416, b"")
    assert after_end.headers["content-range"] == f"bytes */{len(content)}"
    assert after_end.headers["content-security-policy"].startswith("default-src 'none'; sandbox")


def test_matching_etags_return_304(client: TestClient, filled_home: FilledHome) -> None:
    path = f"/file/{filled_home.pdfs[0]}/body"
    etag = client.get(path).headers["etag"]
    assert etag == f'"{filled_home.pdfs[0]}"'
    for validators in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        response = client.get(path, headers={"If-None-Match": validators})
        assert (response.status_code, response.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    range_header = {"Range": "bytes=0-1"}
    assert client.get(path, headers={**range_header, "If-Range": etag}).status_code == 206
    assert client.get(path, headers={**range_header, "If-Range": '"other"'}).status_code == 200
    assert client.get(path, headers={**range_header, "If-Range": f"W/{etag}"}).status_code == 200


@given(st.integers(0, 50), st.integers(0, 60), st.integers(0, 60))
def test_a_range_returns_the_slice(size: int, first: int, last: int) -> None:
    content = bytes(range(size))
    for header, expected in (
        (f"bytes={first}-{last}", content[first : last + 1] if first <= last else None),
        (f"bytes={first}-", content[first:]),
        (f"bytes=-{last}", content[max(0, size - last) :] if last else b""),
    ):
        response = build_response(Headers({"Range": header}), content, "text/plain", "x", {})
        if expected is None:
            assert (response.status_code, response.body) == (200, content)
        elif expected:
            assert (response.status_code, response.body) == (206, expected)
        else:
            assert (response.status_code, response.body) == (416, b"")


@given(
    st.text(max_size=30) | st.from_regex(r"bytes=[0-9,-]{0,30}", fullmatch=True), st.integers(0, 99)
)
def test_any_range_header_is_parsed_within_bounds_or_rejected(header: str, size: int) -> None:
    try:
        slice_range = parse_range(size, header)
    except ValueError:
        return
    assert slice_range is None or 0 <= slice_range[0] < slice_range[1] <= size


@pytest.mark.parametrize(
    "path", ["/", "/search?q=flood", "/api/overview", "/static/fonds.css", "/openapi.json"]
)
def test_compressed_and_plain_responses_are_equal(client: TestClient, path: str) -> None:
    compressed_response, plain_response = (
        client.get(path, headers=PACKED),
        client.get(path, headers=PLAIN),
    )
    assert compressed_response.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain_response.headers
    for response in (compressed_response, plain_response):
        assert response.headers["vary"].lower().count("accept-encoding") == 1
    assert int(compressed_response.headers["content-length"]) < len(compressed_response.content)
    if path != "/":
        assert compressed_response.json() == plain_response.json() if "json" in path else True
    etag = plain_response.headers.get("etag")
    assert compressed_response.headers.get("etag") == (etag and f"W/{etag}")


def test_archived_bytes_are_never_compressed(client: TestClient, filled_home: FilledHome) -> None:
    for download in ("body", "thumbnail"):
        response = client.get(f"/file/{filled_home.pdfs[0]}/{download}", headers=PACKED)
        assert "content-encoding" not in response.headers


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("gzip", True), ("GZIP", True), ("br, gzip;q=0.5", True), ("*", True), ("x-gzip", True),
        ("gzip;q=0", False), ("gzip; q=0.000", False), ("*;q=0", False), ("*, gzip;q=0", False),
        ("identity", False), ("", False), ("br", False), ("gzip;q=x", False),
    ],
)  # fmt: skip
def test_gzip_is_sent_only_to_clients_that_accept_it(
    client: TestClient, accepted: str, expected: bool
) -> None:
    assert takes_gzip(accepted) is expected
    response = client.get("/search?q=flood", headers={"Accept-Encoding": accepted})
    assert ("content-encoding" in response.headers) is expected


def test_the_content_length_is_that_of_the_compressed_page(client: TestClient) -> None:
    with client.stream("GET", "/search?q=flood", headers=PACKED) as response:
        raw = b"".join(response.iter_raw())
    assert len(raw) == int(response.headers["content-length"])
    assert gzip.decompress(raw).startswith(b"<!doctype html>".upper()[:1])
