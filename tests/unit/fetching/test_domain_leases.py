"""One process asks a domain at a time, and what it learned of the pace goes with the domain."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from empty_records import open_records
from fixtures.web_of_hosts import Web, redirect, usual
from fonds.fetching.addresses import Resolver
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.domain_leases import (
    ELSEWHERE_S,
    LEASE_S,
    REQUEST_LASTS_S,
    AddressShares,
    DomainLeases,
)
from fonds.fetching.frontier import Frontier
from fonds.fetching.pace import QueuedRequest, RequestOutcome
from fonds.fetching.redirect_chain import FetchRequest
from fonds.fetching.scheduler import FetchScheduler
from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import PaceRow
from fonds.stores.records.sql import SqlRecords
from fonds.urls.request_url import parse_request_url
from unit.fetching.desk import (
    GAP_S,
    LIMITS,
    PACES,
    WHO,
    capture,
    clock,
    ended,
    is_allowed,
    make_desk,
)


def test_a_domain_is_asked_by_one_process_at_a_time_and_its_pace_goes_with_it(
    web: Web, tmp_path: Path
) -> None:
    first = make_desk(web, tmp_path, "first")
    second = make_desk(web, tmp_path, "second")
    url = web.url("www.a.example")
    try:
        capture(first.run(url)[url])
        (other,) = second.run(web.url("sport.a.example")).values()
        assert ended(other) == (Verdict.DEFERRED, Reason.NOT_YET)
        assert web.asked("sport.a.example") == []
        first.fetch.close()
        (row,) = first.records.get(PaceRow, ["a.example"])
        assert row.lease_holder is None
        assert row.paces["www.a.example"].next_at_s > 0
        (end,) = second.run(web.url("sport.a.example"), poll="again").values()
        capture(end)
    finally:
        second.fetch.close()
        first.records.close()
        second.records.close()


def test_what_a_dead_process_held_is_taken_over(web: Web, tmp_path: Path) -> None:
    dead = make_desk(web, tmp_path, "dead")
    url = web.url("a.example")
    capture(dead.run(url)[url])
    alive = make_desk(web, tmp_path, "alive", is_process_gone=lambda who: who == "dead")
    slow = make_desk(web, tmp_path, "slow", lease_s=0.5)
    try:
        capture(alive.run(url, poll="again")[url])
        assert ended(slow.run(url, poll="b")[url]) == (Verdict.DEFERRED, Reason.NOT_YET)
        time.sleep(0.6)
        capture(slow.run(url, poll="c")[url])
    finally:
        for one in (dead, alive, slow):
            one.fetch.close()
            one.records.close()


def test_a_domain_taken_over_from_the_dead_is_left_alone_for_a_gap(
    web: Web, tmp_path: Path
) -> None:
    dead = make_desk(web, tmp_path, "dead")
    url = web.url("a.example")
    capture(dead.run(url)[url])
    last_s = web.asked("a.example")[-1].at_s
    alive = make_desk(web, tmp_path, "alive", is_process_gone=lambda who: who == "dead")
    try:
        taken_s = time.monotonic()
        capture(alive.run(url, poll="again")[url])
        assert web.asked("a.example")[2].at_s >= max(taken_s, last_s) + GAP_S
    finally:
        for one in (dead, alive):
            one.fetch.close()
            one.records.close()


def leases_of(records: SqlRecords, who: str, **more: Any) -> tuple[Frontier, DomainLeases]:
    frontier = Frontier(PACES)
    return frontier, DomainLeases(records, frontier, who, clock, **more)


def test_a_domain_is_paused_only_after_a_process_that_died_with_it(tmp_path: Path) -> None:
    """That process may have sent a request just before. One that released the domain wrote when."""
    records = open_records(tmp_path / "records.sqlite")
    frontier, leases = leases_of(records, "alive", is_process_gone=lambda who: who == "dead")
    _, dead = leases_of(records, "dead")
    _, careful = leases_of(records, "careful")
    assert dead.acquire(["a"], 0.0) == {"a": 0.0}
    assert careful.acquire(["b"], 0.0) == {"b": 0.0}
    careful.release_all(1.0)
    assert leases.acquire(["a", "b"], 10.0) == {"a": 0.0, "b": 0.0}
    assert frontier.recall("a", "", 10.0).next_at_s == 10.0 + GAP_S
    assert frontier.recall("b", "", 10.0).next_at_s <= 10.0
    records.close()


def test_a_domain_is_given_to_who_wants_to_poll_it_and_comes_back(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    frontier, busy = leases_of(records, "busy")
    _, poller = leases_of(records, "poller")
    _, third = leases_of(records, "third")
    domain = "a.example"
    assert busy.acquire([domain], 0.0) == {domain: 0.0}
    for number in range(3):
        frontier.offer(QueuedRequest(number, "www.a.example", domain, "127.0.0.1"), 0.0)
    (begun,) = frontier.start(0.0, 1)

    # Links of others only wait; a poll says that it wants the domain.
    assert third.acquire([domain], 0.0) == {domain: ELSEWHERE_S}
    assert poller.acquire([domain], 0.0, {domain}) == {domain: REQUEST_LASTS_S}
    busy.renew(LEASE_S / 3)
    assert {turn.key for turn, _ in frontier.take_late(20.0)} == {0, 1, 2} - {begun.key}
    assert busy.acquire([domain], 20.0) == {domain: ELSEWHERE_S}
    assert poller.acquire([domain], 20.0, {domain}) == {domain: REQUEST_LASTS_S}

    # It is given when the last request is over, to nobody else.
    frontier.finish(begun.key, RequestOutcome(0.1), 21.0)
    busy.renew(22.0)
    assert third.acquire([domain], 22.0) == {domain: ELSEWHERE_S}
    assert poller.acquire([domain], 23.0, {domain}) == {domain: 0.0}
    (row,) = records.get(PaceRow, [domain])
    assert (row.lease_holder, row.requested_by) == ("poller", None)

    # Held for a poll alone, it is soon let go of.
    poller.renew(25.0)
    assert third.acquire([domain], 25.0) == {domain: 0.0}
    records.close()


def test_a_domain_is_not_given_away_while_a_host_of_it_is_looked_up(
    web: Web, tmp_path: Path
) -> None:
    records, now, found = open_records(tmp_path / "records.sqlite"), [0.0], threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        found.wait(30)
        return web.resolve(host, port)

    frontier, busy = leases_of(records, "busy")
    _, poller = leases_of(records, "poller")
    shares = AddressShares(records, "busy", clock)
    transfers, resolver = CrawlClient(LIMITS, is_allowed), Resolver(resolve, is_allowed)
    chains = FetchScheduler(WHO, transfers, resolver, frontier, busy, shares, lambda: now[0])
    url = parse_request_url(web.url("www.a.example"))
    chains.begin([FetchRequest("key", url, 1000, 3, "text/html")])
    assert chains.collect_finished(0.0) == []
    assert poller.acquire(["a.example"], 0.0, {"a.example"}) == {"a.example": REQUEST_LASTS_S}
    for now[0] in (LEASE_S / 3, LEASE_S / 3 + 2, LEASE_S / 3 + 4):
        assert chains.collect_finished(0.0) == []
        assert poller.acquire(["a.example"], now[0], {"a.example"}) == {
            "a.example": REQUEST_LASTS_S
        }

    found.set()
    for now[0] in range(30, 60):  # Each look is a second later.
        if chains.collect_finished(0.2):
            break
    assert web.asked("www.a.example")
    for now[0] in (62, 64):
        chains.collect_finished(0.0)
    assert poller.acquire(["a.example"], now[0], {"a.example"}) == {"a.example": 0.0}
    chains.close()
    records.close()


def test_polls_alone_do_not_keep_a_domain_from_who_has_its_links(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    _, polls = leases_of(records, "polls")
    _, links = leases_of(records, "links")
    domain = "a.example"
    assert polls.acquire([domain], 0.0) == {domain: 0.0}
    for now_s in range(10, 90, 10):
        polls.acquire([domain], float(now_s), {domain})
        polls.renew(float(now_s))
    assert links.acquire([domain], 90.0) == {domain: 0.0}
    records.close()


def test_who_waits_for_a_domain_somebody_took_for_abandoned_comes_again(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    frontier, slow = leases_of(records, "slow")
    slow.acquire(["a.example"], 0.0)
    frontier.offer(QueuedRequest("x", "a.example", "a.example", "127.0.0.1"), 0.0)
    _, other = leases_of(records, "other", is_process_gone=lambda who: True)
    assert other.acquire(["a.example"], 0.0) == {"a.example": 0.0}
    slow.renew(LEASE_S / 3)
    assert not slow.is_held("a.example")
    assert [turn.key for turn, _ in frontier.take_late(LEASE_S / 3)] == ["x"]
    assert frontier.start(100.0, 1) == []
    records.close()


def test_a_refusal_is_written_down_before_the_next_third_of_a_minute(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    frontier, leases = leases_of(records, "who")
    leases.acquire(["a.example"], 0.0)
    leases.renew(1.0)
    frontier.offer(QueuedRequest("x", "a.example", "a.example", "127.0.0.1"), 0.0)
    frontier.start(0.0, 1)
    frontier.finish("x", RequestOutcome(0.1, is_refused=True, retry_after_s=600.0), 2.0)
    leases.renew(2.0)
    (before,) = records.get(PaceRow, ["a.example"])
    assert all(pace.next_at_s < 600.0 for pace in before.paces.values())
    leases.schedule_write("a.example")
    leases.renew(2.0)
    (after,) = records.get(PaceRow, ["a.example"])
    assert after.paces["a.example"].next_at_s >= 600.0
    records.close()


def test_a_redirect_to_a_domain_another_process_asks_waits_until_that_gives_it_away(
    web: Web, tmp_path: Path
) -> None:
    web.hosts["a.example"] = lambda asked, nth: (
        usual(asked, nth) if asked.target == "/robots.txt" else redirect(web.url("b.example"))
    )
    other = make_desk(web, tmp_path, "other", lease_s=3.0)
    desk = make_desk(web, tmp_path, "here", lease_s=3.0)
    try:
        capture(other.run(web.url("b.example", "/first"))[web.url("b.example", "/first")])
        url = web.url("a.example")
        capture(desk.run(url)[url])
    finally:
        for one in (other, desk):
            one.fetch.close()
            one.records.close()
    assert [one.target for one in web.asked("a.example")] == ["/robots.txt", "/story"]


def test_a_domain_of_a_living_process_is_taken_after_a_whole_lease_only(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    _, living = leases_of(records, "living")
    _, other = leases_of(records, "other")
    domain = "a.example"
    assert living.acquire([domain], 0.0) == {domain: 0.0}
    for now_s in (0.0, 1.0, LEASE_S - 1.0):
        assert other.acquire([domain], now_s) == {domain: ELSEWHERE_S}
    assert other.acquire([domain], LEASE_S) == {domain: 0.0}
    records.close()
