"""How soon one host, domain or address may be asked again: slower after slow answers and refusals."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

SLOWDOWN_MAX = 64.0
SLOWDOWN_DECAY = 0.8
"""What a good answer makes of the slowdown that refusals brought about."""
AVERAGE_SHARE = 0.25
"""The share of the newest answer in the average time of answers."""
UNREACHABLE_FIRST_S = 60.0


@dataclass(frozen=True, slots=True)
class PaceRules:
    """`gap_s` is the least time between the beginnings of two requests, `gap_max_s` the longest that
    refusals and slowness lead to; `busy_factor` times the average time of answers is a gap as well, so that
    nobody is kept busy by us alone. `active_max` requests may be under way at once.
    """

    gap_s: float
    gap_max_s: float = 3600.0
    busy_factor: float = 1.0
    active_max: int = 1


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """How a request ended, for the pace: after `took_s` seconds; `is_refused` says 429 or 503, and
    `retry_after_s` what was asked for with it; `is_unreachable` that there was no answer at all. The
    request was sent `since_sent_s` seconds ago at the longest; None: when it began."""

    took_s: float = 0.0
    is_refused: bool = False
    retry_after_s: float = 0.0
    is_unreachable: bool = False
    since_sent_s: float | None = None

    def compute_sent_s(self, begun_s: float, now_s: float) -> float:
        """When a request that began at `begun_s` was sent: names and connections may have taken a while, and
        whoever is asked counts from then."""
        return begun_s if self.since_sent_s is None else max(begun_s, now_s - self.since_sent_s)


@dataclass(slots=True)
class Pace:
    """One name's pace. `next_at_s` is in seconds of the frontier's clock; `floor_s` a Crawl-delay.

    `failures` counts the requests in a row that had no answer. So many processes have equal `shares` in it.
    """

    rules: PaceRules
    next_at_s: float = 0.0
    average_s: float = 0.0
    slowdown: float = 1.0
    floor_s: float = 0.0
    failures: int = 0
    active: int = 0
    shares: int = 1

    @property
    def gap_s(self) -> float:
        """Seconds between the beginnings of two requests, as things stand."""
        least_s = max(self.rules.gap_s * self.shares, self.rules.busy_factor * self.average_s)
        slow_s = min(self.rules.gap_max_s, max(least_s, 1.0 if self.slowdown > 1 else 0.0))
        return max(self.floor_s, min(self.rules.gap_max_s, slow_s * self.slowdown))

    @property
    def is_full(self) -> bool:
        """Whether as much is under way as may be."""
        return self.active >= max(1, self.rules.active_max // self.shares)

    def is_forgettable(self, now_s: float) -> bool:
        """Whether nothing would be forgotten with it that matters."""
        quiet = self.active == 0 and self.next_at_s <= now_s and self.failures == 0
        return quiet and self.slowdown < 1.05 and self.floor_s <= self.rules.gap_s

    def begin(self, now_s: float) -> None:
        """A request goes out now."""
        self.active += 1
        self.next_at_s = max(self.next_at_s, now_s + self.gap_s)

    def end(self, answer: RequestOutcome, sent_s: float, now_s: float) -> None:
        """The request that was sent at `sent_s` ended."""
        self.active -= 1
        if answer.is_unreachable:
            self.failures += 1
            wait_s = UNREACHABLE_FIRST_S * 2.0 ** min(self.failures - 1, 20)
            self._delay_until(now_s + min(self.rules.gap_max_s, wait_s))
            return
        self.failures = 0
        self.average_s += AVERAGE_SHARE * (answer.took_s - self.average_s)
        if answer.is_refused:
            self.slowdown = min(SLOWDOWN_MAX, 2.0 * self.slowdown)
            self._delay_until(now_s + max(answer.retry_after_s, self.gap_s))
        else:
            self.slowdown = max(1.0, SLOWDOWN_DECAY * self.slowdown)
            self._delay_until(sent_s + self.gap_s)

    def _delay_until(self, at_s: float) -> None:
        self.next_at_s = max(self.next_at_s, at_s)


# What waits of a host, a registered domain and an address, and at which pace each is asked.


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request that waits for its turn. `key` is the caller's and unique among those that wait.

    `host` is a name, by whatever scheme and port it is asked. `domain` answers for it, `address` is the IP
    address it would go to.
    """

    key: Hashable
    host: str
    domain: str
    address: str


@dataclass(slots=True)
class HostQueue:
    """One host of a domain, with the turns that wait for it."""

    name: str
    domain: DomainQueue
    pace: Pace
    line: deque[QueuedRequest] = field(default_factory=deque)
    is_ready: bool = False
    """Whether it stands among the ready of its domain."""


@dataclass(slots=True)
class DomainQueue:
    """`ready` is a heap of its hosts that have a line and are not full: from when on, and in which order
    they came. `listed_s` is its valid place in the frontier's heap; `is_parked` says that it stands in the
    line of an address instead.
    """

    name: str
    pace: Pace
    hosts: set[str] = field(default_factory=set)
    ready: list[tuple[float, int, str]] = field(default_factory=list)
    waiting: int = 0
    promised_s: float = 0.0
    listed_s: float | None = None
    is_parked: bool = False


@dataclass(slots=True)
class AddressQueue:
    """One IP address, with the domains whose next turn would go to it."""

    name: str
    pace: Pace
    line: deque[str] = field(default_factory=deque)
    listed_s: float | None = None


@dataclass(frozen=True, slots=True)
class HostLoad:
    """What waits for a host: how many links, when the next is asked for, then one each `gap_s` seconds."""

    host: str
    waiting: int
    gap_s: float
    next_s: float = 0.0

    @property
    def duration_s(self) -> float:
        """How long they take in all."""
        return self.next_s + (self.waiting - 1) * self.gap_s
