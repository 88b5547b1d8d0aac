"""What is asked of a source: indexes piece by piece, by robots.txt, at the pace of its host."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fixtures.feeds import rss_of, sitemap, sitemap_index
from fonds.following import poll_request
from fonds.following.poller import LEASE_S
from fonds.leases.cells import LeaseColumns
from fonds.leases.leases import Leases
from fonds.model.errors import PostponedError
from fonds.model.rows import PaceRow, SourceRow
from unit.following.world import LINKS, World, create_poll_leases

COUNT = 7


def index_of(world: World, count: int = COUNT) -> None:
    parts = [f"/part{number}.xml" for number in range(count)]
    world.give("/index.xml", sitemap_index([world.server.url + part for part in parts]))
    for number, part in enumerate(parts):
        world.give(part, sitemap([f"https://news.example.org/of/{number}"]))


def parts_asked(world: World) -> list[str]:
    return [path for path, _ in world.server.asked if path.startswith("/part")]


def test_a_large_index_is_read_on_over_further_polls_until_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll_request, "CHILDREN_MAX", 3)
    index_of(world)
    row = world.add("/index.xml")
    polls = [world.poll(row) for _ in range(3)]
    assert [(poll.new, poll.row.mark) for poll in polls] == [(3, 3), (3, 6), (1, 0)]
    shortest = timedelta(seconds=world.polling.bounds.min_s)
    assert polls[0].row.next_poll == world.place.clock() + shortest
    assert polls[2].row.next_poll > world.place.clock() + shortest
    assert parts_asked(world) == [f"/part{number}.xml" for number in range(COUNT)]


def test_an_index_that_stays_the_same_is_asked_for_what_is_new_in_its_sitemaps(
    world: World,
) -> None:
    index_of(world, 2)
    row = world.add("/index.xml")
    assert world.poll(row).new == 2
    world.give("/part1.xml", sitemap(LINKS[:2]))
    assert world.poll(row).new == 2


def test_an_index_whose_sitemaps_take_too_long_is_gone_on_with(world: World) -> None:
    index_of(world)
    row = world.add("/index.xml")
    get = world.polling.get

    def slow(url: str, headers: object, tls: object) -> object:
        world.place.clock.pass_s(200.0)
        return get(url, headers, tls)  # type: ignore[arg-type]

    polling = replace(world.polling, get=slow)  # type: ignore[arg-type]
    done = polling.poll(world.row(row.source_id))
    assert done is not None
    assert (done.new, done.row.mark) == (2, 2)


def test_robots_txt_is_obeyed(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))
    world.give("/robots.txt", b"User-agent: fonds\nDisallow: /feed")
    done = world.poll(row)
    assert done.error is not None
    assert "robots.txt does not allow" in done.error
    assert [path for path, _ in world.server.asked] == ["/robots.txt"]


def test_a_poll_whose_turn_has_not_come_was_none(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))

    def busy(url: str, headers: object, tls: object) -> object:
        raise PostponedError("its host is asked again in 40 s", 40.0)

    polling = replace(world.polling, get=busy)  # type: ignore[arg-type]
    assert polling.poll(row) is None
    put_off = world.row(row.source_id)
    assert (put_off.polls, put_off.polling, put_off.failures) == (0, False, 0)
    assert put_off.next_poll == world.place.clock() + timedelta(seconds=40)
    assert world.polls() == []
    assert world.poll(row).new == len(LINKS)


def test_what_another_process_asks_is_polled_when_that_gives_it_away(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))
    now = world.place.clock()
    world.place.records.put([PaceRow("127.0.0.1", "another:1:x", 7, {}, now)])
    assert world.polling.poll(row) is None
    (pace,) = world.place.records.get(PaceRow, ["127.0.0.1"])
    assert pace.requested_by is not None
    assert world.server.asked == []


def test_a_poll_left_behind_by_a_process_that_ended_is_begun_again_at_once(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))

    def dies(url: str, headers: object, tls: object) -> object:
        raise KeyboardInterrupt

    leases = create_poll_leases(world.place, "dead")
    dead = replace(world.polling, get=dies, leases=leases)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        dead.poll(row)
    assert world.polling.list_due(10) == []
    cells = LeaseColumns(world.place.records, SourceRow)
    clock = world.place.clock
    leases = Leases(cells, "alive", lambda: clock.now_s, LEASE_S, lambda who: who == "dead")
    alive = replace(world.polling, leases=leases)
    (found,) = alive.list_due(10)
    done = alive.poll(found)
    assert done is not None
    assert (done.new, done.row.polls, done.row.polling) == (len(LINKS), 1, False)
