"""The frontier on a virtual clock: it keeps the pace, starves no host and bounds its memory."""

from __future__ import annotations

from collections import Counter, deque
from heapq import heappop, heappush

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.fetching.frontier import Frontier, FrontierRules
from fonds.fetching.pace import HostLoad, PaceRules, QueuedRequest, RequestOutcome
from unit.fetching.crawling import VirtualWeb, compute_gaps

USUAL_RULES = FrontierRules(
    PaceRules(2.0),
    PaceRules(1.0, busy_factor=0.0, active_max=4),
    PaceRules(0.1, busy_factor=0.0, active_max=16),
)
QUICK_RESPONSE = RequestOutcome(took_s=0.2)
TOLERANCE_S = 1e-6


def make_request(key: int, host: str, domain: str = "", address: str = "") -> QueuedRequest:
    return QueuedRequest(key, host, domain or host, address or f"address of {host}")


def make_web(
    rules: FrontierRules = USUAL_RULES, answer: RequestOutcome = QUICK_RESPONSE
) -> VirtualWeb:
    return VirtualWeb(Frontier(rules), lambda request, nth: answer)


def test_a_host_is_requested_exactly_at_its_pace() -> None:
    web = make_web()
    for key in range(5):
        assert web.frontier.offer(make_request(key, "a"), 0.0) == 0.0
    web.run(100.0)
    assert web.list_times(lambda request: request.host)["a"] == pytest.approx(
        [0.0, 2.0, 4.0, 6.0, 8.0]
    )


def test_the_gap_counts_from_the_sent_request_not_from_the_connection() -> None:
    slow, quick = (RequestOutcome(took_s=took_s, since_sent_s=0.1) for took_s in (1.5, 0.1))
    web = VirtualWeb(Frontier(USUAL_RULES), lambda request, nth: slow if nth == 1 else quick)
    for key in range(3):
        web.frontier.offer(make_request(key, "a"), 0.0)
    web.run(100.0)
    starts_s = web.list_times(lambda request: request.host)["a"]
    sends_s = [starts_s[0] + 1.4, *starts_s[1:]]
    assert compute_gaps(sends_s) == pytest.approx([2.0, 2.0])


def test_the_pace_of_a_host_survives_idle_time() -> None:
    web = VirtualWeb(
        Frontier(USUAL_RULES), lambda request, nth: RequestOutcome(took_s=0.1, is_refused=nth <= 5)
    )
    for key in range(6):
        web.frontier.offer(make_request(key, "a"), web.now_s)
        web.run(web.now_s + 500.0)
    web.frontier.offer(make_request(8, "a"), web.now_s)
    web.frontier.offer(make_request(9, "a"), web.now_s)
    web.run(web.now_s + 2_000.0)
    *_, before, last = web.list_times(lambda request: request.host)["a"]
    assert last - before > 10 * 2.0


def test_slow_responses_slow_the_pace_to_one_request_at_a_time() -> None:
    web = make_web(answer=RequestOutcome(took_s=10.0))
    for key in range(8):
        web.frontier.offer(make_request(key, "a"), 0.0)
    web.run(59.0)
    assert min(compute_gaps(web.list_times(lambda request: request.host)["a"])) >= 10.0


def test_retry_after_is_respected_and_waiting_requests_are_returned() -> None:
    refusal = RequestOutcome(took_s=0.1, is_refused=True, retry_after_s=3600.0)
    web = VirtualWeb(
        Frontier(USUAL_RULES), lambda request, nth: refusal if nth == 1 else QUICK_RESPONSE
    )
    for key in range(4):
        web.frontier.offer(make_request(key, "a"), 0.0)
    web.run(10.0)
    assert [request.key for _, request in web.log] == [0]
    assert sorted(request.key for _, request in web.returned) == [1, 2, 3]
    assert all(at_s >= 3600.0 for at_s, _ in web.returned)
    assert len({at_s for at_s, _ in web.returned}) == 3, "each has its own time"
    assert web.frontier.offer(make_request(7, "a"), 20.0) >= 3580.0


