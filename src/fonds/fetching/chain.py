"""One address on its way through the web: what is wanted of it, where it is by now, and what it met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fonds.crawl.hosts import Turn
from fonds.crawl.outcomes import REFUSALS, retry_after_s
from fonds.crawl.pace import Answer
from fonds.crawl.request_url import RequestUrl, request_url
from fonds.crawl.robots import BYTES_MAX, REDIRECTS_MAX, Robots
from fonds.fetching.request import Ask, Failed, Received
from fonds.model.disposition import Disposition, Reason
from fonds.model.exchange import Headers, Hop
from fonds.model.link import TlsCheck
from fonds.model.secrets import Credentials

NO_CREDENTIALS = Credentials()
Refusal = Callable[[str], tuple[Reason, str] | None]
"""Why an address may not be fetched, with a sentence; None for one that may."""


def no_refusal(url: str) -> None:
    """Allow every address."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for, by whom it is told apart (`key`), and how.

    `known_at` is the address `conditional` headers speak of: no other is asked whether it has changed.
    `logins` are told to their own origins alone, wherever a redirect leads. `urgent`: of a source that is
    polled, whose domain another process then gives away for a moment. `refusal` judges each address a
    redirect leads to.
    """

    key: str
    url: RequestUrl
    body_max_bytes: int
    redirects_max: int
    accept: str = "*/*"
    conditional: Headers = ()
    known_at: str = ""
    tls: TlsCheck = TlsCheck.FULL
    logins: Credentials = NO_CREDENTIALS
    urgent: bool = False
    refusal: Refusal = no_refusal


@dataclass(frozen=True, slots=True)
class Arrived:
    """The answer at the end of all redirects, whatever its status, and the heads of all; `body` has its
    content codings. `after_s` is what Retry-After asks for, for a refusal. `robots` allowed the address that
    answered, `url`.
    """

    hops: tuple[Hop, ...]
    body: bytes
    after_s: float = 0.0
    url: RequestUrl | None = None
    robots: Robots | None = None


End = Arrived | Disposition | Exception
"""What came of it: an answer; or that it is refused for good, tried again or not asked yet, and why."""


@dataclass(slots=True)
class Chain:
    """`key` is its own among all. Of a robots.txt `origin` says whose it is, "" for what somebody wanted.
    `requested` has each address with the cookies it was requested with: once more can bring nothing else.
    `robots` is what allowed the address it is at."""

    key: int
    wanted: Wanted
    url: RequestUrl
    origin: str = ""
    addresses: Sequence[str] = ()
    hops: list[Hop] = field(default_factory=list)
    cookies: Sequence[str] = ()
    forgotten: bool = False
    requested: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)
    robots: Robots | None = None

    @property
    def is_robots(self) -> bool:
        """Whether it fetches a robots.txt."""
        return bool(self.origin)

    @property
    def turn(self) -> Turn:
        """Its next request, as it waits for its turn."""
        return Turn(self.key, self.url.host, self.url.domain, self.addresses[0])

    def for_robots(self, key: int, origin: str) -> Chain:
        """What fetches the robots.txt this one waits for, from where this one is asked."""
        url = request_url(f"{self.url.origin}/robots.txt")
        wanted = replace(
            self.wanted,
            body_max_bytes=BYTES_MAX + 1,
            redirects_max=REDIRECTS_MAX,
            accept="*/*",
            known_at="",
        )
        return Chain(key, wanted, url, origin, self.addresses)

    def is_loop(self, target: RequestUrl) -> bool:
        """Whether a redirect leads back to what was requested with the same cookies."""
        return (target.url, tuple(self.cookies)) in self.requested

    def ask(self, agent: str) -> Ask:
        """Its next request, as it is sent."""
        self.requested.add((self.url.url, tuple(self.cookies)))
        return Ask(
            self.url,
            self.addresses,
            agent,
            self.wanted.body_max_bytes,
            self._headers(),
            self.cookies,
            self.wanted.tls,
            partial=self.is_robots,
        )

    def _headers(self) -> Headers:
        found = [("Accept", self.wanted.accept)]
        login = self.wanted.logins.authorization(self.url.scheme, self.url.host, self.url.port)
        if login is not None:
            found.append(("Authorization", login))
        # What was kept under another address is no answer to whether this one has changed.
        if self.wanted.known_at == self.url.url:
            found += self.wanted.conditional
        return tuple(found)


def told_to_pace(end: Received | Failed) -> Answer:
    """How a request went, for the pace of its host."""
    if isinstance(end, Failed):
        return Answer(end.took_s, unreachable=end.unreachable, since_sent_s=0.0)
    after_s = retry_after_s(end.hop.get("retry-after"), end.hop.began_at)
    refused = end.hop.status in REFUSALS
    again_s = after_s if refused else 0.0
    return Answer(end.hop.took_s, refused, again_s, since_sent_s=end.since_sent_s)
