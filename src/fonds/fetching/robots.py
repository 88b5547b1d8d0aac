"""Rules of a host's robots.txt that apply to Fonds, and how long the rules are valid.

`rights/robots_txt.py` selects the group of the file that applies to Fonds, and the library Protego
matches its rules. If a robots.txt has the HTTP status 429, or a body that cannot be decoded, it
counts as unreachable, as with a status of 500 or more.

Source: RFC 9309.

Limits: only the first 500 KiB of the decoded text are used.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

from protego import Protego

from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.exchange import Hop, HttpHead
from fonds.model.rights import Rights, RobotsInForce
from fonds.rights.robots_txt import DISALLOW, NO_RULES, RobotsRules, parse_robots_rules
from fonds.text.coding import (
    decode_start,
    is_packed,
    list_codings,
    list_unknown_codings,
)
from fonds.urls.request_url import RequestUrl

MAX_BYTES = 500 * 1024
REDIRECTS_MAX = 5
CACHE_S = 24 * 3600.0
UNREACHABLE_CACHE_S = 1800.0
CACHE_COUNT_MAX = 50_000
CACHE_MAX_BYTES = 64 * 2**20
_ALWAYS = "/robots.txt"
_ANY_AGENT = "*"
_PRODUCT_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")


@dataclass(frozen=True, slots=True)
class Robots:
    """Rules of one host's robots.txt that apply to Fonds.

    - `expires_s`: time until which the rules are valid, in seconds of the scheduler's clock.
    - `rules`: parsed rules. If None, everything is allowed, or nothing if `unreachable` is not "".
    - `unreachable`: message that says why robots.txt could not be read; "" if it was read.
    - `reason`: reason code of the links that are not fetched because robots.txt is unreachable.
    - `size_bytes`: size of this object in memory.
    - `group`: group of rules in the file that applies to Fonds, as written.
    - `hops`: the requests for the file in order, redirects first, with the head of each response.
    - `body`: body of the last response before content decoding; b"" if the file was too long and
      was cut.
    """

    expires_s: float
    rules: Protego | None = None
    unreachable: str = ""
    reason: Reason = Reason.ROBOTS_UNREACHABLE
    size_bytes: int = 0
    group: RobotsRules = NO_RULES
    hops: tuple[Hop, ...] = ()
    body: bytes = b""

    @property
    def url(self) -> str:
        """URL of the robots.txt before redirects; "" if it was not requested."""
        return self.hops[0].url if self.hops else ""

    @property
    def is_kept(self) -> bool:
        """Whether the server sent a robots.txt that is to be stored in the archive."""
        return bool(self.body) and 200 <= self.hops[-1].status < 300

    def build_rights(self, url: RequestUrl, capture_id: str | None) -> Rights | None:
        """Build the record of what robots.txt states for a URL; None if robots.txt was not
        requested.

        `capture_id` is the id of the archived robots.txt; None if it was not archived.
        """
        if not self.hops:
            return None
        rule = self.group.find_rule(url.target)
        # Protego decides. If it reads a pattern differently, no rule is named.
        rule = "" if rule.startswith(DISALLOW) == self.allows(url) else rule
        robots = RobotsInForce(self.url, str(self.hops[-1].status), capture_id, rule)
        return Rights(robots, self.group.find_statements(url.target))

    def allows(self, url: RequestUrl) -> bool:
        """Return whether robots.txt allows a URL to be fetched."""
        if url.target == _ALWAYS:
            return True
        if self.rules is None:
            return not self.unreachable
        return bool(self.rules.can_fetch(url.url, _ANY_AGENT))

    @property
    def delay_s(self) -> float:
        """Crawl-delay in seconds; 0.0 if robots.txt has none."""
        return float((self.rules and self.rules.crawl_delay(_ANY_AGENT)) or 0.0)


def parse_robots_response(http: HttpHead, body: bytes, token: str, now_s: float) -> Robots:
    """Parse the response to a request for robots.txt.

    `token` is the product token of the User-Agent.

    `body` has its content codings. A body with one byte more than `MAX_BYTES` was cut. A response
    that is a redirect exceeds the maximum number of redirects and is treated as status 404.
    """
    status = http.status
    if status >= 500 or status == 429:
        return build_unreachable(f"robots.txt returned {status}", now_s)
    if not 200 <= status < 300:
        return Robots(now_s + CACHE_S)
    try:
        text = _decode_body(http, body)
    except (PermanentError, UnicodeDecodeError) as error:
        return build_unreachable(f"cannot decode robots.txt: {error}", now_s)
    group = parse_robots_rules(text, token)
    return Robots(now_s + CACHE_S, Protego.parse(group.text), size_bytes=len(text), group=group)


def attach_response(robots: Robots, hops: tuple[Hop, ...], body: bytes) -> Robots:
    """Return robots.txt rules with the requests and response body from which they were read. A body
    that was cut is omitted.
    """
    complete_body = body if len(body) <= MAX_BYTES else b""
    return replace(
        robots, hops=hops, body=complete_body, size_bytes=robots.size_bytes + len(complete_body)
    )


def _decode_body(http: HttpHead, body: bytes) -> str:
    """Return the text of a robots.txt from the body of its response.

    If the body was cut, its incomplete last line is omitted. Raises PermanentError or
    UnicodeDecodeError if the body cannot be decoded.
    """
    is_cut = len(body) > MAX_BYTES
    codings = list_codings(http)
    start = decode_start(body, codings, size_max=MAX_BYTES + 1, is_cut=is_cut)
    if is_packed(start):
        raise PermanentError(
            Reason.BAD_ENCODING, ("it is compressed, but its headers do not say how")
        )
    if unknown_codings := list_unknown_codings(http):
        # Some servers name codings that do not exist but send plain text.
        try:
            start[:MAX_BYTES].decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"unknown content coding {unknown_codings[0][:50]!r}"
            raise PermanentError(Reason.BAD_ENCODING, message) from error
    if is_cut and codings:
        start = _keep_whole_lines(start)
    return decode_robots_text(start)


def decode_robots_text(body: bytes) -> str:
    """Return the text of the first `MAX_BYTES` bytes of a robots.txt. If it is longer, the
    incomplete last line is omitted.
    """
    start = body[: MAX_BYTES + 1]
    if len(start) > MAX_BYTES:
        start = _keep_whole_lines(start)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return start.decode("utf-16", "replace")
    return start.decode("utf-8-sig", "replace")


def _keep_whole_lines(start: bytes) -> bytes:
    """Return the first `MAX_BYTES` bytes of a robots.txt without the incomplete last line, unless
    only a comment is incomplete.
    """
    text = start[:MAX_BYTES]
    if start[MAX_BYTES : MAX_BYTES + 1] in (b"\r", b"\n"):
        return text
    line_at = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    return text if b"#" in text[line_at:] else text[:line_at]


def build_unreachable(
    cause: str,
    now_s: float,
    reason: Reason = Reason.ROBOTS_UNREACHABLE,
    cache_s: float = UNREACHABLE_CACHE_S,
) -> Robots:
    """Build the rules for a host whose robots.txt cannot be read. Nothing may be fetched for
    `cache_s` seconds.

    - `cause`: sentence that says why it cannot be read.
    - `reason`: reason code of the links that are therefore not fetched.
    """
    return Robots(now_s + cache_s, unreachable=cause, reason=reason)


def parse_product_token(agent: str) -> str:
    """Return the name of the crawler in a User-Agent (product token), as used in robots.txt:
    letters, hyphens and underscores.
    """
    name = agent.split("/")[0].strip()
    return "".join(char for char in name if char in _PRODUCT_CHARS)


class RobotsCache:
    """Cache of robots.txt rules by origin. The least recently used rules are dropped first."""

    def __init__(self, count_max: int = CACHE_COUNT_MAX, max_bytes: int = CACHE_MAX_BYTES) -> None:
        self._count_max = count_max
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[str, Robots] = OrderedDict()

    def get(self, origin: str, now_s: float) -> Robots | None:
        """Return the cached rules of an origin if they are still valid; otherwise None."""
        robots = self._entries.get(origin)
        if robots is None or robots.expires_s <= now_s:
            return None
        self._entries.move_to_end(origin)
        return robots

    def put(self, origin: str, robots: Robots) -> None:
        """Store the rules of an origin in the cache, and drop others if the cache is too large."""
        self._drop(origin)
        self._entries[origin] = robots
        self._bytes += robots.size_bytes
        while len(self._entries) > self._count_max or self._bytes > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def __len__(self) -> int:
        return len(self._entries)

    def _drop(self, origin: str) -> None:
        robots = self._entries.pop(origin, None)
        if robots is not None:
            self._bytes -= robots.size_bytes
