"""What a host's robots.txt allows us, and for how long its answer holds.

Source: RFC 9309. A 429 is no answer of a robots.txt but a refusal to give one, and counts as unreachable.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from protego import Protego

from fonds.crawl.request_url import RequestUrl
from fonds.model.disposition import Reason

BYTES_MAX = 500 * 1024
REDIRECTS_MAX = 5
KEPT_S = 24 * 3600.0
UNREACHABLE_KEPT_S = 1800.0
CACHE_COUNT_MAX = 50_000
CACHE_MAX_BYTES = 64 * 2**20
_ALWAYS = "/robots.txt"
_PRODUCT_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")


@dataclass(frozen=True, slots=True)
class Robots:
    """`rules` None: everything is allowed, or nothing when it is `unreachable`, until `expires_s`; `reason`
    says what kind of reason that is."""

    expires_s: float
    rules: Protego | None = None
    unreachable: str = ""
    reason: Reason = Reason.ROBOTS_UNREACHABLE
    size_bytes: int = 0

    def allows(self, url: RequestUrl, agent: str) -> bool:
        """Whether an address may be asked for under the product token `agent`."""
        if url.target == _ALWAYS:
            return True
        if self.rules is None:
            return not self.unreachable
        return bool(self.rules.can_fetch(url.url, agent))

    def delay_s(self, agent: str) -> float:
        """The Crawl-delay, 0.0 without one."""
        return float((self.rules and self.rules.crawl_delay(agent)) or 0.0)


def robots_of(status: int, body: bytes, now_s: float) -> Robots:
    """What an answer to the request for robots.txt means; `body` is read up to 500 KiB.

    Any redirect that reaches here was one too many, and means what a 404 does.
    """
    if 200 <= status < 300:
        text = body[:BYTES_MAX].decode("utf-8-sig", "replace")
        return Robots(now_s + KEPT_S, Protego.parse(text), size_bytes=len(text))
    if status >= 500 or status == 429:
        return unreachable(f"its robots.txt answers {status}", now_s)
    return Robots(now_s + KEPT_S)


def unreachable(
    why: str,
    now_s: float,
    reason: Reason = Reason.ROBOTS_UNREACHABLE,
    kept_s: float = UNREACHABLE_KEPT_S,
) -> Robots:
    """Nothing is allowed: nobody knows what the host would allow; for `kept_s`."""
    return Robots(now_s + kept_s, unreachable=why, reason=reason)


def product_token(agent: str) -> str:
    """The name of a User-Agent as robots.txt files know it: letters, hyphens and underscores."""
    name = agent.split("/")[0].strip()
    return "".join(char for char in name if char in _PRODUCT_CHARS)


class RobotsCache:
    """What is known of hosts, the least recently asked forgotten first."""

    def __init__(self, count_max: int = CACHE_COUNT_MAX, bytes_max: int = CACHE_MAX_BYTES) -> None:
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._bytes = 0
        self._known: OrderedDict[str, Robots] = OrderedDict()

    def get(self, origin: str, now_s: float) -> Robots | None:
        """What holds now; None when it has to be asked for."""
        found = self._known.get(origin)
        if found is None or found.expires_s <= now_s:
            return None
        self._known.move_to_end(origin)
        return found

    def put(self, origin: str, robots: Robots) -> None:
        """Keep an answer."""
        self._forget(origin)
        self._known[origin] = robots
        self._bytes += robots.size_bytes
        while len(self._known) > self._count_max or self._bytes > self._bytes_max:
            self._forget(next(iter(self._known)))

    def __len__(self) -> int:
        return len(self._known)

    def _forget(self, origin: str) -> None:
        known = self._known.pop(origin, None)
        if known is not None:
            self._bytes -= known.size_bytes
