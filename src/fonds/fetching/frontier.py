"""Schedule requests by the rate limits of hosts, domains and IP addresses, fairly between hosts.

The module has no clock and no I/O: callers pass monotonic times in seconds. A host waits in the
queue of its domain. A domain waits in the queue of the IP address of its next host. Of all requests
that may start, the one whose host has been ready for longest starts first, even if other hosts have
many more requests waiting.

Limits: a request costs a few heap operations, whatever the number of waiting requests. If there are
too many hosts, domains or addresses, the rate limits of unused ones are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from typing import Any

from fonds.fetching.pace import (
    AddressQueue,
    DomainQueue,
    HostLoad,
    HostQueue,
    Pace,
    PaceRules,
    QueuedRequest,
    RequestOutcome,
)

NAMES_MAX = 100_000
CANDIDATES_MAX = 16
"""Number of least recently used hosts, domains or addresses examined to drop unused rate limits."""


@dataclass(frozen=True, slots=True)
class FrontierRules:
    """Rate limits and queue limits of the frontier.

    - `host`, `domain`, `address`: rate limit settings for each host, each registered domain and
      each IP address.
    - `line_max`: maximum number of waiting requests per domain.
    - `patience_s`: maximum seconds that a request may wait. A request that would wait longer is
      sent back to its caller for a retry.
    - `names_max`: maximum number of hosts in memory, and the same of domains and of addresses.
    """

    host: PaceRules
    domain: PaceRules
    address: PaceRules
    line_max: int = 50
    patience_s: float = 60.0
    names_max: int = NAMES_MAX


class Frontier:
    """Queue of requests that releases each request when its rate limits allow it.

    Not thread-safe.
    """

    def __init__(self, rules: FrontierRules) -> None:
        self.rules = rules
        self._hosts: OrderedDict[str, HostQueue] = OrderedDict()
        self._domains: OrderedDict[str, DomainQueue] = OrderedDict()
        self._addresses: OrderedDict[str, AddressQueue] = OrderedDict()
        self._heap: list[tuple[float, int, bool, str]] = []
        self._count = 0
        self._queued: OrderedDict[Hashable, tuple[QueuedRequest, float]] = OrderedDict()
        self._begun: dict[Hashable, tuple[QueuedRequest, float]] = {}
        self._returned: list[tuple[QueuedRequest, float]] = []

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait in the frontier."""
        return len(self._queued)

    @property
    def active_count(self) -> int:
        """Number of requests that the frontier has started and that have not finished."""
        return len(self._begun)

    @property
    def remembered_count(self) -> int:
        """Number of hosts, domains and IP addresses whose rate limits are in memory."""
        return len(self._hosts) + len(self._domains) + len(self._addresses)

    def offer(self, turn: QueuedRequest, now_s: float, *, urgent: bool = False) -> float:
        """Queue a request and return 0.0, or reject it and return the seconds until it may be
        retried.

        Each rejected request of a domain gets a different time. With `urgent`, the request ignores
        the maximum length of the queue and precedes other requests of its host. This is for
        redirect chains that have begun, robots.txt and polls.
        """
        host = self._get_host(turn.host, turn.domain, now_s)
        domain = host.domain
        is_full = domain.waiting >= self.rules.line_max and not urgent
        free_s = max(host.pace.next_at_s, domain.pace.next_at_s)
        if is_full or free_s - now_s > self.rules.patience_s:
            return self._promise_wait_s(host, now_s)
        self._drop_withdrawn(host)
        (host.line.appendleft if urgent else host.line.append)(turn)
        domain.waiting += 1
        self._queued[turn.key] = (turn, now_s)
        self._make_ready(host, now_s)
        return 0.0

    def start(self, now_s: float, count_max: int) -> list[QueuedRequest]:
        """Start up to `count_max` requests that the rate limits allow now. They count as active
        until `finish` is called.
        """
        started_requests: list[QueuedRequest] = []
        while len(started_requests) < count_max and self._heap and self._heap[0][0] <= now_s:
            at_s, _, is_address, name = heappop(self._heap)
            turn = (
                self._take_from_address(name, at_s, now_s)
                if is_address
                else self._take_from_domain(name, at_s, now_s)
            )
            if turn is not None:
                started_requests.append(turn)
        return started_requests

    def get_wake_at_s(self) -> float | None:
        """Return the earliest time (s) at which a request may start; None if none is scheduled."""
        return self._heap[0][0] if self._heap else None

    def finish(self, key: Hashable, answer: RequestOutcome, now_s: float) -> None:
        """End an active request, and update the rate limits of its host, domain and IP address."""
        turn, begun_s = self._begun.pop(key)
        host, address = self._hosts[turn.host], self._addresses[turn.address]
        sent_s = answer.compute_sent_s(begun_s, now_s)
        host.pace.end(answer, sent_s, now_s)
        host.domain.pace.end(RequestOutcome(is_refused=answer.is_refused), sent_s, now_s)
        address.pace.end(RequestOutcome(), sent_s, now_s)
        if host.pace.next_at_s - now_s > self.rules.patience_s:
            self._return_all(host, now_s)
        self._make_ready(host, now_s)
        self._list(host.domain, now_s)
        self._list_address(address, now_s)

    def take_late(self, now_s: float) -> list[tuple[QueuedRequest, float]]:
        """Remove the requests that have waited too long, and those that were sent back because
        their host or domain must wait.

        Return each of them with the seconds until it may be retried.
        """
        late, self._returned = self._returned, []
        while self._queued:
            turn, since_s = next(iter(self._queued.values()))
            if now_s - since_s < self.rules.patience_s:
                break
            self.withdraw(turn.key)
            late.append((turn, self._promise_wait_s(self._hosts[turn.host], now_s)))
        return late

    def withdraw(self, key: Hashable) -> None:
        """Remove a waiting request. Unknown keys are ignored."""
        queued_entry = self._queued.pop(key, None)
        if queued_entry is not None:
            self._hosts[queued_entry[0].host].domain.waiting -= 1

    def list_loads(self, now_s: float) -> list[HostLoad]:
        """Return the number of waiting requests and the delay of each host that has waiting
        requests.
        """
        loads = []
        for host in self._hosts.values():
            if host.line:
                paces = (host.pace, host.domain.pace)
                gap_s, next_s = max(p.gap_s for p in paces), max(p.next_at_s for p in paces)
                loads.append(HostLoad(host.name, len(host.line), gap_s, max(0.0, next_s - now_s)))
        return loads

    def set_floor(self, host: str, domain: str, delay_s: float, now_s: float) -> None:
        """Set the minimum delay between requests that a host's robots.txt states (Crawl-delay). It
        is limited to the maximum delay in the settings.
        """
        pace = self._get_host(host, domain, now_s).pace
        before_s = pace.gap_s
        pace.floor_s = min(max(0.0, delay_s), pace.rules.gap_max_s)
        # It also applies to the last request, which fetched robots.txt.
        pace.next_at_s += max(0.0, pace.gap_s - before_s)

    def pause(self, domain: str, now_s: float) -> None:
        """Send no request to a domain for the longest delay between requests of its hosts.

        Used after another process had the domain, because it may have sent a request just before.
        """
        queue = self._get_domain(domain, now_s)
        gaps = [self._hosts[name].pace.gap_s for name in queue.hosts]
        minimum_s = max((self.rules.host.gap_s, queue.pace.gap_s, *gaps))
        queue.pace.next_at_s = max(queue.pace.next_at_s, now_s + minimum_s)

    def return_domain(self, domain: str, after_s: float) -> None:
        """Send back all waiting requests of a domain, to be retried after at least `after_s`
        seconds.
        """
        queue = self._domains.get(domain)
        for name in queue.hosts if queue is not None else ():
            host = self._hosts[name]
            line = [turn for turn in host.line if turn.key in self._queued]
            host.line.clear()
            for turn in line:
                self.withdraw(turn.key)
            self._returned += [(turn, after_s) for turn in line]

    def set_share(self, address: str, count: int, now_s: float) -> None:
        """Set the number of processes, including this one, that share the rate limit of an IP
        address.
        """
        self._get_address(address, now_s).pace.shares = count

    def is_needed(self, domain: str) -> bool:
        """Return whether a domain has waiting or active requests in the frontier."""
        queue = self._domains.get(domain)
        return queue is not None and (queue.waiting > 0 or queue.pace.active > 0)

    def get_paces(self, domain: str) -> dict[str, Pace]:
        """Return the rate limits of a domain's hosts by host name; the domain's own rate limit is
        under "".
        """
        queue = self._domains.get(domain)
        if queue is None:
            return {}
        return {"": queue.pace} | {name: self._hosts[name].pace for name in queue.hosts}

    def recall(self, domain: str, host: str, now_s: float) -> Pace:
        """Return the rate limit object of a host, so that stored values can be restored into it.

        If `host` is "", return the rate limit of the domain.
        """
        return (
            self._get_host(host, domain, now_s).pace
            if host
            else self._get_domain(domain, now_s).pace
        )

    def _get_host(self, name: str, domain: str, now_s: float) -> HostQueue:
        host = self._hosts.get(name)
        if host is None:
            owner = self._get_domain(domain, now_s)
            self._drop_hosts(now_s)
            host = self._hosts[name] = HostQueue(name, owner, Pace(self.rules.host))
            owner.hosts.add(name)
        self._hosts.move_to_end(name)
        return host

    def _get_domain(self, name: str, now_s: float) -> DomainQueue:
        domain = self._domains.get(name)
        if domain is None:
            if len(self._domains) >= self.rules.names_max:
                forgettable = _select_forgettable(self._domains, now_s, lambda pace: not pace.hosts)
                for name_to_drop in forgettable:
                    del self._domains[name_to_drop]
            domain = self._domains[name] = DomainQueue(name, Pace(self.rules.domain))
        self._domains.move_to_end(name)
        return domain

    def _get_address(self, name: str, now_s: float) -> AddressQueue:
        address = self._addresses.get(name)
        if address is None:
            if len(self._addresses) >= self.rules.names_max:
                for name_to_drop in _select_forgettable(
                    self._addresses, now_s, lambda pace: not pace.line
                ):
                    del self._addresses[name_to_drop]
            address = self._addresses[name] = AddressQueue(name, Pace(self.rules.address))
        self._addresses.move_to_end(name)
        return address

    def _drop_hosts(self, now_s: float) -> None:
        if len(self._hosts) >= self.rules.names_max:
            for name_to_drop in _select_forgettable(self._hosts, now_s, lambda pace: not pace.line):
                self._hosts.pop(name_to_drop).domain.hosts.discard(name_to_drop)

    def _make_ready(self, host: HostQueue, now_s: float) -> None:
        """Add a host with waiting requests to the heap of ready hosts of its domain."""
        self._drop_withdrawn(host)
        if host.line and not host.is_ready and not host.pace.is_full:
            host.is_ready = True
            self._count += 1
            heappush(host.domain.ready, (host.pace.next_at_s, self._count, host.name))
            self._list(host.domain, now_s)

    def _drop_withdrawn(self, host: HostQueue) -> None:
        while host.line and host.line[0].key not in self._queued:
            host.line.popleft()

    def _list(self, domain: DomainQueue, now_s: float) -> None:
        """Add a domain to the frontier's heap at the time when its next request may start.

        Nothing happens if it has no ready host, has too many active requests, or waits for an IP
        address, or if it is in the heap for an earlier time.
        """
        if not domain.ready or domain.is_parked or domain.pace.is_full:
            return
        at_s = max(now_s, domain.pace.next_at_s, domain.ready[0][0])
        if domain.listed_s is None or at_s < domain.listed_s:
            domain.listed_s = at_s
            self._schedule(at_s, domain.name, is_address=False)

    def _list_address(self, address: AddressQueue, now_s: float) -> None:
        if address.line and not address.pace.is_full and address.listed_s is None:
            address.listed_s = max(now_s, address.pace.next_at_s)
            self._schedule(address.listed_s, address.name, is_address=True)

    def _schedule(self, at_s: float, name: str, *, is_address: bool) -> None:
        self._count += 1
        heappush(self._heap, (at_s, self._count, is_address, name))

    def _take_from_address(self, name: str, at_s: float, now_s: float) -> QueuedRequest | None:
        """Start a request of the domain that has waited longest for an IP address; None if none may
        start.
        """
        address = self._addresses.get(name)
        if address is None or address.listed_s != at_s:
            return None
        address.listed_s = None
        turn = None
        if address.line and not address.pace.is_full and address.pace.next_at_s <= now_s:
            domain = self._domains[address.line.popleft()]
            domain.is_parked = False
            turn = self._begin(domain, now_s)
        self._list_address(address, now_s)
        return turn

    def _take_from_domain(self, name: str, at_s: float, now_s: float) -> QueuedRequest | None:
        domain = self._domains.get(name)
        if domain is None or domain.listed_s != at_s:
            return None
        domain.listed_s = None
        return None if domain.is_parked else self._begin(domain, now_s)

    def _begin(self, domain: DomainQueue, now_s: float) -> QueuedRequest | None:
        """Start the next request of a domain if it may start now, and schedule the domain again.

        Return the request, or None.
        """
        turn = None
        host = self._take_ready_host(domain, now_s)
        if host is not None:
            address = self._get_address(host.line[0].address, now_s)
            if address.pace.is_full or address.pace.next_at_s > now_s:
                domain.is_parked = True
                self._make_ready(host, now_s)
                address.line.append(domain.name)
                self._list_address(address, now_s)
                return None
            turn = host.line.popleft()
            self.withdraw(turn.key)
            for pace in (host.pace, domain.pace, address.pace):
                pace.begin(now_s)
            self._begun[turn.key] = (turn, now_s)
            self._make_ready(host, now_s)
        self._list(domain, now_s)
        return turn

    def _take_ready_host(self, domain: DomainQueue, now_s: float) -> HostQueue | None:
        """Remove and return the host of a domain that has been ready for longest.

        Return None while the domain or all its hosts must wait.
        """
        if domain.pace.is_full or domain.pace.next_at_s > now_s:
            return None
        while domain.ready and domain.ready[0][0] <= now_s:
            _, _, name = heappop(domain.ready)
            host = self._hosts.get(name)
            if host is None:
                continue
            host.is_ready = False
            self._drop_withdrawn(host)
            if host.line and not host.pace.is_full and host.pace.next_at_s <= now_s:
                return host
            self._make_ready(host, now_s)
        return None

    def _promise_wait_s(self, host: HostQueue, now_s: float) -> float:
        """Return the seconds after which a rejected request of a host may be retried.

        That is when it would start after all waiting requests of the domain. The time is reserved,
        so that the next rejected request gets a later one.
        """
        domain = host.domain
        gap_s = max(host.pace.gap_s, domain.pace.gap_s)
        free_s = max(now_s, host.pace.next_at_s, domain.pace.next_at_s) + domain.waiting * gap_s
        begins_s = max(free_s, domain.promised_s)
        domain.promised_s = begins_s + gap_s
        return max(begins_s - now_s, gap_s, 1.0)

    def _return_all(self, host: HostQueue, now_s: float) -> None:
        """Send back all waiting requests of a host, because the host must wait too long.
        `take_late` returns them.
        """
        line = [turn for turn in host.line if turn.key in self._queued]
        host.line.clear()
        for turn in line:
            self.withdraw(turn.key)
        self._returned += [(turn, self._promise_wait_s(host, now_s)) for turn in line]


def _select_forgettable(
    names: OrderedDict[str, Any], now_s: float, is_free: Callable[[Any], bool]
) -> list[str]:
    """Return names of hosts, domains or IP addresses whose rate limits can be dropped from memory,
    least recently used first.

    The names are unused, and their rate limits have no state worth keeping. If there are no such
    names, one unused name is returned. Only the least recently used names are examined. `is_free`
    returns whether the queue of a name is empty.
    """
    oldest = list(islice(names.items(), CANDIDATES_MAX))
    unused_queues = [
        (name, queue) for name, queue in oldest if is_free(queue) and queue.pace.active == 0
    ]
    forgettable = [name for name, queue in unused_queues if queue.pace.is_forgettable(now_s)]
    for name, _ in oldest:
        names.move_to_end(name)
    return forgettable or [name for name, _ in unused_queues[:1]]