def test_an_unreachable_host_pauses_without_its_domain() -> None:
    dead = RequestOutcome(took_s=30.0, is_unreachable=True)
    web = VirtualWeb(
        Frontier(USUAL_RULES),
        lambda request, nth: dead if request.host == "dead.a" else QUICK_RESPONSE,
    )
    for key in range(6):
        web.frontier.offer(make_request(key, ("dead.a", "live.a")[key % 2], "a"), 0.0)
    web.run(300.0)
    moments = web.list_times(lambda request: request.host)
    assert len(moments["live.a"]) == 3
    assert min(compute_gaps(moments["dead.a"])) >= 60.0


def test_the_wait_without_a_response_doubles_until_the_host_responds() -> None:
    """60 seconds, then twice as long each time. A response in between starts it from 60 again."""
    frontier, waits_s = Frontier(USUAL_RULES), []
    outcomes = [RequestOutcome(is_unreachable=silent) for silent in (True, True, False, True)]
    for key, outcome in enumerate(outcomes):
        now_s = key * 10_000.0
        frontier.offer(make_request(key, "a"), now_s)
        frontier.start(now_s, 1)
        frontier.finish(key, outcome, now_s)
        waits_s.append(frontier.recall("a", "a", now_s).next_at_s - now_s)
    assert waits_s == [60.0, 120.0, 2.0, 60.0]


def test_a_crawl_delay_is_a_minimum() -> None:
    web = make_web()
    web.frontier.set_floor("a", "a", 7.0, 0.0)
    for key in range(3):
        web.frontier.offer(make_request(key, "a"), 0.0)
    web.run(59.0)
    assert min(compute_gaps(web.list_times(lambda request: request.host)["a"])) >= 7.0


def test_many_links_of_one_site_do_not_delay_another() -> None:
    web = make_web()
    delays_s = [web.frontier.offer(make_request(key, "large"), 0.0) for key in range(10_000)]
    assert sum(after_s == 0.0 for after_s in delays_s) == USUAL_RULES.line_max
    returned_s = sorted(after_s for after_s in delays_s if after_s)
    assert returned_s[-1] == pytest.approx(2.0 * 10_000, rel=0.01), "the times are one gap apart"
    assert min(compute_gaps(returned_s)) >= 2.0 - TOLERANCE_S
    assert web.frontier.offer(make_request(-1, "small"), 0.0) == 0.0
    web.run(1.0)
    assert {request.host for _, request in web.log} == {"large", "small"}


def test_hosts_of_one_domain_share_its_pace_in_turn() -> None:
    web = make_web()
    for key in range(40):
        web.frontier.offer(make_request(key, f"{key % 4}.a", "a"), 0.0)
    web.run(39.5)
    assert min(compute_gaps(web.list_times(lambda request: request.domain)["a"])) >= 1.0
    assert Counter(request.host for _, request in web.log) == dict.fromkeys(
        ("0.a", "1.a", "2.a", "3.a"), 10
    )


def test_domains_on_one_address_share_its_pace_in_order() -> None:
    web = make_web()
    for key in range(300):
        web.frontier.offer(make_request(key, f"h{key}", address="shared"), 0.0)
    web.run(40.0)
    assert len(web.log) == 300
    assert (
        min(compute_gaps(web.list_times(lambda request: request.address)["shared"]))
        >= 0.1 - TOLERANCE_S
    )
    assert [request.key for _, request in web.log] == list(range(300))


def test_an_address_has_no_more_active_requests_than_allowed() -> None:
    slow = FrontierRules(PaceRules(0.0), PaceRules(0.0), PaceRules(0.0, active_max=3))
    web = make_web(slow, RequestOutcome(took_s=5.0))
    for key in range(30):
        web.frontier.offer(make_request(key, f"h{key}", address="shared"), 0.0)
    web.run(4.0)
    assert len(web.log) == 3
    web.run(49.9)
    assert len(web.log) == 30


def test_one_active_request_at_a_time_finishes_all() -> None:
    single = PaceRules(0.0, active_max=1)
    web = make_web(FrontierRules(single, single, single), RequestOutcome(took_s=5.0))
    for key in range(5):
        web.frontier.offer(make_request(key, f"h{key}", address="shared"), 0.0)
    web.run(24.9)
    assert len(web.log) == 5


