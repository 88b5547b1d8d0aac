"""A lease and the decisions about it, as pure functions.

A lease expires when its cell has not changed for the lease duration. Each process measures that
with its own monotonic clock, so jumps of the wall clock do not matter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from fonds.model.errors import TransientError
from fonds.model.lease import LeaseCell

LEASE_S = 30.0
RENEWALS_PER_LEASE = 3
"""Renewals within one lease duration, so that one failed renewal does no harm."""


class LeaseConflictError(TransientError):
    """Another process, or another thread of this one, has the lease."""


class LeaseState(Enum):
    """What a stored cell means to one process."""

    FREE = "free"
    OWN = "own"
    HELD = "held"
    EXPIRED = "expired"


@dataclass(slots=True, eq=False)
class Lease:
    """Lease of this process.

    `renewed_s` is the time of a monotonic clock, read before the cell was last written.
    `lost` is set once the lease is released or another process has it.
    """

    name: str
    cell: LeaseCell
    renewed_s: float
    lost: threading.Event = field(default_factory=threading.Event)


def compute_state(
    cell: LeaseCell,
    holder: str,
    unchanged_s: float,
    lease_s: float,
    is_process_gone: Callable[[str], bool],
) -> LeaseState:
    """Return what a cell means to `holder`, which has seen it unchanged for `unchanged_s` seconds."""
    if cell.holder is None:
        return LeaseState.FREE
    if cell.holder == holder:
        return LeaseState.OWN
    if unchanged_s >= lease_s or is_process_gone(cell.holder):
        return LeaseState.EXPIRED
    return LeaseState.HELD


def build_next_cell(cell: LeaseCell, holder: str | None) -> LeaseCell:
    """Return the cell after `holder` acquires or renews the lease; with None, after its release."""
    return LeaseCell(holder, cell.version + 1)


def is_write_safe(lease: Lease, now_s: float, lease_s: float) -> bool:
    """Return whether the holder may still write.

    The second half of the duration is a reserve: a write that begins in the first half ends before
    expiry.
    """
    return not lease.lost.is_set() and now_s - lease.renewed_s <= lease_s / 2


def is_renewal_due(lease: Lease, now_s: float, lease_s: float) -> bool:
    """Return whether the lease should be renewed before further work."""
    return now_s - lease.renewed_s >= lease_s / RENEWALS_PER_LEASE
