"""Wrong keys are counted, by address and all together, and whoever showed too many waits."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

WINDOW_S = 300.0
PER_ADDRESS_MAX = 10
TOTAL_MAX = 300
ADDRESSES_MAX = 10_000
V6_NETWORK_BITS = 64


@dataclass(slots=True)
class FailedAttempts:
    """Wrong keys of the last five minutes. `clock` gives seconds that run forward. Safe for several threads.

    Beyond the bound for all only those wait who showed a wrong one themselves: nobody is locked out by
    what others do. At most ten thousand addresses are remembered, those of the last attempts.
    """

    clock: Callable[[], float]
    per_address_max: int = PER_ADDRESS_MAX
    total_max: int = TOTAL_MAX
    addresses_max: int = ADDRESSES_MAX
    _failures: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)
    _all_failures: deque[float] = field(default_factory=deque)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def get_wait_s(self, address: str) -> int:
        """How long this address has to wait before a key of it is looked at; 0: not at all."""
        name = group_address(address)
        with self._guard:
            now = self.clock()
            own = self._failures.get(name)
            if own is None:
                return 0
            _drop_expired(own, now)
            _drop_expired(self._all_failures, now)
            if not own:
                del self._failures[name]
                return 0
            over = len(own) >= self.per_address_max or len(self._all_failures) >= self.total_max
            first = (
                own[0]
                if len(own) >= self.per_address_max
                else self._all_failures[0]
                if over
                else now
            )
            return max(1, round(first + WINDOW_S - now)) if over else 0

    def record_failure(self, address: str) -> None:
        """Count a wrong key."""
        name = group_address(address)
        with self._guard:
            now = self.clock()
            own = self._failures.setdefault(name, deque(maxlen=self.per_address_max))
            self._failures.move_to_end(name)
            own.append(now)
            _drop_expired(self._all_failures, now)
            self._all_failures.append(now)
            if len(self._all_failures) > self.total_max:
                self._all_failures.popleft()
            while len(self._failures) > self.addresses_max:
                self._failures.popitem(last=False)


def group_address(address: str) -> str:
    """What is counted as one: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return f"v6:{int(found) >> (128 - V6_NETWORK_BITS):x}"
    return str(found)


def _drop_expired(times: deque[float], now: float) -> None:
    while times and times[0] + WINDOW_S <= now:
        times.popleft()
