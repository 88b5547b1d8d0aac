"""One address on its way through the web: what is wanted of it, where it is by now, and what it met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fonds.fetching.outcomes import REFUSALS, retry_after_s
from fonds.fetching.pace import QueuedRequest, RequestOutcome
from fonds.fetching.request import HttpRequest, HttpResponse, RequestFailure
from fonds.fetching.robots import MAX_BYTES, REDIRECTS_MAX, Robots
from fonds.model.disposition import Disposition, Reason
from fonds.model.entry import TlsCheck
from fonds.model.exchange import Headers, Hop
from fonds.model.secrets import Credentials
from fonds.urls.request_url import RequestUrl, parse_request_url

NO_CREDENTIALS = Credentials()
Refusal = Callable[[str], tuple[Reason, str] | None]
"""Why an address may not be fetched, with a sentence; None for one that may."""


def allow_any_url(url: str) -> None:
    """Allow every address."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What is asked for, by whom it is told apart (`key`), and how.

    `cached_url` is the address `conditional` headers speak of: no other is asked whether it has changed.
    `logins` are told to their own origins alone, wherever a redirect leads. `is_urgent`: of a source that is
    polled, whose domain another process then gives away for a moment. `refusal` judges each address a
    redirect leads to.
    """

    key: str
    url: RequestUrl
    body_max_bytes: int
    redirects_max: int
    accept: str = "*/*"
    conditional: Headers = ()
    cached_url: str = ""
    tls: TlsCheck = TlsCheck.FULL
    logins: Credentials = NO_CREDENTIALS
    is_urgent: bool = False
    refusal: Refusal = allow_any_url


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """The answer at the end of all redirects, whatever its status, and the heads of all; `body` has its
    content codings. `after_s` is what Retry-After asks for, for a refusal. `robots` allowed the address that
    answered, `url`.
    """

    hops: tuple[Hop, ...]
    body: bytes
    after_s: float = 0.0
    url: RequestUrl | None = None
    robots: Robots | None = None


FetchOutcome = FetchResponse | Disposition | Exception
"""What came of it: an answer; or that it is refused for good, tried again or not asked yet, and why."""


@dataclass(slots=True)
class RedirectChain:
    """`key` is its own among all. Of a robots.txt `origin` says whose it is, "" for what somebody wanted.
    `requested_urls` has each address with the cookies it was requested with: once more can bring nothing
    else. `robots` is what allowed the address it is at."""

    key: int
    request: FetchRequest
    url: RequestUrl
    origin: str = ""
    addresses: Sequence[str] = ()
    hops: list[Hop] = field(default_factory=list)
    cookies: Sequence[str] = ()
    is_forgotten: bool = False
    requested_urls: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)
    robots: Robots | None = None

    @property
    def is_robots(self) -> bool:
        """Whether it fetches a robots.txt."""
        return bool(self.origin)

    @property
    def queued_request(self) -> QueuedRequest:
        """Its next request, as it waits for its turn."""
        return QueuedRequest(self.key, self.url.host, self.url.domain, self.addresses[0])

    def build_robots_chain(self, key: int, origin: str) -> RedirectChain:
        """What fetches the robots.txt this one waits for, from where this one is asked."""
        url = parse_request_url(f"{self.url.origin}/robots.txt")
        wanted = replace(
            self.request,
            body_max_bytes=MAX_BYTES + 1,
            redirects_max=REDIRECTS_MAX,
            accept="*/*",
            cached_url="",
        )
        return RedirectChain(key, wanted, url, origin, self.addresses)

    def is_loop(self, target: RequestUrl) -> bool:
        """Whether a redirect leads back to what was requested with the same cookies."""
        return (target.url, tuple(self.cookies)) in self.requested_urls

    def build_request(self, agent: str) -> HttpRequest:
        """Its next request, as it is sent."""
        self.requested_urls.add((self.url.url, tuple(self.cookies)))
        return HttpRequest(
            self.url,
            self.addresses,
            agent,
            self.request.body_max_bytes,
            self._build_headers(),
            self.cookies,
            self.request.tls,
            is_partial=self.is_robots,
        )

    def _build_headers(self) -> Headers:
        found = [("Accept", self.request.accept)]
        login = self.request.logins.build_authorization(
            self.url.scheme, self.url.host, self.url.port
        )
        if login is not None:
            found.append(("Authorization", login))
        # What was kept under another address is no answer to whether this one has changed.
        if self.request.cached_url == self.url.url:
            found += self.request.conditional
        return tuple(found)


def build_pace_outcome(end: HttpResponse | RequestFailure) -> RequestOutcome:
    """How a request went, for the pace of its host."""
    if isinstance(end, RequestFailure):
        return RequestOutcome(end.took_s, is_unreachable=end.is_unreachable, since_sent_s=0.0)
    after_s = retry_after_s(end.hop.get("retry-after"), end.hop.began_at)
    refused = end.hop.status in REFUSALS
    again_s = after_s if refused else 0.0
    return RequestOutcome(end.hop.took_s, refused, again_s, since_sent_s=end.since_sent_s)
