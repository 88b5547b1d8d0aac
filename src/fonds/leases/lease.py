"""State of a lease, and the decisions to acquire, renew and stop writing, as pure functions.

A lease expires when its stored value has not changed for the lease duration. Each process measures
that time with its own monotonic clock, so jumps of the wall clock do not matter.
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
"""Number of renewals within one lease duration, so that one failed renewal does no harm."""


class LeaseConflictError(TransientError):
    """Error for a lease that another process, or another thread of this process, has."""


class LeaseState(Enum):
    """What a stored lease means to one process: free, its own, another process's, or expired."""

    FREE = "free"
    OWN = "own"
    HELD = "held"
    EXPIRED = "expired"


@dataclass(slots=True, eq=False)
class Lease:
    """Lease that the current process acquired.

    - `name`: name of the lease.
    - `cell`: stored value that the process last wrote.
    - `renewed_s`: time of the monotonic clock in seconds, read before `cell` was written.
    - `lost`: event that is set once the lease is released or another process has the lease.
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
    """Return what the stored value of a lease means to the process `holder`.

    - `unchanged_s`: seconds for which the process has seen the value unchanged.
    - `lease_s`: lease duration in seconds.
    - `is_process_gone`: function that returns whether the process of a holder has ended.
    """
    if cell.holder is None:
        return LeaseState.FREE
    if cell.holder == holder:
        return LeaseState.OWN
    if unchanged_s >= lease_s or is_process_gone(cell.holder):
        return LeaseState.EXPIRED
    return LeaseState.HELD


def build_next_cell(cell: LeaseCell, holder: str | None) -> LeaseCell:
    """Return the value to store when a lease is acquired, renewed or released.

    `holder` is the process that acquires or renews the lease; None releases it.
    """
    return LeaseCell(holder, cell.version + 1)


def is_write_safe(lease: Lease, now_s: float, lease_s: float) -> bool:
    """Return whether the process that has the lease may still begin a write at `now_s`.

    Writes may begin only in the first half of the lease duration. The second half is a reserve, so
    that a write ends before the lease expires. `now_s` is the time of the monotonic clock in
    seconds.
    """
    return not lease.lost.is_set() and now_s - lease.renewed_s <= lease_s / 2


def is_renewal_due(lease: Lease, now_s: float, lease_s: float) -> bool:
    """Return whether a lease should be renewed now, before further work.

    `now_s` is the time of the monotonic clock in seconds.
    """
    return now_s - lease.renewed_s >= lease_s / RENEWALS_PER_LEASE
