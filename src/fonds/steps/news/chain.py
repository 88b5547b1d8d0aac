"""One link on its way through the web: where it is, what it met, and what was known of it before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fonds.crawl.hosts import Turn
from fonds.crawl.request_url import RequestUrl
from fonds.fetching.request import Ask
from fonds.model.exchange import Headers, Hop
from fonds.model.link import Link, TlsCheck
from fonds.model.rows import FetchedRow

ACCEPT = "text/html,application/xhtml+xml,application/pdf,application/xml;q=0.9,*/*;q=0.8"


@dataclass(slots=True)
class Chain:
    """`key` is its own among all; `number` what it is called by who began it. Of a robots.txt there is no
    `link`, and `origin` says whose it is.
    """

    key: int
    url: RequestUrl
    link: Link | None = None
    number: int = -1
    origin: str = ""
    before: FetchedRow | None = None
    addresses: Sequence[str] = ()
    hops: list[Hop] = field(default_factory=list)
    cookies: Sequence[str] = ()
    forgotten: bool = False

    @property
    def is_robots(self) -> bool:
        """Whether it fetches a robots.txt."""
        return self.link is None

    @property
    def turn(self) -> Turn:
        """Its next request, as it waits for its turn."""
        return Turn(self.key, self.url.host, self.url.domain, self.addresses[0])

    def ask(self, agent: str, body_max_bytes: int) -> Ask:
        """Its next request, as it is sent."""
        return Ask(
            self.url,
            self.addresses,
            agent,
            body_max_bytes,
            self._headers(),
            self.cookies,
            self.link.tls if self.link else TlsCheck.FULL,
            partial=self.is_robots,
        )

    def _headers(self) -> Headers:
        if self.link is None:
            return ()
        found = [("Accept", ACCEPT)]
        before = self.before
        # What was kept under another address is no answer to whether this one has changed.
        if before is not None and before.final_url == self.url.url:
            if before.etag:
                found.append(("If-None-Match", before.etag))
            if before.last_modified:
                found.append(("If-Modified-Since", before.last_modified))
        return tuple(found)
