"""The domain that answers for a page.

Source: publicsuffix.org, "Algorithm". The list is the one `publicsuffixlist` brings; nothing is ever fetched.
"""

from __future__ import annotations

from functools import cache

from publicsuffixlist import PublicSuffixList

from fonds.extract.url.hosts import FILE_HOSTS, SHARED_DOMAINS, SHARED_WHOLLY
from fonds.extract.url.normal import is_ip, url_host


def canonical_domain(url: str) -> str:
    """Who answers for the page: the registered domain; on hosts of many, each name for itself.

    An IP address is itself; "" when the address has no host (`file:`). Only the host is looked at.
    """
    host = url_host(url)
    if not host or is_ip(host):
        return host
    if host.endswith(".cdn.ampproject.org"):
        # The AMP cache writes the publisher's host into one label: dots as dashes, dashes doubled.
        label = host.split(".")[0]
        host = label.replace("--", "\0").replace("-", ".").replace("\0", "-")
    host = next(
        (_beside(host, shared) for shared in FILE_HOSTS if host.endswith(f".{shared}")), host
    )
    labels = host.split(".")
    suffix_length = _suffix_length(host)
    domain = ".".join(labels[-suffix_length - 1 :])
    if domain.startswith("www.") and suffix_length > 1:
        domain = domain.removeprefix("www.")
    own = labels[: -suffix_length - 1]
    if own[:1] == ["www"]:
        own = own[1:]
    if not own or not (domain in SHARED_DOMAINS or domain.startswith("blogspot.")):
        return domain
    return ".".join((*(own if domain in SHARED_WHOLLY else own[-1:]), domain))


def _beside(host: str, shared: str) -> str:
    """The site whose files a host holds: `a.files.example.com` are those of `a.example.com`."""
    return host.removesuffix(shared) + shared.partition(".")[2]


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _suffix_length(host: str) -> int:
    """How many labels at the end are a public suffix, private ones too; the last one without a rule."""
    suffix = _suffixes().publicsuffix(host)
    return suffix.count(".") + 1 if suffix else 1
