"""Requests over real sockets: what is kept of an exchange, every limit, and every address that is refused."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.certificates import make_authority, server_context
from fixtures.web_of_hosts import (
    DEAD,
    HERE,
    PRIVATE,
    Asked,
    Pieces,
    Web,
    answer,
    is_allowed,
    web_of_hosts,
)
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import CrawlRequest, CrawlResponse, RequestFailure, RequestLimits
from fonds.model.disposition import Reason
from fonds.model.entry import TlsCheck
from fonds.urls.request_url import parse_request_url

PATIENT = RequestLimits(head_max_bytes=8000)
QUICK = RequestLimits(connect_s=2.0, total_s=3.0, slow_bytes=1000, slow_s=1)
"""For what ends by a limit of time alone: on a busy machine any answer may be slower than this."""

AGENT = "Fonds/0 (+https://fonds.example)"


@pytest.fixture
def web() -> Iterator[Web]:
    with web_of_hosts() as ours:
        yield ours


@pytest.fixture
def transfers() -> Iterator[CrawlClient]:
    ours = CrawlClient(PATIENT, is_allowed)
    yield ours
    ours.close()


@pytest.fixture
def hurried() -> Iterator[CrawlClient]:
    ours = CrawlClient(QUICK, is_allowed)
    yield ours
    ours.close()


def get(transfers: CrawlClient, ask: CrawlRequest) -> CrawlResponse | RequestFailure:
    transfers.begin("key", ask)
    for _ in range(100):
        for key, end in transfers.collect_finished(1.0):
            assert key == "key"
            return end
    raise AssertionError("it never ended")


def ask(url: str, **more: object) -> CrawlRequest:
    usual = CrawlRequest(parse_request_url(url), (HERE,), AGENT, 100_000)
    return replace(usual, **more)  # type: ignore[arg-type]


def received(end: CrawlResponse | RequestFailure) -> CrawlResponse:
    assert isinstance(end, CrawlResponse), end
    return end


def refused(end: CrawlResponse | RequestFailure) -> Reason:
    assert isinstance(end, RequestFailure), end
    return end.reason


def test_an_exchange_is_kept_as_it_was_sent(web: Web, transfers: CrawlClient) -> None:
    headers = {"X-Odd": "ä", "set-cookie": "a=1; Path=/"}
    web.hosts["a.example"] = lambda asked, nth: answer("page", "200 Fine", headers)
    found = received(get(transfers, ask(web.url("a.example", "/x?y"))))
    assert (found.hop.status, found.hop.status_line) == (200, "HTTP/1.1 200 Fine")
    assert ("X-Odd", "ä") in found.hop.headers
    assert ("set-cookie", "a=1; Path=/") in found.hop.headers
    assert found.hop.request_head.startswith("GET /x?y HTTP/1.1\r\nHost: a.example:")
    assert f"User-Agent: {AGENT}\r\n" in found.hop.request_head
    assert (found.hop.address, found.hop.protocol, found.hop.tls) == (HERE, "HTTP/1.1", None)
    assert found.body == b"page"
    assert found.hop.body_bytes == 4
    assert found.hop.took_s > 0


def test_a_body_keeps_its_coding_and_loses_its_chunks(web: Web, transfers: CrawlClient) -> None:
    sent = (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n"
    )
    web.hosts["a.example"] = lambda asked, nth: sent
    found = received(get(transfers, ask(web.url("a.example"))))
    assert found.body == b"abcde"
    assert found.hop.get("content-encoding") == "br"
    assert found.hop.get("x-trailer") is None


def test_connections_are_reused(web: Web, transfers: CrawlClient) -> None:
    first = received(get(transfers, ask(web.url("a.example"))))
    second = received(get(transfers, ask(web.url("a.example", "/other"))))
    assert first.hop.connected_s > 0
    assert second.hop.connected_s == 0.0


def test_cookies_live_as_long_as_their_chain(web: Web, transfers: CrawlClient) -> None:
    web.hosts["a.example"] = lambda asked, nth: answer("", headers={"Set-Cookie": "seen=1"})
    first = received(get(transfers, ask(web.url("a.example"))))
    get(transfers, ask(web.url("a.example"), cookies=first.cookies))
    get(transfers, ask(web.url("a.example")))
    get(transfers, ask(web.url("b.example"), cookies=first.cookies))
    assert [one.headers.get("cookie") for one in web.log] == [None, "seen=1", None, None]


def test_an_answer_before_the_answer_is_left_out(web: Web, transfers: CrawlClient) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer("page")
    web.hosts["a.example"] = lambda asked, nth: early
    found = received(get(transfers, ask(web.url("a.example"))))
    assert found.hop.status_line == "HTTP/1.1 200 OK"
    assert found.hop.get("link") is None


async def endless(pause_s: float, piece: bytes = b"x" * 1000) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield piece
        await asyncio.sleep(pause_s)


async def endless_head() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"X-More: " + b"x" * 500 + b"\r\n"


async def nothing() -> Pieces:
    await asyncio.sleep(60)
    yield b""


@pytest.mark.parametrize(
    "pieces",
    [
        lambda: endless(0.5, b"x"),
        nothing,
        lambda: endless(0.05, b"x" * 100),
    ],
    ids=["too slow", "silent", "longer than the time"],
)
def test_no_answer_takes_longer_than_its_limits(
    web: Web, hurried: CrawlClient, pieces: Callable[[], Pieces]
) -> None:
    web.hosts["a.example"] = lambda asked, nth: pieces()
    assert refused(get(hurried, ask(web.url("a.example")))) is Reason.UNREACHABLE


@pytest.mark.parametrize(
    "pieces", [lambda: endless(0.0), endless_head], ids=["endless", "endless head"]
)
def test_no_answer_is_longer_than_its_limits(
    web: Web, transfers: CrawlClient, pieces: Callable[[], Pieces]
) -> None:
    web.hosts["a.example"] = lambda asked, nth: pieces()
    assert refused(get(transfers, ask(web.url("a.example")))) is Reason.TOO_LARGE


def test_a_body_declared_too_large_is_not_waited_for(web: Web, transfers: CrawlClient) -> None:
    web.hosts["a.example"] = lambda asked, nth: (
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 100
    )
    assert refused(get(transfers, ask(web.url("a.example")))) is Reason.TOO_LARGE


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
def test_what_breaks_off_or_is_no_http_is_no_answer(
    web: Web, transfers: CrawlClient, sent: bytes
) -> None:
    web.hosts["a.example"] = lambda asked, nth: sent
    assert refused(get(transfers, ask(web.url("a.example")))) is Reason.UNREACHABLE


def test_a_host_where_nobody_listens_is_unreachable(web: Web, transfers: CrawlClient) -> None:
    end = get(transfers, ask(web.url("a.example"), addresses=(DEAD,)))
    assert refused(end) is Reason.UNREACHABLE
    assert isinstance(end, RequestFailure)
    assert end.is_unreachable


@pytest.mark.parametrize("url", ["http://a.example:{}/", "http://10.0.0.7:{}/", "http://[::1]:{}/"])
def test_no_private_address_is_connected_to(web: Web, transfers: CrawlClient, url: str) -> None:
    one = ask(url.format(web.port), addresses=(PRIVATE,))
    assert refused(get(transfers, one)) is Reason.PRIVATE_ADDRESS
    assert web.log == []


def test_an_address_in_the_url_is_judged_like_any(web: Web, transfers: CrawlClient) -> None:
    strict = CrawlClient(PATIENT, lambda address: address == DEAD)
    try:
        one = ask(f"http://127.0.0.1:{web.port}/", addresses=(HERE,))
        assert refused(get(strict, one)) is Reason.PRIVATE_ADDRESS
    finally:
        strict.close()
    assert web.log == []


def test_a_name_that_is_bound_anew_leads_nowhere_else(web: Web, transfers: CrawlClient) -> None:
    """The system would resolve `localhost` by itself; only what was judged for it is connected to."""
    one = ask(f"http://localhost:{web.port}/", addresses=(DEAD,))
    assert refused(get(transfers, one)) is Reason.UNREACHABLE
    assert web.log == []


def test_a_connection_that_stands_is_judged_again(web: Web) -> None:
    allowed = {HERE}
    ours = CrawlClient(PATIENT, lambda address: address in allowed)
    try:
        received(get(ours, ask(web.url("a.example"))))
        allowed.clear()
        assert refused(get(ours, ask(web.url("a.example")))) is Reason.PRIVATE_ADDRESS
    finally:
        ours.close()
    assert len(web.log) == 1


def test_no_proxy_of_the_environment_is_used(
    web: Web, transfers: CrawlClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9/")
    received(get(transfers, ask(web.url("a.example"))))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_authority(tmp_path_factory.mktemp("tls"))


def secure(
    authority: Path, context: ssl.SSLContext, host: str, tls: TlsCheck
) -> CrawlResponse | RequestFailure:
    ours = CrawlClient(PATIENT, is_allowed, str(authority))
    try:
        with web_of_hosts(context) as web:
            return get(ours, ask(web.tls_url(host), tls=tls))
    finally:
        ours.close()


def test_tls_is_verified_and_told(authority: Path) -> None:
    context = server_context(authority.parent, "good.example")
    found = received(secure(authority, context, "good.example", TlsCheck.FULL))
    assert found.hop.tls is not None
    assert found.hop.tls.startswith("TLSv1.3 TLS_")


@pytest.mark.parametrize(
    ("host", "asked", "expired"),
    [("expired.example", "expired.example", True), ("good.example", "other.example", False)],
)
def test_a_certificate_that_proves_nothing_is_refused_unless_none_is_asked_for(
    authority: Path, host: str, asked: str, expired: bool
) -> None:
    context = server_context(authority.parent, host, expired=expired)
    for tls in (TlsCheck.FULL, TlsCheck.OLD):
        assert refused(secure(authority, context, asked, tls)) is Reason.BAD_CERTIFICATE
    received(secure(authority, context, asked, TlsCheck.NONE))


def test_many_requests_run_at_once(web: Web, transfers: CrawlClient) -> None:
    for number in range(100):
        transfers.begin(number, ask(web.url(f"h{number % 10}.example", f"/{number}")))
    ended: dict[object, CrawlResponse | RequestFailure] = {}
    while len(ended) < 100:
        ended |= dict(transfers.collect_finished(1.0))
    assert transfers.count == 0
    assert all(isinstance(end, CrawlResponse) for end in ended.values())
    assert {received(end).hop.url.rpartition("/")[2] for end in ended.values()} == {
        str(number) for number in range(100)
    }


def test_nothing_is_left_open(web: Web) -> None:
    ours = CrawlClient(QUICK, is_allowed)

    def silent(asked: Asked, nth: int) -> Pieces:
        return nothing()

    web.hosts["a.example"] = silent
    ours.begin("key", ask(web.url("a.example")))
    ours.collect_finished(0.2)
    assert ours.count == 1
    ours.close()
    assert ours.count == 0


def test_waking_closed_transfers_does_nothing() -> None:
    """Another thread may close them at any moment."""
    transfers = CrawlClient(QUICK, is_allowed)
    transfers.close()
    transfers.wake()
