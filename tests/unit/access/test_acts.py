"""Acts: noted before, ended behind, the newest kept."""

from __future__ import annotations

from day_clock import DayClock
from fonds.access.action_log import DESCRIPTION_MAX_CHARS, ActionLog
from fonds.ports import Records


def test_an_act_is_noted_before_it_is_done_and_its_outcome_behind(
    records: Records, clock: DayClock
) -> None:
    acts = ActionLog(records, clock)
    act = acts.begin("anne", "PUT /documents/a/b")
    assert [(row.who, row.outcome) for row in acts.list_newest(9)] == [("anne", None)]
    acts.end(act, 201)
    assert [(row.what, row.outcome) for row in acts.list_newest(9)] == [("PUT /documents/a/b", 201)]


def test_the_newest_acts_stay_and_long_ones_are_cut(records: Records, clock: DayClock) -> None:
    acts = ActionLog(records, clock)
    for at in range(12):
        acts.begin("anne", f"{at} " + "x" * 1_000)
        clock.go(seconds=1)
    assert acts.trim(5) == 7
    assert [row.what.split()[0] for row in acts.list_newest(9)] == ["11", "10", "9", "8", "7"]
    assert {len(row.what) for row in acts.list_newest(9)} == {DESCRIPTION_MAX_CHARS}
    assert acts.trim(5) == 0
