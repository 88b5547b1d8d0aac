"""Only one process requests a domain at a time, and it passes on the pace of the domain."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from empty_records import open_records
from fixtures.web_of_hosts import Web, build_redirect, respond_by_default
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
from unit.fetching.fetch_step import (
    GAP_S,
    LIMITS,
    PACES,
    SCHEDULER_RULES,
    clock,
    get_capture,
    get_outcome,
    is_allowed,
    make_desk,
)


def test_one_process_requests_a_domain_at_a_time_and_passes_on_its_pace(
    web: Web, tmp_path: Path
) -> None:
    first = make_desk(web, tmp_path, "first")
    second = make_desk(web, tmp_path, "second")
    url = web.build_url("www.a.example")
    try:
        get_capture(first.run(url)[url])
        (result,) = second.run(web.build_url("sport.a.example")).values()
        assert get_outcome(result) == (Verdict.DEFERRED, Reason.NOT_YET)
        assert web.list_requests("sport.a.example") == []
        first.fetch.close()
        (row,) = first.records.get(PaceRow, ["a.example"])
        assert row.lease_holder is None
        assert row.paces["www.a.example"].next_at_s > 0
        (next_result,) = second.run(web.build_url("sport.a.example"), poll="again").values()
        get_capture(next_result)
    finally:
        second.fetch.close()
        first.records.close()
        second.records.close()


def test_a_lease_of_a_dead_process_is_taken_over(web: Web, tmp_path: Path) -> None:
    dead = make_desk(web, tmp_path, "dead")
    url = web.build_url("a.example")
    get_capture(dead.run(url)[url])
    alive = make_desk(web, tmp_path, "alive", is_process_gone=lambda name: name == "dead")
    slow = make_desk(web, tmp_path, "slow", lease_s=0.5)
    try:
        get_capture(alive.run(url, poll="again")[url])
        assert get_outcome(slow.run(url, poll="b")[url]) == (Verdict.DEFERRED, Reason.NOT_YET)
        time.sleep(0.6)
        get_capture(slow.run(url, poll="c")[url])
    finally:
        for process in (dead, alive, slow):
            process.fetch.close()
            process.records.close()


def test_a_domain_taken_over_from_a_dead_process_pauses_for_one_gap(
    web: Web, tmp_path: Path
) -> None:
    dead = make_desk(web, tmp_path, "dead")
    url = web.build_url("a.example")
    get_capture(dead.run(url)[url])
    last_s = web.list_requests("a.example")[-1].at_s
    alive = make_desk(web, tmp_path, "alive", is_process_gone=lambda name: name == "dead")
    try:
        taken_s = time.monotonic()
        get_capture(alive.run(url, poll="again")[url])
        assert web.list_requests("a.example")[2].at_s >= max(taken_s, last_s) + GAP_S
    finally:
        for process in (dead, alive):
            process.fetch.close()
            process.records.close()


def make_leases(
    records: SqlRecords, process_name: str, **options: Any
) -> tuple[Frontier, DomainLeases]:
    frontier = Frontier(PACES)
    return frontier, DomainLeases(records, frontier, process_name, clock, **options)


def test_a_domain_pauses_only_after_a_process_that_died_holding_it(tmp_path: Path) -> None:
    """That process may have sent a request just before it died. A released domain records its
    last request."""
    records = open_records(tmp_path / "records.sqlite")
    frontier, leases = make_leases(records, "alive", is_process_gone=lambda name: name == "dead")
    _, dead = make_leases(records, "dead")
    _, careful = make_leases(records, "careful")
    assert dead.acquire(["a"], 0.0) == {"a": 0.0}
    assert careful.acquire(["b"], 0.0) == {"b": 0.0}
    careful.release_all(1.0)
    assert leases.acquire(["a", "b"], 10.0) == {"a": 0.0, "b": 0.0}
    assert frontier.recall("a", "", 10.0).next_at_s == 10.0 + GAP_S
    assert frontier.recall("b", "", 10.0).next_at_s <= 10.0
    records.close()


def test_a_domain_is_given_to_a_poll_and_returns_to_its_links(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    frontier, busy = make_leases(records, "busy")
    _, poller = make_leases(records, "poller")
    _, third = make_leases(records, "third")
    domain = "a.example"
    assert busy.acquire([domain], 0.0) == {domain: 0.0}
    for number in range(3):
        frontier.offer(QueuedRequest(number, "www.a.example", domain, "127.0.0.1"), 0.0)
    (active,) = frontier.start(0.0, 1)

    # Links of other processes only wait; a poll requests the domain.
    assert third.acquire([domain], 0.0) == {domain: ELSEWHERE_S}
    assert poller.acquire([domain], 0.0, {domain}) == {domain: REQUEST_LASTS_S}
    busy.renew(LEASE_S / 3)
    assert {request.key for request, _ in frontier.take_late(20.0)} == {0, 1, 2} - {active.key}
    assert busy.acquire([domain], 20.0) == {domain: ELSEWHERE_S}
    assert poller.acquire([domain], 20.0, {domain}) == {domain: REQUEST_LASTS_S}

    # The poller alone gets the domain when the last request has finished.
    frontier.finish(active.key, RequestOutcome(0.1), 21.0)
    busy.renew(22.0)
    assert third.acquire([domain], 22.0) == {domain: ELSEWHERE_S}
    assert poller.acquire([domain], 23.0, {domain}) == {domain: 0.0}
    (row,) = records.get(PaceRow, [domain])
    assert (row.lease_holder, row.requested_by) == ("poller", None)

    # A domain that is leased only for a poll is released soon.
    poller.renew(25.0)
    assert third.acquire([domain], 25.0) == {domain: 0.0}
    records.close()


def test_a_domain_is_not_given_away_while_one_of_its_hosts_is_resolved(
    web: Web, tmp_path: Path
) -> None:
    records, now, is_resolved = open_records(tmp_path / "records.sqlite"), [0.0], threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        is_resolved.wait(30)
        return web.resolve(host, port)

    frontier, busy = make_leases(records, "busy")
    _, poller = make_leases(records, "poller")
    shares = AddressShares(records, "busy", clock)
    client, resolver = CrawlClient(LIMITS, is_allowed), Resolver(resolve, is_allowed)
    scheduler = FetchScheduler(
        SCHEDULER_RULES, client, resolver, frontier, busy, shares, lambda: now[0]
    )
    url = parse_request_url(web.build_url("www.a.example"))
    scheduler.begin([FetchRequest("key", url, 1000, 3, "text/html")])
    assert scheduler.collect_finished(0.0) == []
    assert poller.acquire(["a.example"], 0.0, {"a.example"}) == {"a.example": REQUEST_LASTS_S}
    for now[0] in (LEASE_S / 3, LEASE_S / 3 + 2, LEASE_S / 3 + 4):
        assert scheduler.collect_finished(0.0) == []
        assert poller.acquire(["a.example"], now[0], {"a.example"}) == {
            "a.example": REQUEST_LASTS_S
        }

    is_resolved.set()
    for now[0] in range(30, 60):  # Each iteration is one second later.
        if scheduler.collect_finished(0.2):
            break
    assert web.list_requests("www.a.example")
    for now[0] in (62, 64):
        scheduler.collect_finished(0.0)
    assert poller.acquire(["a.example"], now[0], {"a.example"}) == {"a.example": 0.0}
    scheduler.close()
    records.close()


def test_polls_do_not_keep_a_domain_from_a_process_with_its_links(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    _, polls = make_leases(records, "polls")
    _, links = make_leases(records, "links")
    domain = "a.example"
    assert polls.acquire([domain], 0.0) == {domain: 0.0}
    for now_s in range(10, 90, 10):
        polls.acquire([domain], float(now_s), {domain})
        polls.renew(float(now_s))
    assert links.acquire([domain], 90.0) == {domain: 0.0}
    records.close()


def test_requests_are_returned_when_another_process_took_over_the_domain(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    frontier, slow = make_leases(records, "slow")
    slow.acquire(["a.example"], 0.0)
    frontier.offer(QueuedRequest("x", "a.example", "a.example", "127.0.0.1"), 0.0)
    _, other = make_leases(records, "other", is_process_gone=lambda name: True)
    assert other.acquire(["a.example"], 0.0) == {"a.example": 0.0}
    slow.renew(LEASE_S / 3)
    assert not slow.is_held("a.example")
    assert [request.key for request, _ in frontier.take_late(LEASE_S / 3)] == ["x"]
    assert frontier.start(100.0, 1) == []
    records.close()


def test_a_refusal_is_stored_before_the_next_renewal(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    frontier, leases = make_leases(records, "who")
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


def test_a_redirect_waits_until_another_process_releases_the_domain(
    web: Web, tmp_path: Path
) -> None:
    web.hosts["a.example"] = lambda request, nth: (
        respond_by_default(request, nth)
        if request.target == "/robots.txt"
        else build_redirect(web.build_url("b.example"))
    )
    other = make_desk(web, tmp_path, "other", lease_s=3.0)
    desk = make_desk(web, tmp_path, "here", lease_s=3.0)
    try:
        get_capture(
            other.run(web.build_url("b.example", "/first"))[web.build_url("b.example", "/first")]
        )
        url = web.build_url("a.example")
        get_capture(desk.run(url)[url])
    finally:
        for process in (other, desk):
            process.fetch.close()
            process.records.close()
    assert [request.target for request in web.list_requests("a.example")] == [
        "/robots.txt",
        "/story",
    ]


def test_a_domain_of_a_living_process_is_taken_only_after_a_full_lease(tmp_path: Path) -> None:
    records = open_records(tmp_path / "records.sqlite")
    _, living = make_leases(records, "living")
    _, other = make_leases(records, "other")
    domain = "a.example"
    assert living.acquire([domain], 0.0) == {domain: 0.0}
    for now_s in (0.0, 1.0, LEASE_S - 1.0):
        assert other.acquire([domain], now_s) == {domain: ELSEWHERE_S}
    assert other.acquire([domain], LEASE_S) == {domain: 0.0}
    records.close()
