"""Links made of what sources find: their ids, and the domain that answers for them."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha1

from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.entry import Link, TlsCheck
from fonds.model.errors import PermanentError
from fonds.urls.normalization import find_canonical_domain
from fonds.urls.parts import split_address
from fonds.urls.request_url import URL_MAX_CHARS, parse_request_url

NOWHERE = RssEntry()


def build_link(
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
    asked = normalize_requested_url(told)
    digest = sha1(asked.encode("utf-8", "surrogatepass"))  # noqa: S324 (a key, not a seal)
    return Link(
        id=f"{input_id}-{digest.hexdigest()[:16]}",
        input_id=input_id,
        url=asked,
        domain=find_canonical_domain(asked),
        rss_entry=rss_entry if rss_entry.link else replace(rss_entry, link=told),
        collection=collection,
        found_at=found_at,
        tls=tls,
        allows_any_site=allows_any_site,
    )


def normalize_requested_url(url: str) -> str:
    """Return what is asked for at an address somebody names: no server of the web is told a fragment.

    In S3 it may say which version of an object is meant, and of a local file which member of a ZIP.
    """
    told = url.strip()
    is_whole = told.lower().startswith(("s3://", "file:"))
    return told if is_whole else told.partition("#")[0].rstrip()


# Sites that feeds lead to and that are no news, as data: archives, shops, networks, encyclopedias.
#
# Whoever wants them names them in `sources.news`; further ones stand in `sources.non_news`.


_NAMES = """
    archive.org archive.ph booking.com etsy.com facebook.com flickr.com goodreads.com iheart.com imdb.com
    instagram.com linkedin.com pinterest.com slideshare.net tiktok.com twitter.com whatsapp.com wikidata.org
    wikimedia.org wikipedia.org x.com youtube.com youtu.be
"""
NON_NEWS = frozenset(_NAMES.split())
"""Domains; whatever is below one of them is meant too."""


# Which links are refused before anything is fetched, and why.
#
# Source: seed 004 and mediacloud/story-indexer, `check_url`, its faults mended: IPv6 and private
# addresses are told as such, and a name is not taken for another that ends in the same letters.


_SCHEMES = ("http", "https")
_LOCAL = ("localhost", "local", "internal", "localdomain")


@dataclass(frozen=True, slots=True)
class LinkRules:
    """`non_news` are domains nothing is taken from; `allows_private_addresses` allows hosts of this
    machine."""

    non_news: frozenset[str] = NON_NEWS
    allows_private_addresses: bool = False

    def find_refusal(self, url: str | None) -> tuple[Reason, str] | None:
        """Why a link is refused, with a sentence; None for one that may be fetched. Never raises."""
        if not url or not url.strip():
            return Reason.NO_URL, "there is no address"
        shown = repr(url[:200])
        if len(url) > URL_MAX_CHARS:
            return Reason.BAD_URL, f"an address of {len(url)} characters: {shown}"
        parts = split_address(url.strip())
        if not parts.host:
            return Reason.NO_HOST, f"it names no host: {shown}"
        if parts.scheme not in _SCHEMES:
            return Reason.BAD_SCHEME, f"neither http nor https: {shown}"
        try:
            host = parse_request_url(url).host
        except PermanentError as error:
            return error.reason, error.detail
        if domain := find_enclosing_domain(host, self.non_news):
            return Reason.NON_NEWS, f"{domain} is no news"
        if not self.allows_private_addresses and is_local(host):
            return Reason.BAD_HOST, f"{host} is no host of the public internet"
        return None


def create_link_rules(denied: str, allowed: str, *, private_addresses: bool = False) -> LinkRules:
    """The rules with further domains that are no news, and without some; blanks or commas between them."""
    added, taken = (frozenset(_split_names(text)) for text in (denied, allowed))
    return LinkRules((NON_NEWS | added) - taken, private_addresses)


def find_enclosing_domain(host: str, domains: frozenset[str]) -> str | None:
    """The domain of these that a host is, or lies below; None for none."""
    labels = host.split(".")
    names = (".".join(labels[at:]) for at in range(len(labels)))
    return next((name for name in names if name in domains), None)


def is_local(host: str) -> bool:
    """Whether a host is written as one of this machine or a network of its own. A name is not resolved:
    whoever fetches judges what it leads to."""
    if host.rpartition(".")[2] in _LOCAL:
        return True
    try:
        address = _parse_address(host)
    except (ValueError, OSError):
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return not (mapped or address).is_global


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An IP address however it is written: `127.1` and `0x7f000001` are addresses too. Raises OSError."""
    if ":" in host:
        return ipaddress.ip_address(host)
    return ipaddress.IPv4Address(socket.inet_aton(host))


def _split_names(text: str) -> list[str]:
    return [name.strip(".").lower() for name in text.replace(",", " ").split()]
