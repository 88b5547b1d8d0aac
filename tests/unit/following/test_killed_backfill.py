"""A backfill that is killed between any two writes skips no page and neither loses, repeats nor
double-counts a link."""

from __future__ import annotations

import pytest

from fixtures.feeds import atom
from fonds.following import backfill_poll
from fonds.following.backfill_requests import stop_backfill
from fonds.model.rows import SourceRow
from fonds.model.source import BackfillState
from unit.following.archives import (
    HISTORY,
    add_polled_feed,
    entry,
    get_backfill,
    list_paths,
    poll_all,
    request_days,
    serve_archives,
    story,
)
from unit.following.killed_polls import KilledError, make_mortal_poller
from unit.following.world import World, advance

EXPECTED_URLS = {story(month, number) for month in (5, 3, 2) for number in (1, 2, 3)}


def start_backfill(world: World, monkeypatch: pytest.MonkeyPatch) -> SourceRow:
    """Start a backfill of three polls; both pages of the second poll are within the requested days."""
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", 2)
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    return row


def kill(world: World, row: SourceRow, port: str, name: str, count: int, after: bool) -> None:
    mortal_poller = make_mortal_poller(world, port, name, count, after)

    def poll_until_killed() -> None:
        while True:
            mortal_poller.poll(world.get_row(row.source_id))

    with pytest.raises(KilledError):
        poll_until_killed()


def assert_consistent(world: World, row: SourceRow) -> None:
    """Check that the ledger, the queue and the row of the source agree."""
    entered, source = world.list_entries(), world.get_row(row.source_id)
    assert len({entry_row.url for entry_row in entered}) == len(entered) == source.links
    assert {entry_row.id for entry_row in world.receive_links()} == {
        entry_row.entry_id for entry_row in entered
    }
    for poll in world.list_polls():
        n_entries = sum(entry_row.input_id == poll.input_id for entry_row in entered)
        assert (poll.finished, poll.entries) == (True, n_entries)
    assert not source.polling


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("port", "name", "count"),
    [
        *(("ledger", "enter", count) for count in range(1, 7)),
        *(("records", "change_each", count) for count in range(1, 7)),
        ("queue", "put", 1),
    ],
)
def test_a_killed_backfill_continues_as_if_it_had_not_been_killed(
    world: World, monkeypatch: pytest.MonkeyPatch, port: str, name: str, count: int, after: bool
) -> None:
    row = start_backfill(world, monkeypatch)
    kill(world, row, port, name, count, after)
    world.poller.list_due(10)  # This process now observes whether the lease is renewed.
    advance(world, minutes=16)
    poll_all(world)
    assert_consistent(world, row)
    backfill = get_backfill(world, row)
    assert {entry_row.url for entry_row in world.list_entries()} == EXPECTED_URLS
    assert (backfill.state, backfill.pages, backfill.listed) == (BackfillState.ENDED, 5, 15)
    assert (backfill.entered, backfill.outside, backfill.known) == (6, 9, 0)
    # New and refused links: the poll that continues the killed one may also read new entries.
    assert [
        (day.new, day.refused) for day in (world.get_row(row.source_id).days or {}).values()
    ] == [(3, 0)]


def test_entries_that_left_a_page_meanwhile_are_recorded_and_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = start_backfill(world, monkeypatch)
    kill(world, row, "queue", "put", 1, False)
    page = [entry(3, number) for number in (2, 3, 4)]
    world.serve("/3", atom(page, '<link rel="prev-archive" href="/2"/>', HISTORY))
    world.poller.list_due(10)  # This process now observes whether the lease is renewed.
    advance(world, minutes=16)
    poll_all(world)
    assert_consistent(world, row)
    assert {entry_row.url for entry_row in world.list_entries()} == EXPECTED_URLS | {story(3, 4)}
    assert get_backfill(world, row).entered == 7


def test_a_backfill_stopped_after_it_was_killed_keeps_its_links_and_requests_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = start_backfill(world, monkeypatch)
    kill(world, row, "queue", "put", 1, False)
    assert stop_backfill(world.place.records, world.get_row(row.source_id), world.place.clock())
    paths_before = list_paths(world)
    world.poller.list_due(10)  # This process now observes whether the lease is renewed.
    advance(world, minutes=16)
    poll_all(world)
    assert_consistent(world, row)
    backfill = get_backfill(world, row)
    assert (backfill.state, backfill.entered, world.get_row(row.source_id).links) == (
        BackfillState.STOPPED,
        6,
        9,
    )
    assert list_paths(world) == paths_before
    assert world.get_row(row.source_id).days == row.days
