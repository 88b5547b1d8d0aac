"""The frontier on a virtual clock: never faster than the pace, nobody starved, memory bounded."""

from __future__ import annotations

from collections import Counter, deque
from heapq import heappop, heappush

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.fetching.frontier import Frontier, FrontierRules
from fonds.fetching.pace import HostLoad, PaceRules, QueuedRequest, RequestOutcome
from unit.fetching.crawling import VirtualWeb, gaps

USUAL = FrontierRules(
    PaceRules(2.0),
    PaceRules(1.0, busy_factor=0.0, active_max=4),
    PaceRules(0.1, busy_factor=0.0, active_max=16),
)
QUICK = RequestOutcome(took_s=0.2)
TOLERANCE_S = 1e-6


def turn(key: int, host: str, domain: str = "", address: str = "") -> QueuedRequest:
    return QueuedRequest(key, host, domain or host, address or f"address of {host}")


def web(rules: FrontierRules = USUAL, answer: RequestOutcome = QUICK) -> VirtualWeb:
    return VirtualWeb(Frontier(rules), lambda turn, nth: answer)


def test_a_host_is_asked_at_its_pace_and_not_slower() -> None:
    ours = web()
    for key in range(5):
        assert ours.frontier.offer(turn(key, "a"), 0.0) == 0.0
    ours.run(100.0)
    assert ours.moments(lambda one: one.host)["a"] == pytest.approx([0.0, 2.0, 4.0, 6.0, 8.0])


def test_the_gap_counts_from_when_a_request_was_sent_not_from_when_its_connection_was_begun() -> (
    None
):
    slow, quick = (RequestOutcome(took_s=took_s, since_sent_s=0.1) for took_s in (1.5, 0.1))
    ours = VirtualWeb(Frontier(USUAL), lambda turn, nth: slow if nth == 1 else quick)
    for key in range(3):
        ours.frontier.offer(turn(key, "a"), 0.0)
    ours.run(100.0)
    begun = ours.moments(lambda one: one.host)["a"]
    sent = [begun[0] + 1.4, *begun[1:]]
    assert gaps(sent) == pytest.approx([2.0, 2.0])


def test_the_pace_outlives_idleness() -> None:
    ours = VirtualWeb(
        Frontier(USUAL), lambda turn, nth: RequestOutcome(took_s=0.1, is_refused=nth <= 5)
    )
    for key in range(6):
        ours.frontier.offer(turn(key, "a"), ours.now_s)
        ours.run(ours.now_s + 500.0)
    ours.frontier.offer(turn(8, "a"), ours.now_s)
    ours.frontier.offer(turn(9, "a"), ours.now_s)
    ours.run(ours.now_s + 2_000.0)
    *_, before, last = ours.moments(lambda one: one.host)["a"]
    assert last - before > 10 * 2.0


def test_slow_answers_make_the_pace_slower_and_one_at_a_time() -> None:
    ours = web(answer=RequestOutcome(took_s=10.0))
    for key in range(8):
        ours.frontier.offer(turn(key, "a"), 0.0)
    ours.run(59.0)
    assert min(gaps(ours.moments(lambda one: one.host)["a"])) >= 10.0


def test_retry_after_is_waited_for_and_those_who_wait_are_sent_away_meanwhile() -> None:
    refusal = RequestOutcome(took_s=0.1, is_refused=True, retry_after_s=3600.0)
    ours = VirtualWeb(Frontier(USUAL), lambda turn, nth: refusal if nth == 1 else QUICK)
    for key in range(4):
        ours.frontier.offer(turn(key, "a"), 0.0)
    ours.run(10.0)
    assert [one.key for _, one in ours.log] == [0]
    assert sorted(one.key for _, one in ours.sent_back) == [1, 2, 3]
    assert all(at_s >= 3600.0 for at_s, _ in ours.sent_back)
    assert len({at_s for at_s, _ in ours.sent_back}) == 3, "each has a time of its own"
    assert ours.frontier.offer(turn(7, "a"), 20.0) >= 3580.0