def test_an_urgent_request_is_accepted_when_the_line_is_full() -> None:
    web = make_web()
    for key in range(USUAL_RULES.line_max + 1):
        web.frontier.offer(make_request(key, "a"), 0.0)
    assert web.frontier.offer(make_request(-1, "a"), 0.0, urgent=True) == 0.0
    web.run(1.0)
    assert [request.key for _, request in web.log] == [-1]


def test_loads_list_waiting_requests_by_host_with_their_delay() -> None:
    frontier = Frontier(USUAL_RULES)
    for key in range(4):
        frontier.offer(make_request(key, "slow.example"), 100.0)
    frontier.offer(make_request(9, "other.example"), 100.0)
    assert len(frontier.start(100.0, 9)) == 2
    (load,) = frontier.list_loads(100.5)
    gap_s = USUAL_RULES.host.gap_s
    assert load == HostLoad("slow.example", 3, gap_s, gap_s - 0.5)
    assert load.duration_s == 3 * gap_s - 0.5


def test_a_withdrawn_request_never_starts() -> None:
    web = make_web()
    for key in range(3):
        web.frontier.offer(make_request(key, "a"), 0.0)
    web.frontier.withdraw(1)
    web.frontier.withdraw(1)
    web.run(30.0)
    assert [request.key for _, request in web.log] == [0, 2]
    assert web.frontier.waiting_count == 0


def test_without_a_pace_everything_starts_at_once() -> None:
    web = make_web(
        FrontierRules(*[PaceRules(0.0, busy_factor=0.0, active_max=10)] * 3), RequestOutcome()
    )
    for key in range(50):
        web.frontier.offer(make_request(key, f"h{key % 7}"), 0.0)
    web.run(0.0)
    assert len(web.log) == 50


outcomes = st.sampled_from(
    [
        QUICK_RESPONSE,
        RequestOutcome(took_s=3.0),
        RequestOutcome(took_s=0.1, is_refused=True),
        RequestOutcome(took_s=0.1, is_refused=True, retry_after_s=20.0),
        RequestOutcome(took_s=1.0, is_unreachable=True),
    ]
)


@settings(max_examples=examples(40), deadline=None)
@given(
    offers=st.lists(
        st.tuples(st.floats(0, 50), st.integers(0, 5), st.integers(0, 2), st.booleans()),
        max_size=60,
    ),
    script=st.lists(outcomes, min_size=1, max_size=20),
    names_max=st.sampled_from([3, 1000]),
)
def test_random_requests_keep_the_pace_and_finish_once(
    offers: list[tuple[float, int, int, bool]], script: list[RequestOutcome], names_max: int
) -> None:
    rules = FrontierRules(
        PaceRules(2.0),
        PaceRules(1.0, busy_factor=0.0, active_max=2),
        PaceRules(0.5, busy_factor=0.0, active_max=3),
        line_max=4,
        patience_s=30.0,
        names_max=names_max,
    )
    web = VirtualWeb(Frontier(rules), lambda request, nth: script[nth % len(script)], active_max=5)
    refused, accepted = 0, set()
    for key, (at_s, host, address, urgent) in enumerate(sorted(offers)):
        web.run(at_s)
        request = make_request(key, f"h{host}", f"d{host % 3}", f"a{address}")
        if web.frontier.offer(request, web.now_s, urgent=urgent):
            refused += 1
        else:
            accepted.add(key)
        if key % 7 == 6:
            web.frontier.withdraw(key)
            accepted.discard(key)
    web.run(10_000.0)
    ended = [request.key for _, request in web.log] + [request.key for _, request in web.returned]
    assert sorted(ended) == sorted(accepted)
    assert (web.frontier.waiting_count, web.frontier.active_count) == (0, 0)
    if names_max == 1000:
        for moments in web.list_times(lambda request: request.host).values():
            assert all(gap >= 2.0 - TOLERANCE_S for gap in compute_gaps(moments))
    for least_s, name in (
        (1.0, lambda request: request.domain),
        (0.5, lambda request: request.address),
    ):
        if names_max == 1000:
            for moments in web.list_times(name).values():
                assert all(gap >= least_s - TOLERANCE_S for gap in compute_gaps(moments))


