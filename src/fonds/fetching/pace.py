"""Rate limits of hosts, domains and IP addresses, and the queues of requests that wait for them.

Rate limits adapt to the server: slow responses and refusals make the delay between requests longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

SLOWDOWN_MAX = 64.0
SLOWDOWN_DECAY = 0.8
"""Factor by which each response that is not a refusal reduces the slowdown of a host."""
AVERAGE_SHARE = 0.25
"""Weight of the newest response in the average response time."""
UNREACHABLE_FIRST_S = 60.0


@dataclass(frozen=True, slots=True)
class PaceRules:
    """Settings of a rate limit.

    - `gap_s`: minimum seconds between the starts of two requests.
    - `gap_max_s`: maximum seconds to which refusals and slow responses extend this gap.
    - `busy_factor`: the gap is at least this factor times the average response time, so that Fonds
      alone never keeps a server busy.
    - `active_max`: maximum number of concurrent requests.
    """

    gap_s: float
    gap_max_s: float = 3600.0
    busy_factor: float = 1.0
    active_max: int = 1


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """Outcome of a request, from which the rate limit of its host is updated.

    - `took_s`: duration of the request in seconds.
    - `is_refused`: whether the status was 429 or 503.
    - `retry_after_s`: seconds that such a response asks to wait; 0.0 for none.
    - `is_unreachable`: whether there was no response.
    - `since_sent_s`: seconds from sending the request until its end. None if unknown; the request
      then counts as sent when it started.
    """

    took_s: float = 0.0
    is_refused: bool = False
    retry_after_s: float = 0.0
    is_unreachable: bool = False
    since_sent_s: float | None = None

    def compute_sent_s(self, begun_s: float, now_s: float) -> float:
        """Return the time at which a request was sent. `begun_s` is the time at which it started,
        `now_s` the time at which it ended.

        Resolving and connecting can take a while before a request is sent. The delay until the next
        request counts from sending.
        """
        return begun_s if self.since_sent_s is None else max(begun_s, now_s - self.since_sent_s)


@dataclass(slots=True)
class Pace:
    """Rate limit of one host, domain or IP address, with its current state.

    - `rules`: settings of the rate limit.
    - `next_at_s`: earliest start of the next request, in seconds of the frontier's clock.
    - `average_s`: average response time in seconds.
    - `slowdown`: factor by which refusals extend the gap between requests; 1 for no extension.
    - `floor_s`: minimum gap in seconds that robots.txt states (Crawl-delay).
    - `failures`: number of consecutive requests without response.
    - `active`: number of active requests.
    - `shares`: number of processes that share the rate limit.
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
        """Current minimum seconds between the starts of two requests."""
        minimum_s = max(self.rules.gap_s * self.shares, self.rules.busy_factor * self.average_s)
        slow_s = min(self.rules.gap_max_s, max(minimum_s, 1.0 if self.slowdown > 1 else 0.0))
        return max(self.floor_s, min(self.rules.gap_max_s, slow_s * self.slowdown))

    @property
    def is_full(self) -> bool:
        """Whether this process has as many active requests as the rate limit allows it at once."""
        return self.active >= max(1, self.rules.active_max // self.shares)

    def is_forgettable(self, now_s: float) -> bool:
        """Return whether the rate limit is in its initial state, so that it can be dropped from
        memory without loss.
        """
        is_idle = self.active == 0 and self.next_at_s <= now_s and self.failures == 0
        return is_idle and self.slowdown < 1.05 and self.floor_s <= self.rules.gap_s

    def begin(self, now_s: float) -> None:
        """Record the start of a request, and delay the next one."""
        self.active += 1
        self.next_at_s = max(self.next_at_s, now_s + self.gap_s)

    def end(self, answer: RequestOutcome, sent_s: float, now_s: float) -> None:
        """Record the end of a request that was sent at `sent_s`, and set the earliest start of the
        next request by its outcome.
        """
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
    """Request that waits for its rate limits.

    - `key`: key of the request, chosen by the caller and unique among unfinished requests.
    - `host`: host name without scheme and port.
    - `domain`: registered domain of the host.
    - `address`: IP address to connect to.
    """

    key: Hashable
    host: str
    domain: str
    address: str


@dataclass(slots=True)
class HostQueue:
    """Queue of the waiting requests of one host."""

    name: str
    domain: DomainQueue
    pace: Pace
    line: deque[QueuedRequest] = field(default_factory=deque)
    is_ready: bool = False
    """Whether the host is in the heap of ready hosts of its domain."""


@dataclass(slots=True)
class DomainQueue:
    """Queue of the hosts of one domain. Times are in seconds of the frontier's clock.

    - `hosts`: names of the domain's hosts in memory, with and without waiting requests.
    - `ready`: heap of the hosts with waiting requests, ordered by the time when the host's next
      request may start, then by arrival.
    - `waiting`: number of waiting requests of all hosts.
    - `promised_s`: time up to which retry times were given to rejected requests. The next rejected
      request gets a later time.
    - `listed_s`: time of the domain's current entry in the frontier's heap; None if it has none.
      Entries with other times are outdated.
    - `is_parked`: whether the domain waits in the queue of an IP address.
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
    """Queue of the domains whose next request would go to one IP address."""

    name: str
    pace: Pace
    line: deque[str] = field(default_factory=deque)
    listed_s: float | None = None


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Waiting requests of one host.

    - `waiting`: number of waiting requests.
    - `gap_s`: minimum seconds between two requests.
    - `next_s`: seconds until the next request may start.
    """

    host: str
    waiting: int
    gap_s: float
    next_s: float = 0.0

    @property
    def duration_s(self) -> float:
        """Seconds until the last waiting request of the host may start."""
        return self.next_s + (self.waiting - 1) * self.gap_s
