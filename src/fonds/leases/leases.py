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
_ACQUIRABLE = frozenset({LeaseState.FREE, LeaseState.OWN, LeaseState.EXPIRED})
_NOTHING: Mapping[str, object] = {}
_NOTHING_EACH: Mapping[str, Mapping[str, object]] = {}

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
    """Leases that one holder name acquires, renews and releases. Thread-safe.

    `holder_name` must never be used by another object. `clock_s` must be monotonic. Two threads
    exclude each other as two processes do.
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
        self._held: set[str] = set()
        self._threads: dict[str, threading.Lock] = {}
        self._observed: OrderedDict[str, tuple[LeaseCell, float]] = OrderedDict()
        self._pause = threading.Event()

    def is_acquirable(self, name: str, cell: LeaseCell) -> bool:
        """Return whether this process can acquire the lease `name`.

        `cell` is the stored value of the lease and must have been read just now.
        """
        is_others = cell.holder not in (None, self.holder_name)
        unchanged_s = self.observe(name, cell) if is_others else 0.0
        state = compute_state(
            cell, self.holder_name, unchanged_s, self.lease_s, self._is_process_gone
        )
        with self._guard:
            return name not in self._held and state in _ACQUIRABLE

    def observe(self, name: str, cell: LeaseCell) -> float:
        """Return how many seconds this process has seen the stored value of a lease unchanged.

        `cell` is the stored value, read just now. Returns 0.0 when the process sees this value for
        the first time.
        """
        now_s = self._clock_s()
        with self._guard:
            observation = self._observed.get(name)
            if observation is not None and observation[0] == cell:
                return now_s - observation[1]
            self._observed[name] = (cell, now_s)
            self._observed.move_to_end(name)
            while len(self._observed) > OBSERVATIONS_MAX:
                self._observed.popitem(last=False)
        return 0.0

    def try_acquire(
        self,
        name: str,
        cell: LeaseCell,
        columns: Mapping[str, object] = _NOTHING,
        where: Mapping[str, object] = _NOTHING,
    ) -> Lease | None:
        """Acquire a lease; return None if another process or thread has the lease.

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
        columns: Mapping[str, Mapping[str, object]] = _NOTHING_EACH,
        where: Mapping[str, object] = _NOTHING,
    ) -> dict[str, Lease]:
        """Acquire those of several leases that are available, in one transaction.

        Returns the acquired leases by name.

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
                columns.get(name, _NOTHING),
                where,
            )
            for name in names
        ]
        now_s, acquired_names = self._clock_s(), set[str]()
        try:
            acquired_names = self._cells.swap(changes) if changes else acquired_names
        finally:
            self._forget(names - acquired_names)
        return {
            change.name: Lease(change.name, change.after, now_s)
            for change in changes
            if change.name in acquired_names
        }

    def renew(self, lease: Lease, columns: Mapping[str, object] = _NOTHING) -> bool:
        """Renew a lease, and write `columns` (further columns of its row) in the same step.

        Returns False and writes nothing if the lease is lost.
        """
        return lease.name in self.renew_all([lease], {lease.name: columns})

    def renew_all(
        self,
        leases: Iterable[Lease],
        columns: Mapping[str, Mapping[str, object]] = _NOTHING_EACH,
    ) -> set[str]:
        """Renew leases in one transaction. Return the names of the renewed leases.

        `columns` maps the name of a lease to further columns of its row to write in the same step.
        """
        return self._write(
            LeaseWrite(lease, False, columns.get(lease.name, _NOTHING), _NOTHING)
            for lease in leases
        )

    def release(
        self,
        lease: Lease,
        columns: Mapping[str, object] = _NOTHING,
        where: Mapping[str, object] = _NOTHING,
    ) -> bool:
        """Release a lease, and write `columns` (further columns of its row) in the same step.

        Returns False and writes nothing if the lease is lost, or if a column of the row does not
        have the value in `where`. In the second case, this process keeps the lease.
        """
        return lease.name in self._release([LeaseWrite(lease, True, columns, where)])

    def release_all(
        self,
        leases: Iterable[Lease],
        columns: Mapping[str, Mapping[str, object]] = _NOTHING_EACH,
    ) -> set[str]:
        """Release leases in one transaction. Return the names of the released leases.

        `columns` maps the name of a lease to further columns of its row to write in the same step.
        A lease that was already lost is not in the result.
        """
        return self._release(
            [
                LeaseWrite(lease, True, columns.get(lease.name, _NOTHING), _NOTHING)
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

    def check_renewed(self, leases: Collection[Lease]) -> None:
        """Renew the leases whose renewal is due. Raise LeaseConflictError if a lease is lost."""
        now_s = self._clock_s()
        self.renew_all(
            [candidate for candidate in leases if is_renewal_due(candidate, now_s, self.lease_s)]
        )
        for lease in leases:
            self.check(lease)

    def get_holder(self, name: str) -> str | None:
        """Return the name of the process that has a lease.

        Returns None if the lease is free, or if that process has ended.
        """
        cell = self._cells.load([name]).get(name)
        if cell is None or cell.holder is None or self._is_process_gone(cell.holder):
            return None
        return cell.holder

    @contextmanager
    def acquire(self, name: str, wait_s: float) -> Iterator[Lease]:
        """Acquire a lease for the duration of a `with` block, then release it.

        Waits up to `wait_s` seconds for the lease. Raises LeaseConflictError if another process or
        thread still has the lease then.
        """
        until_s = self._clock_s() + wait_s
        thread_lock = self._get_thread_lock(name)
        if not thread_lock.acquire(timeout=max(0.0, wait_s)):
            raise LeaseConflictError(f"{name}: another thread of this process has the lease")
        try:
            lease = self._wait(name, until_s)
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
        """Acquire those of the named leases that are free, and release them at the end of a `with`
        block.

        Yields the acquired leases by name. Leases that others have are skipped without an error.
        """
        leases = self.try_acquire_all(self._cells.load(list(names))) if names else {}
        try:
            yield leases
        finally:
            with suppress(TransientError):
                self.release_all(leases.values())

    @contextmanager
    def keep_renewed(self, lease: Lease) -> Iterator[None]:
        """Renew a lease in a thread while a `with` block runs, or until another process has the
        lease.
        """
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

    def _wait(self, name: str, until_s: float) -> Lease:
        pause_s = PAUSE_FIRST_S
        while True:
            cell = self._cells.load([name]).get(name)
            if cell is None:
                raise LeaseConflictError(f"{name}: its row was removed")
            lease = self.try_acquire(name, cell)
            if lease is not None:
                return lease
            now_s = self._clock_s()
            if now_s >= until_s:
                holder = format_identity(cell.holder or "another process")
                raise LeaseConflictError(f"{name}: {holder} has the lease")
            self._pause.wait(min(pause_s, max(0.0, until_s - now_s)))
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def _release(self, writes: list[LeaseWrite]) -> set[str]:
        try:
            released_names = self._write(writes)
        except BaseException:
            self._forget(write.lease.name for write in writes)
            raise
        self._forget(released_names)
        for item in writes:
            if item.lease.name in released_names:
                item.lease.lost.set()
        return released_names

    def _write(self, writes: Iterable[LeaseWrite]) -> set[str]:
        """Write renewals and releases of leases. Return the names of the leases that were written.

        A write that fails may have succeeded earlier without a response. Then the stored values are
        read, and the write is completed. Leases that another process has are marked as lost.
        """
        pending = [write for write in writes if not write.lease.lost.is_set()]
        written_names = self._swap(pending)
        if pending := [item for item in pending if item.lease.name not in written_names]:
            cells = self._cells.load([item.lease.name for item in pending])
            written_names |= {item.lease.name for item in pending if _has_arrived(item, cells)}
            pending = [item for item in pending if item.lease.name not in written_names]
            written_names |= self._swap([item for item in pending if _adopt(item, cells)])
            self._forget(item.lease.name for item in pending if item.lease.lost.is_set())
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
        """Reserve lease names for the calling thread, so that two threads do not acquire the same
        lease.

        Returns the names that no other thread of this process has reserved.
        """
        new_names = set(names)
        with self._guard:
            new_names -= self._held
            self._held |= new_names
        return new_names

    def _forget(self, names: Iterable[str]) -> None:
        with self._guard:
            self._held.difference_update(names)

    def _get_thread_lock(self, name: str) -> threading.Lock:
        with self._guard:
            return self._threads.setdefault(name, threading.Lock())


def _has_arrived(write: LeaseWrite, cells: Mapping[str, LeaseCell]) -> bool:
    """Return whether a planned release of a lease has already taken place.

    `cells` are the stored values read after the write failed. Only the process that has a lease can
    release it, so a released lease means that an earlier attempt succeeded without a response.
    """
    return write.is_release and cells.get(write.lease.name) == write.change.after


def _adopt(write: LeaseWrite, cells: Mapping[str, LeaseCell]) -> bool:
    """Return whether to repeat the renewal of a lease, because an earlier attempt succeeded without
    a response.

    `cells` are the stored values read after the write failed. If the renewal is stored, the lease
    takes over the stored value. If another process has the lease, the lease is marked as lost.
    """
    lease, cell = write.lease, cells.get(write.lease.name)
    if cell == build_next_cell(lease.cell, lease.cell.holder):
        lease.cell = cell
        return True
    if cell != lease.cell:
        lease.lost.set()
    return False