@pytest.mark.parametrize("hosts", [1000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_many_hosts_with_a_hundred_links_each_keep_their_pace(hosts: int) -> None:
    """A day of a web. Links come in bursts by site, the worst order, and at most two per host
    wait."""
    links_per_host = 100
    rules = FrontierRules(
        USUAL_RULES.host,
        USUAL_RULES.domain,
        PaceRules(0.0, active_max=64),
        names_max=hosts * 6 // 5,
    )
    web = VirtualWeb(
        Frontier(rules), lambda request, nth: RequestOutcome(took_s=0.05), active_max=512
    )
    queue = deque((host, key) for host in range(hosts) for key in range(links_per_host))
    delayed: list[tuple[float, int, QueuedRequest]] = []
    waiting_max = 0
    while queue or delayed or web.frontier.waiting_count or web.active:
        due = []
        while delayed and delayed[0][0] <= web.now_s:
            due.append(heappop(delayed)[2])
        while queue and web.frontier.waiting_count + len(due) < 2 * hosts:
            host, key = queue.popleft()
            due.append(
                make_request(host * links_per_host + key, f"h{host}", address=f"a{host % 500}")
            )
        for request in due:
            after_s = web.frontier.offer(request, web.now_s)
            if after_s:
                heappush(delayed, (web.now_s + after_s, int(str(request.key)), request))
        waiting_max = max(waiting_max, web.frontier.waiting_count)
        web.run(web.now_s + 1.0)
        for at_s, request in web.returned:
            heappush(delayed, (at_s, int(str(request.key)), request))
        web.returned.clear()
    assert len(web.log) == hosts * links_per_host
    assert waiting_max <= hosts * rules.line_max
    for moments in web.list_times(lambda request: request.host).values():
        assert len(moments) == links_per_host
        assert min(compute_gaps(moments)) >= 2.0 - TOLERANCE_S
    assert web.names_max_seen <= 3 * rules.names_max


def test_a_paused_domain_waits_for_its_gap() -> None:
    rules = FrontierRules(PaceRules(2.0), PaceRules(1.0, busy_factor=0.0), PaceRules(0.0))
    frontier = Frontier(rules)
    frontier.pause("a.example", 10.0)
    assert (
        frontier.offer(QueuedRequest("x", "www.a.example", "a.example", "192.0.2.1"), 10.0) == 0.0
    )
    assert frontier.start(11.9, 10) == []
    assert [request.key for request in frontier.start(12.0, 10)] == ["x"]


def test_all_requests_of_a_domain_can_be_returned() -> None:
    rules = FrontierRules(PaceRules(5.0), PaceRules(0.0, busy_factor=0.0), PaceRules(0.0))
    frontier = Frontier(rules)
    for number in range(4):
        frontier.offer(
            QueuedRequest(number, f"h{number % 2}.a.example", "a.example", "192.0.2.1"), 0.0
        )
    frontier.offer(QueuedRequest("other", "b.example", "b.example", "192.0.2.2"), 0.0)
    started = {request.key for request in frontier.start(0.0, 1)}
    frontier.return_domain("a.example", 20.0)
    delays_s = {request.key: after_s for request, after_s in frontier.take_late(0.0)}
    assert delays_s == dict.fromkeys({0, 1, 2, 3} - started, 20.0)
    assert frontier.is_needed("a.example") is bool(started & {0, 1, 2, 3})
    assert frontier.waiting_count == ("other" not in started)


def test_a_crawl_delay_counts_from_the_last_request() -> None:
    frontier = Frontier(
        FrontierRules(PaceRules(1.0, busy_factor=0.0), PaceRules(0.0), PaceRules(0.0))
    )
    request = QueuedRequest("robots", "a.example", "a.example", "192.0.2.1")
    frontier.offer(request, 0.0)
    frontier.start(0.0, 1)
    frontier.finish("robots", RequestOutcome(0.1), 0.1)
    frontier.set_floor("a.example", "a.example", 7.0, 0.1)
    frontier.offer(QueuedRequest("page", "a.example", "a.example", "192.0.2.1"), 0.1)
    assert frontier.start(6.9, 1) == []
    assert [request.key for request in frontier.start(7.0, 1)] == ["page"]