def test_a_host_without_answer_is_left_alone_and_others_of_its_domain_are_not() -> None:
    dead = RequestOutcome(took_s=30.0, is_unreachable=True)
    ours = VirtualWeb(Frontier(USUAL), lambda turn, nth: dead if turn.host == "dead.a" else QUICK)
    for key in range(6):
        ours.frontier.offer(turn(key, ("dead.a", "live.a")[key % 2], "a"), 0.0)
    ours.run(300.0)
    asked = ours.moments(lambda one: one.host)
    assert len(asked["live.a"]) == 3
    assert min(gaps(asked["dead.a"])) >= 60.0


def test_the_wait_without_a_response_doubles_until_the_host_responds() -> None:
    """60 seconds, then twice as long each time. A response in between starts it from 60 again."""
    frontier, waits_s = Frontier(USUAL), []
    outcomes = [RequestOutcome(is_unreachable=silent) for silent in (True, True, False, True)]
    for key, outcome in enumerate(outcomes):
        now_s = key * 10_000.0
        frontier.offer(turn(key, "a"), now_s)
        frontier.start(now_s, 1)
        frontier.finish(key, outcome, now_s)
        waits_s.append(frontier.recall("a", "a", now_s).next_at_s - now_s)
    assert waits_s == [60.0, 120.0, 2.0, 60.0]


def test_a_crawl_delay_is_a_floor() -> None:
    ours = web()
    ours.frontier.set_floor("a", "a", 7.0, 0.0)
    for key in range(3):
        ours.frontier.offer(turn(key, "a"), 0.0)
    ours.run(59.0)
    assert min(gaps(ours.moments(lambda one: one.host)["a"])) >= 7.0


def test_many_links_of_one_site_do_not_hold_up_another() -> None:
    ours = web()
    told = [ours.frontier.offer(turn(key, "large"), 0.0) for key in range(10_000)]
    assert sum(after_s == 0.0 for after_s in told) == USUAL.line_max
    later = sorted(after_s for after_s in told if after_s)
    assert later[-1] == pytest.approx(2.0 * 10_000, rel=0.01), (
        "their times are the site's pace apart"
    )
    assert min(gaps(later)) >= 2.0 - TOLERANCE_S
    assert ours.frontier.offer(turn(-1, "small"), 0.0) == 0.0
    ours.run(1.0)
    assert {one.host for _, one in ours.log} == {"large", "small"}


def test_hosts_of_one_domain_share_its_pace_in_turn() -> None:
    ours = web()
    for key in range(40):
        ours.frontier.offer(turn(key, f"{key % 4}.a", "a"), 0.0)
    ours.run(39.5)
    assert min(gaps(ours.moments(lambda one: one.domain)["a"])) >= 1.0
    assert Counter(one.host for _, one in ours.log) == dict.fromkeys(
        ("0.a", "1.a", "2.a", "3.a"), 10
    )


def test_domains_on_one_address_share_its_pace_and_none_is_passed_over() -> None:
    ours = web()
    for key in range(300):
        ours.frontier.offer(turn(key, f"h{key}", address="shared"), 0.0)
    ours.run(40.0)
    assert len(ours.log) == 300
    assert min(gaps(ours.moments(lambda one: one.address)["shared"])) >= 0.1 - TOLERANCE_S
    assert [one.key for _, one in ours.log] == list(range(300))


def test_no_more_than_allowed_goes_to_one_address_at_once() -> None:
    slow = FrontierRules(PaceRules(0.0), PaceRules(0.0), PaceRules(0.0, active_max=3))
    ours = web(slow, RequestOutcome(took_s=5.0))
    for key in range(30):
        ours.frontier.offer(turn(key, f"h{key}", address="shared"), 0.0)
    ours.run(4.0)
    assert len(ours.log) == 3
    ours.run(49.9)
    assert len(ours.log) == 30


