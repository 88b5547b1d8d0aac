"""Resolve host names, and check that the IP addresses are public before anything connects to them.

A host may be requested only if all of its addresses are allowed. The address blocks are data from
the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190), with the RFC of each
block, up to RFC 9780. Blocks that the registries call globally reachable are refused too, because
they are anycast services of networks and serve no files.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache

from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, TransientError, cause_of

REGISTRY_DATE = "2025-05"
"""Registration date of the newest address block in this module."""

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
"""Refused IPv6 blocks within global unicast. All IPv6 addresses outside global unicast are refused.
"""

GLOBAL_UNICAST = "2000::/3"
"""The only block of IPv6 addresses that is assigned (RFC 4291, RFC 3587).

It excludes `::/128`, `::1/128`, `::/96`, `::ffff:0:0/96`, `::ffff:0:0:0/96`, `64:ff9b::/96`,
`64:ff9b:1::/48`, `100::/64`, `100:0:0:1::/64`, `5f00::/16`, `fc00::/7`, `fe80::/10`, `fec0::/10`,
`ff00::/8`.
"""

PLATFORMS: Mapping[str, str] = {
    "168.63.129.16/32": "answered by the host of a virtual machine in Azure",
}
"""Refused public addresses at which the cloud platform of a virtual machine responds."""

CARRYING: Mapping[str, str] = {
    "::ffff:0:0/96": "IPv4-mapped, RFC 4291",
    "64:ff9b::/96": "IPv4/IPv6 translation, RFC 6052",
}
"""IPv6 blocks whose last 32 bits are the IPv4 address that is reached.

The IPv4 address is checked instead.
"""

ADDRESS_CACHE_SIZE = 65_536
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(ADDRESS_CACHE_SIZE)
def is_public(address: str) -> bool:
    """Return whether an IP address is on the public internet.

    If an IPv6 address contains the IPv4 address that is reached, the IPv4 address is checked. A
    zone after `%` is ignored. Raises ValueError if the text is not an IP address.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 6 and _is_within(ip, "carrying"):
        return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    if ip.version == 6 and ip not in ipaddress.IPv6Network(GLOBAL_UNICAST):
        return False
    return not _is_within(ip, "special")


def _is_within(ip: ipaddress.IPv4Address | ipaddress.IPv6Address, table: str) -> bool:
    return any(
        ip in network for network in _load_networks()[table] if network.version == ip.version
    )


def allow_any_address(address: str) -> bool:
    """Return True: every IP address may be requested.

    Used for services that the settings name, or if the settings allow private addresses.
    """
    return True


def choose_address_check(*, allows_private: bool) -> Callable[[str], bool]:
    """Return the function that decides whether an IP address may be requested.

    `allows_private` is the setting `elsewhere.private_addresses`. If it is true, all addresses may
    be requested, otherwise only public ones.
    """
    return allow_any_address if allows_private else is_public


@cache
def _load_networks() -> Mapping[str, tuple[_Network, ...]]:
    tables = {"special": (IPV4, IPV6, PLATFORMS), "carrying": (CARRYING,)}
    return {
        name: tuple(ipaddress.ip_network(block) for blocks in block_tables for block in blocks)
        for name, block_tables in tables.items()
    }


Resolve = Callable[[str, int], Sequence[str]]
"""Function that returns the IP addresses of a host and port.

Raises OSError if it cannot resolve them.
"""

CACHE_S = 300.0
FAILURE_CACHE_S = 30.0
COUNT_MAX = 20_000
ADDRESSES_MAX = 8
THREADS = 16


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the IP addresses of a host, found by the resolver of the operating system.

    Raises OSError if the host is unknown.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def resolve_allowed_addresses(
    host: str,
    port: int,
    resolve: Resolve = resolve,
    is_allowed: Callable[[str], bool] = is_public,
) -> Sequence[str]:
    """Resolve a host and return its IP addresses, from 1 to 8, if all of them may be requested.

    - `resolve`: function that resolves the host.
    - `is_allowed`: function that returns whether an address may be requested.

    Raises TransientError if the host has no address, and PermanentError (PRIVATE_ADDRESS) if any
    address is not allowed. One such address is enough, because a name server can order its answers
    differently each time.
    """
    try:
        addresses = resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise TransientError(f"cannot resolve the host name {host}: {cause_of(error)}") from error
    if not addresses:
        raise TransientError(f"the host name {host} has no IP address")
    if not all(is_allowed(address) for address in addresses):
        message = (
            f"{host} is in a private or reserved network. To allow it, set "
            "elsewhere.private_addresses=true"
        )
        raise PermanentError(Reason.PRIVATE_ADDRESS, message)
    return addresses[:ADDRESSES_MAX]


class Resolver:
    """Resolver of host names with threads of its own. Addresses are cached for five minutes.

    Slow lookups delay no other work of the process. Callbacks run in any thread and must not block.
    """

    def __init__(
        self, resolve: Resolve = resolve, is_allowed: Callable[[str], bool] = is_public
    ) -> None:
        self._resolve = resolve
        self._is_allowed = is_allowed
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="resolver")
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[str, int], tuple[float, Sequence[str] | Exception]] = (
            OrderedDict()
        )

    def resolve(
        self, host: str, port: int, callback: Callable[[Sequence[str] | Exception], None]
    ) -> None:
        """Resolve a host, and call `callback` with its allowed IP addresses or with the error.

        Addresses and errors are those of `resolve_allowed_addresses`. If the result is cached,
        `callback` runs before this method returns.
        """
        with self._lock:
            cached_result = self._cache.get((host, port))
        if cached_result is not None and cached_result[0] > time.monotonic():
            callback(cached_result[1])
            return
        self._pool.submit(self._look_up, host, port, callback)

    def close(self) -> None:
        """Stop all threads of the resolver. Pending lookups are cancelled."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _look_up(
        self, host: str, port: int, callback: Callable[[Sequence[str] | Exception], None]
    ) -> None:
        result: Sequence[str] | Exception
        try:
            result = resolve_allowed_addresses(host, port, self._resolve, self._is_allowed)
        except Exception as error:  # noqa: BLE001 (passed to the callback)
            result = error
        cache_s = FAILURE_CACHE_S if isinstance(result, Exception) else CACHE_S
        with self._lock:
            self._cache[host, port] = (time.monotonic() + cache_s, result)
            self._cache.move_to_end((host, port))
            while len(self._cache) > COUNT_MAX:
                self._cache.popitem(last=False)
        callback(result)
