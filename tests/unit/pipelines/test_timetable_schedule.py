"""Due times of recurring tasks, as pure functions of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.errors import ConfigurationError
from fonds.model.rows import TimetableRow
from fonds.pipelines.runtime.schedule import (
    DAY_S,
    RecurringTask,
    check_times,
    compute_next_due,
    find_next_time,
    is_due,
    is_next_due_too_far,
)

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

TASKS = st.one_of(
    st.builds(
        RecurringTask,
        st.text(min_size=1),
        st.integers(1, 40 * DAY_S),
        jitter_s=st.integers(0, DAY_S),
    ),
    st.builds(
        RecurringTask,
        st.text(min_size=1),
        daily_at=st.times().map(lambda time: f"{time:%H:%M}"),
        jitter_s=st.integers(0, DAY_S),
    ),
)
MOMENTS = st.integers(0, 230 * 365 * DAY_S * 1000).map(
    lambda ms: datetime(1971, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)


def build_row(task: RecurringTask, next_due: datetime, **changes: Any) -> TimetableRow:
    values = {
        "name": task.name, "pipeline": "", "every_s": task.every_s, "daily_at": task.daily_at,
        "next_due": next_due, "lease_holder": None, "lease_version": 0,
        "last_started": None, "last_finished": None, "last_error": None, "failures": 0, "runs": 0,
    }  # fmt: skip
    return TimetableRow(**{**values, **changes})


@given(TASKS, MOMENTS)
def test_the_next_time_is_in_the_future_and_within_a_period(
    task: RecurringTask, moment: datetime
) -> None:
    time = find_next_time(task, moment)
    assert moment < time <= moment + timedelta(seconds=task.every_s + 0.001)


@given(TASKS, MOMENTS)
def test_times_are_one_period_apart(task: RecurringTask, moment: datetime) -> None:
    first = find_next_time(task, moment)
    apart_s = (find_next_time(task, first) - first).total_seconds()
    assert apart_s == pytest.approx(task.every_s, abs=0.001)


@given(TASKS, MOMENTS, MOMENTS)
def test_later_moments_have_later_times(
    task: RecurringTask, first_moment: datetime, second_moment: datetime
) -> None:
    first, second = sorted([first_moment, second_moment])
    assert find_next_time(task, first) <= find_next_time(task, second)


def test_a_daily_time_is_the_time_of_the_clock() -> None:
    task = RecurringTask("sweep", daily_at="03:30")
    assert find_next_time(task, NOON) == datetime(2026, 11, 22, 3, 30, tzinfo=UTC)
    assert find_next_time(task, NOON.replace(hour=3)) == NOON.replace(hour=3, minute=30)
    assert find_next_time(task, NOON.replace(hour=3, minute=30)).day == 22


def test_tasks_with_equal_schedules_start_at_different_times() -> None:
    tasks = [RecurringTask(f"feed-{number}", 3600, jitter_s=600) for number in range(50)]
    times = {find_next_time(task, NOON) for task in tasks}
    assert len(times) == 50
    assert all(NOON <= time < NOON + timedelta(seconds=4200) for time in times)
    assert find_next_time(tasks[0], NOON) == find_next_time(
        RecurringTask("feed-0", 3600, jitter_s=600), NOON
    )


@pytest.mark.parametrize(
    "times",
    [
        {"every_s": 0},
        {"every_s": -5},
        {"jitter_s": -1},
        {"daily_at": "24:00"},
        {"daily_at": "3:00"},
        {"daily_at": "03:00", "every_s": 60},
    ],
)
def test_invalid_schedules_are_refused(times: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="needs a schedule"):
        check_times(RecurringTask("x", **times))
    with pytest.raises(ConfigurationError):
        check_times(RecurringTask(""))
    check_times(RecurringTask("x", daily_at="23:59", jitter_s=5))


@given(TASKS, MOMENTS, st.integers(0, 400 * DAY_S))
def test_the_next_time_is_in_the_future_after_any_missed_times(
    task: RecurringTask, due: datetime, late_s: int
) -> None:
    now = due + timedelta(seconds=late_s)
    assert is_due(task, build_row(task, due), now, 0.0)
    next_due = compute_next_due(task, build_row(task, due), now, 0)
    assert next_due in (find_next_time(task, now), find_next_time(task, find_next_time(task, now)))
    assert task.every_s / 2 <= (next_due - now).total_seconds() <= task.every_s * 1.5 + 0.001


@given(TASKS, MOMENTS, st.integers(1, 3600))
def test_a_clock_set_back_does_not_repeat_a_time(
    task: RecurringTask, due: datetime, back_s: int
) -> None:
    now = due - timedelta(seconds=back_s)
    assert compute_next_due(task, build_row(task, due), now, 0) >= find_next_time(task, due) > due


def test_a_failed_task_is_retried_with_growing_delays() -> None:
    task = RecurringTask("rebuild", DAY_S)
    waits_s = [
        (compute_next_due(task, build_row(task, NOON), NOON, failures) - NOON).total_seconds()
        for failures in (1, 2, 3, 6, 7, 50)
    ]
    assert waits_s == [60, 120, 240, 1920, 3600, 3600]
    often = RecurringTask("poll", 30)
    assert compute_next_due(often, build_row(often, NOON), NOON, 4) == find_next_time(often, NOON)


def test_a_task_caught_up_shortly_before_its_next_time_skips_it() -> None:
    task = RecurringTask("sweep", daily_at="12:10")
    missed = build_row(task, NOON - timedelta(hours=24))
    assert compute_next_due(task, missed, NOON, 0) == NOON + timedelta(hours=24, minutes=10)
    assert compute_next_due(task, missed, NOON - timedelta(hours=12), 0) == NOON + timedelta(
        minutes=10
    )


def test_a_task_idle_for_two_periods_is_due_at_any_clock_time() -> None:
    task = RecurringTask("poll", 600)
    later = build_row(task, NOON + timedelta(hours=1))
    assert not is_due(task, later, NOON, 1199.0)
    assert is_due(task, later, NOON, 1200.0)


def test_a_due_time_over_two_periods_ahead_is_too_far() -> None:
    task = RecurringTask("poll", 600)
    assert not is_next_due_too_far(task, build_row(task, NOON + timedelta(hours=24)), NOON)
    assert is_next_due_too_far(task, build_row(task, NOON + timedelta(hours=25)), NOON)
    weekly = RecurringTask("audit", 7 * DAY_S)
    assert not is_next_due_too_far(weekly, build_row(weekly, NOON + timedelta(days=14)), NOON)
    assert is_next_due_too_far(weekly, build_row(weekly, NOON + timedelta(days=15)), NOON)
