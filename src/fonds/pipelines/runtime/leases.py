"""What one process alone does at a time: changing a collection, building a clustering of it.

A claim is a row changed by compare and set. Who finds it taken waits until it is given back, until its
holder is known to be dead (a process of this machine that is not there any more), or until the row was seen
to stand still for a lease.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from fonds.isolation.process_identity import format_identity, is_process_gone
from fonds.model.errors import FondsError, TransientError
from fonds.model.rows import LeaseRow
from fonds.ports import Records

LEASE_S = 30.0
RENEWALS = 3
"""So many times in a lease a claim is renewed, and looked at again by those who wait for it."""

PAUSE_FIRST_S, PAUSE_MAX_S = 0.001, 0.05


class LeaseConflictError(TransientError):
    """Another process, or another thread of this one, does it now."""


@dataclass(slots=True)
class Lease:
    """Something this process does alone, for as long as `is_held`."""

    row: LeaseRow
    acquired_s: float
    lost: threading.Event = field(default_factory=threading.Event)


class Leases:
    """The claims of one process over rows it shares with others. Safe for several threads.

    `seconds` only run forward. Two threads of one process exclude each other as two processes do.
    """

    def __init__(
        self,
        records: Records,
        holder_name: str,
        seconds: Callable[[], float],
        lease_s: float = LEASE_S,
    ) -> None:
        self.lease_s = lease_s
        self._records = records
        self._holder_name = holder_name
        self._clock_s = seconds
        self._guard = threading.Lock()
        self._threads: dict[str, threading.Lock] = {}
        self._pause = threading.Event()

    @contextmanager
    def acquire(self, name: str, wait_s: float) -> Iterator[Lease]:
        """The claim while the context lasts. Raises LeaseConflictError when it is not free within
        `wait_s`."""
        until_s = self._clock_s() + wait_s
        own = self._get_thread_lock(name)
        if not own.acquire(timeout=max(0.0, wait_s)):
            raise LeaseConflictError(f"{name}: another thread of this process is at it")
        try:
            claim = self._acquire_row(name, until_s)
            try:
                yield claim
            finally:
                self._change_holder(claim, None)
        finally:
            own.release()

    @contextmanager
    def acquire_renewed(self, name: str, wait_s: float = 0.0) -> Iterator[Lease]:
        """As `acquire`, for what takes longer than a lease: a thread renews the claim meanwhile."""
        with self.acquire(name, wait_s) as claim:
            ended = threading.Event()

            def renew() -> None:
                while not ended.wait(self.lease_s / RENEWALS):
                    with suppress(FondsError):
                        self._change_holder(claim, self._holder_name)

            thread = threading.Thread(target=renew, name="claim", daemon=True)
            thread.start()
            try:
                yield claim
            finally:
                ended.set()
                thread.join()

    def check(self, lease: Lease) -> None:
        """Raises LeaseConflictError when the claim may be somebody else's by now: nothing more may be
        written."""
        if lease.lost.is_set() or self._clock_s() - lease.acquired_s > self.lease_s / 2:
            raise LeaseConflictError(
                f"{lease.row.name}: it took too long, and may be another's by now"
            )

    def get_holder(self, name: str) -> str | None:
        """Who is at it now; None for nobody, or for one that is known to be dead."""
        row = next(iter(self._records.get(LeaseRow, [name])), None)
        if row is None or row.claimed_by is None or is_process_gone(row.claimed_by):
            return None
        return row.claimed_by

    def _get_thread_lock(self, name: str) -> threading.Lock:
        with self._guard:
            return self._threads.setdefault(name, threading.Lock())

    def _acquire_row(self, name: str, until_s: float) -> Lease:
        seen: tuple[int, float] | None = None
        pause_s = PAUSE_FIRST_S
        while True:
            row = next(iter(self._records.get(LeaseRow, [name])), None)
            if row is None:
                self._records.put([LeaseRow(name, None, 0)], replace=False)
                continue
            now_s = self._clock_s()
            if seen is None or seen[0] != row.beats:
                seen = (row.beats, now_s)
            is_free = row.claimed_by is None or is_process_gone(row.claimed_by)
            if is_free or now_s - seen[1] >= self.lease_s:
                claim = Lease(row, now_s)
                if self._change_holder(claim, self._holder_name):
                    return claim
            if now_s >= until_s:
                raise LeaseConflictError(
                    f"{name}: {format_identity(row.claimed_by or 'another process')} is at it"
                )
            self._pause.wait(min(pause_s, max(0.0, until_s - now_s)))
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def _change_holder(self, lease: Lease, holder: str | None) -> bool:
        """Write the claim's row if it is as it was; a claim that another has is lost."""
        before = lease.row
        values = {"claimed_by": holder, "beats": before.beats + 1}
        still = {"claimed_by": before.claimed_by, "beats": before.beats}
        now_s = self._clock_s()
        if not self._records.change(LeaseRow, [before.name], values, still):
            lease.lost.set()
            return False
        lease.row, lease.acquired_s = LeaseRow(before.name, holder, before.beats + 1), now_s
        return True
