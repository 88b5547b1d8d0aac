"""Days of a source: each poll counts once, and earlier days define the usual range."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from fixtures.feeds import api_rows, rss_with_links
from fonds.following.daily_counts import DAYS_STORED, DayOutcome, add_poll, judge_days
from fonds.following.health import SourceHealth, compute_health
from fonds.following.poll_links import build_poll_row
from fonds.following.source_edits import SourceOptions, build_source
from fonds.model.disposition import Reason
from fonds.model.rows import SourceRow
from fonds.model.source import DayCounts
from unit.following.world import LINKS, OPTIONS, World, advance

TODAY = date(2026, 11, 24)
SOURCE = build_source(
    "https://daily.example/feed", SourceOptions(), datetime(2026, 1, 1, tzinfo=UTC)
)


def make_source(*new: int | None) -> SourceRow:
    """Return a source with these counts of new links on the days up to today; None means failed
    polls."""
    days = {}
    for days_ago, count in enumerate(reversed(new)):
        day = (TODAY - timedelta(days=days_ago)).isoformat()
        days[day] = DayCounts(4, 4) if count is None else DayCounts(4, 0, count)
    return replace(SOURCE, days=days)


def test_a_day_is_judged_by_the_days_before_it() -> None:
    steady = [99, *[20, 22, 19, 21, 20, 18, 20, 23], 90, 0, 20]
    days = judge_days(make_source(*steady), TODAY, len(steady))
    assert [day.outside for day in days] == [*[None] * 9, "above", "below", None]
    assert days[-1].least is not None
    assert days[-1].most is not None
    assert days[-1].least < 20 < days[-1].most


def test_the_first_day_and_failed_days_do_not_define_the_usual_range() -> None:
    days = judge_days(make_source(500, 20, 20, 20, None, 20, 20, 20, 20, None, 21), TODAY, 11)
    assert days[0].brought is DayOutcome.UNKNOWN
    assert [day.brought for day in days if day.polls and not day.new] == [DayOutcome.FAILED] * 2
    assert days[-1].most is not None
    assert days[-1].most < 40


def test_few_days_define_no_usual_range() -> None:
    days = judge_days(make_source(50, 20, 21, 20, 900), TODAY, 5)
    assert {day.most for day in days} == {None}


def test_today_is_never_below_the_usual_range() -> None:
    days = judge_days(make_source(9, *[40] * 10, 0), TODAY, 3)
    assert (days[-1].brought, days[-1].outside) == (DayOutcome.NOTHING, None)
    assert days[-1].least is not None
    assert days[-1].least > 0


def test_days_without_a_poll_differ_from_days_before_the_first_poll() -> None:
    row = replace(
        SOURCE, days={"2026-11-20": DayCounts(1, 0, 3, 0), "2026-11-23": DayCounts(2, 0, 1, 0)}
    )
    days = judge_days(row, TODAY, 6)
    assert [day.brought for day in days] == [
        DayOutcome.UNKNOWN,
        DayOutcome.UNKNOWN,
        DayOutcome.UNPOLLED,
        DayOutcome.UNPOLLED,
        DayOutcome.NEW,
        DayOutcome.UNPOLLED,
    ]


def test_the_number_of_stored_days_is_limited() -> None:
    days: dict[str, list[int]] = {}
    for days_ago in reversed(range(200)):
        at = datetime.combine(TODAY - timedelta(days=days_ago), datetime.min.time(), UTC)
        days = add_poll(days, replace(build_poll_row(SOURCE, {}, None, at), entries=1))
    assert len(days) == DAYS_STORED
    assert max(days) == TODAY.isoformat()


def test_an_emptied_listing_is_silent_until_it_has_links_again(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links(LINKS))
    assert compute_health(world.poll(row).row, world.place.clock()) is SourceHealth.ACTIVE
    world.serve("/feed", rss_with_links([]), ETag='"none"')
    silent = world.poll(row).row
    assert (compute_health(silent, world.place.clock()), silent.listed) == (
        SourceHealth.SILENT,
        len(LINKS),
    )
    advance(world, hours=3)
    world.serve("/feed", b"", 304)
    unchanged = world.poll(row).row
    assert (unchanged.silent_polls, unchanged.silent_since) == (1, silent.silent_since)
    assert compute_health(unchanged, world.place.clock()) is SourceHealth.SILENT
    world.serve("/feed", rss_with_links([*LINKS, "https://news.example.org/back"]))
    recovered = world.poll(row).row
    assert (recovered.silent_polls, recovered.silent_since, recovered.listed) == (
        0,
        None,
        len(LINKS) + 1,
    )


def test_an_api_for_newer_rows_is_never_silent(world: World) -> None:
    row = world.add("/api/rss_entries", replace(OPTIONS, kind="rss-fetcher"))
    world.serve("/api/rss_entries/1?_limit=2500", api_rows(1, 3))
    world.serve("/api/rss_entries/4?_limit=2500", api_rows(4, 0))
    assert world.poll(row).new == 3
    result = world.poll(row)
    assert (result.error, result.row.silent_polls) == (None, 0)


def test_each_poll_counts_once_on_its_day(world: World) -> None:
    row = world.add("/feed")
    world.serve("/feed", rss_with_links([*LINKS, "http://10.0.0.1/"]))
    world.poll(row)
    world.serve("/feed", b"", 503)
    world.poll(row)
    advance(world, hours=24)
    world.serve("/feed", rss_with_links([*LINKS, "https://news.example.org/5"]))
    source = world.poll(row).row
    polls = world.list_polls()
    first, last = (f"{poll.updated:%Y-%m-%d}" for poll in (polls[0], polls[-1]))
    assert source.days == {first: DayCounts(2, 1, 4, 1), last: DayCounts(1, 0, 1, 0)}
    assert sum((source.refused_tally or {}).values()) == 1
    assert set(source.refused_tally or {}) <= set(map(str, Reason))
    assert world.get_row(row.source_id).days == source.days
