"""Which request may start when: paces of hosts, domains and addresses, fair between all who wait.

A pure value but for its own state: time is given, in seconds of a clock that never goes back. A host waits
with its domain, a domain with the address its next host has; of all that may start, who has been ready for
longest starts first, however much others have waiting.

Bound: a request costs a few heap operations, whatever waits; names are forgotten when there are too many.
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
"""How many names are looked at when one is to be forgotten."""


@dataclass(frozen=True, slots=True)
class FrontierRules:
    """The paces of hosts, registered domains and addresses, and how much may wait.

    Of one domain at most `line_max` requests wait here; what has waited for `patience_s` seconds, or would
    have to, is sent back to come again later.
    """

    host: PaceRules
    domain: PaceRules
    address: PaceRules
    line_max: int = 50
    patience_s: float = 60.0
    names_max: int = NAMES_MAX


class Frontier:
    """Turns in, turns out when they may start. Not safe for several threads."""

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
        """How many turns wait."""
        return len(self._queued)

    @property
    def active_count(self) -> int:
        """How many have begun and not ended."""
        return len(self._begun)

    @property
    def remembered_count(self) -> int:
        """How many hosts, domains and addresses are remembered."""
        return len(self._hosts) + len(self._domains) + len(self._addresses)

    def offer(self, turn: QueuedRequest, now_s: float, *, urgent: bool = False) -> float:
        """Let a turn wait here: 0.0; or the seconds after which it is to come again.

        Those sent back are each given a time of their own. What is `urgent` (the next request of something
        begun) finds a place where the line is full, and goes before the rest of its host.
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
        """Up to `count_max` turns that begin now."""
        found: list[QueuedRequest] = []
        while len(found) < count_max and self._heap and self._heap[0][0] <= now_s:
            at_s, _, is_address, name = heappop(self._heap)
            turn = (
                self._take_from_address(name, at_s, now_s)
                if is_address
                else self._take_from_domain(name, at_s, now_s)
            )
            if turn is not None:
                found.append(turn)
        return found

    def get_wake_at_s(self) -> float | None:
        """When something may begin at the soonest; None while nothing waits that could."""
        return self._heap[0][0] if self._heap else None

    def finish(self, key: Hashable, answer: RequestOutcome, now_s: float) -> None:
        """What began is over; its host, domain and address are told how it went."""
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
        """Turns that have waited too long, or would have to, each with the seconds after which it is to come
        again; they wait here no more."""
        found, self._returned = self._returned, []
        while self._queued:
            turn, since_s = next(iter(self._queued.values()))
            if now_s - since_s < self.rules.patience_s:
                break
            self.withdraw(turn.key)
            found.append((turn, self._promise_wait_s(self._hosts[turn.host], now_s)))
        return found

    def withdraw(self, key: Hashable) -> None:
        """A turn that waits does so no more; again is harmless."""
        found = self._queued.pop(key, None)
        if found is not None:
            self._hosts[found[0].host].domain.waiting -= 1

    def list_loads(self, now_s: float) -> list[HostLoad]:
        """What waits here, by host."""
        found = []
        for host in self._hosts.values():
            if host.line:
                paces = (host.pace, host.domain.pace)
                gap_s, next_s = max(p.gap_s for p in paces), max(p.next_at_s for p in paces)
                found.append(HostLoad(host.name, len(host.line), gap_s, max(0.0, next_s - now_s)))
        return found

    def set_floor(self, host: str, domain: str, delay_s: float, now_s: float) -> None:
        """The host asks for this much time between requests; no more than the longest gap is given."""
        pace = self._get_host(host, domain, now_s).pace
        before_s = pace.gap_s
        pace.floor_s = min(max(0.0, delay_s), pace.rules.gap_max_s)
        # What was asked last, its robots.txt, counts as well.
        pace.next_at_s += max(0.0, pace.gap_s - before_s)

    def pause(self, domain: str, now_s: float) -> None:
        """Ask nothing of a domain for the longest gap of its hosts: somebody may have asked it just now."""
        own = self._get_domain(domain, now_s)
        gaps = [self._hosts[name].pace.gap_s for name in own.hosts]
        least_s = max((self.rules.host.gap_s, own.pace.gap_s, *gaps))
        own.pace.next_at_s = max(own.pace.next_at_s, now_s + least_s)

    def return_domain(self, domain: str, after_s: float) -> None:
        """Nobody waits here for a domain any more; each is to come again after so many seconds or later."""
        known = self._domains.get(domain)
        for name in known.hosts if known is not None else ():
            host = self._hosts[name]
            line = [turn for turn in host.line if turn.key in self._queued]
            host.line.clear()
            for turn in line:
                self.withdraw(turn.key)
            self._returned += [(turn, after_s) for turn in line]

    def set_share(self, address: str, count: int, now_s: float) -> None:
        """So many processes ask an address, this one among them."""
        self._get_address(address, now_s).pace.shares = count

    def is_needed(self, domain: str) -> bool:
        """Whether anything of a domain waits or has begun."""
        known = self._domains.get(domain)
        return known is not None and (known.waiting > 0 or known.pace.active > 0)

    def get_paces(self, domain: str) -> dict[str, Pace]:
        """What is remembered of a domain and its hosts, by name; the domain's own under ""."""
        known = self._domains.get(domain)
        if known is None:
            return {}
        return {"": known.pace} | {name: self._hosts[name].pace for name in known.hosts}

    def recall(self, domain: str, host: str, now_s: float) -> Pace:
        """The pace of a host, or of the domain where `host` is "", to be told what is known of it."""
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
                quiet = _select_forgettable(self._domains, now_s, lambda one: not one.hosts)
                for gone in quiet:
                    del self._domains[gone]
            domain = self._domains[name] = DomainQueue(name, Pace(self.rules.domain))
        self._domains.move_to_end(name)
        return domain

    def _get_address(self, name: str, now_s: float) -> AddressQueue:
        address = self._addresses.get(name)
        if address is None:
            if len(self._addresses) >= self.rules.names_max:
                for gone in _select_forgettable(self._addresses, now_s, lambda one: not one.line):
                    del self._addresses[gone]
            address = self._addresses[name] = AddressQueue(name, Pace(self.rules.address))
        self._addresses.move_to_end(name)
        return address

    def _drop_hosts(self, now_s: float) -> None:
        if len(self._hosts) >= self.rules.names_max:
            for gone in _select_forgettable(self._hosts, now_s, lambda one: not one.line):
                self._hosts.pop(gone).domain.hosts.discard(gone)

    def _make_ready(self, host: HostQueue, now_s: float) -> None:
        """Put a host that has a line among those of its domain that may be asked."""
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
        """Note when a domain may be asked, unless it is noted, full, or waits for an address."""
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
        """A turn of the domain that has waited longest for an address."""
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
        """The next turn of a domain, if it may begin now; the domain is noted for its next one."""
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
        """The host of a domain that has been ready for longest, taken from among the ready; None while the
        domain or all of them have to wait."""
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
        """Seconds until a turn would begin behind all that wait and were promised a time."""
        domain = host.domain
        gap_s = max(host.pace.gap_s, domain.pace.gap_s)
        free_s = max(now_s, host.pace.next_at_s, domain.pace.next_at_s) + domain.waiting * gap_s
        begins_s = max(free_s, domain.promised_s)
        domain.promised_s = begins_s + gap_s
        return max(begins_s - now_s, gap_s, 1.0)

    def _return_all(self, host: HostQueue, now_s: float) -> None:
        """Nobody waits here for a host that is far away."""
        line = [turn for turn in host.line if turn.key in self._queued]
        host.line.clear()
        for turn in line:
            self.withdraw(turn.key)
        self._returned += [(turn, self._promise_wait_s(host, now_s)) for turn in line]


def _select_forgettable(
    names: OrderedDict[str, Any], now_s: float, is_free: Callable[[Any], bool]
) -> list[str]:
    """Some names that were not asked for longest and mean nothing; else one that nobody needs now."""
    oldest = list(islice(names.items(), CANDIDATES_MAX))
    free = [(name, one) for name, one in oldest if is_free(one) and one.pace.active == 0]
    usual = [name for name, one in free if one.pace.is_forgettable(now_s)]
    for name, _ in oldest:
        names.move_to_end(name)
    return usual or [name for name, _ in free[:1]]
