"""Polls of a real server: new links enter once, others count as known, and each poll is
recorded."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from fixtures.feeds import api_rows, rss, rss_item, rss_with_links, sitemap, sitemap_index
from fixtures.http_server import CannedResponse
from fonds.following import poll_request
from fonds.following.health import SourceHealth, compute_health
from fonds.following.refused_links import ROWS_A_POLL, URL_CHARS, list_refused_links
from fonds.following.source_edits import set_state
from fonds.model.errors import StoreUnavailableError
from fonds.model.rows import RefusedLinkRow, SourceRow
from fonds.ports import Source
from fonds.wiring.following import poll_due
from unit.following.world import LINKS, OPTIONS, World, advance


def test_new_links_enter_once_with_their_source(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS[:3]))
    first = world.poll(row)
    assert (first.new, first.error) == (3, None)
    links = world.receive_links()
    assert [link.url for link in links] == LINKS[:3]
    first_link = links[0]
    assert (first_link.collection, first_link.input_id) == ("papers", f"{row.source_id}.000001")
    entry = first_link.rss_entry
    assert (entry.link, entry.title) == (LINKS[0], "A title")
    assert (entry.source_url, entry.via) == (row.url, f"{row.source_id}.000001")
    world.serve("/feed", rss_with_links(LINKS))
    assert world.poll(row).new == 1
    assert [entered_row.url for entered_row in world.receive_links()] == LINKS[3:]
    polls = world.list_polls()
    assert [(poll.kind, poll.entries, poll.finished) for poll in polls] == [
        ("poll", 3, True),
        ("poll", 1, True),
    ]
    assert json.loads(polls[1].fingerprint)["known"] == 3
    assert {entered_row.input_id for entered_row in world.list_entries()} == {
        poll.input_id for poll in polls
    }


def test_a_source_that_is_removed_and_added_again_loses_no_link(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS[:2]))
    assert world.poll(row).new == 2
    world.place.records.delete(SourceRow, [row.source_id])
    second_row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS[1:4]))
    assert world.poll(second_row).new == 2
    assert [item.url for item in world.receive_links()] == LINKS[:4]
    assert [item.entries for item in world.list_polls()] == [2, 2]


def test_links_listed_by_another_source_are_known(world: World) -> None:
    first, second = world.add("/one"), world.add("/two")
    world.serve("/one", rss_with_links(LINKS[:2]))
    world.serve("/two", rss_with_links(LINKS[1:3]))
    assert (world.poll(first).new, world.poll(second).new) == (2, 1)


def test_a_listing_with_only_new_links_is_polled_again_soon(world: World) -> None:
    row = world.add("/feed")
    for day in range(8):
        world.serve("/feed", rss_with_links([f"https://news.example.org/quiet/{day}"]))
        interval = world.poll(row).row.next_poll - world.place.clock()
        advance(world, days=1)
    assert interval < timedelta(minutes=20)
    world.serve("/feed", rss_with_links([*LINKS, f"https://news.example.org/quiet/{day}"]))
    interval = world.poll(row).row.next_poll - world.place.clock()
    assert interval > timedelta(minutes=40)
    advance(world, hours=6)
    world.serve(
        "/feed",
        rss_with_links([f"https://news.example.org/burst/{number}" for number in range(20)]),
    )
    assert world.poll(row).row.next_poll - world.place.clock() < timedelta(minutes=20)


def test_rejected_links_can_be_looked_up(world: World) -> None:
    row, other = world.add("/feed"), world.add("/other")
    video = "https://www.youtube.com/watch?v=9"
    world.serve("/feed", rss_with_links([video, "http://[::1]/x", LINKS[0]]))
    world.poll(row)
    (refused,) = list_refused_links(world.place.records, f"{video}#t=1")
    assert (refused.reason, refused.source_id, refused.url) == ("non-news", row.source_id, video)
    assert refused.refused_at == world.place.clock()
    assert refused.input_id == f"{row.source_id}.000001"
    assert [
        refused_link.reason
        for refused_link in list_refused_links(world.place.records, "http://[::1]/x")
    ] == ["bad-host"]
    advance(world, hours=1)
    # A link that is still listed was rejected when it was new.
    world.poll(row)
    assert list_refused_links(world.place.records, video) == [refused]
    world.serve("/other", rss_with_links([video]))
    world.poll(other)
    latest, first = list_refused_links(world.place.records, video)
    assert (latest.source_id, first) == (other.source_id, refused)
    assert list_refused_links(world.place.records, LINKS[0]) == []


def test_stored_rejected_links_are_limited_per_poll(world: World) -> None:
    row = world.add("/feed")
    videos = [f"https://youtu.be/{number}" for number in range(ROWS_A_POLL + 100)]
    world.serve("/feed", rss_with_links([*videos, f"https://youtu.be/{'x' * 9000}"]))
    result = world.poll(row)
    assert result.error is None
    assert world.place.records.count(RefusedLinkRow)[()] == ROWS_A_POLL
    (poll,) = world.list_polls()
    assert sum(poll.tally.values()) == len(videos) + 1
    world.serve("/feed", rss_with_links([f"https://youtu.be/{'y' * 9000}", LINKS[0]]))
    world.poll(row)
    (long_link,) = list_refused_links(world.place.records, f"https://youtu.be/{'y' * 9000}")
    assert (long_link.reason, len(long_link.url)) == ("bad-url", URL_CHARS)


def test_a_poll_sends_conditional_headers(world: World) -> None:
    row = world.add("/feed")
    world.serve(
        "/feed", rss_with_links(LINKS), ETag='"v1"', Last_Modified="Sun, 22 Nov 2026 01:00:00 GMT"
    )
    world.poll(row)
    world.serve("/feed", b"", 304)
    result = world.poll(row)
    headers = {name.lower(): value for name, value in world.server.requests[-1][1].items()}
    assert headers["user-agent"].startswith("Fonds/")
    assert headers["if-none-match"] == '"v1"'
    assert headers["if-modified-since"] == "Sun, 22 Nov 2026 01:00:00 GMT"
    assert (result.new, result.error, result.row.etag) == (0, None, '"v1"')
    assert [item.entries for item in world.list_polls()] == [4, 0]


def test_an_unchanged_body_is_not_parsed_again(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))
    world.poll(row)

    def read(body: bytes, url: str, charset: str | None) -> object:
        raise AssertionError("read again")

    poller = replace(world.poller, read=read)  # type: ignore[arg-type]
    result = poller.poll(world.get_row(row.source_id))
    assert result is not None
    assert (result.new, result.error) == (0, None)


def test_rejected_links_are_counted_by_reason_and_only_once(world: World) -> None:
    row = world.add("/feed")
    rejected_urls = [
        "https://www.youtube.com/x",
        "http://10.0.0.1/",
        "ftp://a.example/",
        "https://[bad",
    ]
    items = [rss_item(item) for item in [*LINKS[:1], *rejected_urls]] + [
        "<item><title>none</title></item>"
    ]
    world.serve("/feed", rss(items))
    assert world.poll(row).new == 1
    (poll,) = world.list_polls()
    assert poll.tally == {
        "non-news": 1,
        "bad-host": 1,
        "bad-scheme": 1,
        "bad-url": 1,
        "no-url": 1,
    }
    world.serve("/feed", rss([rss_item(LINKS[1]), *items]))
    assert world.poll(row).new == 1
    assert world.list_polls()[1].tally == {}


def test_permanent_redirects_change_the_url_and_temporary_ones_do_not(world: World) -> None:
    row = world.add("/old")
    world.serve("/old", b"", 301, Location="/between")
    world.serve("/between", b"", 308, Location="/new")
    world.serve("/new", rss_with_links(LINKS))
    result = world.poll(row)
    assert (result.row.url, result.row.moved_from) == (f"{world.server.url}/new", row.url)
    world.serve("/new", b"", 302, Location="/elsewhere")
    world.serve("/elsewhere", rss_with_links(LINKS[:1]))
    assert world.poll(row).row.url == f"{world.server.url}/new"
    assert world.poll(row).row.source_id == row.source_id


def test_a_permanent_redirect_to_a_page_keeps_the_url(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", b"", 301, Location="/parked")
    world.serve("/parked", b"<html><body><a href='/buy'>Buy this domain</a></body></html>")
    result = world.poll(row)
    assert result.error is not None
    assert "page" in result.error
    assert result.row.url == row.url


def test_a_gone_source_is_not_polled_again(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", b"", 410)
    assert world.poll(row).row.state == "gone"
    advance(world, days=30)
    assert world.poller.list_due(10) == []
    assert compute_health(world.get_row(row.source_id), world.place.clock()) is SourceHealth.GONE


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (CannedResponse(404), "404"),
        (CannedResponse(500), "500"),
        (CannedResponse(200, b""), "empty"),
        (CannedResponse(200, b"<html>no feed</html>"), "page"),
        (CannedResponse(200, rss_with_links(LINKS), missing_bytes=500), "500 bytes missing"),
        (CannedResponse(301, b"", {"Location": "/feed"}), "redirect loop"),
        (CannedResponse(301, b"", {"Location": "gopher://x/"}), "redirects"),
    ],
)
def test_a_failed_poll_is_recorded_and_repeated(
    world: World, response: CannedResponse, message: str
) -> None:
    row = world.add("/feed")
    world.server.responses["/feed"] = response
    result = world.poll(row)
    assert result.error is not None
    assert message in result.error
    (poll,) = world.list_polls()
    assert (poll.error, poll.finished, poll.entries) == (result.error, True, 0)
    assert (result.row.failures, result.row.state, result.row.polling) == (1, "active", False)
    world.serve("/feed", rss_with_links(LINKS))
    second_result = world.poll(row)
    assert (second_result.new, second_result.row.failures, second_result.row.error) == (4, 0, None)


def test_retry_after_of_a_listing_is_respected(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", b"", 429, Retry_After="40000")
    result = world.poll(row)
    assert result.row.next_poll >= world.place.clock() + timedelta(seconds=40_000)


def test_a_sitemap_index_returns_links_of_its_sitemaps_and_reports_missing_ones(
    world: World,
) -> None:
    row = world.add("/index")
    world.serve("/index", sitemap_index(["/a.xml", "/missing.xml"]))
    world.serve("/a.xml", sitemap(LINKS))
    result = world.poll(row)
    assert result.new == 4
    assert "missing.xml" in result.notes.problem


def test_a_page_returns_only_links_of_its_own_site(world: World) -> None:
    row = world.add("/front", replace(OPTIONS, kind="page"))
    world.serve("/front", b"<html><a href='https://other.example.org/x'>x</a></html>")
    assert world.poll(row).new == 0
    world.serve("/front", rss_with_links(LINKS))
    assert "expected a page of links" in (world.poll(row).error or "")


def test_the_api_is_read_after_its_mark_until_it_is_empty(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll_request, "API_ROWS", 3)
    row = world.add("/api/rss_entries", replace(OPTIONS, kind="rss-fetcher"))
    world.serve("/api/rss_entries/1?_limit=3", api_rows(5, 3))
    world.serve("/api/rss_entries/8?_limit=3", api_rows(8, 1))
    first = world.poll(row)
    assert (first.new, first.row.mark) == (3, 7)
    assert first.row.next_poll == world.place.clock()
    second = world.poll(row)
    assert (second.new, second.row.mark) == (1, 8)
    assert second.row.next_poll > world.place.clock()
    links = world.receive_links()
    assert {link.rss_entry.source_feed_id for link in links} == {70}
    assert all("@127.0.0.1" in (link.rss_entry.via or "") for link in links)


def test_one_of_two_polls_of_a_source_runs(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))
    assert world.poller.poll(row) is not None
    assert world.poller.poll(row) is None
    assert [path for path, _ in world.server.requests] == ["/robots.txt", "/feed"]


def test_a_paused_source_is_not_polled_and_stays_paused(world: World) -> None:
    row = world.add("/feed")
    set_state(world.place.records, row, "paused", world.place.clock())
    assert world.poller.poll(row) is None
    assert world.poller.list_due(10) == []
    set_state(world.place.records, row, "active", world.place.clock())
    assert [due.source_id for due in world.poller.list_due(10)] == [row.source_id]


def test_a_stopping_process_leaves_its_poll_to_the_next(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))
    world.stop[0] = True
    assert world.poller.poll(row) is None
    world.stop[0] = False
    advance(world, hours=1)
    (due,) = world.poller.list_due(10)
    result = world.poller.poll(due)
    assert result is not None
    assert (result.new, result.row.polls) == (4, 1)


def test_all_due_sources_are_polled_in_parallel(world: World) -> None:
    for number in range(12):
        world.add(f"/{number}")
        world.serve(f"/{number}", rss_with_links([f"https://news.example.org/{number}"]))
    message = poll_due(world.poller, 4, lambda: False)
    assert message == "12 sources polled, 12 new links, 0 failed"
    assert poll_due(world.poller, 4, lambda: False) == ""


def test_an_unavailable_store_raises_and_the_poll_is_repeated(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))

    def raise_unavailable(source: Source) -> None:
        raise StoreUnavailableError("unavailable")

    with pytest.raises(StoreUnavailableError):
        replace(world.poller, enter=raise_unavailable).poll(row)
    advance(world, hours=1)
    assert [due.polling for due in world.poller.list_due(10)] == [True]


def test_a_gzip_encoded_response_is_decoded(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", gzip.compress(rss_with_links(LINKS)), Content_Encoding="gzip")
    assert world.poll(row).new == 4


def test_a_decompression_bomb_fails_the_poll(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", gzip.compress(bytes(80_000_000)), Content_Encoding="gzip")
    assert world.poll(row).error
