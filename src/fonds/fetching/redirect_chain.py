"""Redirect chain: a request that follows redirects, with its current URL and the responses so
far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fonds.fetching.crawl_request import CrawlRequest, CrawlResponse, RequestFailure
from fonds.fetching.outcomes import REFUSALS, retry_after_s
from fonds.fetching.pace import QueuedRequest, RequestOutcome
from fonds.fetching.robots import MAX_BYTES, REDIRECTS_MAX, Robots
from fonds.model.credentials import Credentials
from fonds.model.disposition import Disposition, Reason
from fonds.model.entry import TlsCheck
from fonds.model.exchange import Headers, Hop
from fonds.urls.request_url import RequestUrl, parse_request_url

NO_CREDENTIALS = Credentials()
Refusal = Callable[[str], tuple[Reason, str] | None]
"""Function that returns the reason and a sentence if a URL must not be fetched; otherwise None."""


def allow_any_url(url: str) -> None:
    """Return None, so that no redirect target is refused."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """Request for a URL, following its redirects.

    - `key`: unique key of the request.
    - `url`: URL to fetch.
    - `body_max_bytes`: maximum size of the response body.
    - `redirects_max`: maximum number of redirects.
    - `accept`: value of the Accept header.
    - `conditional`: headers such as If-None-Match, sent only to `cached_url`.
    - `cached_url`: URL of the stored copy that the conditional headers describe; "" for none.
    - `tls`: how strictly TLS certificates are checked.
    - `logins`: user names and passwords; each is sent only to its own origin, wherever a redirect
      leads.
    - `is_urgent`: whether the request polls a source. Another process that has the lease of the
      domain then hands the domain over for a short time.
    - `refusal`: function that decides whether the target of a redirect must not be fetched.
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
    """Last response of a redirect chain, with any status.

    - `hops`: all requests of the chain in order, each with the status line and headers of its
      response.
    - `body`: body of the last response as sent, before content codings are removed.
    - `after_s`: seconds that a response with status 429 or 503 asks to wait (Retry-After);
      otherwise 0.0.
    - `url`: URL that sent the last response.
    - `robots`: robots.txt rules that allowed `url` to be fetched.
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
    """State of a request that follows redirects.

    - `key`: unique number of the chain.
    - `request`: original request.
    - `url`: current URL.
    - `origin`: for a request for robots.txt, the TLS check and origin for which its rules are
      cached; otherwise "".
    - `addresses`: checked IP addresses of the current host.
    - `hops`: requests so far, each with the status line and headers of its response.
    - `cookies`: cookies set by the responses so far.
    - `is_forgotten`: whether the requester has cancelled the request, so that its outcome is not
      returned.
    - `requested_urls`: URLs requested so far, each with the cookies that were sent. A repetition is
      a loop.
    - `robots`: robots.txt rules that allowed the current URL.
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
        """Whether the chain fetches a robots.txt."""
        return bool(self.origin)

    @property
    def queued_request(self) -> QueuedRequest:
        """The chain's next request, in the form in which the frontier queues it."""
        return QueuedRequest(self.key, self.url.host, self.url.domain, self.addresses[0])

    def build_robots_chain(self, key: int, origin: str) -> RedirectChain:
        """Build the chain that fetches the robots.txt for the current URL, from the same IP
        addresses.

        `key` is the number of the new chain, `origin` the TLS check and origin for which the rules
        are cached.
        """
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
        """Return whether a redirect target was already requested with the same cookies."""
        return (target.url, tuple(self.cookies)) in self.requested_urls

    def build_request(self, agent: str) -> CrawlRequest:
        """Build the chain's next HTTP request, and record its URL as requested. `agent` is the
        value of the User-Agent header.
        """
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
        login = self.request.logins.get_authorization(self.url.scheme, self.url.host, self.url.port)
        if login is not None:
            headers.append(("Authorization", login))
        # Conditional headers are valid only for the URL that they were stored with.
        if self.request.cached_url == self.url.url:
            headers += self.request.conditional
        return tuple(headers)


def build_pace_outcome(end: CrawlResponse | RequestFailure) -> RequestOutcome:
    """Convert a response or failure to the outcome from which the rate limit of its host is
    updated.
    """
    if isinstance(end, RequestFailure):
        return RequestOutcome(end.took_s, is_unreachable=end.is_unreachable, since_sent_s=0.0)
    after_s = retry_after_s(end.hop.get("retry-after"), end.hop.began_at)
    is_refused = end.hop.status in REFUSALS
    again_s = after_s if is_refused else 0.0
    return RequestOutcome(end.hop.took_s, is_refused, again_s, since_sent_s=end.since_sent_s)
