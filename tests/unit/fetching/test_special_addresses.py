"""No special-purpose address is ever requested, in any spelling.

Names are resolved and connections made by test doubles, so nothing leaves this process.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import pytest
import urllib3.util.connection
from hypothesis import given
from hypothesis import strategies as st

from fonds.fetching.addresses import (
    GLOBAL_UNICAST,
    IPV4,
    IPV6,
    PLATFORMS,
    REGISTRY_DATE,
    is_public,
)
from fonds.fetching.service_client import ServiceClient
from fonds.model.errors import PermanentError, TransientError

# Special blocks outside the global unicast addresses, including withdrawn ones.
OUTSIDE_BLOCKS = (
    "::/128", "::1/128", "::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
    "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)  # fmt: skip
BLOCKS = (*IPV4, *IPV6, *PLATFORMS, *OUTSIDE_BLOCKS)
SPECIAL_NETWORKS = [ipaddress.ip_network(block) for block in BLOCKS]
SPELLINGS = (
    "192.0.0.192", "::7f00:1", "::ffff:0:7f00:1", "64:ff9b:1::7f00:1", "fec0::1", "3fff::1", "5f00::1",
    "192.88.99.1", "168.63.129.16", "192.0.0.9", "192.0.0.10", "192.0.0.170", "255.255.255.255",
    "169.254.169.254", "fd00:ec2::254", "100.100.100.200", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "64:ff9b::169.254.169.254", "2002:7f00:1::", "2001:0:0:0:0:0:f5ff:fffe", "2001:20::1", "2001:db8::1",
    "fe80::1%eth0", "::1%lo",
)  # fmt: skip
PUBLIC_ADDRESSES = (
    "8.8.8.8", "1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
    "192.0.1.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:2800:220:1::1", "2001:200::1",
    "2001:4860:4860::8888", "3ffe:ffff::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
)  # fmt: skip


def _sample_addresses(block: str) -> list[str]:
    """Return the first, second, middle, last but one and last address of a block."""
    network = ipaddress.ip_network(block)
    size = network.num_addresses
    return [
        str(network[n])
        for n in sorted({0, min(1, size - 1), size // 2, max(size - 2, 0), size - 1})
    ]


@pytest.mark.parametrize(
    "address", [address for block in BLOCKS for address in _sample_addresses(block)]
)
def test_no_address_of_a_special_block_is_public(address: str) -> None:
    assert not is_public(address)
    if "." in address:
        assert not is_public(f"::ffff:{address}")
        assert not is_public(f"64:ff9b::{address}")


@pytest.mark.parametrize("address", SPELLINGS)
def test_no_spelling_makes_a_special_address_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_addresses_next_to_special_blocks_are_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_public_outside_all_blocks(ip: ipaddress.IPv4Address) -> None:
    is_special = any(ip in network for network in SPECIAL_NETWORKS if network.version == 4)
    assert is_public(str(ip)) is not is_special


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_is_public_if_allocated_and_outside_all_blocks(
    ip: ipaddress.IPv6Address,
) -> None:
    is_special = any(ip in network for network in SPECIAL_NETWORKS if network.version == 6)
    has_ipv4 = ip in ipaddress.ip_network("64:ff9b::/96") or ip.ipv4_mapped
    if not has_ipv4:
        is_allocated = ip in ipaddress.ip_network(GLOBAL_UNICAST)
        assert is_public(str(ip)) is (is_allocated and not is_special)


@given(st.ip_addresses())
def test_no_address_that_the_standard_library_calls_private_is_public(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    """`ipaddress` has its own list from the same registries, of another date."""
    if ip.is_private or ip.is_multicast or ip.is_reserved or ip.is_link_local:
        has_ipv4 = ip.version == 6 and (
            ip.ipv4_mapped or ip in ipaddress.ip_network("64:ff9b::/96")
        )
        assert has_ipv4 or not is_public(str(ip))


def test_the_registry_date_is_recent() -> None:
    assert REGISTRY_DATE >= "2025-05"


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of attempted connections; none is made."""
    addresses: list[str] = []

    def refuse(address: tuple[str, int], *arguments: object, **options: object) -> None:
        addresses.append(address[0])
        raise OSError("no connection leaves a test")

    monkeypatch.setattr(urllib3.util.connection, "create_connection", refuse)
    return addresses


def _request_with(addresses: Sequence[str]) -> None:
    client = ServiceClient(resolve=lambda host, port: addresses)
    with client.open("http://name.example/x", {}, total_s=1.0):
        pass


@pytest.mark.parametrize(
    "address", [*SPELLINGS, *(_sample_addresses(block)[0] for block in BLOCKS)]
)
def test_a_name_with_a_special_address_is_rejected_before_any_connection(
    address: str, connections: list[str]
) -> None:
    for addresses in ([address], ["8.8.8.8", address], [address, "8.8.8.8"]):
        with pytest.raises(PermanentError, match="is a private address"):
            _request_with(addresses)
    assert connections == []


def test_a_public_name_is_connected_by_its_checked_addresses(
    connections: list[str],
) -> None:
    with pytest.raises(TransientError):
        _request_with(["8.8.8.8", "1.1.1.1"])
    assert connections == ["8.8.8.8", "1.1.1.1"]
