"""A backfill that is killed between any two acts: no page is skipped, nothing is lost, entered or counted
twice."""

from __future__ import annotations

import pytest

from fixtures.feeds import atom
from fonds.following import backfill_poll
from fonds.following.backfill_requests import stop_backfill
from fonds.model.rows import SourceRow
from fonds.model.source import BackfillState
from unit.following.archives import (
    HISTORY,
    archived,
    asked,
    asked_for,
    entry,
    followed_feed,
    stands,
    story,
    works,
)
from unit.following.killed_polls import KilledError, mortal
from unit.following.world import World, later

WANTED = {story(month, number) for month in (5, 3, 2) for number in (1, 2, 3)}


def begun(world: World, monkeypatch: pytest.MonkeyPatch) -> SourceRow:
    """A backfill of three polls: of the second both pages are of the days."""
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", 2)
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    return row


def killed(world: World, row: SourceRow, port: str, name: str, count: int, after: bool) -> None:
    dying = mortal(world, port, name, count, after)

    def works_on() -> None:
        while True:
            dying.poll(world.row(row.source_id))

    with pytest.raises(KilledError):
        works_on()


def is_whole(world: World, row: SourceRow) -> None:
    """The books, the queue and the row of the source agree."""
    entered, found = world.entered(), world.row(row.source_id)
    assert len({one.url for one in entered}) == len(entered) == found.links
    assert {one.id for one in world.waiting()} == {one.entry_id for one in entered}
    for poll in world.polls():
        count_of = sum(one.input_id == poll.input_id for one in entered)
        assert (poll.finished, poll.entries) == (True, count_of)
    assert not found.polling


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("port", "name", "count"),
    [
        *(("ledger", "enter", count) for count in range(1, 7)),
        *(("records", "change_each", count) for count in range(1, 7)),
        ("queue", "put", 1),
    ],
)
def test_wherever_it_is_killed_it_is_gone_on_with_as_if_it_were_not(
    world: World, monkeypatch: pytest.MonkeyPatch, port: str, name: str, count: int, after: bool
) -> None:
    row = begun(world, monkeypatch)
    killed(world, row, port, name, count, after)
    world.polling.list_due(10)  # From now on this process sees whether the lease is renewed.
    later(world, minutes=16)
    works(world)
    is_whole(world, row)
    found = stands(world, row)
    assert {one.url for one in world.entered()} == WANTED
    assert (found.state, found.pages, found.listed) == (BackfillState.ENDED, 5, 15)
    assert (found.entered, found.outside, found.known) == (6, 9, 0)
    # New, and refused: the poll that takes up what the last one left may ask for what is new.
    assert [(day.new, day.refused) for day in (world.row(row.source_id).days or {}).values()] == [
        (3, 0)
    ]


def test_what_left_a_page_meanwhile_is_on_the_books_and_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = begun(world, monkeypatch)
    killed(world, row, "queue", "put", 1, False)
    page = [entry(3, number) for number in (2, 3, 4)]
    world.give("/3", atom(page, '<link rel="prev-archive" href="/2"/>', HISTORY))
    world.polling.list_due(10)  # From now on this process sees whether the lease is renewed.
    later(world, minutes=16)
    works(world)
    is_whole(world, row)
    assert {one.url for one in world.entered()} == WANTED | {story(3, 4)}
    assert stands(world, row).entered == 7


def test_one_that_was_stopped_after_it_was_killed_keeps_its_links_and_asks_for_nothing_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = begun(world, monkeypatch)
    killed(world, row, "queue", "put", 1, False)
    assert stop_backfill(world.place.records, world.row(row.source_id), world.place.clock())
    before = asked(world)
    world.polling.list_due(10)  # From now on this process sees whether the lease is renewed.
    later(world, minutes=16)
    works(world)
    is_whole(world, row)
    found = stands(world, row)
    assert (found.state, found.entered, world.row(row.source_id).links) == (
        BackfillState.STOPPED,
        6,
        9,
    )
    assert asked(world) == before
    assert world.row(row.source_id).days == row.days
