"""Names are resolved in threads, checked with all their addresses, and cached."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from fonds.fetching.addresses import Resolver, resolve_allowed_addresses
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, TransientError


@pytest.mark.parametrize(
    "addresses",
    [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:10.0.0.1"], ["169.254.169.254"]],
)
def test_one_private_address_rejects_the_host(addresses: Sequence[str]) -> None:
    with pytest.raises(PermanentError) as raised:
        resolve_allowed_addresses("a.example", 80, lambda host, port: addresses)
    assert raised.value.reason is Reason.PRIVATE_ADDRESS


def test_a_host_without_addresses_raises_with_its_name() -> None:
    def raise_oserror(host: str, port: int) -> Sequence[str]:
        raise OSError(-2, "Name or service not known")

    for resolve in (raise_oserror, lambda host, port: []):
        with pytest.raises(TransientError, match=r"a\.example"):
            resolve_allowed_addresses("a.example", 80, resolve)


def test_at_most_eight_addresses_of_a_host_are_returned() -> None:
    addresses = [f"93.184.216.{number}" for number in range(100)]
    assert resolve_allowed_addresses("a.example", 80, lambda host, port: addresses) == addresses[:8]


def test_addresses_are_cached_and_a_slow_name_delays_no_other() -> None:
    resolved_hosts: list[str] = []
    may_answer = threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        resolved_hosts.append(host)
        if host == "slow.example":
            may_answer.wait(10)
        return ["93.184.216.34"]

    resolver = Resolver(resolve)
    try:
        slow_results: list[object] = []
        resolver.resolve("slow.example", 80, slow_results.append)
        for _ in range(2):
            done = threading.Event()
            results: list[object] = []

            def collect(
                addresses: object, results: list[object] = results, done: threading.Event = done
            ) -> None:
                results.append(addresses)
                done.set()

            resolver.resolve("a.example", 80, collect)
            assert done.wait(10)
            assert results == [["93.184.216.34"]]
        assert slow_results == []
        assert resolved_hosts.count("a.example") == 1
    finally:
        may_answer.set()
        resolver.close()
