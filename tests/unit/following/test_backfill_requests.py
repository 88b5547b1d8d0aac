"""Which backfills are accepted, and what happens to requests and stops during a poll."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from fixtures.feeds import rss_with_links
from fonds.following import backfill_poll
from fonds.following.backfill import find_next_poll
from fonds.following.backfill_requests import explain_no_older_pages, stop_backfill, validate_days
from fonds.following.poller import Poller
from fonds.following.source_edits import poll_soon, set_state
from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.model.source import BackfillState
from unit.following.archives import (
    add_polled_feed,
    get_backfill,
    list_paths,
    poll_all,
    request_days,
    serve_archives,
)
from unit.following.world import LINKS, OPTIONS, World, advance

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def make_disturbed_poller(world: World, path: str, act: Callable[[], object]) -> Poller:
    """Return a poller that calls `act` during its request of `path`."""
    get = world.poller.get

    def act_and_get(url: str, headers: object, tls: object) -> object:
        if url.endswith(path):
            act()
        return get(url, headers, tls)  # type: ignore[arg-type]

    return replace(world.poller, get=act_and_get)  # type: ignore[arg-type]


def test_days_must_be_past_and_in_order() -> None:
    day = date(2025, 1, 1)
    assert validate_days(day, None, NOW) == (day, NOW.date())
    assert validate_days(day, day, NOW) == (day, day)
    with pytest.raises(ValueError, match="is in the future"):
        validate_days(NOW.date() + timedelta(days=1), None, NOW)
    with pytest.raises(ValueError, match="is after the last day"):
        validate_days(day, date(2024, 12, 31), NOW)


def test_a_source_without_older_pages_is_rejected_with_the_reason(world: World) -> None:
    world.serve("/feed", rss_with_links(LINKS))
    row = world.add("/feed")
    assert explain_no_older_pages(row) == ""
    poll_all(world)
    with pytest.raises(ConfigurationError, match="no link to an older page"):
        request_days(world, row)
    page = world.add("/page", replace(OPTIONS, kind="page"))
    api = world.add("/api", replace(OPTIONS, kind="rss-fetcher"))
    for source, reason in ((page, "a page of links"), (api, "from its first id")):
        with pytest.raises(ConfigurationError, match=reason):
            request_days(world, source)
    # The hints of older polls do not say whether there are older pages.
    world.place.records.change(SourceRow, [row.source_id], {"hints": {"children": 0}})
    request_days(world, row)


def test_a_running_backfill_and_a_paused_source_are_rejected(world: World) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    with pytest.raises(ConfigurationError, match="from 2025-02-01"):
        request_days(world, row)
    stop_backfill(world.place.records, world.get_row(row.source_id), world.place.clock())
    set_state(world.place.records, row, "paused", world.place.clock())
    with pytest.raises(ConfigurationError, match="Resume it"):
        request_days(world, row)


def test_a_request_is_recorded_and_the_poll_schedule_stays(world: World) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    source = world.get_row(row.source_id)
    assert source.next_poll == world.place.clock()
    assert find_next_poll(source) == row.next_poll
    assert stop_backfill(world.place.records, source, world.place.clock())
    source = world.get_row(row.source_id)
    assert source.next_poll == find_next_poll(source) == row.next_poll
    assert not stop_backfill(world.place.records, source, world.place.clock())
    assert (get_backfill(world, row).state, get_backfill(world, row).why) == (
        BackfillState.STOPPED,
        "a person stopped it",
    )


@pytest.mark.parametrize("pages", [4, 20])
def test_stopping_during_a_poll_keeps_its_links(
    world: World, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    """Also if that poll would have been the last."""
    monkeypatch.setattr(backfill_poll, "PAGES_A_POLL", pages)
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    records, now = world.place.records, world.place.clock()

    def stop_now() -> None:
        assert stop_backfill(records, world.get_row(row.source_id), now)
        with pytest.raises(ConfigurationError, match="is stopping"):
            request_days(world, row)

    result = make_disturbed_poller(world, "/3", stop_now).poll(world.get_row(row.source_id))
    assert result is not None
    backfill, source = get_backfill(world, row), world.get_row(row.source_id)
    assert (backfill.state, backfill.entered, source.links) == (BackfillState.STOPPED, 6, 9)
    assert (source.polling, source.next_poll) == (False, row.next_poll)
    assert poll_all(world) == []


def test_a_request_during_a_poll_starts_after_it(world: World) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    advance(world, days=2)
    poller = make_disturbed_poller(world, "/feed", lambda: request_days(world, row))
    assert poller.poll(world.get_row(row.source_id)) is not None
    source = world.get_row(row.source_id)
    assert (source.last_polled, source.next_poll) == (world.place.clock(), world.place.clock())
    assert find_next_poll(source) is not None
    assert [result.new for result in poll_all(world)] == [6]


def test_a_requested_poll_runs_before_the_backfill_continues(world: World) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    advance(world, seconds=1)
    poll_soon(world.place.records, world.get_row(row.source_id), world.place.clock())
    result = world.poll(row)
    assert result.notes.backfill is None
    assert world.poll(row).notes.backfill is not None
    assert get_backfill(world, row).state is BackfillState.ENDED


def test_a_backfill_pauses_with_its_source_and_continues_after_it(world: World) -> None:
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    records = world.place.records
    set_state(records, world.get_row(row.source_id), "paused", world.place.clock())
    paths_before = list_paths(world)
    assert poll_all(world) == []
    assert list_paths(world) == paths_before
    set_state(records, world.get_row(row.source_id), "active", world.place.clock())
    poll_all(world)
    assert get_backfill(world, row).state is BackfillState.ENDED
