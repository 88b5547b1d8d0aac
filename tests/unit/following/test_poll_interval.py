"""When sources are polled, on a virtual clock: always within bounds, and at their own rate once
it is known."""

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
def test_every_interval_is_within_the_bounds(row: SourceRow, retry_after_s: float) -> None:
    interval_s = compute_interval_s(row, BOUNDS, NOW, retry_after_s)
    longest = DEAD_S if is_dead(row, NOW) else BOUNDS.max_s
    assert BOUNDS.min_s <= interval_s <= longest * (1 + JITTER)


def simulate(
    arrivals: list[float], window: int, days: int, row: SourceRow = ROW
) -> tuple[list[float], int, list[float]]:
    """Poll a feed with its last `window` links. Return the times of the polls (s), the number of
    missed links and the delays (s)."""
    now_s, n_seen, missed, delays, polls = 0.0, 0, 0, [], []
    row = replace(row, rate_day=None, listed=0, last_well=None)
    while now_s < days * DAY_S:
        n_arrived = sum(arrival <= now_s for arrival in arrivals)
        new = n_arrived - n_seen
        missed += max(0, new - window)
        delays += [now_s - arrival for arrival in arrivals[n_seen:n_arrived]]
        elapsed_s = now_s - polls[-1] if polls else 0.0
        rate = row.rate_day
        recent_day, listed = 0.0, min(n_arrived, window)
        if polls:
            rate = update_rate(rate, min(new, window), elapsed_s)
            recent_day = compute_recent_rate(min(new, window), max(0, listed - new), elapsed_s)
        row = replace(
            row, rate_day=rate, listed=min(n_arrived, window), polls=row.polls + 1, last_well=NOW
        )
        polls.append(now_s)
        n_seen = n_arrived
        now_s += compute_interval_s(row, BOUNDS, NOW, 0.0, recent_day)
    return polls, missed, delays


def test_a_feed_with_one_link_a_day_is_polled_a_few_times_a_day() -> None:
    polls, missed, delays = simulate([DAY_S * (number + 0.3) for number in range(28)], 20, 28)
    later_polls = [poll for poll in polls if poll > 14 * DAY_S]
    assert missed == 0
    assert 14 <= len(later_polls) <= 5 * 14
    assert max(delays[14:]) < 0.7 * DAY_S


def test_a_busy_feed_is_polled_before_its_window_is_full() -> None:
    chance = random.Random(7)
    at_s, arrivals = 0.0, []
    while at_s < 10 * DAY_S:
        at_s += chance.expovariate(60 / 3600)
        arrivals.append(at_s)
    _, missed, delays = simulate(arrivals, 40, 10)
    # Some links are missed until the rate is known: the first hour exceeds the window.
    assert missed <= 60
    assert sum(delays) / len(delays) < BOUNDS.min_s


def test_a_quiet_feed_is_polled_daily_and_more_often_when_it_wakes_up() -> None:
    arrivals = [60 * DAY_S + number * 1800.0 for number in range(400)]
    polls, _, _ = simulate(arrivals, 50, 70)
    quiet = [poll for poll in polls if 30 * DAY_S < poll < 60 * DAY_S]
    awake = [poll for poll in polls if poll > 65 * DAY_S]
    assert 27 <= len(quiet) <= 30
    assert len(awake) > 5 * 20


