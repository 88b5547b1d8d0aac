"""Links fetched over real sockets from a web of hosts, each of which misbehaves in its own way."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import time
from typing import Any

import pytest

from fixtures.web_of_hosts import (
    DEAD_ADDRESS,
    PRIVATE_ADDRESS,
    HostRequest,
    Pieces,
    build_redirect,
    build_response,
    build_story_page,
    respond_by_default,
)
from fonds.fetching import scheduler
from fonds.fetching.outcomes import resolve_redirect
from fonds.fetching.robots import MAX_BYTES
from fonds.following.link_rules import build_link
from fonds.model.capture import PlaceKind, RssEntry
from fonds.model.disposition import Reason, Verdict
from fonds.model.errors import StoreUnavailableError
from fonds.model.rows import FetchedPageRow
from fonds.model.step import Result
from fonds.stores.blobs import FolderBlobs
from fonds.text.exchange import decode_exchange
from fonds.urls.request_url import RequestUrl
from unit.fetching.fetch_step import GAP_S, RULES, Desk, get_capture, get_outcome


def test_a_page_becomes_a_capture_with_its_exchange_in_the_spool(desk: Desk) -> None:
    signals = {
        "Content-Encoding": "gzip",
        "Content-Usage": "train-ai=n",
        "X-Robots-Tag": "noai",
        "TDM-Reservation": "1",
        "ETag": '"1"',
    }
    body_bytes = gzip.compress(b"<p>page")
    desk.web.hosts["a.example"] = lambda request, nth: (
        respond_by_default(request, nth)
        if request.target == "/robots.txt"
        else build_response(body_bytes, headers=signals)
    )
    url = desk.web.build_url("a.example", "/x#part")
    page = get_capture(desk.run(url)[url])
    assert page.url == desk.web.build_url("a.example", "/x")
    assert (page.place.kind, page.status, page.mime) == (PlaceKind.SPOOL, 200, "text/html")
    assert page.id == build_link(url, "poll").id
    assert page.rss_entry == RssEntry(link=url, title="told by the feed")
    blob = desk.blobs.get(page.place.path)
    assert blob is not None
    exchange, body = decode_exchange(blob)
    assert body == body_bytes
    assert exchange.hops[-1].request_head.startswith("GET /x HTTP/1.1\r\n")
    (row,) = desk.records.get(FetchedPageRow, [page.id])
    assert (row.url, row.in_spool, row.etag) == (page.url, True, '"1"')
    assert row.fetched == page.captured_at


def test_redirects_are_followed_by_the_same_rules_and_stored(desk: Desk) -> None:
    def respond(request: HostRequest, nth: int) -> bytes:
        if request.target == "/robots.txt":
            return respond_by_default(request, nth)
        if "cookie" not in request.headers:
            return build_redirect("/story", **{"Set-Cookie": "wall=1"})
        return build_redirect(desk.web.build_url("b.example", "/story"), "301 Moved Permanently")

    desk.web.hosts["a.example"] = respond
    url = desk.web.build_url("a.example")
    page = get_capture(desk.run(url)[url])
    assert page.url == desk.web.build_url("b.example")
    exchange, _ = decode_exchange(desk.blobs.get(page.place.path) or b"")
    assert [hop.status for hop in exchange.hops] == [302, 301, 200]
    assert [request.target for request in desk.web.list_requests("a.example")] == [
        "/robots.txt",
        "/story",
        "/story",
    ]
    assert [request.target for request in desk.web.list_requests("b.example")] == [
        "/robots.txt",
        "/story",
    ]
    assert "cookie" not in desk.web.list_requests("b.example")[1].headers


def test_the_target_of_a_redirect_obeys_its_own_robots_file(desk: Desk) -> None:
    desk.web.hosts["a.example"] = lambda request, nth: (
        respond_by_default(request, nth)
        if request.target == "/robots.txt"
        else build_redirect(desk.web.build_url("b.example"))
    )
    desk.web.hosts["b.example"] = lambda request, nth: build_response("User-agent: *\nDisallow: /")
    url = desk.web.build_url("a.example")
    assert get_outcome(desk.run(url)[url]) == (Verdict.DROPPED, Reason.ROBOTS_DENIED)
    assert [request.target for request in desk.web.list_requests("b.example")] == ["/robots.txt"]


async def send_slowly() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"x"
        await asyncio.sleep(0.2)


async def send_endless() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"x" * 10_000


STEPS = itertools.count()
PAGES: dict[str, Any] = {
    "missing": lambda: build_response("", "404 Not Found"),
    "gone": lambda: build_response("", "410 Gone"),
    "forbidden": lambda: build_response("", "403 Forbidden"),
    "broken": lambda: build_response("", "500 Oops"),
    "throttling": lambda: build_response("", "429 Slow down", {"Retry-After": "7200"}),
    "circle": lambda: build_redirect("/story"),
    "endless-way": lambda: build_redirect(f"/story?{next(STEPS)}"),
    "to-file": lambda: build_redirect("file:///etc/passwd"),
    "to-private": lambda: build_redirect("http://private.example/"),
    "to-metadata": lambda: build_redirect("http://169.254.169.254/latest/"),
    "short": lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\nabc",
    "slow": send_slowly,
    "endless": send_endless,
}
ENDINGS = {
    "missing": (Verdict.DROPPED, Reason.HTTP_STATUS),
    "gone": (Verdict.DROPPED, Reason.HTTP_STATUS),
    "forbidden": (Verdict.DROPPED, Reason.HTTP_STATUS),
    "broken": (Verdict.RETRIED, Reason.HTTP_STATUS),
    "throttling": (Verdict.RETRIED, Reason.THROTTLED),
    "endless-way": (Verdict.DROPPED, Reason.BAD_REDIRECT),
    "circle": (Verdict.DROPPED, Reason.BAD_REDIRECT),
    "to-file": (Verdict.DROPPED, Reason.BAD_REDIRECT),
    "to-private": (Verdict.DROPPED, Reason.PRIVATE_ADDRESS),
    "to-metadata": (Verdict.DROPPED, Reason.PRIVATE_ADDRESS),
    "short": (Verdict.RETRIED, Reason.UNREACHABLE),
    "slow": (Verdict.RETRIED, Reason.UNREACHABLE),
    "endless": (Verdict.DROPPED, Reason.TOO_LARGE),
    "dead": (Verdict.RETRIED, Reason.ROBOTS_UNREACHABLE),
    "private": (Verdict.DROPPED, Reason.PRIVATE_ADDRESS),
    "bound-anew": (Verdict.DROPPED, Reason.PRIVATE_ADDRESS),
    "robots-500": (Verdict.RETRIED, Reason.ROBOTS_UNREACHABLE),
    "robots-denied": (Verdict.DROPPED, Reason.ROBOTS_DENIED),
}


def test_each_misbehaviour_ends_with_its_reason_and_delays_no_other_host(
    desk: Desk,
) -> None:
    web = desk.web
    for name, page in PAGES.items():
        web.hosts[f"{name}.example"] = lambda request, nth, page=page: (  # type: ignore[misc]
            respond_by_default(request, nth) if request.target == "/robots.txt" else page()
        )
    web.addresses |= {
        "dead.example": [DEAD_ADDRESS],
        "private.example": [PRIVATE_ADDRESS],
        "bound-anew.example": ["127.0.0.1", PRIVATE_ADDRESS],
    }
    web.hosts["robots-500.example"] = lambda request, nth: build_response("", "500 Oops")
    web.hosts["robots-denied.example"] = lambda request, nth: build_response(
        "User-agent: fonds\nDisallow: /s"
    )
    urls = {web.build_url(f"{name}.example"): expected for name, expected in ENDINGS.items()}
    good = [web.build_url(f"good{number}.example") for number in range(20)]
    other_urls = {
        "notaurl": (Verdict.DROPPED, Reason.BAD_URL),
        "http://nosuch.invalid/": (Verdict.RETRIED, Reason.NO_SUCH_HOST),
        f"http://127.0.0.2:{web.port}/": (Verdict.DROPPED, Reason.PRIVATE_ADDRESS),
    }
    results = desk.run(*urls, *good, *other_urls)
    assert {url: get_outcome(results[url]) for url in (*urls, *other_urls)} == urls | other_urls
    for url in good:
        get_capture(results[url])
    assert web.list_requests("private.example") == web.list_requests("bound-anew.example") == []
    throttled = results[web.build_url("throttling.example")]
    assert isinstance(throttled, Result)
    assert throttled.disposition.after_s >= 7200
    assert len(web.list_requests("circle.example")) == 2
    assert len(web.list_requests("endless-way.example")) == 1 + 1 + RULES.redirects_max


def test_no_host_is_requested_faster_than_its_pace_including_robots_files(desk: Desk) -> None:
    urls = [desk.web.build_url(f"h{number % 4}.example", f"/{number}") for number in range(24)]
    started_s = time.monotonic()
    results = desk.run(*urls)
    for url in urls:
        get_capture(results[url])
    for host in range(4):
        moments = [request.at_s for request in desk.web.list_requests(f"h{host}.example")]
        assert len(moments) == 7
        # A request may arrive late, but none was sent too early.
        for nth, at_s in enumerate(moments):
            assert at_s >= started_s + nth * GAP_S


def test_a_crawl_delay_is_respected(desk: Desk) -> None:
    desk.web.hosts["a.example"] = lambda request, nth: (
        build_response("User-agent: *\nCrawl-delay: 0.6\nDisallow: /x")
        if request.target == "/robots.txt"
        else build_story_page(request.host, request.target)
    )
    urls = [desk.web.build_url("a.example", f"/{number}") for number in range(3)]
    started_s = time.monotonic()
    desk.run(*urls)
    pages = [request.at_s for request in desk.web.list_requests("a.example")][1:]
    assert all(at_s >= started_s + nth * 0.6 for nth, at_s in enumerate(pages))
    assert len(pages) == 3


def test_a_robots_file_is_requested_once(desk: Desk) -> None:
    urls = [desk.web.build_url("a.example", f"/{number}") for number in range(6)]
    desk.run(*urls[:3])
    desk.run(*urls[3:])
    assert [request.target for request in desk.web.list_requests("a.example")].count(
        "/robots.txt"
    ) == 1


def test_a_redirected_robots_file_is_followed(desk: Desk) -> None:
    def respond(request: HostRequest, nth: int) -> bytes:
        if request.target == "/robots.txt":
            return build_redirect(desk.web.build_url("www.a.example", "/rules.txt"))
        return build_story_page(request.host, request.target)

    desk.web.hosts["a.example"] = respond
    desk.web.hosts["www.a.example"] = lambda request, nth: build_response(
        "User-agent: *\nDisallow: /no"
    )
    yes, no = desk.web.build_url("a.example", "/yes"), desk.web.build_url("a.example", "/no")
    results = desk.run(yes, no)
    get_capture(results[yes])
    assert get_outcome(results[no]) == (Verdict.DROPPED, Reason.ROBOTS_DENIED)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (gzip.compress(b"User-agent: *\nDisallow: /", mtime=0), Reason.ROBOTS_DENIED),
        (b"\x1f\x8b\x08cut", Reason.ROBOTS_UNREACHABLE),
    ],
    ids=["whole", "broken"],
)
def test_a_compressed_robots_file_is_obeyed_and_a_damaged_one_denies(
    desk: Desk, body: bytes, reason: Reason
) -> None:
    desk.web.hosts["a.example"] = lambda request, nth: (
        build_response(body, headers={"Content-Encoding": "gzip"})
        if request.target == "/robots.txt"
        else build_story_page(request.host, request.target)
    )
    url = desk.web.build_url("a.example")
    assert get_outcome(desk.run(url)[url])[1] is reason
    assert [request.target for request in desk.web.list_requests("a.example")] == ["/robots.txt"]


def test_a_long_error_page_for_a_robots_file_counts_by_its_status(desk: Desk) -> None:
    """An error page that exceeds the limit is not a set of rules that allow everything."""
    long = "x" * (MAX_BYTES + 100_000)
    desk.web.hosts["a.example"] = lambda request, nth: (
        build_response(long, "503 Busy")
        if request.target == "/robots.txt"
        else build_story_page(request.host, request.target)
    )
    url = desk.web.build_url("a.example")
    assert get_outcome(desk.run(url)[url]) == (Verdict.RETRIED, Reason.ROBOTS_UNREACHABLE)


def test_an_endless_robots_file_is_read_up_to_its_limit(desk: Desk) -> None:
    async def send_endless_rules() -> Pieces:
        yield b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /no\n"
        while True:
            yield b"Disallow: /none\n" * 500

    desk.web.hosts["a.example"] = lambda request, nth: (
        send_endless_rules()
        if request.target == "/robots.txt"
        else build_story_page(request.host, request.target)
    )
    yes, no = desk.web.build_url("a.example", "/yes"), desk.web.build_url("a.example", "/no")
    results = desk.run(yes, no)
    get_capture(results[yes])
    assert get_outcome(results[no]) == (Verdict.DROPPED, Reason.ROBOTS_DENIED)


def test_links_of_a_throttling_host_are_deferred_after_one_retry(desk: Desk) -> None:
    desk.web.hosts["a.example"] = lambda request, nth: (
        respond_by_default(request, nth)
        if request.target == "/robots.txt"
        else build_response("", "503 Later", {"Retry-After": "3600"})
    )
    urls = [desk.web.build_url("a.example", f"/{number}") for number in range(5)]
    results = desk.run(*urls)
    verdicts = sorted(get_outcome(result)[0] for result in results.values())
    assert verdicts == [Verdict.DEFERRED] * 4 + [Verdict.RETRIED]
    assert len(desk.web.list_requests("a.example")) == 2
    for result in results.values():
        assert isinstance(result, Result)
        assert result.disposition.after_s >= 3500


def test_an_unchanged_page_is_not_fetched_twice(desk: Desk) -> None:
    def respond(request: HostRequest, nth: int) -> bytes:
        if request.target == "/robots.txt":
            return respond_by_default(request, nth)
        if request.headers.get("if-none-match") == '"7"':
            return b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n"
        return build_response("page", headers={"ETag": '"7"'})

    desk.web.hosts["a.example"] = respond
    url = desk.web.build_url("a.example")
    first = get_capture(desk.run(url)[url])
    second = get_capture(desk.run(url, poll="next")[url])
    assert (second.status, second.mime) == (304, "text/html")
    exchange, body = decode_exchange(desk.blobs.get(second.place.path) or b"")
    assert (exchange.hops[-1].status, body) == (304, b"page")

    # The stored page was deleted, so an unchanged response has no body.
    desk.blobs.delete([first.place.path, second.place.path])
    third = desk.run(url, poll="third")[url]
    assert get_outcome(third) == (Verdict.DROPPED, Reason.NOT_MODIFIED)


def test_a_repeated_link_that_was_fetched_is_not_requested_again(desk: Desk) -> None:
    """The process died after it stored the page in the spool or a WARC, so its message is
    repeated."""
    url = desk.web.build_url("a.example", "/x#part")
    first = get_capture(desk.run(url)[url])
    second = get_capture(desk.run(url)[url])
    assert second == first
    assert len(desk.web.list_requests("a.example")) == 2


def test_a_bug_affects_only_the_link_that_triggers_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_for_bad_hosts(
        url: RequestUrl, status: int, location: str | None
    ) -> RequestUrl | None:
        if url.host in ("bad.example", "bad-robots.example"):
            if url.host == "bad.example" and url.target == "/robots.txt":
                return None
            raise RuntimeError("a bug")
        return resolve_redirect(url, status, location)

    monkeypatch.setattr(scheduler, "resolve_redirect", raise_for_bad_hosts)
    names = ("good", "bad", "bad-robots")
    good, bad, bad_robots = (desk.web.build_url(f"{name}.example") for name in names)
    results = desk.run(good, bad, bad_robots)
    get_capture(results[good])
    assert isinstance(results[bad], RuntimeError)
    assert get_outcome(results[bad_robots]) == (Verdict.RETRIED, Reason.ROBOTS_UNREACHABLE)


def test_a_page_that_cannot_be_stored_is_stored_later_and_not_fetched_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_blobs = desk.blobs.put
    attempts = 0

    def put_after_two_failures(blobs: Any) -> None:
        nonlocal attempts
        attempts += 1
        if attempts <= 2:
            raise StoreUnavailableError("the disk is away")
        put_blobs(blobs)

    monkeypatch.setattr(FolderBlobs, "put", lambda self, blobs: put_after_two_failures(blobs))
    url = desk.web.build_url("a.example")
    desk.fetch.begin([(0, build_link(url, "poll"))])
    results: list[tuple[int, Result | Exception]] = []
    n_failures = 0
    while not results:
        try:
            results += desk.fetch.collect_finished(0.5)
        except StoreUnavailableError:
            n_failures += 1
    assert n_failures == 2
    get_capture(results[0][1])
    assert len(desk.web.list_requests("a.example")) == 2
