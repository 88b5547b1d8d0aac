"""Acquisition, renewal and release of leases by one process, in storage shared with other
processes.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from fonds.isolation.process_identity import format_identity, is_process_gone
from fonds.leases.lease import (
    LEASE_S,
    RENEWALS_PER_LEASE,
    Lease,
    LeaseConflictError,
    LeaseState,
    build_next_cell,
    compute_state,
    is_renewal_due,
    is_write_safe,
)
from fonds.model.errors import FondsError, TransientError
from fonds.model.lease import LeaseCell, LeaseChange
from fonds.ports import LeaseCells

PAUSE_FIRST_S, PAUSE_MAX_S = 0.001, 0.05
OBSERVATIONS_MAX = 20_000
_ACQUIRABLE_STATES = frozenset({LeaseState.FREE, LeaseState.OWN, LeaseState.EXPIRED})
_NO_COLUMNS: Mapping[str, object] = {}
_NO_COLUMNS_BY_NAME: Mapping[str, Mapping[str, object]] = {}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseWrite:
    """Write that a process plans for a lease that it has: a renewal or a release.

    - `is_release`: True for a release, False for a renewal.
    - `columns`: values of further columns of the lease's row, to write in the same step.
    - `where`: columns of that row, and the values that they must have for the write to take place.
    """

    lease: Lease
    is_release: bool
    columns: Mapping[str, object]
    where: Mapping[str, object]

    @property
    def change(self) -> LeaseChange:
        """The write as a LeaseChange, made only if the stored lease still equals what this process
        last wrote.
        """
        lease = self.lease
        next_cell = build_next_cell(lease.cell, None if self.is_release else lease.cell.holder)
        return LeaseChange(lease.name, lease.cell, next_cell, self.columns, self.where)


class Leases:
    """Leases that one holder acquires, renews and releases. Thread-safe.

    `holder_name` must never be used by another object. `clock_s` must be monotonic. Two threads
    that use one object exclude each other as two processes do.
    """

    def __init__(
        self,
        cells: LeaseCells,
        holder_name: str,
        clock_s: Callable[[], float],
        lease_s: float = LEASE_S,
        is_process_gone: Callable[[str], bool] = is_process_gone,
    ) -> None:
        self.lease_s = lease_s
        self.holder_name = holder_name
        self._cells = cells
        self._clock_s = clock_s
        self._is_process_gone = is_process_gone
        self._guard = threading.Lock()
        self._reserved_names: set[str] = set()
        self._thread_locks: dict[str, threading.Lock] = {}
        self._observations: OrderedDict[str, tuple[LeaseCell, float]] = OrderedDict()
        self._pause_event = threading.Event()

    def is_acquirable(self, name: str, cell: LeaseCell) -> bool:
        """Return whether this process can acquire the lease `name`.

        Returns False if another process has the lease, or a thread of this process has it.
        `cell` is the stored value of the lease and must have been read just now.
        """
        is_held_by_other = cell.holder not in (None, self.holder_name)
        unchanged_s = self.observe(name, cell) if is_held_by_other else 0.0
        state = compute_state(
            cell, self.holder_name, unchanged_s, self.lease_s, self._is_process_gone
        )
        with self._guard:
            return name not in self._reserved_names and state in _ACQUIRABLE_STATES

    def observe(self, name: str, cell: LeaseCell) -> float:
        """Return how many seconds this process has seen the stored value of a lease unchanged.

        `cell` is the stored value, read just now. Returns 0.0 when the process sees this value for
        the first time. Only the 20,000 leases observed last are remembered.
        """
        now_s = self._clock_s()
        with self._guard:
            observation = self._observations.get(name)
            if observation is None or observation[0] != cell:
                observation = self._observations[name] = (cell, now_s)
            # Also move an unchanged observation. Otherwise an abandoned lease is evicted before it
            # expires if many other leases are observed.
            self._observations.move_to_end(name)
            while len(self._observations) > OBSERVATIONS_MAX:
                self._observations.popitem(last=False)
        return now_s - observation[1]

    def try_acquire(
        self,
        name: str,
        cell: LeaseCell,
        columns: Mapping[str, object] = _NO_COLUMNS,
        where: Mapping[str, object] = _NO_COLUMNS,
    ) -> Lease | None:
        """Acquire a lease. Return None if another process or thread has it, or if a column does not
        have the value in `where`.

        - `name`: name of the lease.
        - `cell`: stored value of the lease, read just now.
        - `columns`: values of further columns of the lease's row, to write in the same step.
        - `where`: columns of that row, and the values that they must have for the lease to be
          acquired.
        """
        return self.try_acquire_all({name: cell}, {name: columns}, where).get(name)

    def try_acquire_all(
        self,
        cells: Mapping[str, LeaseCell],
        columns: Mapping[str, Mapping[str, object]] = _NO_COLUMNS_BY_NAME,
        where: Mapping[str, object] = _NO_COLUMNS,
    ) -> dict[str, Lease]:
        """Acquire those of several leases that are available. Return them by name.

        - `cells`: stored value of each lease by name, read just now.
        - `columns`: for each lease name, further columns of its row to write in the same step.
        - `where`: columns and values that every row must have for its lease to be acquired.
        """
        names = self._reserve(
            name for name, cell in cells.items() if self.is_acquirable(name, cell)
        )
        changes = [
            LeaseChange(
                name,
                cells[name],
                build_next_cell(cells[name], self.holder_name),
                columns.get(name, _NO_COLUMNS),
                where,
            )
            for name in names
        ]
        now_s, acquired_names = self._clock_s(), set[str]()
        try:
            acquired_names = self._cells.swap(changes) if changes else acquired_names
        finally:
            self._unreserve(names - acquired_names)
        return {
            change.name: Lease(change.name, change.after, now_s)
            for change in changes
            if change.name in acquired_names
        }

    def renew(self, lease: Lease, columns: Mapping[str, object] = _NO_COLUMNS) -> bool:
        """Renew a lease, and write `columns` (further columns of its row) in the same step.

        Returns False and writes nothing if the lease is lost.
        """
        return lease.name in self.renew_all([lease], {lease.name: columns})

    def renew_all(
        self,
        leases: Iterable[Lease],
        columns: Mapping[str, Mapping[str, object]] = _NO_COLUMNS_BY_NAME,
    ) -> set[str]:
        """Renew several leases. Return the names of the renewed leases.

        `columns` maps the name of a lease to further columns of its row to write in the same step.
        A lease that is lost is not in the result.
        """
        return self._write(
            LeaseWrite(lease, False, columns.get(lease.name, _NO_COLUMNS), _NO_COLUMNS)
            for lease in leases
        )

    def release(
        self,
        lease: Lease,
        columns: Mapping[str, object] = _NO_COLUMNS,
        where: Mapping[str, object] = _NO_COLUMNS,
    ) -> bool:
        """Release a lease, and write `columns` (further columns of its row) in the same step.

        Returns False and writes nothing if the lease is lost, or if a column of the row does not
        have the value in `where`. In the second case, this process keeps the lease.
        """
        return lease.name in self._release([LeaseWrite(lease, True, columns, where)])

    def release_all(
        self,
        leases: Iterable[Lease],
        columns: Mapping[str, Mapping[str, object]] = _NO_COLUMNS_BY_NAME,
    ) -> set[str]:
        """Release several leases. Return the names of the released leases.

        `columns` maps the name of a lease to further columns of its row to write in the same step.
        A lease that is lost is not in the result.
        """
        return self._release(
            [
                LeaseWrite(lease, True, columns.get(lease.name, _NO_COLUMNS), _NO_COLUMNS)
                for lease in leases
            ]
        )

    def is_held(self, lease: Lease) -> bool:
        """Return whether this process may still write under the lease.

        Returns False once the lease is lost, or was not renewed for half of the lease duration.
        """
        return is_write_safe(lease, self._clock_s(), self.lease_s)

    def check(self, lease: Lease) -> None:
        """Raise LeaseConflictError if the lease is lost or may soon expire.

        After this error, write nothing more.
        """
        if not self.is_held(lease):
            raise LeaseConflictError(f"{lease.name}: the lease was not renewed in time")

    def renew_due_leases(self, leases: Collection[Lease]) -> None:
        """Renew the leases whose renewal is due. Then check all leases as `check` does."""
        now_s = self._clock_s()
        self.renew_all([lease for lease in leases if is_renewal_due(lease, now_s, self.lease_s)])
        for lease in leases:
            self.check(lease)

    def get_holder(self, name: str) -> str | None:
        """Return the name of the process that has a lease.

        Returns None if the lease is free or has no row, or if that process has ended.
        """
        cell = self._cells.load([name]).get(name)
        if cell is None or cell.holder is None or self._is_process_gone(cell.holder):
            return None
        return cell.holder

    @contextmanager
    def acquire(self, name: str, wait_s: float) -> Iterator[Lease]:
        """Acquire a lease for the duration of a `with` block, then release it.

        Waits up to `wait_s` seconds for the lease. Raises LeaseConflictError if another process or
        thread still has the lease then, or if the row of the lease does not exist.
        """
        deadline_s = self._clock_s() + wait_s
        thread_lock = self._get_thread_lock(name)
        if not thread_lock.acquire(timeout=max(0.0, wait_s)):
            raise LeaseConflictError(f"{name}: another thread of this process has the lease")
        try:
            lease = self._wait_for_lease(name, deadline_s)
            try:
                yield lease
            finally:
                self.release(lease)
        finally:
            thread_lock.release()

    @contextmanager
    def acquire_renewed(self, name: str, wait_s: float = 0.0) -> Iterator[Lease]:
        """Acquire a lease for a `with` block, and renew it in a thread meanwhile, for work of any
        duration.

        Waits up to `wait_s` seconds for the lease.
        """
        with self.acquire(name, wait_s) as lease, self.keep_renewed(lease):
            yield lease

    @contextmanager
    def acquire_free(self, names: Collection[str]) -> Iterator[dict[str, Lease]]:
        """Acquire those of the named leases that are available, and release them at the end of a
        `with` block.

        Yields the acquired leases by name. Leases that others have are skipped without an error. A
        release that fails with TransientError is not reported.
        """
        leases = self.try_acquire_all(self._cells.load(list(names))) if names else {}
        try:
            yield leases
        finally:
            with suppress(TransientError):
                self.release_all(leases.values())

    @contextmanager
    def keep_renewed(self, lease: Lease) -> Iterator[None]:
        """Renew a lease in a thread while a `with` block runs, or until the lease is lost."""
        stop_event = threading.Event()

        def renew() -> None:
            while not lease.lost.is_set() and not stop_event.wait(
                self.lease_s / RENEWALS_PER_LEASE
            ):
                try:
                    self.renew(lease)
                except FondsError as error:
                    logger.warning("the lease %s cannot be renewed now: %s", lease.name, error)

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop_event.set()
            thread.join()

    def _wait_for_lease(self, name: str, deadline_s: float) -> Lease:
        pause_s = PAUSE_FIRST_S
        while True:
            cell = self._cells.load([name]).get(name)
            if cell is None:
                raise LeaseConflictError(f"{name}: its row was removed")
            lease = self.try_acquire(name, cell)
            if lease is not None:
                return lease
            now_s = self._clock_s()
            if now_s >= deadline_s:
                holder = format_identity(cell.holder or "another process")
                raise LeaseConflictError(f"{name}: {holder} has the lease")
            self._pause_event.wait(min(pause_s, max(0.0, deadline_s - now_s)))
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def _release(self, writes: list[LeaseWrite]) -> set[str]:
        try:
            released_names = self._write(writes)
        except BaseException:
            self._unreserve(write.lease.name for write in writes)
            raise
        self._unreserve(released_names)
        for write in writes:
            if write.lease.name in released_names:
                write.lease.lost.set()
        return released_names

    def _write(self, writes: Iterable[LeaseWrite]) -> set[str]:
        """Write renewals and releases of leases. Return the names of the leases that were written.

        The storage refuses a write if the stored value is not what this process last knew. An
        earlier write may have been stored without a response, so the stored values are then read.
        A release that is stored counts as written. After a renewal that is stored, the write is
        repeated. Any other changed value means that the lease is lost.
        """
        pending = [write for write in writes if not write.lease.lost.is_set()]
        written_names = self._swap(pending)
        if pending := [write for write in pending if write.lease.name not in written_names]:
            cells = self._cells.load([write.lease.name for write in pending])
            written_names |= {
                write.lease.name for write in pending if _is_release_stored(write, cells)
            }
            pending = [write for write in pending if write.lease.name not in written_names]
            written_names |= self._swap(
                [write for write in pending if _adopt_stored_renewal(write, cells)]
            )
            self._unreserve(write.lease.name for write in pending if write.lease.lost.is_set())
        return written_names

    def _swap(self, writes: list[LeaseWrite]) -> set[str]:
        now_s = self._clock_s()
        changes = {write.lease.name: (write.lease, write.change) for write in writes}
        written_names = (
            self._cells.swap([change for _, change in changes.values()]) if changes else set()
        )
        for name in written_names:
            lease, change = changes[name]
            lease.cell, lease.renewed_s = change.after, now_s
        return written_names

    def _reserve(self, names: Iterable[str]) -> set[str]:
        """Reserve lease names, so that two threads of this process do not acquire the same lease.

        Returns those of the names that were not reserved before.
        """
        new_names = set(names)
        with self._guard:
            new_names -= self._reserved_names
            self._reserved_names |= new_names
        return new_names

    def _unreserve(self, names: Iterable[str]) -> None:
        with self._guard:
            self._reserved_names.difference_update(names)

    def _get_thread_lock(self, name: str) -> threading.Lock:
        with self._guard:
            return self._thread_locks.setdefault(name, threading.Lock())


def _is_release_stored(write: LeaseWrite, cells: Mapping[str, LeaseCell]) -> bool:
    """Return whether the planned release of a lease is already stored.

    `cells` are the stored values, read after the write was refused. Only the process that has a
    lease can release it, so an earlier attempt succeeded without a response. Returns False in
    storage that keeps no version of a free lease, such as LeaseTable.
    """
    return write.is_release and cells.get(write.lease.name) == write.change.after


def _adopt_stored_renewal(write: LeaseWrite, cells: Mapping[str, LeaseCell]) -> bool:
    """Let a lease take over the value of an earlier renewal that was stored without a response.

    Returns whether there was such a renewal, so that the planned write can be repeated. If the
    stored value is neither this renewal nor the last known value, the lease is marked as lost.
    `cells` are the stored values, read after the write was refused.
    """
    lease, cell = write.lease, cells.get(write.lease.name)
    if cell == build_next_cell(lease.cell, lease.cell.holder):
        lease.cell = cell
        return True
    if cell != lease.cell:
        lease.lost.set()
    return False