def test_one_request_at_a_time_is_enough_to_come_to_an_end() -> None:
    one = PaceRules(0.0, active_max=1)
    ours = web(FrontierRules(one, one, one), RequestOutcome(took_s=5.0))
    for key in range(5):
        ours.frontier.offer(turn(key, f"h{key}", address="shared"), 0.0)
    ours.run(24.9)
    assert len(ours.log) == 5


def test_what_goes_on_with_something_begun_finds_a_place() -> None:
    ours = web()
    for key in range(USUAL.line_max + 1):
        ours.frontier.offer(turn(key, "a"), 0.0)
    assert ours.frontier.offer(turn(-1, "a"), 0.0, urgent=True) == 0.0
    ours.run(1.0)
    assert [one.key for _, one in ours.log] == [-1]


def test_what_waits_is_told_by_host_with_when_it_is_asked() -> None:
    frontier = Frontier(USUAL)
    for key in range(4):
        frontier.offer(turn(key, "slow.example"), 100.0)
    frontier.offer(turn(9, "other.example"), 100.0)
    assert len(frontier.start(100.0, 9)) == 2
    (told,) = frontier.list_loads(100.5)
    gap_s = USUAL.host.gap_s
    assert told == HostLoad("slow.example", 3, gap_s, gap_s - 0.5)
    assert told.duration_s == 3 * gap_s - 0.5


def test_a_withdrawn_turn_never_starts() -> None:
    ours = web()
    for key in range(3):
        ours.frontier.offer(turn(key, "a"), 0.0)
    ours.frontier.withdraw(1)
    ours.frontier.withdraw(1)
    ours.run(30.0)
    assert [one.key for _, one in ours.log] == [0, 2]
    assert ours.frontier.waiting_count == 0


def test_without_any_pace_everything_starts_at_once() -> None:
    ours = web(
        FrontierRules(*[PaceRules(0.0, busy_factor=0.0, active_max=10)] * 3), RequestOutcome()
    )
    for key in range(50):
        ours.frontier.offer(turn(key, f"h{key % 7}"), 0.0)
    ours.run(0.0)
    assert len(ours.log) == 50


