"""Allowed hosts and origins, and the security headers of every response."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from fonds.web.access.security import (
    SECURITY_HEADERS,
    SecurityMiddleware,
    is_host_allowed,
    is_same_origin,
)

LOOPBACK = "127.0.0.1"


@pytest.mark.parametrize(
    "header",
    [
        "localhost",
        "localhost:8765",
        "LOCALHOST.",
        "fonds.localhost",
        "127.0.0.1:1",
        "127.3.2.1",
        "[::1]:8765",
    ],
)
def test_loopback_hosts_are_always_allowed(header: str) -> None:
    assert is_host_allowed(header, LOOPBACK)


@pytest.mark.parametrize(
    "header",
    [
        None, "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.5", "::1",
        "localhost:8765@evil.example", "evil.example/localhost", "[::1", "localhost:port", "0.0.0.0",
    ],
)  # fmt: skip
def test_hosts_that_could_be_rebound_are_refused(header: str | None) -> None:
    assert not is_host_allowed(header, LOOPBACK)


def test_the_bound_host_is_allowed_only_by_its_name() -> None:
    assert is_host_allowed("Archive.Example:8765", "archive.example")
    assert not is_host_allowed("192.168.1.5", "archive.example")


@pytest.mark.parametrize("bound", ["0.0.0.0", "::", "[::]"])
def test_a_server_on_all_addresses_allows_addresses_but_no_names(bound: str) -> None:
    assert is_host_allowed("192.168.1.5:8765", bound)
    assert is_host_allowed("[fe80::1]", bound)
    assert not is_host_allowed("evil.example", bound)


@settings(deadline=None)
@given(st.text())
def test_any_host_header_is_checked_without_an_error(header: str) -> None:
    assert is_host_allowed(header + ".evil.example", LOOPBACK) is False


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"sec-fetch-site": "same-origin", "host": "localhost"}, True),
        (
            {"sec-fetch-site": "cross-site", "host": "localhost", "origin": "http://localhost"},
            False,
        ),
        ({"sec-fetch-site": "same-site", "host": "localhost:1"}, False),
        ({"sec-fetch-site": "none", "host": "localhost"}, False),
        ({"origin": "http://localhost:1", "host": "localhost:1"}, True),
        ({"origin": "http://localhost:2", "host": "localhost:1"}, False),
        ({"origin": "null", "host": "localhost"}, False),
        ({"origin": "http://[", "host": "localhost"}, False),
        ({"host": "localhost"}, False),
    ],
)
def test_only_requests_from_the_same_origin_are_allowed(
    headers: dict[str, str], expected: bool
) -> None:
    assert is_same_origin(Headers(headers)) is expected


def create_client() -> TestClient:
    def respond(request: Request) -> Response:
        return PlainTextResponse("changed", headers={"Content-Security-Policy": "sandbox"})

    app = Starlette(routes=[Route("/", respond, methods=["GET", "POST"])])
    return TestClient(SecurityMiddleware(app, LOOPBACK), base_url="http://localhost:8765")


def test_posts_from_other_origins_are_refused() -> None:
    with create_client() as client:
        assert client.post("/").status_code == 403
        assert client.post("/", headers={"Origin": "https://evil.example"}).status_code == 403
        assert client.post("/", headers={"Origin": "http://localhost:8765"}).text == "changed"
        assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).text == "changed"


def test_refusals_have_security_headers_and_advice() -> None:
    with create_client() as client:
        response = client.get("/", headers={"Host": "evil.example"})
    assert response.status_code == 421
    assert "--host" in response.text
    for name, value in SECURITY_HEADERS.items():
        assert response.headers[name] == value


def test_a_stricter_policy_of_a_response_is_kept() -> None:
    with create_client() as client:
        response = client.get("/")
    assert response.headers["Content-Security-Policy"] == "sandbox"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
