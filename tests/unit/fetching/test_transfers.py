"""Requests over real sockets: the recorded exchange, every limit, and every rejected address."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.certificates import create_server_context, make_authority
from fixtures.web_of_hosts import (
    DEAD_ADDRESS,
    LOCALHOST,
    PRIVATE_ADDRESS,
    HostRequest,
    Pieces,
    Web,
    build_response,
    is_allowed,
    serve_hosts,
)
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import CrawlRequest, CrawlResponse, RequestFailure, RequestLimits
from fonds.model.disposition import Reason
from fonds.model.entry import TlsCheck
from fonds.urls.request_url import parse_request_url

PATIENT_LIMITS = RequestLimits(head_max_bytes=8000)
QUICK_LIMITS = RequestLimits(connect_s=2.0, total_s=3.0, slow_bytes=1000, slow_s=1)
"""Only for tests of time limits: on a busy machine any response may exceed them."""

AGENT = "Fonds/0 (+https://fonds.example)"


@pytest.fixture
def web() -> Iterator[Web]:
    with serve_hosts() as hosts:
        yield hosts


@pytest.fixture
def client() -> Iterator[CrawlClient]:
    client = CrawlClient(PATIENT_LIMITS, is_allowed)
    yield client
    client.close()


@pytest.fixture
def quick_client() -> Iterator[CrawlClient]:
    client = CrawlClient(QUICK_LIMITS, is_allowed)
    yield client
    client.close()


def fetch(client: CrawlClient, crawl_request: CrawlRequest) -> CrawlResponse | RequestFailure:
    client.begin("key", crawl_request)
    for _ in range(100):
        for key, result in client.collect_finished(1.0):
            assert key == "key"
            return result
    raise AssertionError("the request did not finish")


def make_request(url: str, **changes: object) -> CrawlRequest:
    default = CrawlRequest(parse_request_url(url), (LOCALHOST,), AGENT, 100_000)
    return replace(default, **changes)  # type: ignore[arg-type]


def get_response(result: CrawlResponse | RequestFailure) -> CrawlResponse:
    assert isinstance(result, CrawlResponse), result
    return result


def get_failure_reason(result: CrawlResponse | RequestFailure) -> Reason:
    assert isinstance(result, RequestFailure), result
    return result.reason


def test_an_exchange_is_recorded_as_it_was_sent(web: Web, client: CrawlClient) -> None:
    headers = {"X-Odd": "ä", "set-cookie": "a=1; Path=/"}
    web.hosts["a.example"] = lambda request, nth: build_response("page", "200 Fine", headers)
    response = get_response(fetch(client, make_request(web.build_url("a.example", "/x?y"))))
    assert (response.hop.status, response.hop.status_line) == (200, "HTTP/1.1 200 Fine")
    assert ("X-Odd", "ä") in response.hop.headers
    assert ("set-cookie", "a=1; Path=/") in response.hop.headers
    assert response.hop.request_head.startswith("GET /x?y HTTP/1.1\r\nHost: a.example:")
    assert f"User-Agent: {AGENT}\r\n" in response.hop.request_head
    assert (response.hop.address, response.hop.protocol, response.hop.tls) == (
        LOCALHOST,
        "HTTP/1.1",
        None,
    )
    assert response.body == b"page"
    assert response.hop.body_bytes == 4
    assert response.hop.took_s > 0


def test_a_body_keeps_its_content_coding_and_loses_its_chunks(
    web: Web, client: CrawlClient
) -> None:
    response_bytes = (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n"
    )
    web.hosts["a.example"] = lambda request, nth: response_bytes
    response = get_response(fetch(client, make_request(web.build_url("a.example"))))
    assert response.body == b"abcde"
    assert response.hop.get("content-encoding") == "br"
    assert response.hop.get("x-trailer") is None


def test_connections_are_reused(web: Web, client: CrawlClient) -> None:
    first = get_response(fetch(client, make_request(web.build_url("a.example"))))
    second = get_response(fetch(client, make_request(web.build_url("a.example", "/other"))))
    assert first.hop.connected_s > 0
    assert second.hop.connected_s == 0.0


def test_cookies_are_sent_only_within_their_chain(web: Web, client: CrawlClient) -> None:
    web.hosts["a.example"] = lambda request, nth: build_response(
        "", headers={"Set-Cookie": "seen=1"}
    )
    first = get_response(fetch(client, make_request(web.build_url("a.example"))))
    fetch(client, make_request(web.build_url("a.example"), cookies=first.cookies))
    fetch(client, make_request(web.build_url("a.example")))
    fetch(client, make_request(web.build_url("b.example"), cookies=first.cookies))
    assert [request.headers.get("cookie") for request in web.log] == [None, "seen=1", None, None]


def test_an_early_hints_response_is_ignored(web: Web, client: CrawlClient) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + build_response("page")
    web.hosts["a.example"] = lambda request, nth: early
    response = get_response(fetch(client, make_request(web.build_url("a.example"))))
    assert response.hop.status_line == "HTTP/1.1 200 OK"
    assert response.hop.get("link") is None


async def send_endless(pause_s: float, piece: bytes = b"x" * 1000) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield piece
        await asyncio.sleep(pause_s)


async def send_endless_head() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"X-More: " + b"x" * 500 + b"\r\n"


async def send_nothing() -> Pieces:
    await asyncio.sleep(60)
    yield b""


@pytest.mark.parametrize(
    "pieces",
    [
        lambda: send_endless(0.5, b"x"),
        send_nothing,
        lambda: send_endless(0.05, b"x" * 100),
    ],
    ids=["too slow", "silent", "longer than the time"],
)
def test_a_slow_response_ends_by_its_time_limits(
    web: Web, quick_client: CrawlClient, pieces: Callable[[], Pieces]
) -> None:
    web.hosts["a.example"] = lambda request, nth: pieces()
    assert (
        get_failure_reason(fetch(quick_client, make_request(web.build_url("a.example"))))
        is Reason.UNREACHABLE
    )


@pytest.mark.parametrize(
    "pieces", [lambda: send_endless(0.0), send_endless_head], ids=["endless", "endless head"]
)
def test_an_endless_response_ends_by_its_size_limits(
    web: Web, client: CrawlClient, pieces: Callable[[], Pieces]
) -> None:
    web.hosts["a.example"] = lambda request, nth: pieces()
    assert (
        get_failure_reason(fetch(client, make_request(web.build_url("a.example"))))
        is Reason.TOO_LARGE
    )


def test_a_body_declared_too_large_is_rejected_at_once(web: Web, client: CrawlClient) -> None:
    web.hosts["a.example"] = lambda request, nth: (
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 100
    )
    assert (
        get_failure_reason(fetch(client, make_request(web.build_url("a.example"))))
        is Reason.TOO_LARGE
    )


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nab",
        b"SSH-2.0-OpenSSH\r\nconnection: close\r\n",
        b"connection: close",
    ],
    ids=["length", "chunks", "no http", "nothing"],
)
def test_an_incomplete_or_malformed_response_is_unreachable(
    web: Web, client: CrawlClient, sent: bytes
) -> None:
    web.hosts["a.example"] = lambda request, nth: sent
    assert (
        get_failure_reason(fetch(client, make_request(web.build_url("a.example"))))
        is Reason.UNREACHABLE
    )


def test_a_host_that_refuses_connections_is_unreachable(web: Web, client: CrawlClient) -> None:
    result = fetch(client, make_request(web.build_url("a.example"), addresses=(DEAD_ADDRESS,)))
    assert get_failure_reason(result) is Reason.UNREACHABLE
    assert isinstance(result, RequestFailure)
    assert result.is_unreachable


@pytest.mark.parametrize("url", ["http://a.example:{}/", "http://10.0.0.7:{}/", "http://[::1]:{}/"])
def test_private_addresses_are_never_connected(web: Web, client: CrawlClient, url: str) -> None:
    request = make_request(url.format(web.port), addresses=(PRIVATE_ADDRESS,))
    assert get_failure_reason(fetch(client, request)) is Reason.PRIVATE_ADDRESS
    assert web.log == []


def test_an_address_in_the_url_is_checked_like_any_other(web: Web, client: CrawlClient) -> None:
    strict = CrawlClient(PATIENT_LIMITS, lambda address: address == DEAD_ADDRESS)
    try:
        request = make_request(f"http://127.0.0.1:{web.port}/", addresses=(LOCALHOST,))
        assert get_failure_reason(fetch(strict, request)) is Reason.PRIVATE_ADDRESS
    finally:
        strict.close()
    assert web.log == []


def test_only_checked_addresses_of_a_name_are_connected(web: Web, client: CrawlClient) -> None:
    """The system would resolve `localhost` by itself, but only its checked address is connected."""
    request = make_request(f"http://localhost:{web.port}/", addresses=(DEAD_ADDRESS,))
    assert get_failure_reason(fetch(client, request)) is Reason.UNREACHABLE
    assert web.log == []


def test_a_reused_connection_is_checked_again(web: Web) -> None:
    allowed = {LOCALHOST}
    client = CrawlClient(PATIENT_LIMITS, lambda address: address in allowed)
    try:
        get_response(fetch(client, make_request(web.build_url("a.example"))))
        allowed.clear()
        assert (
            get_failure_reason(fetch(client, make_request(web.build_url("a.example"))))
            is Reason.PRIVATE_ADDRESS
        )
    finally:
        client.close()
    assert len(web.log) == 1


def test_proxies_of_the_environment_are_ignored(
    web: Web, client: CrawlClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9/")
    get_response(fetch(client, make_request(web.build_url("a.example"))))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_authority(tmp_path_factory.mktemp("tls"))


def fetch_over_tls(
    authority: Path, context: ssl.SSLContext, host: str, tls: TlsCheck
) -> CrawlResponse | RequestFailure:
    client = CrawlClient(PATIENT_LIMITS, is_allowed, str(authority))
    try:
        with serve_hosts(context) as web:
            return fetch(client, make_request(web.build_tls_url(host), tls=tls))
    finally:
        client.close()


def test_the_tls_version_and_cipher_are_recorded(authority: Path) -> None:
    context = create_server_context(authority.parent, "good.example")
    response = get_response(fetch_over_tls(authority, context, "good.example", TlsCheck.FULL))
    assert response.hop.tls is not None
    assert response.hop.tls.startswith("TLSv1.3 TLS_")


@pytest.mark.parametrize(
    ("host", "requested_host", "expired"),
    [("expired.example", "expired.example", True), ("good.example", "other.example", False)],
)
def test_an_invalid_certificate_is_rejected_unless_checks_are_off(
    authority: Path, host: str, requested_host: str, expired: bool
) -> None:
    context = create_server_context(authority.parent, host, expired=expired)
    for tls in (TlsCheck.FULL, TlsCheck.OLD):
        assert (
            get_failure_reason(fetch_over_tls(authority, context, requested_host, tls))
            is Reason.BAD_CERTIFICATE
        )
    get_response(fetch_over_tls(authority, context, requested_host, TlsCheck.NONE))


def test_a_hundred_requests_run_concurrently(web: Web, client: CrawlClient) -> None:
    for number in range(100):
        client.begin(number, make_request(web.build_url(f"h{number % 10}.example", f"/{number}")))
    results: dict[object, CrawlResponse | RequestFailure] = {}
    while len(results) < 100:
        results |= dict(client.collect_finished(1.0))
    assert client.count == 0
    assert all(isinstance(result, CrawlResponse) for result in results.values())
    assert {get_response(result).hop.url.rpartition("/")[2] for result in results.values()} == {
        str(number) for number in range(100)
    }


def test_closing_the_client_drops_active_requests(web: Web) -> None:
    client = CrawlClient(QUICK_LIMITS, is_allowed)

    def respond_never(request: HostRequest, nth: int) -> Pieces:
        return send_nothing()

    web.hosts["a.example"] = respond_never
    client.begin("key", make_request(web.build_url("a.example")))
    client.collect_finished(0.2)
    assert client.count == 1
    client.close()
    assert client.count == 0


def test_waking_a_closed_client_does_nothing() -> None:
    """Another thread may close the client at any moment."""
    client = CrawlClient(QUICK_LIMITS, is_allowed)
    client.close()
    client.wake()
