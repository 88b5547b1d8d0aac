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
    allows_any_site: bool = False,
) -> Link:
    """The link to an address that was found in an input (one poll of a source, one list).

    Its id is that of input and address: an address that stands twice in one input is one link, in another
    input it is another, and is fetched again. A fragment is no part of the address: no server is told it.
    `rss_entry.link` becomes what was said where it says nothing else. Any text is taken; what is no address
    is told when its turn comes. Never raises.
    """
    told = url.strip()
    asked = asked_address(told)
    digest = sha1(asked.encode("utf-8", "surrogatepass"))  # noqa: S324 (a key, not a seal)
    return Link(
        id=f"{input_id}-{digest.hexdigest()[:16]}",
        input_id=input_id,
        url=asked,
        domain=canonical_domain(asked),
        rss_entry=rss_entry if rss_entry.link else replace(rss_entry, link=told),
        collection=collection,
        found_at=found_at,
        tls=tls,
        allows_any_site=allows_any_site,
    )


def asked_address(url: str) -> str:
    """Return what is asked for at an address somebody names: no server of the web is told a fragment.

    In S3 it may say which version of an object is meant, and of a local file which member of a ZIP.
    """
    told = url.strip()
    is_whole = told.lower().startswith(("s3://", "file:"))
    return told if is_whole else told.partition("#")[0].rstrip()
