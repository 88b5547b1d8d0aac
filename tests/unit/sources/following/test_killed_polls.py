"""A poll that is killed between any two acts: nothing is lost, nothing enters twice, the books balance."""

from __future__ import annotations

import pytest

from fixtures.feeds import rss_of
from unit.sources.following.dying import KilledError, mortal
from unit.sources.following.world import LINKS, World, later


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("port", "name", "count"),
    [
        ("ledger", "enter", 1),
        ("ledger", "enter", 2),
        ("queue", "put", 1),
        ("records", "change", 1),
        ("records", "change", 2),
    ],
)
def test_a_poll_that_is_killed_anywhere_loses_nothing_and_enters_nothing_twice(
    world: World, port: str, name: str, count: int, after: bool
) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS[:3]), ETag='"v1"')
    with pytest.raises(KilledError):
        mortal(world, port, name, count, after).poll(row)
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
