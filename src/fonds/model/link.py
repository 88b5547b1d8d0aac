"""A link: an address a source says is to be fetched, with what it said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from fonds.model.entry import LINK, Entry
from fonds.model.rss_entry import RssEntry


class TlsCheck(StrEnum):
    """How a server's TLS is held to account; what was relaxed stands in the story."""

    FULL = "full"  # TLS 1.2 at least, and a certificate for this name from an authority we know
    OLD = "old"  # the certificate as above; older versions, ciphers and renegotiation are let pass
    NONE = "none"  # no certificate is asked for, and as above


@dataclass(frozen=True, slots=True)
class Link:
    """An address to fetch once; the message the road of fetched pages begins with.

    `id` is the same whenever the same input names the same address again (`crawl/links.py` makes it); what
    is to be fetched anew comes out of another input: another poll, another list. `url` is as the source
    wrote it, usable or not. `domain` is who answers for it, "" where that cannot be told; its links are
    fetched by one process at a time. `found_at` is aware UTC: when the source saw it. Of what was fetched by
    others before, `final_url` is where the page was found and `fetch_timestamp` when, in Unix seconds; None
    where nobody noted it. `allows_any_site`: a person named the address, so that no list of sites forbids it
    or what it redirects to.
    """

    id: str
    input_id: str
    url: str
    domain: str
    rss_entry: RssEntry = field(default_factory=RssEntry)
    collection: str = "default"
    found_at: datetime | None = None
    tls: TlsCheck = TlsCheck.FULL
    final_url: str | None = None
    fetch_timestamp: float | None = None
    allows_any_site: bool = False

    @property
    def about(self) -> str:
        """Nothing yet: what lies there is not known."""
        return ""

    @property
    def order_key(self) -> str:
        """Links of one domain stay together."""
        return self.domain


def of_link(link: Link) -> Entry:
    """The entry of a link. It was seen at no time and lies nowhere until it is fetched."""
    return Entry(
        id=link.id,
        input_id=link.input_id,
        kind=LINK,
        url=link.url,
        item=link,
        collection=link.collection,
    )
