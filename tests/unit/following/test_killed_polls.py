"""A poll that is killed between any two acts: nothing is lost, nothing enters twice, the books balance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.feeds import rss_of
from fonds.following.poller import LEASE_S
from unit.following.killed_polls import KilledError, mortal
from unit.following.world import LINKS, World, create_poll_leases, later


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("port", "name", "count"),
    [
        ("ledger", "enter", 1),
        ("ledger", "enter", 2),
        ("queue", "put", 1),
        ("records", "change_each", 1),
        ("records", "change_each", 2),
    ],
)
def test_a_poll_that_is_killed_anywhere_loses_nothing_and_enters_nothing_twice(
    world: World, port: str, name: str, count: int, after: bool
) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS[:3]), ETag='"v1"')
    with pytest.raises(KilledError):
        mortal(world, port, name, count, after).poll(row)
    world.polling.list_due(10)  # From now on this process sees whether the lease is renewed.
    later(world, hours=25)
    # Meanwhile the first link left the feed, and another came.
    world.give("/feed", rss_of(LINKS[1:4]), ETag='"v2"')
    for due in world.polling.list_due(10):
        world.poll(due)
    world.give("/feed", b"", 304)
    world.poll(row)
    urls = [one.url for one in world.entered()]
    assert len(urls) == len(set(urls))
    assert set(urls) >= set(LINKS[1:4])
    assert world.row(row.source_id).links == len(urls)
    sent = {one.id for one in world.waiting()}
    assert sent == {one.entry_id for one in world.entered()}
    for poll in world.polls():
        count_of = sum(one.input_id == poll.input_id for one in world.entered())
        assert (poll.finished, poll.entries) == (True, count_of)
    assert not world.row(row.source_id).polling


def test_a_poll_whose_lease_another_process_took_enters_nothing(world: World) -> None:
    """It was so slow that the other one saw its lease unchanged for its duration."""
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))
    other = replace(world.polling, leases=create_poll_leases(world.place, "other"))
    get = world.polling.get

    def slow(url: str, headers: object, tls: object) -> object:
        assert other.list_due(10) == []
        world.place.clock.pass_s(LEASE_S)
        (due,) = other.list_due(10)
        done = other.poll(due)
        assert done is not None
        assert done.new == len(LINKS)
        world.give("/feed", rss_of(["https://news.example.org/late"]))
        return get(url, headers, tls)  # type: ignore[arg-type]

    assert replace(world.polling, get=slow).poll(row) is None  # type: ignore[arg-type]
    assert sorted(one.url for one in world.entered()) == sorted(LINKS)
    found = world.row(row.source_id)
    assert (found.polls, found.polling, found.lease_holder) == (1, False, None)


def test_a_wall_clock_put_forward_takes_no_poll_from_a_living_process(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))
    seconds = world.place.clock.now_s
    leases = create_poll_leases(world.place, "other", clock_s=lambda: seconds)
    other = replace(world.polling, leases=leases)
    get = world.polling.get

    def during(url: str, headers: object, tls: object) -> object:
        for _ in range(3):
            assert other.list_due(10) == []
            world.place.clock.pass_s(24 * 3600)
        return get(url, headers, tls)  # type: ignore[arg-type]

    done = replace(world.polling, get=during).poll(row)  # type: ignore[arg-type]
    assert done is not None
    assert done.new == len(LINKS)
