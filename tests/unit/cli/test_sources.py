"""`fonds sources`: add, list, pause, remove, check, export as OPML and import; and bad input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from calls import Call
from fixtures.feeds import rss_with_links
from fixtures.http_server import CannedResponse, HttpServer, serve_http

LINKS = ["https://news.example.org/1", "https://news.example.org/2", "https://youtube.com/3"]
FEED = "https://news.example.org/feed.xml"
PRIVATE_ALLOWED = "elsewhere.private_addresses=true"


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as new_server:
        new_server.responses["/feed"] = CannedResponse(200, rss_with_links(LINKS, "<ttl>60</ttl>"))
        new_server.responses["/page"] = CannedResponse(
            200,
            b'<html><link rel="alternate" type="application/rss+xml" href="/feed">'
            b'<a href="/story">A</a></html>',
        )
        yield new_server


def test_a_source_is_added_once_listed_paused_resumed_and_removed(call: Call) -> None:
    assert call("sources", "add", FEED, FEED).code == 0
    sources = [json.loads(line) for line in call("--json", "sources", "list").out.splitlines()]
    (row,) = [source for source in sources if source["url"] == FEED]
    assert (row["url"], row["health"], row["pipeline"]) == (FEED, "waiting", "queue-fetcher")
    assert call("sources", "pause", row["source_id"][:6]).code == 0
    assert FEED in call("sources", "list", "--health", "paused").out
    poll = call("sources", "poll", FEED)
    assert (poll.code, "Resume it" in poll.err) == (2, True)
    assert call("sources", "resume", FEED).code == 0
    assert json.loads(call("--json", "sources", "poll", FEED).out) == {"next": [FEED]}
    edited = call("--json", "sources", "edit", FEED, "--title", "The  Example", "--collection", "n")
    source = json.loads(edited.out)
    assert (source["title"], source["folder"], source["collection"]) == ("The Example", "", "n")
    assert "--title" in call("sources", "edit", FEED).err
    assert json.loads(call("--json", "sources", "show", FEED).out)["health"] == "waiting"
    assert call("sources", "remove", FEED).code == 0
    assert call("sources", "show", FEED).code == 2


def test_an_unknown_source_is_reported_with_the_nearest(call: Call) -> None:
    call("sources", "add", FEED)
    result = call("sources", "show", "https://news.example.org/fed.xml")
    assert (result.code, FEED in result.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "ftp://a.example/"), "not http or https"),
        (("add", "words"), "no host in"),
        (("add", "https://user:word@a.example/"), "sources.logins"),
        (("add", "--kind", "fed", FEED), "feed"),
        (("import", "/nowhere.opml"), "No such file"),
        (("lst",), "list"),
    ],
)
def test_bad_input_is_refused_with_a_message(
    call: Call, words: tuple[str, ...], message: str
) -> None:
    result = call("sources", *words)
    assert result.code == 2
    assert message in result.err
    assert "word@" not in result.err + result.out


def test_a_source_is_checked_without_writing(call: Call, server: HttpServer) -> None:
    result = call("--set", PRIVATE_ALLOWED, "--json", "sources", "check", f"{server.url}/feed")
    source_check = json.loads(result.out)
    assert (result.code, source_check["kind"], source_check["listed"]) == (0, "rss", 3)
    assert source_check["refused"] == {"non-news": 1}
    assert [link_row["link"] for link_row in source_check["links"]] == LINKS[:2]
    assert (source_check["hints"]["ttl_s"], source_check["hints"]["hubs"]) == (3600, [])


def test_a_page_instead_of_a_feed_names_its_feeds(call: Call, server: HttpServer) -> None:
    result = call(
        "--set", PRIVATE_ALLOWED, "sources", "check", f"{server.url}/page", f"{server.url}/none"
    )
    assert result.code == 1
    assert f"links to the feed {server.url}/feed" in result.out
    assert "404" in result.out
    assert (
        call(
            "--set", PRIVATE_ALLOWED, "sources", "check", "--kind", "page", f"{server.url}/page"
        ).code
        == 0
    )


def test_private_addresses_are_not_requested(call: Call, server: HttpServer) -> None:
    result = call("sources", "check", f"{server.url}/feed")
    assert (result.code, server.requests) == (1, [])
    assert "private" in result.out


def test_sources_are_exported_as_opml_and_imported(call: Call, tmp_path: Path) -> None:
    feed = "https://paper.example.org/feed"
    call("sources", "add", "--title", "The paper", "--folder", "news/europe", feed)
    call("sources", "add", "--kind", "page", "https://paper.example.org/front")
    file = tmp_path / "feeds.opml"
    exported = call("sources", "export", str(file))
    assert "1 source left out" in exported.err
    call("sources", "remove", feed)
    imported = call("--json", "sources", "import", str(file))
    assert [source_row["url"] for source_row in json.loads(imported.out)["added"]] == [feed]
    row = json.loads(call("--json", "sources", "show", feed).out)
    assert (row["title"], row["folder"]) == ("The paper", "news/europe")
    assert json.loads(call("--json", "sources", "import", str(file)).out)["added"] == []


def test_invalid_sources_of_an_opml_are_reported(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "odd.opml"
    file.write_text(
        '<opml><body><outline xmlUrl="gopher://a.example/"/><outline xmlUrl="https://a.example/"/></body></opml>'
    )
    result = call("sources", "import", str(file))
    assert result.code == 1
    assert "refused: gopher://a.example/" in result.out
