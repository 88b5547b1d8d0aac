"""When sources are polled, on a clock of the test's own: bounds always, their own rhythm once it is known."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.following.health import SourceHealth, compute_health, compute_health_after_poll, is_dead
from fonds.following.poll_interval import (
    DAY_S,
    DEAD_S,
    JITTER,
    PollIntervals,
    compute_interval_s,
    compute_recent_rate,
    estimate_first_rate,
    update_rate,
)
from fonds.model.rows import SourceRow
from fonds.model.source import ListingHints

NOW = datetime(2026, 11, 22, tzinfo=UTC)
BOUNDS = PollIntervals()
ROW = SourceRow(
    source_id="ab12",
    url="https://a.example/feed",
    kind="feed",
    state="active",
    title="",
    folder="",
    collection="default",
    pipeline="queue-fetcher",
    tls="full",
    added_at=NOW,
    next_poll=NOW,
    last_well=NOW,
    rate_day=1.0,
    listed=20,
)

rows = st.builds(
    replace,
    st.just(ROW),
    rate_day=st.none() | st.floats(0, 1e9),
    listed=st.integers(0, 60_000),
    failures=st.integers(0, 10_000),
    polls=st.integers(0, 10**9),
    hints=st.none() | st.builds(ListingHints, ttl_s=st.none() | st.integers(0, 10**12)),
    last_well=st.none() | st.just(NOW - timedelta(days=400)) | st.just(NOW),
)


@given(rows, st.floats(0, 1e9))
def test_no_source_is_ever_polled_outside_the_bounds(row: SourceRow, asked_s: float) -> None:
    interval_s = compute_interval_s(row, BOUNDS, NOW, asked_s)
    longest = DEAD_S if is_dead(row, NOW) else BOUNDS.max_s
    assert BOUNDS.min_s <= interval_s <= longest * (1 + JITTER)


def simulate(
    arrivals: list[float], window: int, days: int, row: SourceRow = ROW
) -> tuple[list[float], int, list[float]]:
    """Poll a feed that keeps its last `window` links: when it was polled (s), what was missed, delays (s)."""
    now_s, seen_to, missed, delays, polls = 0.0, 0, 0, [], []
    row = replace(row, rate_day=None, listed=0, last_well=None)
    while now_s < days * DAY_S:
        there = sum(arrival <= now_s for arrival in arrivals)
        new = there - seen_to
        missed += max(0, new - window)
        delays += [now_s - arrival for arrival in arrivals[seen_to:there]]
        elapsed_s = now_s - polls[-1] if polls else 0.0
        rate = row.rate_day
        recent_day, listed = 0.0, min(there, window)
        if polls:
            rate = update_rate(rate, min(new, window), elapsed_s)
            recent_day = compute_recent_rate(min(new, window), max(0, listed - new), elapsed_s)
        row = replace(
            row, rate_day=rate, listed=min(there, window), polls=row.polls + 1, last_well=NOW
        )
        polls.append(now_s)
        seen_to = there
        now_s += compute_interval_s(row, BOUNDS, NOW, 0.0, recent_day)
    return polls, missed, delays


def test_a_feed_of_one_a_day_is_polled_a_few_times_a_day() -> None:
    polls, missed, delays = simulate([DAY_S * (one + 0.3) for one in range(28)], 20, 28)
    settled = [poll for poll in polls if poll > 14 * DAY_S]
    assert missed == 0
    assert 14 <= len(settled) <= 5 * 14
    assert max(delays[14:]) < 0.7 * DAY_S


def test_a_busy_feed_is_polled_before_its_window_is_full() -> None:
    chance = random.Random(7)
    at_s, arrivals = 0.0, []
    while at_s < 10 * DAY_S:
        at_s += chance.expovariate(60 / 3600)
        arrivals.append(at_s)
    _, missed, delays = simulate(arrivals, 40, 10)
    # Until its pace is known some are missed: the first hour is longer than its window.
    assert missed <= 60
    assert sum(delays) / len(delays) < BOUNDS.min_s


def test_a_dead_quiet_feed_is_polled_once_a_day_and_wakes_up() -> None:
    arrivals = [60 * DAY_S + one * 1800.0 for one in range(400)]
    polls, _, _ = simulate(arrivals, 50, 70)
    quiet = [poll for poll in polls if 30 * DAY_S < poll < 60 * DAY_S]
    awake = [poll for poll in polls if poll > 65 * DAY_S]
    assert 27 <= len(quiet) <= 30
    assert len(awake) > 5 * 20


def test_a_feed_that_wakes_up_loses_what_the_first_poll_missed_and_no_more() -> None:
    """Two links a day for two weeks, then 150 in a day, of which the feed lists 20."""
    quiet = [DAY_S * one / 2 for one in range(28)]
    burst = [14 * DAY_S + one * DAY_S / 150 for one in range(150)]
    polls, missed, delays = simulate(quiet + burst, 20, 15)
    first = next(poll for poll in polls if poll >= 14 * DAY_S + 1)
    assert missed <= max(0.0, (first - 14 * DAY_S) * 150 / DAY_S - 20) + 1
    assert len(polls) < 200
    woken = sorted(delays[len(quiet) :])
    assert woken[len(woken) // 2] < 2 * 3600


def test_after_a_listing_that_was_wholly_new_the_next_poll_is_soon() -> None:
    assert compute_recent_rate(20, 0, 3600.0) == float("inf")
    assert compute_recent_rate(0, 0, 3600.0) == 0.0
    quiet = replace(ROW, rate_day=0.0)
    for row in (ROW, quiet, replace(ROW, rate_day=None)):
        woken = compute_interval_s(row, BOUNDS, NOW, 0.0, float("inf"))
        assert BOUNDS.min_s <= woken <= BOUNDS.min_s * (1 + JITTER)
    told = replace(ROW, hints=ListingHints(ttl_s=7_200))
    assert compute_interval_s(told, BOUNDS, NOW, 0.0, float("inf")) >= 7_200


def test_an_api_has_a_schedule_of_its_own() -> None:
    """It keeps everything: nothing is lost between two polls, however slow or old its rows are."""
    api = replace(ROW, kind="rss-fetcher")
    for rate_day in (None, 0.0, 1.0, 1e6):
        wait_s = compute_interval_s(replace(api, rate_day=rate_day), BOUNDS, NOW)
        assert BOUNDS.api_s <= wait_s <= BOUNDS.api_s * (1 + JITTER)
    failing = compute_interval_s(replace(api, failures=12), BOUNDS, NOW)
    assert failing <= BOUNDS.api_s * (1 + JITTER)
    assert compute_interval_s(api, BOUNDS, NOW, 80_000.0) >= 80_000


def test_what_a_feed_asks_for_is_a_floor_of_a_day_at_most() -> None:
    busy = replace(ROW, rate_day=1000.0)
    assert compute_interval_s(busy, BOUNDS, NOW) < 1_000
    assert compute_interval_s(replace(busy, hints=ListingHints(ttl_s=7_200)), BOUNDS, NOW) >= 7_200
    assert (
        compute_interval_s(replace(busy, hints=ListingHints(update_s=7_200)), BOUNDS, NOW) >= 7_200
    )
    year = replace(busy, hints=ListingHints(ttl_s=365 * 86_400))
    assert compute_interval_s(year, BOUNDS, NOW) <= DAY_S * (1 + JITTER)


def test_what_a_server_asks_for_counts() -> None:
    assert compute_interval_s(ROW, BOUNDS, NOW, 80_000.0) >= 80_000
    assert compute_interval_s(replace(ROW, failures=1), BOUNDS, NOW, 80_000.0) >= 80_000


def test_failures_make_it_wait_longer_each_time() -> None:
    waits = [
        compute_interval_s(replace(ROW, failures=count), BOUNDS, NOW) for count in range(1, 12)
    ]
    assert waits[0] < waits[2] < waits[4]
    assert waits[-1] <= BOUNDS.max_s * (1 + JITTER)


@pytest.mark.parametrize(
    ("told", "stands"),
    [
        ({"last_well": None}, SourceHealth.WAITING),
        ({}, SourceHealth.ACTIVE),
        ({"last_new": NOW - timedelta(days=91)}, SourceHealth.QUIET),
        ({"last_new": NOW - timedelta(days=90)}, SourceHealth.QUIET),
        ({"last_new": NOW - timedelta(days=89)}, SourceHealth.ACTIVE),
        ({"last_new": None, "added_at": NOW - timedelta(days=90)}, SourceHealth.QUIET),
        ({"last_new": None, "added_at": NOW - timedelta(days=89)}, SourceHealth.ACTIVE),
        ({"failures": 1}, SourceHealth.FAILING),
        ({"failures": 50}, SourceHealth.FAILING),
        ({"failures": 50, "last_well": NOW - timedelta(days=15)}, SourceHealth.DEAD),
        ({"failures": 3, "last_well": NOW - timedelta(days=15)}, SourceHealth.FAILING),
        (
            {"failures": 50, "last_well": None, "added_at": NOW - timedelta(days=15)},
            SourceHealth.DEAD,
        ),
        ({"state": "paused", "failures": 50}, SourceHealth.PAUSED),
        ({"state": "gone"}, SourceHealth.GONE),
    ],
)
def test_dead_is_told_from_quiet(told: dict[str, object], stands: SourceHealth) -> None:
    row = replace(ROW, **told)  # type: ignore[arg-type]
    assert (
        compute_health(replace(row, standing=str(compute_health_after_poll(row, NOW))), NOW)
        is stands
    )


def test_the_first_listing_tells_a_rhythm_where_it_has_days() -> None:
    days = [NOW - timedelta(days=one) for one in range(5)]
    assert estimate_first_rate(days, NOW) == pytest.approx(1.0)
    assert estimate_first_rate([NOW + timedelta(days=9), NOW], NOW) is None
    assert estimate_first_rate([], NOW) is None
    assert estimate_first_rate([NOW, NOW], NOW) is not None


@given(st.none() | st.floats(0, 1e6), st.integers(0, 10**6), st.floats(0, 1e9))
def test_a_rate_is_a_number_and_lies_between_what_was_and_what_is(
    rate: float | None, new: int, elapsed_s: float
) -> None:
    told = new * DAY_S / max(elapsed_s, 60.0)
    found = update_rate(rate, new, elapsed_s)
    low, high = min(rate if rate is not None else told, told), max(rate or told, told)
    assert low * 0.999 - 1e-9 <= found <= high * 1.001 + 1e-9
