"""Addresses that are no host of the public internet, as data: none of them is ever asked.

Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190), with the RFC of each
block, up to RFC 9780. Blocks the registries call globally reachable stand here too: they are anycast services
of networks, and hold no files.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import cache, lru_cache

AS_OF = "2025-05"
"""When the newest block here came into the registries."""

IPV4: Mapping[str, str] = {
    "0.0.0.0/8": "this network, RFC 791",
    "10.0.0.0/8": "private use, RFC 1918",
    "100.64.0.0/10": "shared address space, RFC 6598",
    "127.0.0.0/8": "loopback, RFC 1122",
    "169.254.0.0/16": "link local, RFC 3927",
    "172.16.0.0/12": "private use, RFC 1918",
    "192.0.0.0/24": "IETF protocol assignments, RFC 6890; in it RFC 7335, 7600, 7723, 8155, 7050",
    "192.0.2.0/24": "documentation, RFC 5737",
    "192.31.196.0/24": "AS112-v4, RFC 7535",
    "192.52.193.0/24": "AMT, RFC 7450",
    "192.88.99.0/24": "6to4 relay anycast, withdrawn, RFC 7526",
    "192.168.0.0/16": "private use, RFC 1918",
    "192.175.48.0/24": "direct delegation AS112 service, RFC 7534",
    "198.18.0.0/15": "benchmarking, RFC 2544",
    "198.51.100.0/24": "documentation, RFC 5737",
    "203.0.113.0/24": "documentation, RFC 5737",
    "224.0.0.0/4": "multicast, RFC 5771",
    "240.0.0.0/4": "reserved, RFC 1112; in it the limited broadcast, RFC 8190",
}
IPV6: Mapping[str, str] = {
    "2001::/23": "IETF protocol assignments, RFC 2928; in it Teredo, benchmarking, AMT, ORCHID, DRIP",
    "2001:db8::/32": "documentation, RFC 3849",
    "2002::/16": "6to4, RFC 3056",
    "2620:4f:8000::/48": "direct delegation AS112 service, RFC 7534",
    "3fff::/20": "documentation, RFC 9637",
}
"""Within the global unicast addresses; all others of IPv6 are none, whatever they were made for."""

GLOBAL_UNICAST = "2000::/3"
"""What of IPv6 is given out at all (RFC 4291, RFC 3587). Outside lie `::/128`, `::1/128`, `::/96`,
`::ffff:0:0/96`, `::ffff:0:0:0/96`, `64:ff9b::/96`, `64:ff9b:1::/48`, `100::/64`, `100:0:0:1::/64`,
`5f00::/16`, `fc00::/7`, `fe80::/10`, `fec0::/10`, `ff00::/8`."""

PLATFORMS: Mapping[str, str] = {
    "168.63.129.16/32": "answered by the host of a virtual machine in Azure",
}
"""Public addresses behind which a machine's own platform answers."""

CARRYING: Mapping[str, str] = {
    "::ffff:0:0/96": "IPv4-mapped, RFC 4291",
    "64:ff9b::/96": "IPv4/IPv6 translation, RFC 6052",
}
"""IPv6 addresses whose last 32 bits are the IPv4 address that is asked in the end: it is judged instead."""

ADDRESSES_KEPT = 65_536
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(ADDRESSES_KEPT)
def is_public(address: str) -> bool:
    """Whether an IP address is that of a host on the public internet, also behind IPv6 that carries IPv4.

    Raises ValueError for a text that is no IP address; a zone behind `%` is passed over.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 6 and _is_within(ip, "carrying"):
        return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    if ip.version == 6 and ip not in ipaddress.IPv6Network(GLOBAL_UNICAST):
        return False
    return not _is_within(ip, "special")


def _is_within(ip: ipaddress.IPv4Address | ipaddress.IPv6Address, table: str) -> bool:
    return any(ip in network for network in _networks()[table] if network.version == ip.version)


@cache
def _networks() -> Mapping[str, tuple[_Network, ...]]:
    tables = {"special": (IPV4, IPV6, PLATFORMS), "carrying": (CARRYING,)}
    return {
        name: tuple(ipaddress.ip_network(block) for blocks in some for block in blocks)
        for name, some in tables.items()
    }
