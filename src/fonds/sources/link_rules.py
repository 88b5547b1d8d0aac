"""Which links are refused before anything is fetched, and why.

Source: seed 004 and mediacloud/story-indexer, `check_url`, its faults mended: IPv6 and private addresses are
told as such, and a name is not taken for another that ends in the same letters.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from fonds.address import split_address
from fonds.crawl.request_url import URL_CHARS_MAX, request_url
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.sources.non_news import NON_NEWS

_SCHEMES = ("http", "https")
_LOCAL = ("localhost", "local", "internal", "localdomain")


@dataclass(frozen=True, slots=True)
class LinkRules:
    """`non_news` are domains nothing is taken from; `private_addresses` allows hosts of this machine."""

    non_news: frozenset[str] = NON_NEWS
    private_addresses: bool = False

    def refusal(self, url: str | None) -> tuple[Reason, str] | None:
        """Why a link is refused, with a sentence; None for one that may be fetched. Never raises."""
        if not url or not url.strip():
            return Reason.NO_URL, "there is no address"
        shown = repr(url[:200])
        if len(url) > URL_CHARS_MAX:
            return Reason.BAD_URL, f"an address of {len(url)} characters: {shown}"
        parts = split_address(url.strip())
        if not parts.host:
            return Reason.NO_HOST, f"it names no host: {shown}"
        if parts.scheme not in _SCHEMES:
            return Reason.BAD_SCHEME, f"neither http nor https: {shown}"
        try:
            host = request_url(url).host
        except PermanentError as error:
            return error.reason, error.detail
        if domain := within(host, self.non_news):
            return Reason.NON_NEWS, f"{domain} is no news"
        if not self.private_addresses and is_local(host):
            return Reason.BAD_HOST, f"{host} is no host of the public internet"
        return None


def rules_of(more: str, fewer: str, *, private_addresses: bool = False) -> LinkRules:
    """The rules with further domains that are no news, and without some; blanks or commas between them."""
    added, taken = (frozenset(_names(text)) for text in (more, fewer))
    return LinkRules((NON_NEWS | added) - taken, private_addresses)


def within(host: str, domains: frozenset[str]) -> str | None:
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
        address = _address(host)
    except (ValueError, OSError):
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return not (mapped or address).is_global


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An IP address however it is written: `127.1` and `0x7f000001` are addresses too. Raises OSError."""
    if ":" in host:
        return ipaddress.ip_address(host)
    return ipaddress.IPv4Address(socket.inet_aton(host))


def _names(text: str) -> list[str]:
    return [name.strip(".").lower() for name in text.replace(",", " ").split()]
