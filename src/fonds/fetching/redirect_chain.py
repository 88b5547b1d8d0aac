"""One request with its redirects: the original request, the current URL, and the responses so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fonds.fetching.crawl_request import CrawlRequest, CrawlResponse, RequestFailure
from fonds.fetching.outcomes import REFUSALS, retry_after_s
from fonds.fetching.pace import QueuedRequest, RequestOutcome
from fonds.fetching.robots import MAX_BYTES, REDIRECTS_MAX, Robots
from fonds.model.disposition import Disposition, Reason
from fonds.model.entry import TlsCheck
from fonds.model.exchange import Headers, Hop
from fonds.model.secrets import Credentials
from fonds.urls.request_url import RequestUrl, parse_request_url

NO_CREDENTIALS = Credentials()
Refusal = Callable[[str], tuple[Reason, str] | None]
"""Function that returns the reason and a sentence if a URL may not be fetched, otherwise None."""


def allow_any_url(url: str) -> None:
    """Allow every URL."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A request for a URL, identified by `key`.

    `conditional` headers are sent only to `cached_url`, which they describe.
    `logins` are sent only to their own origins, wherever a redirect leads.
    `is_urgent` marks a poll of a source; another process then hands over its domain for a moment.
    `refusal` checks the target of each redirect.
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
    """Response after all redirects, whatever its status, with the heads of all responses.

    `body` is not decoded.
    `after_s` is the Retry-After of a refusal.
    `robots` are the rules that allowed `url`, the address that responded.
    """

    hops: tuple[Hop, ...]
    body: bytes
    after_s: float = 0.0
    url: RequestUrl | None = None
    robots: Robots | None = None


FetchOutcome = FetchResponse | Disposition | Exception
"""Outcome of a request: a response, a disposition (drop, retry or defer), or an error."""


@dataclass(slots=True)
class RedirectChain:
    """State of a request and its redirects.

    `key` is unique among chains.
    `origin` is set for a robots.txt and names its host; otherwise it is "".
    `requested_urls` has each URL with the cookies sent; repeating one means a redirect loop.
    `robots` are the rules that allowed the current URL.
    """

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
        """The next request in the form that the frontier queues."""
        return QueuedRequest(self.key, self.url.host, self.url.domain, self.addresses[0])

    def build_robots_chain(self, key: int, origin: str) -> RedirectChain:
        """Build the chain that fetches the robots.txt for the current URL, from the same addresses."""
        url = parse_request_url(f"{self.url.origin}/robots.txt")
        request = replace(
            self.request,
            body_max_bytes=MAX_BYTES + 1,
            redirects_max=REDIRECTS_MAX,
            accept="*/*",
            cached_url="",
        )
        return RedirectChain(key, request, url, origin, self.addresses)

    def is_loop(self, target: RequestUrl) -> bool:
        """Return whether a target was already requested with the same cookies."""
        return (target.url, tuple(self.cookies)) in self.requested_urls

    def build_request(self, agent: str) -> CrawlRequest:
        """Build the next HTTP request."""
        self.requested_urls.add((self.url.url, tuple(self.cookies)))
        return CrawlRequest(
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
        headers = [("Accept", self.request.accept)]
        login = self.request.logins.build_authorization(
            self.url.scheme, self.url.host, self.url.port
        )
        if login is not None:
            headers.append(("Authorization", login))
        # Conditional headers are valid only for the URL that they were stored with.
        if self.request.cached_url == self.url.url:
            headers += self.request.conditional
        return tuple(headers)


def build_pace_outcome(end: CrawlResponse | RequestFailure) -> RequestOutcome:
    """Build the outcome for the rate limit of the host."""
    if isinstance(end, RequestFailure):
        return RequestOutcome(end.took_s, is_unreachable=end.is_unreachable, since_sent_s=0.0)
    after_s = retry_after_s(end.hop.get("retry-after"), end.hop.began_at)
    refused = end.hop.status in REFUSALS
    again_s = after_s if refused else 0.0
    return RequestOutcome(end.hop.took_s, refused, again_s, since_sent_s=end.since_sent_s)
