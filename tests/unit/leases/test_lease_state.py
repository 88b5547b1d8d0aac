"""The state of a lease for one process, as computed from its cell."""

from __future__ import annotations

import pytest

from fonds.leases.lease import (
    Lease,
    LeaseState,
    build_next_cell,
    compute_state,
    is_renewal_due,
    is_write_safe,
)
from fonds.model.lease import LeaseCell


@pytest.mark.parametrize(
    ("holder", "unchanged_s", "state"),
    [
        (None, 0.0, LeaseState.FREE),
        ("me", 0.0, LeaseState.OWN),
        ("me", 1000.0, LeaseState.OWN),
        ("other", 0.0, LeaseState.HELD),
        ("other", 29.9, LeaseState.HELD),
        ("other", 30.0, LeaseState.EXPIRED),
        ("gone", 0.0, LeaseState.EXPIRED),
    ],
)
def test_a_lease_is_free_own_held_or_expired(
    holder: str | None, unchanged_s: float, state: LeaseState
) -> None:
    cell = LeaseCell(holder, 7)
    assert (
        compute_state(cell, "me", unchanged_s, 30.0, lambda holder_name: holder_name == "gone")
        is state
    )


def test_every_write_changes_the_version() -> None:
    cell = LeaseCell(None, 7)
    for holder in ("me", "me", "other", None):
        before, cell = cell, build_next_cell(cell, holder)
        assert (cell.holder, cell.version) == (holder, before.version + 1)


def test_a_lease_is_written_in_its_first_half_and_renewed_after_a_third() -> None:
    lease = Lease("it", LeaseCell("me", 1), 100.0)
    assert [is_write_safe(lease, now_s, 30.0) for now_s in (100.0, 115.0, 115.1)] == [
        True,
        True,
        False,
    ]
    assert [is_renewal_due(lease, now_s, 30.0) for now_s in (100.0, 109.9, 110.0)] == [
        False,
        False,
        True,
    ]
    lease.lost.set()
    assert not is_write_safe(lease, 100.0, 30.0)
