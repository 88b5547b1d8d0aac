"""Polls against a real server: what is new enters once, the rest is known; each poll is on the books."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from fixtures.answering import Given
from fixtures.feeds import api_rows, rss, rss_item, rss_of, sitemap, sitemap_index
from fonds.following import poll_request
from fonds.following.health import SourceHealth, compute_health
from fonds.following.refused_links import ROWS_A_POLL, URL_CHARS, list_refused_links
from fonds.following.source_edits import set_state
from fonds.model.errors import StoreUnavailableError
from fonds.model.rows import RefusedLinkRow, SourceRow
from fonds.ports import Source
from fonds.wiring.following import poll_due
from unit.following.world import LINKS, WANTED, World, later


def test_new_links_enter_once_and_say_where_they_were_found(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS[:3]))
    first = world.poll(row)
    assert (first.new, first.error) == (3, None)
    links = world.waiting()
    assert [link.url for link in links] == LINKS[:3]
    found = links[0]
    assert (found.collection, found.input_id) == ("papers", f"{row.source_id}.000001")
    told = found.rss_entry
    assert (told.link, told.title) == (LINKS[0], "A title")
    assert (told.source_url, told.via) == (row.url, f"{row.source_id}.000001")
    world.give("/feed", rss_of(LINKS))
    assert world.poll(row).new == 1
    assert [one.url for one in world.waiting()] == LINKS[3:]
    polls = world.polls()
    assert [(poll.kind, poll.entries, poll.finished) for poll in polls] == [
        ("poll", 3, True),
        ("poll", 1, True),
    ]
    assert json.loads(polls[1].fingerprint)["known"] == 3
    assert {one.input_id for one in world.entered()} == {poll.input_id for poll in polls}


def test_a_source_that_was_removed_and_is_added_again_loses_no_link(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS[:2]))
    assert world.poll(row).new == 2
    world.place.records.delete(SourceRow, [row.source_id])
    again = world.add("/feed")
    world.give("/feed", rss_of(LINKS[1:4]))
    assert world.poll(again).new == 2
    assert [one.url for one in world.waiting()] == LINKS[:4]
    assert [one.entries for one in world.polls()] == [2, 2]


def test_what_another_source_listed_is_known(world: World) -> None:
    one, other = world.add("/one"), world.add("/two")
    world.give("/one", rss_of(LINKS[:2]))
    world.give("/two", rss_of(LINKS[1:3]))
    assert (world.poll(one).new, world.poll(other).new) == (2, 1)


def test_a_listing_that_is_new_from_top_to_bottom_is_polled_again_soon(world: World) -> None:
    row = world.add("/feed")
    for day in range(8):
        world.give("/feed", rss_of([f"https://news.example.org/quiet/{day}"]))
        waited = world.poll(row).row.next_poll - world.place.clock()
        later(world, days=1)
    assert waited < timedelta(minutes=20)
    world.give("/feed", rss_of([*LINKS, f"https://news.example.org/quiet/{day}"]))
    waited = world.poll(row).row.next_poll - world.place.clock()
    assert waited > timedelta(minutes=40)
    later(world, hours=6)
    world.give("/feed", rss_of([f"https://news.example.org/burst/{one}" for one in range(20)]))
    assert world.poll(row).row.next_poll - world.place.clock() < timedelta(minutes=20)


def test_links_that_were_refused_can_be_looked_up(world: World) -> None:
    row, other = world.add("/feed"), world.add("/other")
    video = "https://www.youtube.com/watch?v=9"
    world.give("/feed", rss_of([video, "http://[::1]/x", LINKS[0]]))
    world.poll(row)
    (found,) = list_refused_links(world.place.records, f"{video}#t=1")
    assert (found.reason, found.source_id, found.url) == ("non-news", row.source_id, video)
    assert found.refused_at == world.place.clock()
    assert found.input_id == f"{row.source_id}.000001"
    assert [
        refused_link.reason
        for refused_link in list_refused_links(world.place.records, "http://[::1]/x")
    ] == ["bad-host"]
    later(world, hours=1)
    # Still listed: it was refused when it was new.
    world.poll(row)
    assert list_refused_links(world.place.records, video) == [found]
    world.give("/other", rss_of([video]))
    world.poll(other)
    latest, first = list_refused_links(world.place.records, video)
    assert (latest.source_id, first) == (other.source_id, found)
    assert list_refused_links(world.place.records, LINKS[0]) == []


def test_what_is_kept_of_refused_links_is_bounded_for_each_poll(world: World) -> None:
    row = world.add("/feed")
    videos = [f"https://youtu.be/{number}" for number in range(ROWS_A_POLL + 100)]
    world.give("/feed", rss_of([*videos, f"https://youtu.be/{'x' * 9000}"]))
    done = world.poll(row)
    assert done.error is None
    assert world.place.records.count(RefusedLinkRow)[()] == ROWS_A_POLL
    (poll,) = world.polls()
    assert sum(poll.tally.values()) == len(videos) + 1
    world.give("/feed", rss_of([f"https://youtu.be/{'y' * 9000}", LINKS[0]]))
    world.poll(row)
    (long,) = list_refused_links(world.place.records, f"https://youtu.be/{'y' * 9000}")
    assert (long.reason, len(long.url)) == ("bad-url", URL_CHARS)


def test_a_poll_asks_only_for_what_changed(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS), ETag='"v1"', Last_Modified="Sun, 22 Nov 2026 01:00:00 GMT")
    world.poll(row)
    world.give("/feed", b"", 304)
    done = world.poll(row)
    asked = {name.lower(): value for name, value in world.server.asked[-1][1].items()}
    assert asked["user-agent"].startswith("Fonds/")
    assert asked["if-none-match"] == '"v1"'
    assert asked["if-modified-since"] == "Sun, 22 Nov 2026 01:00:00 GMT"
    assert (done.new, done.error, done.row.etag) == (0, None, '"v1"')
    assert [one.entries for one in world.polls()] == [4, 0]


def test_the_same_bytes_are_not_read_again(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))
    world.poll(row)

    def read(body: bytes, url: str, charset: str | None) -> object:
        raise AssertionError("read again")

    again = replace(world.polling, read=read)  # type: ignore[arg-type]
    done = again.poll(world.row(row.source_id))
    assert done is not None
    assert (done.new, done.error) == (0, None)


def test_refused_links_are_counted_by_reason_and_once_only(world: World) -> None:
    row = world.add("/feed")
    odd = ["https://www.youtube.com/x", "http://10.0.0.1/", "ftp://a.example/", "https://[bad"]
    items = [rss_item(one) for one in [*LINKS[:1], *odd]] + ["<item><title>none</title></item>"]
    world.give("/feed", rss(items))
    assert world.poll(row).new == 1
    (poll,) = world.polls()
    assert poll.tally == {
        "non-news": 1,
        "bad-host": 1,
        "bad-scheme": 1,
        "bad-url": 1,
        "no-url": 1,
    }
    world.give("/feed", rss([rss_item(LINKS[1]), *items]))
    assert world.poll(row).new == 1
    assert world.polls()[1].tally == {}


def test_what_moved_for_good_is_followed_and_what_moved_for_now_is_not(world: World) -> None:
    row = world.add("/old")
    world.give("/old", b"", 301, Location="/between")
    world.give("/between", b"", 308, Location="/new")
    world.give("/new", rss_of(LINKS))
    done = world.poll(row)
    assert (done.row.url, done.row.moved_from) == (f"{world.server.url}/new", row.url)
    world.give("/new", b"", 302, Location="/elsewhere")
    world.give("/elsewhere", rss_of(LINKS[:1]))
    assert world.poll(row).row.url == f"{world.server.url}/new"
    assert world.poll(row).row.source_id == row.source_id


def test_a_move_to_what_is_no_feed_is_not_believed(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", b"", 301, Location="/parked")
    world.give("/parked", b"<html><body><a href='/buy'>Buy this domain</a></body></html>")
    done = world.poll(row)
    assert done.error is not None
    assert "page" in done.error
    assert done.row.url == row.url


def test_what_is_gone_is_not_asked_again(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", b"", 410)
    assert world.poll(row).row.state == "gone"
    later(world, days=30)
    assert world.polling.list_due(10) == []
    assert compute_health(world.row(row.source_id), world.place.clock()) is SourceHealth.GONE


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Given(404), "404"),
        (Given(500), "500"),
        (Given(200, b""), "empty"),
        (Given(200, b"<html>no feed</html>"), "page"),
        (Given(200, rss_of(LINKS), cut=500), "500 bytes missing"),
        (Given(301, b"", {"Location": "/feed"}), "redirect loop"),
        (Given(301, b"", {"Location": "gopher://x/"}), "redirects"),
    ],
)
def test_a_failure_is_a_poll_on_the_books_and_comes_again(
    world: World, given: Given, told: str
) -> None:
    row = world.add("/feed")
    world.server.answers["/feed"] = given
    done = world.poll(row)
    assert done.error is not None
    assert told in done.error
    (poll,) = world.polls()
    assert (poll.error, poll.finished, poll.entries) == (done.error, True, 0)
    assert (done.row.failures, done.row.state, done.row.polling) == (1, "active", False)
    world.give("/feed", rss_of(LINKS))
    again = world.poll(row)
    assert (again.new, again.row.failures, again.row.error) == (4, 0, None)


def test_a_server_that_asks_to_be_left_alone_is(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", b"", 429, Retry_After="40000")
    done = world.poll(row)
    assert done.row.next_poll >= world.place.clock() + timedelta(seconds=40_000)


def test_a_sitemap_index_brings_the_links_of_its_sitemaps_and_says_what_it_could_not_read(
    world: World,
) -> None:
    row = world.add("/index")
    world.give("/index", sitemap_index(["/a.xml", "/missing.xml"]))
    world.give("/a.xml", sitemap(LINKS))
    done = world.poll(row)
    assert done.new == 4
    assert "missing.xml" in done.notes.problem


def test_a_page_gives_the_links_of_its_own_site_alone(world: World) -> None:
    row = world.add("/front", replace(WANTED, kind="page"))
    world.give("/front", b"<html><a href='https://other.example.org/x'>x</a></html>")
    assert world.poll(row).new == 0
    world.give("/front", rss_of(LINKS))
    assert "expected a page of links" in (world.poll(row).error or "")


def test_the_api_is_asked_behind_its_mark_until_there_is_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll_request, "API_ROWS", 3)
    row = world.add("/api/rss_entries", replace(WANTED, kind="rss-fetcher"))
    world.give("/api/rss_entries/1?_limit=3", api_rows(5, 3))
    world.give("/api/rss_entries/8?_limit=3", api_rows(8, 1))
    first = world.poll(row)
    assert (first.new, first.row.mark) == (3, 7)
    assert first.row.next_poll == world.place.clock()
    second = world.poll(row)
    assert (second.new, second.row.mark) == (1, 8)
    assert second.row.next_poll > world.place.clock()
    links = world.waiting()
    assert {link.rss_entry.source_feed_id for link in links} == {70}
    assert all("@127.0.0.1" in (link.rss_entry.via or "") for link in links)


def test_of_two_who_would_poll_a_source_one_does(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))
    assert world.polling.poll(row) is not None
    assert world.polling.poll(row) is None
    assert [path for path, _ in world.server.asked] == ["/robots.txt", "/feed"]


def test_what_was_paused_meanwhile_is_not_polled_and_stays_paused(world: World) -> None:
    row = world.add("/feed")
    set_state(world.place.records, row, "paused", world.place.clock())
    assert world.polling.poll(row) is None
    assert world.polling.list_due(10) == []
    set_state(world.place.records, row, "active", world.place.clock())
    assert [one.source_id for one in world.polling.list_due(10)] == [row.source_id]


def test_a_process_that_is_to_stop_leaves_the_poll_to_the_next(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))
    world.stop[0] = True
    assert world.polling.poll(row) is None
    world.stop[0] = False
    later(world, hours=1)
    (due,) = world.polling.list_due(10)
    done = world.polling.poll(due)
    assert done is not None
    assert (done.new, done.row.polls) == (4, 1)


def test_everything_due_is_polled_and_hosts_side_by_side(world: World) -> None:
    for number in range(12):
        world.add(f"/{number}")
        world.give(f"/{number}", rss_of([f"https://news.example.org/{number}"]))
    told = poll_due(world.polling, 4, lambda: False)
    assert told == "12 sources polled, 12 new links, 0 failed"
    assert poll_due(world.polling, 4, lambda: False) == ""


def test_a_store_that_is_away_is_told_to_the_caller_and_the_poll_comes_again(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))

    def away(source: Source) -> None:
        raise StoreUnavailableError("away")

    with pytest.raises(StoreUnavailableError):
        replace(world.polling, enter=away).poll(row)
    later(world, hours=1)
    assert [one.polling for one in world.polling.list_due(10)] == [True]


def test_an_answer_packed_with_gzip_is_unpacked(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", gzip.compress(rss_of(LINKS)), Content_Encoding="gzip")
    assert world.poll(row).new == 4


def test_a_bomb_is_a_failure(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", gzip.compress(bytes(80_000_000)), Content_Encoding="gzip")
    assert world.poll(row).error
