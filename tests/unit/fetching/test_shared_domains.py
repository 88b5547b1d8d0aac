"""Processes that request the same IP address share its pace."""

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
    new_records = open_records(tmp_path / "records.sqlite")
    yield new_records
    new_records.close()


def test_a_new_process_knows_the_shares_at_once_and_others_after_renewal(
    records: SqlRecords,
) -> None:
    clock = Clock()
    first, second = (AddressShares(records, name, clock) for name in ("first", "second"))
    assert first.join([ADDRESS], 0.0) == {ADDRESS: 1}
    assert first.renew(0.0) == {ADDRESS: 1}
    assert second.join([ADDRESS], 0.0) == {ADDRESS: 2}
    assert second.join([ADDRESS], 0.0) == {}
    assert first.renew(1.0) == {}
    assert first.renew(LEASE_S / 3) == {ADDRESS: 2}


def test_a_process_that_left_is_silent_or_died_has_no_share(records: SqlRecords) -> None:
    clock = Clock()
    names = ("leaves", "silent", "dead")
    other_shares = [AddressShares(records, name, clock) for name in names]
    for shares in other_shares:
        shares.join([ADDRESS], 0.0)
    live_shares = AddressShares(records, "ours", clock, lambda name: name == "dead")
    assert live_shares.join([ADDRESS], 0.0) == {ADDRESS: 3}
    other_shares[0].leave_all()
    assert live_shares.renew(0.0) == {ADDRESS: 2}
    clock.pass_s(LEASE_S + 1)
    assert live_shares.renew(LEASE_S / 2) == {ADDRESS: 1}


def test_a_share_of_an_address_without_requests_expires(records: SqlRecords) -> None:
    clock = Clock()
    shares = AddressShares(records, "ours", clock)
    shares.join([ADDRESS], 0.0)
    clock.pass_s(LEASE_S + 1)
    assert shares.renew(LEASE_S + 1) == {}
    other = AddressShares(records, "other", clock)
    assert other.join([ADDRESS], 0.0) == {ADDRESS: 1}


def test_two_processes_share_the_pace_of_an_address() -> None:
    """On one clock, both start what they may; together they start one request per gap on
    average."""
    free = PaceRules(0.0, busy_factor=0.0, active_max=100)
    rules = FrontierRules(free, free, PaceRules(1.0, busy_factor=0.0, active_max=16))
    frontiers = [Frontier(rules) for _ in range(2)]
    for frontier in frontiers:
        frontier.set_share(ADDRESS, 2, 0.0)
        for number in range(20):
            frontier.offer(QueuedRequest(number, f"h{number}", f"d{number}", ADDRESS), 0.0)
    started = 0
    for tenth in range(201):
        now_s = tenth / 10
        for frontier in frontiers:
            for request in frontier.start(now_s, 100):
                frontier.finish(request.key, RequestOutcome(0.0), now_s)
                started += 1
        assert started <= 2 + now_s
    assert started >= 20