def test_a_feed_that_wakes_up_misses_links_only_before_the_first_poll() -> None:
    """Two links a day for two weeks, then 150 in a day, of which the feed lists 20."""
    quiet = [DAY_S * number / 2 for number in range(28)]
    burst = [14 * DAY_S + number * DAY_S / 150 for number in range(150)]
    polls, missed, delays = simulate(quiet + burst, 20, 15)
    first_poll = next(poll for poll in polls if poll >= 14 * DAY_S + 1)
    assert missed <= max(0.0, (first_poll - 14 * DAY_S) * 150 / DAY_S - 20) + 1
    assert len(polls) < 200
    delays_after = sorted(delays[len(quiet) :])
    assert delays_after[len(delays_after) // 2] < 2 * 3600


def test_a_listing_with_only_new_links_is_polled_again_soon() -> None:
    assert compute_recent_rate(20, 0, 3600.0) == float("inf")
    assert compute_recent_rate(0, 0, 3600.0) == 0.0
    quiet = replace(ROW, rate_day=0.0)
    for row in (ROW, quiet, replace(ROW, rate_day=None)):
        interval_s = compute_interval_s(row, BOUNDS, NOW, 0.0, float("inf"))
        assert BOUNDS.min_s <= interval_s <= BOUNDS.min_s * (1 + JITTER)
    with_ttl = replace(ROW, hints=ListingHints(ttl_s=7_200))
    assert compute_interval_s(with_ttl, BOUNDS, NOW, 0.0, float("inf")) >= 7_200


def test_an_api_has_its_own_schedule() -> None:
    """An API keeps everything, so no rows are lost between polls, however slow or old they are."""
    api = replace(ROW, kind="rss-fetcher")
    for rate_day in (None, 0.0, 1.0, 1e6):
        wait_s = compute_interval_s(replace(api, rate_day=rate_day), BOUNDS, NOW)
        assert BOUNDS.api_s <= wait_s <= BOUNDS.api_s * (1 + JITTER)
    failing_s = compute_interval_s(replace(api, failures=12), BOUNDS, NOW)
    assert failing_s <= BOUNDS.api_s * (1 + JITTER)
    assert compute_interval_s(api, BOUNDS, NOW, 80_000.0) >= 80_000


def test_the_interval_a_feed_requests_is_a_minimum_up_to_one_day() -> None:
    busy = replace(ROW, rate_day=1000.0)
    assert compute_interval_s(busy, BOUNDS, NOW) < 1_000
    assert compute_interval_s(replace(busy, hints=ListingHints(ttl_s=7_200)), BOUNDS, NOW) >= 7_200
    assert (
        compute_interval_s(replace(busy, hints=ListingHints(update_s=7_200)), BOUNDS, NOW) >= 7_200
    )
    year = replace(busy, hints=ListingHints(ttl_s=365 * 86_400))
    assert compute_interval_s(year, BOUNDS, NOW) <= DAY_S * (1 + JITTER)


def test_retry_after_is_a_minimum_interval() -> None:
    assert compute_interval_s(ROW, BOUNDS, NOW, 80_000.0) >= 80_000
    assert compute_interval_s(replace(ROW, failures=1), BOUNDS, NOW, 80_000.0) >= 80_000


def test_failures_increase_the_interval_up_to_the_maximum() -> None:
    waits_s = [
        compute_interval_s(replace(ROW, failures=count), BOUNDS, NOW) for count in range(1, 12)
    ]
    assert waits_s[0] < waits_s[2] < waits_s[4]
    assert waits_s[-1] <= BOUNDS.max_s * (1 + JITTER)


@pytest.mark.parametrize(
    ("changes", "health"),
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
def test_the_health_of_a_source_distinguishes_dead_from_quiet(
    changes: dict[str, object], health: SourceHealth
) -> None:
    row = replace(ROW, **changes)  # type: ignore[arg-type]
    assert (
        compute_health(replace(row, health=str(compute_health_after_poll(row, NOW))), NOW) is health
    )


def test_the_first_listing_gives_a_rate_if_it_has_dates() -> None:
    days = [NOW - timedelta(days=number) for number in range(5)]
    assert estimate_first_rate(days, NOW) == pytest.approx(1.0)
    assert estimate_first_rate([NOW + timedelta(days=9), NOW], NOW) is None
    assert estimate_first_rate([], NOW) is None
    assert estimate_first_rate([NOW, NOW], NOW) is not None


@given(st.none() | st.floats(0, 1e6), st.integers(0, 10**6), st.floats(0, 1e9))
def test_an_updated_rate_lies_between_the_old_and_the_measured_rate(
    rate: float | None, new: int, elapsed_s: float
) -> None:
    measured = new * DAY_S / max(elapsed_s, 60.0)
    updated = update_rate(rate, new, elapsed_s)
    low, high = (
        min(rate if rate is not None else measured, measured),
        max(rate or measured, measured),
    )
    assert low * 0.999 - 1e-9 <= updated <= high * 1.001 + 1e-9
