"""What waits of a host, a registered domain and an address, and at which pace each is asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from fonds.crawl.pace import Pace


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that waits for its turn. `key` is the caller's and unique among those that wait.

    `host` is a name, by whatever scheme and port it is asked. `domain` answers for it, `address` is the IP
    address it would go to.
    """

    key: Hashable
    host: str
    domain: str
    address: str


@dataclass(slots=True)
class Host:
    """One host of a domain, with the turns that wait for it."""

    name: str
    domain: Domain
    pace: Pace
    line: deque[Turn] = field(default_factory=deque)
    is_ready: bool = False
    """Whether it stands among the ready of its domain."""


@dataclass(slots=True)
class Domain:
    """`ready` is a heap of its hosts that have a line and are not full: from when on, and in which order
    they came. `listed_s` is its valid place in the frontier's heap; `parked` says that it stands in the
    line of an address instead.
    """

    name: str
    pace: Pace
    hosts: set[str] = field(default_factory=set)
    ready: list[tuple[float, int, str]] = field(default_factory=list)
    waiting: int = 0
    promised_s: float = 0.0
    listed_s: float | None = None
    parked: bool = False


@dataclass(slots=True)
class Address:
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
    def lasts_s(self) -> float:
        """How long they take in all."""
        return self.next_s + (self.waiting - 1) * self.gap_s
