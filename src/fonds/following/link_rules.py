"""Build links from entries of sources, and refuse links by rules before they are fetched.

Source of the rules: seed document 004 and mediacloud/story-indexer, `check_url`, with two
corrections. IPv6 and private addresses are recognised. A domain matches only whole labels.
"""

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

EMPTY_ENTRY = RssEntry()


def build_link(
    url: str,
    input_id: str,
    rss_entry: RssEntry = EMPTY_ENTRY,
    *,
    collection: str = "default",
    found_at: datetime | None = None,
    tls: TlsCheck = TlsCheck.FULL,
    allows_any_site: bool = False,
) -> Link:
    """Build the link for a URL that was found in an input, such as a poll of a source or a list.

    The id of the link combines input and URL. A URL that occurs twice in one input is one link. In
    another input it is another link and is fetched again. The fragment is removed, because servers
    never receive it.

    `rss_entry.link` defaults to the original URL. Any text is accepted, and no error is raised; an
    invalid URL is reported when the link is fetched.
    """
    original_url = url.strip()
    requested_url = normalize_requested_url(original_url)
    digest = sha1(requested_url.encode("utf-8", "surrogatepass"))  # noqa: S324 (a key, not security)
    return Link(
        id=f"{input_id}-{digest.hexdigest()[:16]}",
        input_id=input_id,
        url=requested_url,
        domain=find_canonical_domain(requested_url),
        rss_entry=rss_entry if rss_entry.link else replace(rss_entry, link=original_url),
        collection=collection,
        found_at=found_at,
        tls=tls,
        allows_any_site=allows_any_site,
    )


def normalize_requested_url(url: str) -> str:
    """Return a URL without its fragment, as it is requested.

    S3 URLs and URLs of local files keep their fragment, which may name an object version or a ZIP
    member.
    """
    text = url.strip()
    keeps_fragment = text.lower().startswith(("s3://", "file:"))
    return text if keeps_fragment else text.partition("#")[0].rstrip()


# Sites that feeds link to but that are no news: archives, shops, networks, encyclopedias.
# `sources.news` removes sites from this list and `sources.non_news` adds further ones.


_NAMES = """
    archive.org archive.ph booking.com etsy.com facebook.com flickr.com goodreads.com iheart.com imdb.com
    instagram.com linkedin.com pinterest.com slideshare.net tiktok.com twitter.com whatsapp.com wikidata.org
    wikimedia.org wikipedia.org x.com youtube.com youtu.be
"""
NON_NEWS = frozenset(_NAMES.split())
"""Domains that are not news sites. Their subdomains are included."""


_SCHEMES = ("http", "https")
_LOCAL_DOMAINS = ("localhost", "local", "internal", "localdomain")


@dataclass(frozen=True, slots=True)
class LinkRules:
    """Rules by which links are refused before they are fetched.

    - `non_news`: domains that are refused, with their subdomains, because they are no news sites.
    - `allows_private_addresses`: whether links to this computer and to private networks are
      accepted.
    """

    non_news: frozenset[str] = NON_NEWS
    allows_private_addresses: bool = False

    def find_refusal(self, url: str | None) -> tuple[Reason, str] | None:
        """Return the reason code and a sentence for refusing a URL; None if the URL may be fetched.
        Never raises.
        """
        if not url or not url.strip():
            return Reason.NO_URL, "no URL"
        quoted_url = repr(url[:200])
        if len(url) > URL_MAX_CHARS:
            return Reason.BAD_URL, f"a URL of {len(url)} characters: {quoted_url}"
        parts = split_address(url.strip())
        if not parts.host:
            return Reason.NO_HOST, f"no host in {quoted_url}"
        if parts.scheme not in _SCHEMES:
            return Reason.BAD_SCHEME, f"not http or https: {quoted_url}"
        try:
            host = parse_request_url(url).host
        except PermanentError as error:
            return error.reason, error.detail
        if domain := find_enclosing_domain(host, self.non_news):
            return Reason.NON_NEWS, f"{domain} is not a news site"
        if not self.allows_private_addresses and is_local(host):
            return Reason.BAD_HOST, f"{host} is not on the public internet"
        return None


def create_link_rules(
    denied_domains: str, allowed_domains: str, *, private_addresses: bool = False
) -> LinkRules:
    """Build link rules from the default list of refused domains and two lists in the settings.

    - `denied_domains`: further domains to refuse, separated by blanks or commas.
    - `allowed_domains`: domains to remove from the list, in the same form.
    - `private_addresses`: whether links to private networks are accepted.
    """
    added_domains, removed_domains = (
        frozenset(_split_names(text)) for text in (denied_domains, allowed_domains)
    )
    return LinkRules((NON_NEWS | added_domains) - removed_domains, private_addresses)


def find_enclosing_domain(host: str, domains: frozenset[str]) -> str | None:
    """Return the domain in `domains` that is the host itself or a parent domain of it; otherwise
    None.
    """
    labels = host.split(".")
    names = (".".join(labels[start:]) for start in range(len(labels)))
    return next((name for name in names if name in domains), None)


def is_local(host: str) -> bool:
    """Return whether a host name or IP address belongs to this computer or a private network.

    Names are recognised by their ending and are not resolved. The fetcher checks the address to
    which a name resolves.
    """
    if host.rpartition(".")[2] in _LOCAL_DOMAINS:
        return True
    try:
        address = _parse_address(host)
    except (ValueError, OSError):
        return False
    mapped_address = getattr(address, "ipv4_mapped", None)
    return not (mapped_address or address).is_global


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parse an IP address in any notation; `127.1` and `0x7f000001` are addresses too.

    Raises OSError or ValueError if the text is not an address.
    """
    if ":" in host:
        return ipaddress.ip_address(host)
    return ipaddress.IPv4Address(socket.inet_aton(host))


def _split_names(text: str) -> list[str]:
    return [name.strip(".").lower() for name in text.replace(",", " ").split()]
