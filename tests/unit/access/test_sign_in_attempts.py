"""Failed sign-ins are counted and delayed; memory is limited, and no address waits for others."""

from __future__ import annotations

import pytest

from fonds.access.sign_in_throttle import (
    PER_ADDRESS_MAX,
    TOTAL_MAX,
    WINDOW_S,
    FailedAttempts,
    group_address,
)


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


def test_after_ten_wrong_keys_only_that_address_waits(seconds: Seconds) -> None:
    attempts = FailedAttempts(seconds)
    for _ in range(PER_ADDRESS_MAX):
        assert attempts.get_wait_s("192.0.2.1") == 0
        attempts.record_failure("192.0.2.1")
    assert attempts.get_wait_s("192.0.2.1") == WINDOW_S
    assert attempts.get_wait_s("192.0.2.2") == 0
    seconds.now += WINDOW_S - 1
    assert attempts.get_wait_s("192.0.2.1") == 1
    seconds.now += 1
    assert attempts.get_wait_s("192.0.2.1") == 0


def test_a_distributed_attack_delays_only_its_addresses(seconds: Seconds) -> None:
    attempts = FailedAttempts(seconds)
    for number in range(TOTAL_MAX):
        attempts.record_failure(f"10.0.{number // 200}.{number % 200}")
    assert attempts.get_wait_s("10.0.0.7") > 0
    assert attempts.get_wait_s("192.0.2.1") == 0
    seconds.now += WINDOW_S
    assert attempts.get_wait_s("10.0.0.7") == 0


def test_an_address_waits_only_for_failures_of_the_last_five_minutes(
    seconds: Seconds,
) -> None:
    """The total limit counts no older failures of other addresses."""
    attempts = FailedAttempts(seconds)
    for number in range(TOTAL_MAX - 1):
        attempts.record_failure(f"10.0.{number // 200}.{number % 200}")
    seconds.now += WINDOW_S - 1
    attempts.record_failure("192.0.2.1")
    assert attempts.get_wait_s("192.0.2.1") == 1
    seconds.now += 1
    assert attempts.get_wait_s("192.0.2.1") == 0


def test_the_number_of_remembered_addresses_is_limited(seconds: Seconds) -> None:
    attempts = FailedAttempts(seconds, addresses_max=50, total_max=20)
    for number in range(5_000):
        attempts.record_failure(f"10.{number // 65536}.{number // 256 % 256}.{number % 256}")
    assert (len(attempts._failures), len(attempts._all_failures)) == (50, 20)


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("", "testclient", True),
    ],
)
def test_addresses_of_one_owner_are_counted_together(
    first: str, second: str, is_same: bool
) -> None:
    assert (group_address(first) == group_address(second)) is is_same


def test_the_addresses_of_the_last_failures_are_remembered(seconds: Seconds) -> None:
    """An attacker is counted even if more addresses than fit had failures before."""
    attempts = FailedAttempts(seconds, addresses_max=3, total_max=1_000)
    for number in range(5):
        attempts.record_failure(f"192.0.2.{number}")
    for _ in range(PER_ADDRESS_MAX):
        attempts.record_failure("198.51.100.9")
    assert attempts.get_wait_s("198.51.100.9") > 0
