"""Throttling of sign-in attempts: wrong keys are counted per address and in total."""

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
    """Wrong access keys of the last five minutes, by the IP address that sent them.

    They decide which addresses must wait before they may try the next key. An address waits after
    10 wrong keys of its own. After 300 wrong keys in total, each address with at least one of its
    own waits. Other addresses never wait, so nobody is locked out by others. At most 10,000
    addresses are remembered, those with the latest attempts.

    `clock` returns the time of a monotonic clock in seconds. Safe for several threads.
    """

    clock: Callable[[], float]
    per_address_max: int = PER_ADDRESS_MAX
    total_max: int = TOTAL_MAX
    addresses_max: int = ADDRESSES_MAX
    _failures: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)
    _all_failures: deque[float] = field(default_factory=deque)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def get_wait_s(self, address: str) -> int:
        """Return the seconds this address must wait before its next key is checked.

        Returns 0 if it need not wait.
        """
        name = group_address(address)
        with self._guard:
            now = self.clock()
            failures = self._failures.get(name)
            if failures is None:
                return 0
            _drop_expired(failures, now)
            _drop_expired(self._all_failures, now)
            if not failures:
                del self._failures[name]
                return 0
            is_blocked = (
                len(failures) >= self.per_address_max or len(self._all_failures) >= self.total_max
            )
            oldest_at = (
                failures[0]
                if len(failures) >= self.per_address_max
                else self._all_failures[0]
                if is_blocked
                else now
            )
            return max(1, round(oldest_at + WINDOW_S - now)) if is_blocked else 0

    def record_failure(self, address: str) -> None:
        """Count a wrong access key that was sent from this address."""
        name = group_address(address)
        with self._guard:
            now = self.clock()
            failures = self._failures.setdefault(name, deque(maxlen=self.per_address_max))
            self._failures.move_to_end(name)
            failures.append(now)
            _drop_expired(self._all_failures, now)
            self._all_failures.append(now)
            if len(self._all_failures) > self.total_max:
                self._all_failures.popleft()
            while len(self._failures) > self.addresses_max:
                self._failures.popitem(last=False)


def group_address(address: str) -> str:
    """Return the text under which wrong keys from an IP address are counted.

    All IPv6 addresses of one /64 network are counted together, each IPv4 address alone. Any text
    that is not an IP address is counted as `unknown`.
    """
    try:
        parsed_address = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed_address, IPv6Address):
        if parsed_address.ipv4_mapped is not None:
            return str(parsed_address.ipv4_mapped)
        return f"v6:{int(parsed_address) >> (128 - V6_NETWORK_BITS):x}"
    return str(parsed_address)


def _drop_expired(times: deque[float], now: float) -> None:
    while times and times[0] + WINDOW_S <= now:
        times.popleft()
