"""The health of a source after polls, the start of its failures, and the effect of muting."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from fonds.following.health import (
    Mute,
    SourceHealth,
    compute_health,
    get_mute,
    mute,
    unmute,
)
from fonds.following.poll_request import PollResponse
from fonds.following.source_edits import set_state
from fonds.model.errors import ConfigurationError
from unit.following.world import World, advance

FEED = (
    b"<rss version='2.0'><channel><title>t</title><item><link>https://news.example.org/1</link></item>"
    b"</channel></rss>"
)
EMPTY = b"<rss version='2.0'><channel><title>t</title></channel></rss>"


def get_health(world: World, source_id: str) -> SourceHealth:
    return compute_health(world.get_row(source_id), world.place.clock())


def test_the_start_of_failures_is_recorded_and_cleared_by_a_success(
    world: World,
) -> None:
    row = world.add("/feed")
    assert get_health(world, row.source_id) is SourceHealth.WAITING
    world.serve("/feed", b"", 500)
    first = world.poll(row).row
    assert first.failing_since == first.last_polled is not None
    advance(world, hours=3)
    second = world.poll(row).row
    assert (second.failures, second.failing_since) == (2, first.failing_since)
    assert get_health(world, row.source_id) is SourceHealth.FAILING
    world.serve("/feed", FEED)
    advance(world, hours=3)
    recovered = world.poll(row).row
    assert (recovered.failures, recovered.failing_since) == (0, None)
    assert get_health(world, row.source_id) is SourceHealth.ACTIVE
    world.serve("/feed", EMPTY)
    advance(world, hours=3)
    world.poll(row)
    assert get_health(world, row.source_id) is SourceHealth.SILENT


def test_the_start_of_earlier_failures_stays_unknown(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", b"", 500)
    world.place.records.change(type(row), [row.source_id], {"failures": 4})
    assert world.poll(row).row.failing_since is None


def test_a_failing_source_is_dead_and_waits_after_it_is_resumed(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", b"", 500)
    for _ in range(10):
        world.poll(row)
        advance(world, days=2)
    assert get_health(world, row.source_id) is SourceHealth.DEAD
    set_state(world.place.records, world.get_row(row.source_id), "active", world.place.clock())
    source = world.get_row(row.source_id)
    assert (source.failing_since, get_health(world, row.source_id)) == (None, SourceHealth.WAITING)


def test_a_source_paused_during_a_poll_stays_paused(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", b"", 500)
    change = {"state": "paused"}
    leased = world.poller._acquire(row)  # a poll in progress
    assert leased is not None
    world.place.records.change(type(row), [row.source_id], change)
    world.poller._finish_failure(leased, PollResponse(500), "it responds with 500")
    assert get_health(world, row.source_id) is SourceHealth.PAUSED
    assert world.get_row(row.source_id).health == SourceHealth.FAILING


def test_a_source_muted_until_recovery_is_polled_and_then_unmuted(
    world: World,
) -> None:
    row, records = world.add("/feed"), world.place.records
    world.serve("/feed", FEED)
    world.poll(row)
    world.serve("/feed", b"", 500)
    advance(world, hours=3)
    failing = world.poll(row).row
    now = world.place.clock()
    mute(records, failing, None, "  they   move ", now)
    muted = world.get_row(row.source_id)
    assert get_mute(muted, now) == Mute(now, None, "they move")
    assert get_health(world, row.source_id) is SourceHealth.MUTED
    advance(world, hours=9)
    assert [due.source_id for due in world.poller.list_due(9)] == [row.source_id]
    world.poll(row)
    # It responds again but lists nothing, so it has not recovered.
    world.serve("/feed", EMPTY)
    advance(world, hours=9)
    world.poll(row)
    assert get_health(world, row.source_id) is SourceHealth.MUTED
    world.serve("/feed", FEED)
    advance(world, hours=9)
    recovered = world.poll(row).row
    assert (recovered.muted_at, recovered.muted_until, recovered.mute_note) == (None, None, "")
    assert get_health(world, row.source_id) is SourceHealth.ACTIVE


def test_a_source_muted_until_a_day_stays_muted_after_recovery(world: World) -> None:
    row, records = world.add("/feed"), world.place.records
    world.serve("/feed", FEED)
    world.poll(row)
    until = world.place.clock() + timedelta(days=3)
    mute(records, world.get_row(row.source_id), until, "", world.place.clock())
    assert get_health(world, row.source_id) is SourceHealth.ACTIVE
    world.serve("/feed", b"", 500)
    advance(world, days=1)
    world.poll(row)
    assert get_health(world, row.source_id) is SourceHealth.MUTED
    advance(world, days=2)
    assert get_health(world, row.source_id) is SourceHealth.FAILING
    assert get_mute(world.get_row(row.source_id), world.place.clock()) is None


def test_an_invalid_mute_raises_with_the_reason(world: World) -> None:
    row, records = world.add("/feed"), world.place.records
    now = world.place.clock()
    failing = replace(row, health="failing")
    for source, until, note, reason in (
        (row, None, "", "has no problem. Give an end time"),
        (failing, now, "", "is not in the future"),
        (failing, None, "x" * 301, "at most 300"),
        (replace(failing, state="paused"), None, "", "is not polled"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            mute(records, source, until, note, now)
    assert world.get_row(row.source_id) == row
    unmute(records, row)
    assert world.get_row(row.source_id) == row


def test_the_change_of_a_listing_form_is_recorded(world: World) -> None:
    item = "<item><title>t</title>{}<link>https://news.example.org/{}</link></item>"

    def make_feed(dates: str, first: int) -> bytes:
        items = "".join(item.format(dates, number) for number in range(first, first + 4))
        return f"<rss version='2.0'><channel><title>t</title>{items}</channel></rss>".encode()

    row = world.add("/feed")
    dated = "<pubDate>Tue, 24 Nov 2026 10:00:00 GMT</pubDate>"
    world.serve("/feed", make_feed(dated, 0))
    first = world.poll(row).row
    assert (first.form, first.form_before, first.form_changed) == (
        "rss with titles, dates",
        None,
        None,
    )
    world.serve("/feed", make_feed("", 4))
    advance(world, hours=3)
    changed = world.poll(row).row
    assert (changed.form, changed.form_before) == ("rss with titles", first.form)
    assert changed.form_changed == changed.last_polled
    world.serve("/feed", make_feed("", 8))
    advance(world, hours=3)
    unchanged = world.poll(row).row
    assert (unchanged.form_before, unchanged.form_changed) == (first.form, changed.form_changed)
