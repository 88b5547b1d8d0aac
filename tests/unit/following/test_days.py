"""Days of a source: each poll counts on its own, and what is usual is told by the days before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from fixtures.feeds import api_rows, rss_of
from fonds.following.daily_counts import DAYS_STORED, DayOutcome, add_poll, judge_days
from fonds.following.health import SourceHealth, compute_health
from fonds.following.poll_links import build_poll_row
from fonds.following.source_edits import SourceOptions, build_source
from fonds.model.disposition import Reason
from fonds.model.rows import SourceRow
from fonds.model.source import DayCounts
from unit.following.world import LINKS, WANTED, World, later

TODAY = date(2026, 11, 24)
SOURCE = build_source(
    "https://daily.example/feed", SourceOptions(), datetime(2026, 1, 1, tzinfo=UTC)
)


def brought(*new: int | None) -> SourceRow:
    """A source that had so many new links on the days up to today; None: its polls failed."""
    days = {}
    for ago, count in enumerate(reversed(new)):
        day = (TODAY - timedelta(days=ago)).isoformat()
        days[day] = DayCounts(4, 4) if count is None else DayCounts(4, 0, count)
    return replace(SOURCE, days=days)


def test_a_day_is_outside_of_what_the_days_before_it_told() -> None:
    steady = [99, *[20, 22, 19, 21, 20, 18, 20, 23], 90, 0, 20]
    found = judge_days(brought(*steady), TODAY, len(steady))
    assert [one.outside for one in found] == [*[None] * 9, "above", "below", None]
    assert found[-1].least is not None
    assert found[-1].most is not None
    assert found[-1].least < 20 < found[-1].most


def test_the_first_day_and_days_that_failed_tell_nothing_of_what_is_usual() -> None:
    found = judge_days(brought(500, 20, 20, 20, None, 20, 20, 20, 20, None, 21), TODAY, 11)
    assert found[0].brought is DayOutcome.UNKNOWN
    assert [one.brought for one in found if one.polls and not one.new] == [DayOutcome.FAILED] * 2
    assert found[-1].most is not None
    assert found[-1].most < 40


def test_with_few_days_nothing_is_usual_yet() -> None:
    found = judge_days(brought(50, 20, 21, 20, 900), TODAY, 5)
    assert {one.most for one in found} == {None}


def test_today_is_not_over_and_so_never_below() -> None:
    found = judge_days(brought(9, *[40] * 10, 0), TODAY, 3)
    assert (found[-1].brought, found[-1].outside) == (DayOutcome.NOTHING, None)
    assert found[-1].least is not None
    assert found[-1].least > 0


def test_days_without_a_poll_are_told_from_those_before_any_was_counted() -> None:
    row = replace(
        SOURCE, days={"2026-11-20": DayCounts(1, 0, 3, 0), "2026-11-23": DayCounts(2, 0, 1, 0)}
    )
    found = judge_days(row, TODAY, 6)
    assert [one.brought for one in found] == [
        DayOutcome.UNKNOWN,
        DayOutcome.UNKNOWN,
        DayOutcome.UNPOLLED,
        DayOutcome.UNPOLLED,
        DayOutcome.NEW,
        DayOutcome.UNPOLLED,
    ]


def test_no_more_days_are_kept_than_are_shown() -> None:
    days: dict[str, list[int]] = {}
    for ago in reversed(range(200)):
        at = datetime.combine(TODAY - timedelta(days=ago), datetime.min.time(), UTC)
        days = add_poll(days, replace(build_poll_row(SOURCE, {}, None, at), entries=1))
    assert len(days) == DAYS_STORED
    assert max(days) == TODAY.isoformat()


def test_a_listing_that_has_nothing_any_more_is_silent_until_it_has(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS))
    assert compute_health(world.poll(row).row, world.place.clock()) is SourceHealth.ACTIVE
    world.give("/feed", rss_of([]), ETag='"none"')
    silent = world.poll(row).row
    assert (compute_health(silent, world.place.clock()), silent.listed) == (
        SourceHealth.SILENT,
        len(LINKS),
    )
    later(world, hours=3)
    world.give("/feed", b"", 304)
    unchanged = world.poll(row).row
    assert (unchanged.silent_polls, unchanged.silent_since) == (1, silent.silent_since)
    assert compute_health(unchanged, world.place.clock()) is SourceHealth.SILENT
    world.give("/feed", rss_of([*LINKS, "https://news.example.org/back"]))
    back = world.poll(row).row
    assert (back.silent_polls, back.silent_since, back.listed) == (0, None, len(LINKS) + 1)


def test_what_is_asked_only_for_what_is_newer_is_never_silent(world: World) -> None:
    row = world.add("/api/rss_entries", replace(WANTED, kind="rss-fetcher"))
    world.give("/api/rss_entries/1?_limit=2500", api_rows(1, 3))
    world.give("/api/rss_entries/4?_limit=2500", api_rows(4, 0))
    assert world.poll(row).new == 3
    done = world.poll(row)
    assert (done.error, done.row.silent_polls) == (None, 0)


def test_each_poll_counts_on_its_day_once(world: World) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of([*LINKS, "http://10.0.0.1/"]))
    world.poll(row)
    world.give("/feed", b"", 503)
    world.poll(row)
    later(world, hours=24)
    world.give("/feed", rss_of([*LINKS, "https://news.example.org/5"]))
    found = world.poll(row).row
    polls = world.polls()
    first, last = (f"{one.updated:%Y-%m-%d}" for one in (polls[0], polls[-1]))
    assert found.days == {first: DayCounts(2, 1, 4, 1), last: DayCounts(1, 0, 1, 0)}
    assert sum((found.refused_tally or {}).values()) == 1
    assert set(found.refused_tally or {}) <= set(map(str, Reason))
    assert world.row(row.source_id).days == found.days
