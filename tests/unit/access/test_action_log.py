"""The action log: recorded before, completed afterwards, and limited."""

from __future__ import annotations

from day_clock import DayClock
from fonds.access.action_log import DESCRIPTION_MAX_CHARS, ActionLog
from fonds.ports import Records


def test_an_action_is_recorded_before_it_runs_and_completed_after_it(
    records: Records, clock: DayClock
) -> None:
    action_log = ActionLog(records, clock)
    act = action_log.begin("anne", "PUT /documents/a/b")
    assert [(row.who, row.outcome) for row in action_log.list_newest(9)] == [("anne", None)]
    action_log.end(act, 201)
    assert [(row.what, row.outcome) for row in action_log.list_newest(9)] == [
        ("PUT /documents/a/b", 201)
    ]


def test_the_newest_actions_stay_and_long_ones_are_cut(records: Records, clock: DayClock) -> None:
    action_log = ActionLog(records, clock)
    for number in range(12):
        action_log.begin("anne", f"{number} " + "x" * 1_000)
        clock.go(seconds=1)
    assert action_log.trim(5) == 7
    assert [row.what.split()[0] for row in action_log.list_newest(9)] == ["11", "10", "9", "8", "7"]
    assert {len(row.what) for row in action_log.list_newest(9)} == {DESCRIPTION_MAX_CHARS}
    assert action_log.trim(5) == 0
