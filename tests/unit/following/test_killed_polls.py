"""A poll that is killed between any two writes loses nothing and enters nothing twice, and the
ledger balances."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.feeds import rss_with_links
from fonds.following.poller import LEASE_S
from unit.following.killed_polls import KilledError, make_mortal_poller
from unit.following.world import LINKS, World, advance, create_poll_leases


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
def test_a_killed_poll_loses_nothing_and_enters_nothing_twice(
    world: World, port: str, name: str, count: int, after: bool
) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS[:3]), ETag='"v1"')
    with pytest.raises(KilledError):
        make_mortal_poller(world, port, name, count, after).poll(row)
    world.poller.list_due(10)  # This process now observes whether the lease is renewed.
    advance(world, hours=25)
    # Meanwhile the first link left the feed, and another came.
    world.serve("/feed", rss_with_links(LINKS[1:4]), ETag='"v2"')
    for due in world.poller.list_due(10):
        world.poll(due)
    world.serve("/feed", b"", 304)
    world.poll(row)
    urls = [entry.url for entry in world.list_entries()]
    assert len(urls) == len(set(urls))
    assert set(urls) >= set(LINKS[1:4])
    assert world.get_row(row.source_id).links == len(urls)
    sent = {entry.id for entry in world.receive_links()}
    assert sent == {entry.entry_id for entry in world.list_entries()}
    for poll in world.list_polls():
        n_entries = sum(entry.input_id == poll.input_id for entry in world.list_entries())
        assert (poll.finished, poll.entries) == (True, n_entries)
    assert not world.get_row(row.source_id).polling


def test_a_poll_whose_lease_was_taken_over_enters_nothing(world: World) -> None:
    """It was so slow that the other process saw its lease unchanged for its duration."""
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))
    other = replace(world.poller, leases=create_poll_leases(world.place, "other"))
    get = world.poller.get

    def get_slowly(url: str, headers: object, tls: object) -> object:
        assert other.list_due(10) == []
        world.place.clock.pass_s(LEASE_S)
        (due,) = other.list_due(10)
        result = other.poll(due)
        assert result is not None
        assert result.new == len(LINKS)
        world.serve("/feed", rss_with_links(["https://news.example.org/late"]))
        return get(url, headers, tls)  # type: ignore[arg-type]

    assert replace(world.poller, get=get_slowly).poll(row) is None  # type: ignore[arg-type]
    assert sorted(entry.url for entry in world.list_entries()) == sorted(LINKS)
    source = world.get_row(row.source_id)
    assert (source.polls, source.polling, source.lease_holder) == (1, False, None)


def test_a_clock_set_forward_takes_no_poll_from_a_living_process(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))
    seconds = world.place.clock.now_s
    leases = create_poll_leases(world.place, "other", clock_s=lambda: seconds)
    other = replace(world.poller, leases=leases)
    get = world.poller.get

    def advance_clock_and_get(url: str, headers: object, tls: object) -> object:
        for _ in range(3):
            assert other.list_due(10) == []
            world.place.clock.pass_s(24 * 3600)
        return get(url, headers, tls)  # type: ignore[arg-type]

    result = replace(world.poller, get=advance_clock_and_get).poll(row)  # type: ignore[arg-type]
    assert result is not None
    assert result.new == len(LINKS)
