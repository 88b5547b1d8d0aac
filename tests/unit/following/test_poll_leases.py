"""Requests of polls: large indexes in parts, by robots.txt, at the pace of the host, under
leases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fixtures.feeds import rss_with_links, sitemap, sitemap_index
from fonds.following import poll_request
from fonds.following.poller import LEASE_S
from fonds.leases.cells import LeaseColumns
from fonds.leases.leases import Leases
from fonds.model.errors import PostponedError
from fonds.model.rows import PaceRow, SourceRow
from unit.following.world import LINKS, World, create_poll_leases

COUNT = 7


def serve_index(world: World, count: int = COUNT) -> None:
    parts = [f"/part{number}.xml" for number in range(count)]
    world.serve("/index.xml", sitemap_index([world.server.url + part for part in parts]))
    for number, part in enumerate(parts):
        world.serve(part, sitemap([f"https://news.example.org/of/{number}"]))


def list_requested_parts(world: World) -> list[str]:
    return [path for path, _ in world.server.requests if path.startswith("/part")]


def test_a_large_index_is_read_over_several_polls(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll_request, "CHILDREN_MAX", 3)
    serve_index(world)
    row = world.add("/index.xml")
    polls = [world.poll(row) for _ in range(3)]
    assert [(poll.new, poll.row.mark) for poll in polls] == [(3, 3), (3, 6), (1, 0)]
    shortest = timedelta(seconds=world.poller.bounds.min_s)
    assert polls[0].row.next_poll == world.place.clock() + shortest
    assert polls[2].row.next_poll > world.place.clock() + shortest
    assert list_requested_parts(world) == [f"/part{number}.xml" for number in range(COUNT)]


def test_an_unchanged_index_is_polled_for_new_links_in_its_sitemaps(
    world: World,
) -> None:
    serve_index(world, 2)
    row = world.add("/index.xml")
    assert world.poll(row).new == 2
    world.serve("/part1.xml", sitemap(LINKS[:2]))
    assert world.poll(row).new == 2


def test_a_slow_index_is_continued_by_the_next_poll(world: World) -> None:
    serve_index(world)
    row = world.add("/index.xml")
    get = world.poller.get

    def get_slowly(url: str, headers: object, tls: object) -> object:
        world.place.clock.pass_s(200.0)
        return get(url, headers, tls)  # type: ignore[arg-type]

    poller = replace(world.poller, get=get_slowly)  # type: ignore[arg-type]
    result = poller.poll(world.get_row(row.source_id))
    assert result is not None
    assert (result.new, result.row.mark) == (2, 2)


def test_robots_txt_is_obeyed(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))
    world.serve("/robots.txt", b"User-agent: fonds\nDisallow: /feed")
    result = world.poll(row)
    assert result.error is not None
    assert "robots.txt does not allow" in result.error
    assert [path for path, _ in world.server.requests] == ["/robots.txt"]


def test_a_postponed_poll_does_not_count(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))

    def postpone(url: str, headers: object, tls: object) -> object:
        raise PostponedError("its host is asked again in 40 s", 40.0)

    poller = replace(world.poller, get=postpone)  # type: ignore[arg-type]
    assert poller.poll(row) is None
    postponed = world.get_row(row.source_id)
    assert (postponed.polls, postponed.polling, postponed.failures) == (0, False, 0)
    assert postponed.next_poll == world.place.clock() + timedelta(seconds=40)
    assert world.list_polls() == []
    assert world.poll(row).new == len(LINKS)


def test_a_domain_of_another_process_is_requested_and_not_polled(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))
    now = world.place.clock()
    world.place.records.put([PaceRow("127.0.0.1", "another:1:x", 7, {}, now)])
    assert world.poller.poll(row) is None
    (pace,) = world.place.records.get(PaceRow, ["127.0.0.1"])
    assert pace.requested_by is not None
    assert world.server.requests == []


def test_a_poll_of_a_dead_process_is_repeated_at_once(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))

    def interrupt(url: str, headers: object, tls: object) -> object:
        raise KeyboardInterrupt

    leases = create_poll_leases(world.place, "dead")
    dead = replace(world.poller, get=interrupt, leases=leases)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        dead.poll(row)
    assert world.poller.list_due(10) == []
    cells = LeaseColumns(world.place.records, SourceRow)
    clock = world.place.clock
    leases = Leases(cells, "alive", lambda: clock.now_s, LEASE_S, lambda name: name == "dead")
    alive = replace(world.poller, leases=leases)
    (due,) = alive.list_due(10)
    result = alive.poll(due)
    assert result is not None
    assert (result.new, result.row.polls, result.row.polling) == (len(LINKS), 1, False)
