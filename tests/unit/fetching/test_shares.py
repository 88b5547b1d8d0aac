"""Several processes that ask one IP address keep its pace together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from empty_records import open_records
from fonds.fetching.domain_leases import LEASE_S, AddressShares
from fonds.fetching.frontier import Frontier, FrontierRules
from fonds.fetching.pace import PaceRules, QueuedRequest, RequestOutcome
from fonds.stores.records.sql import SqlRecords

ADDRESS = "192.0.2.1"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 22, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    ours = open_records(tmp_path / "records.sqlite")
    yield ours
    ours.close()


def test_who_comes_later_knows_at_once_and_who_was_there_soon(records: SqlRecords) -> None:
    clock = Clock()
    first, second = (AddressShares(records, who, clock) for who in ("first", "second"))
    assert first.join([ADDRESS], 0.0) == {ADDRESS: 1}
    assert first.renew(0.0) == {ADDRESS: 1}
    assert second.join([ADDRESS], 0.0) == {ADDRESS: 2}
    assert second.join([ADDRESS], 0.0) == {}
    assert first.renew(1.0) == {}
    assert first.renew(LEASE_S / 3) == {ADDRESS: 2}


def test_who_left_or_was_not_heard_of_or_has_died_has_no_share(records: SqlRecords) -> None:
    clock = Clock()
    names = ("leaves", "silent", "dead")
    others = [AddressShares(records, who, clock) for who in names]
    for one in others:
        one.join([ADDRESS], 0.0)
    ours = AddressShares(records, "ours", clock, lambda who: who == "dead")
    assert ours.join([ADDRESS], 0.0) == {ADDRESS: 3}
    others[0].leave_all()
    assert ours.renew(0.0) == {ADDRESS: 2}
    clock.pass_s(LEASE_S + 1)
    assert ours.renew(LEASE_S / 2) == {ADDRESS: 1}


def test_what_was_not_asked_for_a_while_is_let_go_of(records: SqlRecords) -> None:
    clock = Clock()
    ours = AddressShares(records, "ours", clock)
    ours.join([ADDRESS], 0.0)
    clock.pass_s(LEASE_S + 1)
    assert ours.renew(LEASE_S + 1) == {}
    other = AddressShares(records, "other", clock)
    assert other.join([ADDRESS], 0.0) == {ADDRESS: 1}


def test_two_processes_together_keep_the_pace_of_an_address() -> None:
    """On one clock: each starts what may start; all of it is a gap apart on average."""
    free = PaceRules(0.0, busy_factor=0.0, active_max=100)
    rules = FrontierRules(free, free, PaceRules(1.0, busy_factor=0.0, active_max=16))
    frontiers = [Frontier(rules) for _ in range(2)]
    for frontier in frontiers:
        frontier.set_share(ADDRESS, 2, 0.0)
        for number in range(20):
            frontier.offer(QueuedRequest(number, f"h{number}", f"d{number}", ADDRESS), 0.0)
    begun = 0
    for tenth in range(201):
        now_s = tenth / 10
        for frontier in frontiers:
            for turn in frontier.start(now_s, 100):
                frontier.finish(turn.key, RequestOutcome(0.0), now_s)
                begun += 1
        assert begun <= 2 + now_s
    assert begun >= 20
