"""Rate limits of hosts, domains and addresses, which adapt to slow responses and refusals.

Also the queues of requests that wait for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

SLOWDOWN_MAX = 64.0
SLOWDOWN_DECAY = 0.8
"""Factor by which a good response reduces the slowdown."""
AVERAGE_SHARE = 0.25
"""Weight of the newest response in the average response time."""
UNREACHABLE_FIRST_S = 60.0


@dataclass(frozen=True, slots=True)
class PaceRules:
    """Settings of a rate limit.

    `gap_s` is the minimum time between the starts of two requests.
    `gap_max_s` is the longest gap that refusals and slow responses cause.
    `busy_factor` times the average response time is a minimum gap, so that Fonds alone never keeps
    a server busy.
    `active_max` is the maximum number of concurrent requests.
    """

    gap_s: float
    gap_max_s: float = 3600.0
    busy_factor: float = 1.0
    active_max: int = 1


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """Outcome of a request, for its rate limit.

    `took_s` is its duration.
    `is_refused` means status 429 or 503; `retry_after_s` is the wait requested with it.
    `is_unreachable` means that there was no response.
    `since_sent_s` is the time since the request was sent; None means that it was sent when it
    started.
    """

    took_s: float = 0.0
    is_refused: bool = False
    retry_after_s: float = 0.0
    is_unreachable: bool = False
    since_sent_s: float | None = None

    def compute_sent_s(self, begun_s: float, now_s: float) -> float:
        """Return when a request that started at `begun_s` was sent.

        Resolving and connecting may have taken a while, and the server's time counts from sending.
        """
        return begun_s if self.since_sent_s is None else max(begun_s, now_s - self.since_sent_s)


@dataclass(slots=True)
class Pace:
    """Rate limit of one name.

    `next_at_s` is in seconds of the frontier's clock. `floor_s` is a Crawl-delay. `failures` counts
    consecutive requests without response. `shares` is the number of processes that share the limit.
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
        """Current seconds between the starts of two requests."""
        minimum_s = max(self.rules.gap_s * self.shares, self.rules.busy_factor * self.average_s)
        slow_s = min(self.rules.gap_max_s, max(minimum_s, 1.0 if self.slowdown > 1 else 0.0))
        return max(self.floor_s, min(self.rules.gap_max_s, slow_s * self.slowdown))

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of requests is active."""
        return self.active >= max(1, self.rules.active_max // self.shares)

    def is_forgettable(self, now_s: float) -> bool:
        """Return whether the rate limit has no state worth remembering."""
        is_idle = self.active == 0 and self.next_at_s <= now_s and self.failures == 0
        return is_idle and self.slowdown < 1.05 and self.floor_s <= self.rules.gap_s

    def begin(self, now_s: float) -> None:
        """Record the start of a request."""
        self.active += 1
        self.next_at_s = max(self.next_at_s, now_s + self.gap_s)

    def end(self, answer: RequestOutcome, sent_s: float, now_s: float) -> None:
        """Record the end of a request that was sent at `sent_s`."""
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


# Queues for rate limits


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request that waits to start. `key` is the caller's and unique among waiting requests.

    `host` is a name without scheme and port. `domain` is its registered domain, and `address` is
    the IP address it would connect to.
    """

    key: Hashable
    host: str
    domain: str
    address: str


@dataclass(slots=True)
class HostQueue:
    """A host of a domain and its waiting requests."""

    name: str
    domain: DomainQueue
    pace: Pace
    line: deque[QueuedRequest] = field(default_factory=deque)
    is_ready: bool = False
    """Whether it is in the ready heap of its domain."""


@dataclass(slots=True)
class DomainQueue:
    """A domain and its hosts.

    `ready` is a heap of hosts with waiting requests that are not full, by ready time and order of
    arrival. `listed_s` is its valid entry in the frontier's heap. `is_parked` means that it waits
    in the queue of an address instead.
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
    """An IP address and the domains whose next request would go to it."""

    name: str
    pace: Pace
    line: deque[str] = field(default_factory=deque)
    listed_s: float | None = None


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Load of a host: number of waiting links, seconds until the next request, and gap between
    requests.
    """

    host: str
    waiting: int
    gap_s: float
    next_s: float = 0.0

    @property
    def duration_s(self) -> float:
        """Seconds until the last waiting link is requested."""
        return self.next_s + (self.waiting - 1) * self.gap_s
