"""`fonds sources`: added, listed, paused, removed, checked, as OPML and back; what is wrong is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from calls import Call
from fixtures.answering import Answering, Given, answering
from fixtures.feeds import rss_of

LINKS = ["https://news.example.org/1", "https://news.example.org/2", "https://youtube.com/3"]
FEED = "https://news.example.org/feed.xml"
HERE = "elsewhere.private_addresses=true"


@pytest.fixture
def server() -> Iterator[Answering]:
    with answering() as serving:
        serving.answers["/feed"] = Given(200, rss_of(LINKS, "<ttl>60</ttl>"))
        serving.answers["/page"] = Given(
            200,
            b'<html><link rel="alternate" type="application/rss+xml" href="/feed">'
            b'<a href="/story">A</a></html>',
        )
        yield serving


def test_a_source_is_added_once_listed_paused_resumed_and_removed(call: Call) -> None:
    assert call("sources", "add", FEED, FEED).code == 0
    told = [json.loads(line) for line in call("--json", "sources", "list").out.splitlines()]
    (row,) = [one for one in told if one["url"] == FEED]
    assert (row["url"], row["standing"], row["pipeline"]) == (FEED, "waiting", "queue-fetcher")
    assert call("sources", "pause", row["source_id"][:6]).code == 0
    assert FEED in call("sources", "list", "--standing", "paused").out
    refused = call("sources", "poll", FEED)
    assert (refused.code, "Resume it" in refused.err) == (2, True)
    assert call("sources", "resume", FEED).code == 0
    assert json.loads(call("--json", "sources", "poll", FEED).out) == {"next": [FEED]}
    named = call("--json", "sources", "edit", FEED, "--title", "The  Example", "--collection", "n")
    told = json.loads(named.out)
    assert (told["title"], told["folder"], told["collection"]) == ("The Example", "", "n")
    assert "--title" in call("sources", "edit", FEED).err
    assert json.loads(call("--json", "sources", "show", FEED).out)["standing"] == "waiting"
    assert call("sources", "remove", FEED).code == 0
    assert call("sources", "show", FEED).code == 2


def test_an_unknown_source_is_told_with_the_nearest(call: Call) -> None:
    call("sources", "add", FEED)
    told = call("sources", "show", "https://news.example.org/fed.xml")
    assert (told.code, FEED in told.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "ftp://a.example/"), "not http or https"),
        (("add", "words"), "no host in"),
        (("add", "https://user:word@a.example/"), "sources.logins"),
        (("add", "--kind", "fed", FEED), "feed"),
        (("import", "/nowhere.opml"), "No such file"),
        (("lst",), "list"),
    ],
)
def test_bad_input_is_told_in_words(call: Call, words: tuple[str, ...], told: str) -> None:
    found = call("sources", *words)
    assert found.code == 2
    assert told in found.err
    assert "word@" not in found.err + found.out


def test_a_source_is_checked_and_nothing_is_written(call: Call, server: Answering) -> None:
    told = call("--set", HERE, "--json", "sources", "check", f"{server.url}/feed")
    found = json.loads(told.out)
    assert (told.code, found["kind"], found["listed"]) == (0, "rss", 3)
    assert found["refused"] == {"non-news": 1}
    assert [one["link"] for one in found["links"]] == LINKS[:2]
    assert (found["hints"]["ttl_s"], found["hints"]["hubs"]) == (3600, [])


def test_a_page_given_for_a_feed_names_its_feeds(call: Call, server: Answering) -> None:
    told = call("--set", HERE, "sources", "check", f"{server.url}/page", f"{server.url}/none")
    assert told.code == 1
    assert f"links to the feed {server.url}/feed" in told.out
    assert "404" in told.out
    assert call("--set", HERE, "sources", "check", "--kind", "page", f"{server.url}/page").code == 0


def test_private_addresses_are_not_asked(call: Call, server: Answering) -> None:
    told = call("sources", "check", f"{server.url}/feed")
    assert (told.code, server.asked) == (1, [])
    assert "private" in told.out


def test_sources_leave_as_opml_and_come_back(call: Call, tmp_path: Path) -> None:
    feed = "https://paper.example.org/feed"
    call("sources", "add", "--title", "The paper", "--folder", "news/europe", feed)
    call("sources", "add", "--kind", "page", "https://paper.example.org/front")
    file = tmp_path / "feeds.opml"
    told = call("sources", "export", str(file))
    assert "1 source left out" in told.err
    call("sources", "remove", feed)
    again = call("--json", "sources", "import", str(file))
    assert [one["url"] for one in json.loads(again.out)["added"]] == [feed]
    row = json.loads(call("--json", "sources", "show", feed).out)
    assert (row["title"], row["folder"]) == ("The paper", "news/europe")
    assert json.loads(call("--json", "sources", "import", str(file)).out)["added"] == []


def test_what_of_an_opml_is_no_source_is_told(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "odd.opml"
    file.write_text(
        '<opml><body><outline xmlUrl="gopher://a.example/"/><outline xmlUrl="https://a.example/"/></body></opml>'
    )
    told = call("sources", "import", str(file))
    assert told.code == 1
    assert "refused: gopher://a.example/" in told.out
