"""What may be asked for, when, and what becomes of a wish that comes while the source is polled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from fixtures.feeds import rss_of
from fonds.following import backfill_poll
from fonds.following.backfill import find_next_poll
from fonds.following.backfill_requests import explain_no_older_pages, stop_backfill, validate_days
from fonds.following.poller import Poller
from fonds.following.source_edits import poll_soon, set_state
from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.model.source import BackfillState
from unit.following.archives import (
    archived,
    asked,
    asked_for,
    followed_feed,
    stands,
    works,
)
from unit.following.world import LINKS, WANTED, World, later

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def disturbed(world: World, path: str, act: Callable[[], object]) -> Poller:
    """What polls, while a person acts when this page is asked for."""
    get = world.polling.get

    def asking(url: str, headers: object, tls: object) -> object:
        if url.endswith(path):
            act()
        return get(url, headers, tls)  # type: ignore[arg-type]

    return replace(world.polling, get=asking)  # type: ignore[arg-type]


def test_the_days_are_those_that_were_and_in_their_order() -> None:
    day = date(2025, 1, 1)
    assert validate_days(day, None, NOW) == (day, NOW.date())
    assert validate_days(day, day, NOW) == (day, day)
    with pytest.raises(ValueError, match="is in the future"):
        validate_days(NOW.date() + timedelta(days=1), None, NOW)
    with pytest.raises(ValueError, match="is after the last day"):
        validate_days(day, date(2024, 12, 31), NOW)


def test_what_is_known_to_offer_nothing_older_is_refused_with_the_reason(world: World) -> None:
    world.give("/feed", rss_of(LINKS))
    row = world.add("/feed")
    assert explain_no_older_pages(row) == ""
    works(world)
    with pytest.raises(ConfigurationError, match="no link to an older page"):
        asked_for(world, row)
    page = world.add("/page", replace(WANTED, kind="page"))
    api = world.add("/api", replace(WANTED, kind="rss-fetcher"))
    for one, told in ((page, "a page of links"), (api, "from its first id")):
        with pytest.raises(ConfigurationError, match=told):
            asked_for(world, one)
    # What was polled before that was noted is not known to offer nothing.
    world.place.records.change(SourceRow, [row.source_id], {"hints": {"children": 0}})
    asked_for(world, row)


def test_one_that_goes_on_and_a_source_that_is_not_polled_are_refused(world: World) -> None:
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    with pytest.raises(ConfigurationError, match="from 2025-02-01"):
        asked_for(world, row)
    stop_backfill(world.place.records, world.row(row.source_id), world.place.clock())
    set_state(world.place.records, row, "paused", world.place.clock())
    with pytest.raises(ConfigurationError, match="Resume it"):
        asked_for(world, row)


def test_a_wish_is_written_down_and_the_source_polled_in_its_own_rhythm(world: World) -> None:
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    found = world.row(row.source_id)
    assert found.next_poll == world.place.clock()
    assert find_next_poll(found) == row.next_poll
    assert stop_backfill(world.place.records, found, world.place.clock())
    found = world.row(row.source_id)
    assert found.next_poll == find_next_poll(found) == row.next_poll
    assert not stop_backfill(world.place.records, found, world.place.clock())
    assert (stands(world, row).state, stands(world, row).why) == (
        BackfillState.STOPPED,
        "a person stopped it",
    )


@pytest.mark.parametrize("pages", [4, 20])
def test_who_stops_it_while_it_reads_has_it_stopped_with_what_entered(
    world: World, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    """Also where that poll would have been the last."""
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", pages)
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    records, now = world.place.records, world.place.clock()

    def stopped() -> None:
        assert stop_backfill(records, world.row(row.source_id), now)
        with pytest.raises(ConfigurationError, match="is stopping"):
            asked_for(world, row)

    done = disturbed(world, "/3", stopped).poll(world.row(row.source_id))
    assert done is not None
    found, after = stands(world, row), world.row(row.source_id)
    assert (found.state, found.entered, after.links) == (BackfillState.STOPPED, 6, 9)
    assert (after.polling, after.next_poll) == (False, row.next_poll)
    assert works(world) == []


def test_who_asks_while_it_is_polled_has_it_gone_on_with_after_that(world: World) -> None:
    archived(world)
    row = followed_feed(world)
    later(world, days=2)
    polling = disturbed(world, "/feed", lambda: asked_for(world, row))
    assert polling.poll(world.row(row.source_id)) is not None
    found = world.row(row.source_id)
    assert (found.last_polled, found.next_poll) == (world.place.clock(), world.place.clock())
    assert find_next_poll(found) is not None
    assert [one.new for one in works(world)] == [6]


def test_who_wants_it_polled_next_has_it_polled_before_the_backfill_goes_on(world: World) -> None:
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    later(world, seconds=1)
    poll_soon(world.place.records, world.row(row.source_id), world.place.clock())
    done = world.poll(row)
    assert done.notes.backfill is None
    assert world.poll(row).notes.backfill is not None
    assert stands(world, row).state is BackfillState.ENDED


def test_while_it_is_paused_nothing_is_asked_and_then_it_is_gone_on_with(world: World) -> None:
    archived(world)
    row = followed_feed(world)
    asked_for(world, row)
    records = world.place.records
    set_state(records, world.row(row.source_id), "paused", world.place.clock())
    before = asked(world)
    assert works(world) == []
    assert asked(world) == before
    set_state(records, world.row(row.source_id), "active", world.place.clock())
    works(world)
    assert stands(world, row).state is BackfillState.ENDED