answers = st.sampled_from(
    [
        QUICK,
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
    script=st.lists(answers, min_size=1, max_size=20),
    names_max=st.sampled_from([3, 1000]),
)
def test_whatever_comes_no_pace_is_broken_and_every_turn_comes_out_once(
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
    ours = VirtualWeb(Frontier(rules), lambda turn, nth: script[nth % len(script)], at_once=5)
    refused, taken = 0, set()
    for key, (at_s, host, address, urgent) in enumerate(sorted(offers)):
        ours.run(at_s)
        one = turn(key, f"h{host}", f"d{host % 3}", f"a{address}")
        if ours.frontier.offer(one, ours.now_s, urgent=urgent):
            refused += 1
        else:
            taken.add(key)
        if key % 7 == 6:
            ours.frontier.withdraw(key)
            taken.discard(key)
    ours.run(10_000.0)
    came_out = [one.key for _, one in ours.log] + [one.key for _, one in ours.sent_back]
    assert sorted(came_out) == sorted(taken)
    assert (ours.frontier.waiting_count, ours.frontier.active_count) == (0, 0)
    if names_max == 1000:
        for moments in ours.moments(lambda one: one.host).values():
            assert all(gap >= 2.0 - TOLERANCE_S for gap in gaps(moments))
    for least_s, name in ((1.0, lambda one: one.domain), (0.5, lambda one: one.address)):
        if names_max == 1000:
            for moments in ours.moments(name).values():
                assert all(gap >= least_s - TOLERANCE_S for gap in gaps(moments))


@pytest.mark.parametrize("hosts", [1000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_many_hosts_with_a_hundred_links_each(hosts: int) -> None:
    """A day of a web: links come in bursts by site, the worst order there is, two a host in hand at most."""
    each = 100
    rules = FrontierRules(
        USUAL.host, USUAL.domain, PaceRules(0.0, active_max=64), names_max=hosts * 6 // 5
    )
    ours = VirtualWeb(Frontier(rules), lambda turn, nth: RequestOutcome(took_s=0.05), at_once=512)
    queue = deque((host, key) for host in range(hosts) for key in range(each))
    delayed: list[tuple[float, int, QueuedRequest]] = []
    most_waiting = 0
    while queue or delayed or ours.frontier.waiting_count or ours.under_way:
        due = []
        while delayed and delayed[0][0] <= ours.now_s:
            due.append(heappop(delayed)[2])
        while queue and ours.frontier.waiting_count + len(due) < 2 * hosts:
            host, key = queue.popleft()
            due.append(turn(host * each + key, f"h{host}", address=f"a{host % 500}"))
        for one in due:
            after_s = ours.frontier.offer(one, ours.now_s)
            if after_s:
                heappush(delayed, (ours.now_s + after_s, int(str(one.key)), one))
        most_waiting = max(most_waiting, ours.frontier.waiting_count)
        ours.run(ours.now_s + 1.0)
        for at_s, one in ours.sent_back:
            heappush(delayed, (at_s, int(str(one.key)), one))
        ours.sent_back.clear()
    assert len(ours.log) == hosts * each
    assert most_waiting <= hosts * rules.line_max
    for moments in ours.moments(lambda one: one.host).values():
        assert len(moments) == each
        assert min(gaps(moments)) >= 2.0 - TOLERANCE_S
    assert ours.names_seen <= 3 * rules.names_max


def test_a_domain_somebody_may_have_asked_just_now_is_given_a_pause() -> None:
    rules = FrontierRules(PaceRules(2.0), PaceRules(1.0, busy_factor=0.0), PaceRules(0.0))
    frontier = Frontier(rules)
    frontier.pause("a.example", 10.0)
    assert (
        frontier.offer(QueuedRequest("x", "www.a.example", "a.example", "192.0.2.1"), 10.0) == 0.0
    )
    assert frontier.start(11.9, 10) == []
    assert [turn.key for turn in frontier.start(12.0, 10)] == ["x"]


def test_what_waits_for_a_domain_can_be_sent_back_whole() -> None:
    rules = FrontierRules(PaceRules(5.0), PaceRules(0.0, busy_factor=0.0), PaceRules(0.0))
    frontier = Frontier(rules)
    for number in range(4):
        frontier.offer(
            QueuedRequest(number, f"h{number % 2}.a.example", "a.example", "192.0.2.1"), 0.0
        )
    frontier.offer(QueuedRequest("other", "b.example", "b.example", "192.0.2.2"), 0.0)
    begun = {turn.key for turn in frontier.start(0.0, 1)}
    frontier.return_domain("a.example", 20.0)
    sent = {turn.key: after_s for turn, after_s in frontier.take_late(0.0)}
    assert sent == dict.fromkeys({0, 1, 2, 3} - begun, 20.0)
    assert frontier.is_needed("a.example") is bool(begun & {0, 1, 2, 3})
    assert frontier.waiting_count == ("other" not in begun)


def test_a_delay_a_host_asks_for_counts_from_its_last_request() -> None:
    frontier = Frontier(
        FrontierRules(PaceRules(1.0, busy_factor=0.0), PaceRules(0.0), PaceRules(0.0))
    )
    turn = QueuedRequest("robots", "a.example", "a.example", "192.0.2.1")
    frontier.offer(turn, 0.0)
    frontier.start(0.0, 1)
    frontier.finish("robots", RequestOutcome(0.1), 0.1)
    frontier.set_floor("a.example", "a.example", 7.0, 0.1)
    frontier.offer(QueuedRequest("page", "a.example", "a.example", "192.0.2.1"), 0.1)
    assert frontier.start(6.9, 1) == []
    assert [one.key for one in frontier.start(7.0, 1)] == ["page"]
