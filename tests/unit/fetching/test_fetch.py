"""Links fetched over real sockets from a web of hosts, each of which misbehaves in its own way."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import time
from typing import Any

import pytest

from fixtures.web_of_hosts import (
    DEAD,
    PRIVATE,
    Asked,
    Pieces,
    answer,
    redirect,
    story,
    usual,
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
from unit.fetching.desk import GAP_S, RULES, Desk, capture, ended


def test_a_page_becomes_a_capture_whose_exchange_lies_in_the_spool(desk: Desk) -> None:
    signals = {
        "Content-Encoding": "gzip",
        "Content-Usage": "train-ai=n",
        "X-Robots-Tag": "noai",
        "TDM-Reservation": "1",
        "ETag": '"1"',
    }
    sent = gzip.compress(b"<p>page")
    desk.web.hosts["a.example"] = lambda asked, nth: (
        usual(asked, nth) if asked.target == "/robots.txt" else answer(sent, headers=signals)
    )
    url = desk.web.url("a.example", "/x#part")
    found = capture(desk.run(url)[url])
    assert found.url == desk.web.url("a.example", "/x")
    assert (found.place.kind, found.status, found.mime) == (PlaceKind.SPOOL, 200, "text/html")
    assert found.id == build_link(url, "poll").id
    assert found.rss_entry == RssEntry(link=url, title="told by the feed")
    blob = desk.blobs.get(found.place.path)
    assert blob is not None
    exchange, body = decode_exchange(blob)
    assert body == sent
    assert exchange.hops[-1].request_head.startswith("GET /x HTTP/1.1\r\n")
    (row,) = desk.records.get(FetchedPageRow, [found.id])
    assert (row.url, row.in_spool, row.etag) == (found.url, True, '"1"')
    assert row.fetched == found.captured_at


def test_redirects_are_followed_under_the_same_rules_and_kept(desk: Desk) -> None:
    def first(asked: Asked, nth: int) -> bytes:
        if asked.target == "/robots.txt":
            return usual(asked, nth)
        if "cookie" not in asked.headers:
            return redirect("/story", **{"Set-Cookie": "wall=1"})
        return redirect(desk.web.url("b.example", "/story"), "301 Moved Permanently")

    desk.web.hosts["a.example"] = first
    url = desk.web.url("a.example")
    found = capture(desk.run(url)[url])
    assert found.url == desk.web.url("b.example")
    exchange, _ = decode_exchange(desk.blobs.get(found.place.path) or b"")
    assert [hop.status for hop in exchange.hops] == [302, 301, 200]
    assert [one.target for one in desk.web.asked("a.example")] == [
        "/robots.txt",
        "/story",
        "/story",
    ]
    assert [one.target for one in desk.web.asked("b.example")] == ["/robots.txt", "/story"]
    assert "cookie" not in desk.web.asked("b.example")[1].headers


def test_what_a_redirect_leads_to_is_asked_its_own_robots_file(desk: Desk) -> None:
    desk.web.hosts["a.example"] = lambda asked, nth: (
        usual(asked, nth) if asked.target == "/robots.txt" else redirect(desk.web.url("b.example"))
    )
    desk.web.hosts["b.example"] = lambda asked, nth: answer("User-agent: *\nDisallow: /")
    url = desk.web.url("a.example")
    assert ended(desk.run(url)[url]) == (Verdict.DROPPED, Reason.ROBOTS_DENIED)
    assert [one.target for one in desk.web.asked("b.example")] == ["/robots.txt"]


async def dribble() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"x"
        await asyncio.sleep(0.2)


async def endless() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"x" * 10_000


STEPS = itertools.count()
PAGES: dict[str, Any] = {
    "missing": lambda: answer("", "404 Not Found"),
    "gone": lambda: answer("", "410 Gone"),
    "forbidden": lambda: answer("", "403 Forbidden"),
    "broken": lambda: answer("", "500 Oops"),
    "throttling": lambda: answer("", "429 Slow down", {"Retry-After": "7200"}),
    "circle": lambda: redirect("/story"),
    "endless-way": lambda: redirect(f"/story?{next(STEPS)}"),
    "to-file": lambda: redirect("file:///etc/passwd"),
    "to-private": lambda: redirect("http://private.example/"),
    "to-metadata": lambda: redirect("http://169.254.169.254/latest/"),
    "short": lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\nabc",
    "slow": dribble,
    "endless": endless,
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


def test_each_way_to_misbehave_ends_with_its_reason_and_keeps_nobody_else_waiting(
    desk: Desk,
) -> None:
    web = desk.web
    for name, page in PAGES.items():
        web.hosts[f"{name}.example"] = lambda asked, nth, page=page: (  # type: ignore[misc]
            usual(asked, nth) if asked.target == "/robots.txt" else page()
        )
    web.addresses |= {
        "dead.example": [DEAD],
        "private.example": [PRIVATE],
        "bound-anew.example": ["127.0.0.1", PRIVATE],
    }
    web.hosts["robots-500.example"] = lambda asked, nth: answer("", "500 Oops")
    web.hosts["robots-denied.example"] = lambda asked, nth: answer(
        "User-agent: fonds\nDisallow: /s"
    )
    urls = {web.url(f"{name}.example"): expected for name, expected in ENDINGS.items()}
    good = [web.url(f"good{number}.example") for number in range(20)]
    others = {
        "notaurl": (Verdict.DROPPED, Reason.BAD_URL),
        "http://nosuch.invalid/": (Verdict.RETRIED, Reason.NO_SUCH_HOST),
        f"http://127.0.0.2:{web.port}/": (Verdict.DROPPED, Reason.PRIVATE_ADDRESS),
    }
    found = desk.run(*urls, *good, *others)
    assert {url: ended(found[url]) for url in (*urls, *others)} == urls | others
    for url in good:
        capture(found[url])
    assert web.asked("private.example") == web.asked("bound-anew.example") == []
    throttled = found[web.url("throttling.example")]
    assert isinstance(throttled, Result)
    assert throttled.disposition.after_s >= 7200
    assert len(web.asked("circle.example")) == 2
    assert len(web.asked("endless-way.example")) == 1 + 1 + RULES.redirects_max


def test_no_host_is_asked_faster_than_its_pace_and_robots_files_count(desk: Desk) -> None:
    urls = [desk.web.url(f"h{number % 4}.example", f"/{number}") for number in range(24)]
    begun_s = time.monotonic()
    found = desk.run(*urls)
    for url in urls:
        capture(found[url])
    for host in range(4):
        moments = [one.at_s for one in desk.web.asked(f"h{host}.example")]
        assert len(moments) == 7
        # However late one of them arrives, none left before its time.
        for nth, at_s in enumerate(moments):
            assert at_s >= begun_s + nth * GAP_S


def test_a_crawl_delay_is_kept_to(desk: Desk) -> None:
    desk.web.hosts["a.example"] = lambda asked, nth: (
        answer("User-agent: *\nCrawl-delay: 0.6\nDisallow: /x")
        if asked.target == "/robots.txt"
        else story(asked.host, asked.target)
    )
    urls = [desk.web.url("a.example", f"/{number}") for number in range(3)]
    begun_s = time.monotonic()
    desk.run(*urls)
    pages = [one.at_s for one in desk.web.asked("a.example")][1:]
    assert all(at_s >= begun_s + nth * 0.6 for nth, at_s in enumerate(pages))
    assert len(pages) == 3


def test_a_robots_file_is_asked_for_once(desk: Desk) -> None:
    urls = [desk.web.url("a.example", f"/{number}") for number in range(6)]
    desk.run(*urls[:3])
    desk.run(*urls[3:])
    assert [one.target for one in desk.web.asked("a.example")].count("/robots.txt") == 1


def test_a_robots_file_is_looked_for_where_it_moved(desk: Desk) -> None:
    def moved(asked: Asked, nth: int) -> bytes:
        if asked.target == "/robots.txt":
            return redirect(desk.web.url("www.a.example", "/rules.txt"))
        return story(asked.host, asked.target)

    desk.web.hosts["a.example"] = moved
    desk.web.hosts["www.a.example"] = lambda asked, nth: answer("User-agent: *\nDisallow: /no")
    yes, no = desk.web.url("a.example", "/yes"), desk.web.url("a.example", "/no")
    found = desk.run(yes, no)
    capture(found[yes])
    assert ended(found[no]) == (Verdict.DROPPED, Reason.ROBOTS_DENIED)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (gzip.compress(b"User-agent: *\nDisallow: /", mtime=0), Reason.ROBOTS_DENIED),
        (b"\x1f\x8b\x08cut", Reason.ROBOTS_UNREACHABLE),
    ],
    ids=["whole", "broken"],
)
def test_a_compressed_robots_file_holds_and_a_broken_one_forbids(
    desk: Desk, body: bytes, reason: Reason
) -> None:
    desk.web.hosts["a.example"] = lambda asked, nth: (
        answer(body, headers={"Content-Encoding": "gzip"})
        if asked.target == "/robots.txt"
        else story(asked.host, asked.target)
    )
    url = desk.web.url("a.example")
    assert ended(desk.run(url)[url])[1] is reason
    assert [one.target for one in desk.web.asked("a.example")] == ["/robots.txt"]


def test_a_long_answer_for_a_robots_file_means_what_its_status_says(desk: Desk) -> None:
    """An error page longer than is read is no file of rules that allow everything."""
    long = "x" * (MAX_BYTES + 100_000)
    desk.web.hosts["a.example"] = lambda asked, nth: (
        answer(long, "503 Busy")
        if asked.target == "/robots.txt"
        else story(asked.host, asked.target)
    )
    url = desk.web.url("a.example")
    assert ended(desk.run(url)[url]) == (Verdict.RETRIED, Reason.ROBOTS_UNREACHABLE)


def test_a_robots_file_without_end_is_read_to_its_limit(desk: Desk) -> None:
    async def long() -> Pieces:
        yield b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /no\n"
        while True:
            yield b"Disallow: /none\n" * 500

    desk.web.hosts["a.example"] = lambda asked, nth: (
        long() if asked.target == "/robots.txt" else story(asked.host, asked.target)
    )
    yes, no = desk.web.url("a.example", "/yes"), desk.web.url("a.example", "/no")
    found = desk.run(yes, no)
    capture(found[yes])
    assert ended(found[no]) == (Verdict.DROPPED, Reason.ROBOTS_DENIED)


def test_while_a_host_asks_for_time_its_links_are_put_off_without_being_charged(desk: Desk) -> None:
    desk.web.hosts["a.example"] = lambda asked, nth: (
        usual(asked, nth)
        if asked.target == "/robots.txt"
        else answer("", "503 Later", {"Retry-After": "3600"})
    )
    urls = [desk.web.url("a.example", f"/{number}") for number in range(5)]
    found = desk.run(*urls)
    verdicts = sorted(ended(end)[0] for end in found.values())
    assert verdicts == [Verdict.DEFERRED] * 4 + [Verdict.RETRIED]
    assert len(desk.web.asked("a.example")) == 2
    for end in found.values():
        assert isinstance(end, Result)
        assert end.disposition.after_s >= 3500


def test_what_did_not_change_is_not_fetched_twice(desk: Desk) -> None:
    def tagged(asked: Asked, nth: int) -> bytes:
        if asked.target == "/robots.txt":
            return usual(asked, nth)
        if asked.headers.get("if-none-match") == '"7"':
            return b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n"
        return answer("page", headers={"ETag": '"7"'})

    desk.web.hosts["a.example"] = tagged
    url = desk.web.url("a.example")
    first = capture(desk.run(url)[url])
    again = capture(desk.run(url, poll="next")[url])
    assert (again.status, again.mime) == (304, "text/html")
    exchange, body = decode_exchange(desk.blobs.get(again.place.path) or b"")
    assert (exchange.hops[-1].status, body) == (304, b"page")

    # What was fetched before was refused afterwards: there is nothing to be the same as.
    desk.blobs.delete([first.place.path, again.place.path])
    third = desk.run(url, poll="third")[url]
    assert ended(third) == (Verdict.DROPPED, Reason.NOT_MODIFIED)


def test_a_link_that_was_fetched_and_comes_again_is_not_asked_for_again(desk: Desk) -> None:
    """The process died when it was in the spool, or in a WARC: its message comes again, and it is there."""
    url = desk.web.url("a.example", "/x#part")
    first = capture(desk.run(url)[url])
    again = capture(desk.run(url)[url])
    assert again == first
    assert len(desk.web.asked("a.example")) == 2


def test_a_fault_met_with_one_link_is_that_links(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(url: RequestUrl, status: int, location: str | None) -> RequestUrl | None:
        if url.host in ("bad.example", "bad-robots.example"):
            if url.host == "bad.example" and url.target == "/robots.txt":
                return None
            raise RuntimeError("a bug")
        return resolve_redirect(url, status, location)

    monkeypatch.setattr(scheduler, "resolve_redirect", fails)
    names = ("good", "bad", "bad-robots")
    good, bad, bad_robots = (desk.web.url(f"{name}.example") for name in names)
    found = desk.run(good, bad, bad_robots)
    capture(found[good])
    assert isinstance(found[bad], RuntimeError)
    assert ended(found[bad_robots]) == (Verdict.RETRIED, Reason.ROBOTS_UNREACHABLE)


def test_what_cannot_be_kept_now_is_kept_later_and_not_fetched_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = desk.blobs.put
    tries = 0

    def away(blobs: Any) -> None:
        nonlocal tries
        tries += 1
        if tries <= 2:
            raise StoreUnavailableError("the disk is away")
        put(blobs)

    monkeypatch.setattr(FolderBlobs, "put", lambda self, blobs: away(blobs))
    url = desk.web.url("a.example")
    desk.fetch.begin([(0, build_link(url, "poll"))])
    found: list[tuple[int, Result | Exception]] = []
    raised = 0
    while not found:
        try:
            found += desk.fetch.collect_finished(0.5)
        except StoreUnavailableError:
            raised += 1
    assert raised == 2
    capture(found[0][1])
    assert len(desk.web.asked("a.example")) == 2
