"""Links made of what sources find: their ids, and the domain that answers for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from hashlib import sha1

from fonds.extract.url import canonical_domain
from fonds.model.link import Link, TlsCheck
from fonds.model.rss_entry import RssEntry

NOWHERE = RssEntry()


def link_to(
    url: str,
    input_id: str,
    rss_entry: RssEntry = NOWHERE,
    *,
    collection: str = "default",
    found_at: datetime | None = None,
    tls: TlsCheck = TlsCheck.FULL,
) -> Link:
    """The link to an address that was found in an input (one poll of a source, one list).

    Its id is that of input and address, a fragment aside: an address that stands twice in one input is one
    link, in another input it is another, and is fetched again. `rss_entry.link` becomes `url` where it says
    nothing else. Any text is taken; what is no address is told when its turn comes. Never raises.
    """
    told = url.strip()
    asked = told.partition("#")[0]
    digest = sha1(asked.encode("utf-8", "surrogatepass"))  # noqa: S324 (a key, not a seal)
    return Link(
        id=f"{input_id}-{digest.hexdigest()[:16]}",
        input_id=input_id,
        url=told,
        domain=canonical_domain(told),
        rss_entry=rss_entry if rss_entry.link else replace(rss_entry, link=told),
        collection=collection,
        found_at=found_at,
        tls=tls,
    )
