"""Names are resolved aside, judged whole, and kept for a while."""

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
def test_one_private_address_is_enough_to_refuse_a_host(addresses: Sequence[str]) -> None:
    with pytest.raises(PermanentError) as refused:
        resolve_allowed_addresses("a.example", 80, lambda host, port: addresses)
    assert refused.value.reason is Reason.PRIVATE_ADDRESS


def test_a_host_without_addresses_is_told() -> None:
    def fails(host: str, port: int) -> Sequence[str]:
        raise OSError(-2, "Name or service not known")

    for resolve in (fails, lambda host, port: []):
        with pytest.raises(TransientError, match=r"a\.example"):
            resolve_allowed_addresses("a.example", 80, resolve)


def test_no_more_addresses_than_are_tried() -> None:
    many = [f"93.184.216.{number}" for number in range(100)]
    assert resolve_allowed_addresses("a.example", 80, lambda host, port: many) == many[:8]


def test_what_was_learned_is_kept_and_a_slow_name_keeps_nobody_waiting() -> None:
    asked: list[str] = []
    go_on = threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        if host == "slow.example":
            go_on.wait(10)
        return ["93.184.216.34"]

    resolver = Resolver(resolve)
    try:
        slow: list[object] = []
        resolver.resolve("slow.example", 80, slow.append)
        for _ in range(2):
            done = threading.Event()
            found: list[object] = []

            def told(
                one: object, found: list[object] = found, done: threading.Event = done
            ) -> None:
                found.append(one)
                done.set()

            resolver.resolve("a.example", 80, told)
            assert done.wait(10)
            assert found == [["93.184.216.34"]]
        assert slow == []
        assert asked.count("a.example") == 1
    finally:
        go_on.set()
        resolver.close()
