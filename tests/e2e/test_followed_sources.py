"""A process that follows a feed: it polls, fetches and indexes stories, and resumes after a kill."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.running import ForkedProcess, fonds, start_fonds
from fixtures.feeds import atom, rss_with_links
from fixtures.http_server import CannedResponse, HttpServer, serve_http

WAIT_MAX_S = 120.0
TEXT = (
    "The council met on Tuesday to speak of the flood defences of the town and its old river wall. "
)
REFUSED = "http://www.youtube.com/watch?v=9"
SETTINGS = {"FONDS_ELSEWHERE_PRIVATE_ADDRESSES": "true", "FONDS_FETCH_HOST_GAP_S": "0.1"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpServer]:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    with serve_http() as state:
        for number in range(8):
            title = f"Story number {number}"
            paragraphs = "".join(f"<p>{TEXT} {number} {line}</p>" for line in range(6))
            page = f"<html><title>{title}</title><article><h1>{title}</h1>{paragraphs}</article></html>"
            headers = {"Content-Type": "text/html; charset=utf-8"}
            state.responses[f"/{number}"] = CannedResponse(200, page.encode(), headers)
        yield state


def list_stories(server: HttpServer, numbers: range) -> None:
    urls = [*(f"{server.url}/{number}" for number in numbers), REFUSED]
    body = rss_with_links(urls, "<ttl>1</ttl>")
    server.responses["/feed"] = CannedResponse(200, body)


def start_fetcher(home: Path) -> ForkedProcess:
    return start_fonds(home, "run", "queue-fetcher")


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_MAX_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)


def run_until_settled(home: Path) -> None:
    """Follow sources until something is stored and nothing is pending."""
    service = start_fetcher(home)
    try:
        wait_for(lambda: fonds(home, "status", "--json").last["done"] >= 1)
        wait_for(lambda: fonds(home, "status", "--json").last["pending"] == 0)
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(60)


def is_settled(home: Path) -> bool:
    """Return whether every entry has an outcome."""
    result = fonds(home, "status", "--json")
    return result.code == 0 and result.last["pending"] == 0 and result.last["done"] >= 5


def test_a_killed_fetcher_resumes_a_feed_without_loss(server: HttpServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    list_stories(server, range(5))
    assert fonds(home, "sources", "add", f"{server.url}/feed").code == 0
    first = start_fetcher(home)
    try:
        wait_for(lambda: any(path == "/feed" for path, _ in server.requests))
    finally:
        first.kill()
        first.wait()
    list_stories(server, range(3, 8))
    assert fonds(home, "sources", "resume", f"{server.url}/feed").code == 0
    second = start_fetcher(home)
    try:
        wait_for(lambda: "/7" in {path for path, _ in server.requests})
        wait_for(lambda: is_settled(home))
    finally:
        second.send_signal(signal.SIGTERM)
        second.wait(60)
    assert fonds(home, "audit", "--json").code == 0
    source = fonds(home, "sources", "show", "--json", f"{server.url}/feed").last
    polls = source["last_polls"]
    assert (source["health"], source["failures"]) == ("active", 0)
    entered = [
        fonds(home, "sources", "show", "--json", str(poll["input_id"])).last["links"]
        for poll in polls
    ]
    urls = [link["url"] for links in entered for link in links]
    assert len(urls) == len(set(urls)) == sum(poll["new"] for poll in polls)
    assert {f"{server.url}/{number}" for number in range(3, 8)} <= set(urls)
    assert json.dumps(entered).count('"done"') == len(urls)
    refused = fonds(home, "show", "--json", f"{REFUSED}#t=1")
    assert (refused.code, refused.last["reason"]) == (0, "non-news")
    assert refused.last["source_url"] == f"{server.url}/feed"
    output = fonds(home, "show", REFUSED).out
    assert "non-news (youtube.com is not a news site)" in output
    assert f"Listed by {server.url}/feed, refused at" in output
    assert fonds(home, "show", "http://www.youtube.com/watch?v=8").code == 1


def test_a_plain_text_file_is_a_story_only_if_it_was_linked(
    server: HttpServer, tmp_path: Path
) -> None:
    home, url = tmp_path / "home", f"{server.url}/weir.txt"
    body = ("The weir is gone\n\n" + f"{TEXT}\n" * 4 + "\nOnly <b>two</b> sluices hold.\n").encode()
    server.responses["/weir.txt"] = CannedResponse(
        200, body, {"Content-Type": "text/plain; charset=utf-8"}
    )
    server.responses["/feed"] = CannedResponse(200, rss_with_links([url], "<ttl>1</ttl>"))
    assert fonds(home, "sources", "add", f"{server.url}/feed").code == 0
    run_until_settled(home)
    (hit,) = fonds(home, "search", "--json", '"only b two b sluices"').lines
    assert (hit["url"], hit["title"], hit["kind"]) == (url, "The weir is gone", "story")
    (row,) = fonds(home, "export", "--format", "jsonl").lines
    assert (row["mimetype"], row["kind"], row["status"]) == ("text/plain", "story", "success")
    assert fonds(home, "show", "--body", row["sha1hex"]).out.encode() == body
    assert fonds(home, "audit", "--deep", "--json").code == 0
    (tmp_path / "robots.txt").write_bytes(body)
    result = fonds(tmp_path / "other", "ingest", "--json", tmp_path / "robots.txt")
    assert result.last["dropped"] == {"unsupported-type": 1}


def add_archive_page(server: HttpServer, month: int, stories: range) -> None:
    """Add a page of a feed with the stories of a month, and a link to the page of the previous month."""
    day = f"<updated>2025-{month:02d}-01T12:00:00Z</updated>"
    entries = [
        f'<title>{story}</title><link href="{server.url}/{story}"/>{day}' for story in stories
    ]
    head = f'<link rel="prev-archive" href="/archive/{month - 1}"/>' if month > 1 else ""
    path = "/archive" if month == 4 else f"/archive/{month}"
    server.responses[path] = CannedResponse(200, atom(entries, head))


def test_a_killed_backfill_of_a_feed_resumes_at_its_page(
    server: HttpServer, tmp_path: Path
) -> None:
    home, url = tmp_path / "home", f"{server.url}/archive"
    for month in range(1, 5):
        add_archive_page(server, month, range(2 * month - 2, 2 * month))
    assert fonds(home, "sources", "add", url).code == 0
    days = ("--from", "2025-02-01", "--to", "2025-03-31")
    assert fonds(home, "sources", "backfill", url, *days).code == 0

    def is_requested(path: str) -> bool:
        return any(requested_path == path for requested_path, _ in server.requests)

    first = start_fetcher(home)
    try:
        wait_for(lambda: is_requested("/archive/2"))
    finally:
        first.kill()
        first.wait()
    second = start_fetcher(home)
    try:
        wait_for(lambda: is_requested("/2") and is_requested("/7") and is_settled(home))
    finally:
        second.send_signal(signal.SIGTERM)
        second.wait(60)
    assert fonds(home, "audit", "--json").code == 0
    source = fonds(home, "sources", "show", "--json", url).last
    backfill = source["backfill"]
    assert (backfill["state"], backfill["pages"], backfill["listed"]) == ("ended", 4, 8)
    assert (backfill["entered"], backfill["outside"], source["links"]) == (4, 4, 6)
    assert not is_requested("/0")
    assert not is_requested("/1")
