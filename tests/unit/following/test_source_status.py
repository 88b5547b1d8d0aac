"""How polls leave a source, since when it fails, and what muting it does and does not."""

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
from unit.following.world import World, later

FEED = (
    b"<rss version='2.0'><channel><title>t</title><item><link>https://news.example.org/1</link></item>"
    b"</channel></rss>"
)
EMPTY = b"<rss version='2.0'><channel><title>t</title></channel></rss>"


def stands(world: World, source_id: str) -> SourceHealth:
    return compute_health(world.row(source_id), world.place.clock())


def test_since_when_polls_fail_is_told_by_the_first_and_forgotten_by_one_that_went_well(
    world: World,
) -> None:
    row = world.add("/feed")
    assert stands(world, row.source_id) is SourceHealth.WAITING
    world.give("/feed", b"", 500)
    first = world.poll(row).row
    assert first.failing_since == first.last_polled is not None
    later(world, hours=3)
    again = world.poll(row).row
    assert (again.failures, again.failing_since) == (2, first.failing_since)
    assert stands(world, row.source_id) is SourceHealth.FAILING
    world.give("/feed", FEED)
    later(world, hours=3)
    well = world.poll(row).row
    assert (well.failures, well.failing_since) == (0, None)
    assert stands(world, row.source_id) is SourceHealth.ACTIVE
    world.give("/feed", EMPTY)
    later(world, hours=3)
    world.poll(row)
    assert stands(world, row.source_id) is SourceHealth.SILENT


def test_since_when_is_not_made_up_for_failures_before_it_was_noted(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", b"", 500)
    world.place.records.change(type(row), [row.source_id], {"failures": 4})
    assert world.poll(row).row.failing_since is None


def test_a_source_that_only_fails_is_dead_and_resumed_it_waits(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", b"", 500)
    for _ in range(10):
        world.poll(row)
        later(world, days=2)
    assert stands(world, row.source_id) is SourceHealth.DEAD
    set_state(world.place.records, world.row(row.source_id), "active", world.place.clock())
    found = world.row(row.source_id)
    assert (found.failing_since, stands(world, row.source_id)) == (None, SourceHealth.WAITING)


def test_who_pauses_it_during_a_poll_has_it_paused(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", b"", 500)
    change = {"state": "paused"}
    taken = world.polling._acquire(row)  # a poll that is under way
    assert taken is not None
    world.place.records.change(type(row), [row.source_id], change)
    world.polling._finish_failure(taken, PollResponse(500), "it answers 500")
    assert stands(world, row.source_id) is SourceHealth.PAUSED
    assert world.row(row.source_id).standing == SourceHealth.FAILING


def test_muted_until_it_is_well_it_is_polled_as_before_and_then_muted_no_more(
    world: World,
) -> None:
    row, records = world.add("/feed"), world.place.records
    world.give("/feed", FEED)
    world.poll(row)
    world.give("/feed", b"", 500)
    later(world, hours=3)
    failing = world.poll(row).row
    now = world.place.clock()
    mute(records, failing, None, "  they   move ", now)
    muted = world.row(row.source_id)
    assert get_mute(muted, now) == Mute(now, None, "they move")
    assert stands(world, row.source_id) is SourceHealth.MUTED
    later(world, hours=9)
    assert [one.source_id for one in world.polling.list_due(9)] == [row.source_id]
    world.poll(row)
    # It answers again and lists nothing: that is not well.
    world.give("/feed", EMPTY)
    later(world, hours=9)
    world.poll(row)
    assert stands(world, row.source_id) is SourceHealth.MUTED
    world.give("/feed", FEED)
    later(world, hours=9)
    well = world.poll(row).row
    assert (well.muted_at, well.muted_until, well.mute_note) == (None, None, "")
    assert stands(world, row.source_id) is SourceHealth.ACTIVE


def test_muted_until_a_day_it_stays_so_though_it_is_well_between(world: World) -> None:
    row, records = world.add("/feed"), world.place.records
    world.give("/feed", FEED)
    world.poll(row)
    until = world.place.clock() + timedelta(days=3)
    mute(records, world.row(row.source_id), until, "", world.place.clock())
    assert stands(world, row.source_id) is SourceHealth.ACTIVE
    world.give("/feed", b"", 500)
    later(world, days=1)
    world.poll(row)
    assert stands(world, row.source_id) is SourceHealth.MUTED
    later(world, days=2)
    assert stands(world, row.source_id) is SourceHealth.FAILING
    assert get_mute(world.row(row.source_id), world.place.clock()) is None


def test_what_cannot_be_muted_is_said(world: World) -> None:
    row, records = world.add("/feed"), world.place.records
    now = world.place.clock()
    failing = replace(row, standing="failing")
    for one, until, note, said in (
        (row, None, "", "has no problem. Give an end time"),
        (failing, now, "", "is not in the future"),
        (failing, None, "x" * 301, "at most 300"),
        (replace(failing, state="paused"), None, "", "is not polled"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            mute(records, one, until, note, now)
    assert world.row(row.source_id) == row
    unmute(records, row)
    assert world.row(row.source_id) == row


def test_when_the_form_of_its_listing_changed_is_kept(world: World) -> None:
    item = "<item><title>t</title>{}<link>https://news.example.org/{}</link></item>"

    def feed(dates: str, first: int) -> bytes:
        items = "".join(item.format(dates, number) for number in range(first, first + 4))
        return f"<rss version='2.0'><channel><title>t</title>{items}</channel></rss>".encode()

    row = world.add("/feed")
    dated = "<pubDate>Tue, 24 Nov 2026 10:00:00 GMT</pubDate>"
    world.give("/feed", feed(dated, 0))
    first = world.poll(row).row
    assert (first.form, first.form_before, first.form_changed) == (
        "rss with titles, dates",
        None,
        None,
    )
    world.give("/feed", feed("", 4))
    later(world, hours=3)
    changed = world.poll(row).row
    assert (changed.form, changed.form_before) == ("rss with titles", first.form)
    assert changed.form_changed == changed.last_polled
    world.give("/feed", feed("", 8))
    later(world, hours=3)
    same = world.poll(row).row
    assert (same.form_before, same.form_changed) == (first.form, changed.form_changed)
