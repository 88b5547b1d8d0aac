"""At most one process has a lease, for every kind of cell and every backend of records."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Barrier
from typing import Any

import pytest

from contract.record_rows import NOON
from fonds.following.source_edits import SourceOptions, build_source
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseColumns, LeaseTable, get_cell
from fonds.leases.lease import LeaseConflictError
from fonds.leases.leases import Leases
from fonds.model.errors import StoreUnavailableError
from fonds.model.lease import LeaseCell, LeaseChange
from fonds.model.rows import LeaseRow, PaceRow, SourceRow, TimetableRow
from fonds.ports import LeaseCells, Records
from small_pipeline import RaisesOnce

LEASE_S = 30.0
PACE = PaceRow("it", None, 0, {}, NOON)
SOURCE = replace(build_source("https://a.example/feed", SourceOptions(), NOON), source_id="it")
TASK = TimetableRow("it", "", 60, "", NOON, None, 0, None, None, None, 0, 0)
NOTES = {PaceRow: "requested_by", SourceRow: "title", TimetableRow: "last_error"}
"""A column of each kind of row that the holder writes."""


class SettableClock:
    """A monotonic clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Place:
    """Cells of one kind, and the row `it` of that kind."""

    cells: LeaseCells
    kind: type[Any]
    seconds: SettableClock

    def join(self, holder: str, cells: LeaseCells | None = None, **options: Any) -> Leases:
        """Return the leases of another process."""
        return Leases(cells or self.cells, holder, self.seconds, LEASE_S, **options)

    @property
    def cell(self) -> LeaseCell:
        return self.cells.load(["it"])["it"]


KINDS = [LeaseRow, PaceRow, SourceRow, TimetableRow]


def open_cells(records: Any, kind: type[Any]) -> LeaseCells:
    return LeaseTable(records) if kind is LeaseRow else LeaseColumns(records, kind)


@pytest.fixture(params=KINDS, ids=lambda kind: str(kind.TABLE))
def place(request: pytest.FixtureRequest, records: Records) -> Place:
    for row in (PACE, SOURCE, TASK):
        records.put([row])
    return Place(open_cells(records, request.param), request.param, SettableClock())


def test_a_swap_requires_the_expected_cell(place: Place) -> None:
    free = place.cell
    assert free.holder is None
    first_cell, second_cell = LeaseCell("one", free.version + 1), LeaseCell("two", free.version + 1)
    assert place.cells.swap([LeaseChange("it", free, first_cell)]) == {"it"}
    assert place.cells.swap([LeaseChange("it", free, second_cell)]) == set()
    for wrong in (LeaseCell("one", first_cell.version + 1), LeaseCell("other", first_cell.version)):
        assert place.cells.swap([LeaseChange("it", wrong, second_cell)]) == set()
        assert place.cells.swap([LeaseChange("it", wrong, LeaseCell(None, 9))]) == set()
    assert place.cell == first_cell
    assert place.cells.swap(
        [LeaseChange("it", first_cell, LeaseCell(None, first_cell.version + 1))]
    ) == {"it"}
    assert place.cell.holder is None
    assert place.cell != free


def test_every_acquisition_has_a_new_cell(place: Place) -> None:
    leases, earlier_cells = place.join("one"), set()
    for _ in range(20):
        lease = leases.try_acquire("it", place.cell)
        assert lease is not None
        assert place.cell not in earlier_cells
        earlier_cells.add(place.cell)
        assert leases.release(lease)


def test_only_one_of_two_contenders_acquires_the_lease(place: Place) -> None:
    first, second = place.join("one"), place.join("other")
    cell = place.cell
    lease = first.try_acquire("it", cell)
    assert lease is not None
    assert second.try_acquire("it", cell) is None
    assert second.try_acquire("it", place.cell) is None
    assert first.try_acquire("it", place.cell) is None
    assert first.get_holder("it") == "one"
    assert first.release(lease)
    assert first.get_holder("it") is None
    assert second.try_acquire("it", place.cell) is not None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.TABLE))
def test_only_one_of_many_concurrent_contenders_has_the_lease(
    open_records: Callable[[], Any], records: Records, kind: type[Any]
) -> None:
    for row in (PACE, SOURCE, TASK):
        records.put([row])
    seconds, inside, turns = SettableClock(), [0], [0]
    handles = [open_records() for _ in range(4)]
    barrier = Barrier(len(handles))

    def contend(number: int) -> None:
        cells = open_cells(handles[number], kind)
        leases = Leases(cells, f"process {number}", seconds, LEASE_S)
        barrier.wait(60)
        for _ in range(15):
            lease = leases.try_acquire("it", cells.load(["it"])["it"])
            if lease is not None:
                inside[0] += 1
                assert inside[0] == 1
                turns[0] += 1
                inside[0] -= 1
                assert leases.release(lease)

    with ThreadPoolExecutor(len(handles)) as threads:
        for future in [threads.submit(contend, number) for number in range(len(handles))]:
            future.result(timeout=120)
    assert turns[0] > 0


def test_the_lease_of_a_killed_process_expires_after_its_duration(
    place: Place,
) -> None:
    """A second look before the lease expires is not enough, because the holder may be alive."""
    killed, contender = place.join("killed"), place.join("other")
    assert killed.try_acquire("it", place.cell) is not None
    for after_s in (0.0, 0.0, 1.0, LEASE_S - 0.001):
        place.seconds.now_s = 1000.0 + after_s
        assert contender.try_acquire("it", place.cell) is None
    place.seconds.now_s = 1000.0 + LEASE_S
    assert contender.try_acquire("it", place.cell) is not None


def test_a_new_process_waits_a_full_lease_duration(place: Place) -> None:
    killed, contender = place.join("killed"), place.join("other")
    assert killed.try_acquire("it", place.cell) is not None
    place.seconds.now_s += 100 * LEASE_S
    assert contender.try_acquire("it", place.cell) is None
    place.seconds.now_s += LEASE_S
    assert contender.try_acquire("it", place.cell) is not None


def test_a_renewal_just_before_expiry_keeps_the_lease(place: Place) -> None:
    holder, contender = place.join("one"), place.join("other")
    lease = holder.try_acquire("it", place.cell)
    assert lease is not None
    for _ in range(5):
        assert contender.try_acquire("it", place.cell) is None
        place.seconds.now_s += LEASE_S - 0.001
        assert holder.renew(lease)
        place.seconds.now_s += 0.002
        assert contender.try_acquire("it", place.cell) is None
    assert holder.release(lease)


def test_a_slow_holder_detects_its_lost_lease_and_writes_nothing(place: Place) -> None:
    slow, contender = place.join("slow"), place.join("other")
    lease = slow.try_acquire("it", place.cell)
    assert lease is not None
    slow.check(lease)
    contender.try_acquire("it", place.cell)
    place.seconds.now_s += LEASE_S
    new_lease = contender.try_acquire("it", place.cell)
    assert new_lease is not None
    with pytest.raises(LeaseConflictError):
        slow.check(lease)
    with pytest.raises(LeaseConflictError):
        slow.renew_due_leases([lease])
    assert lease.lost.is_set()
    assert not slow.renew(lease)
    assert not slow.release(lease)
    assert place.cell == new_lease.cell
    # The slow process can acquire the lease again.
    assert contender.release(new_lease)
    assert slow.try_acquire("it", place.cell) is not None


@dataclass
class SlowCells:
    """Cells whose writes take 20 seconds."""

    real: LeaseCells
    seconds: SettableClock

    def load(self, names: Sequence[str]) -> Mapping[str, LeaseCell]:
        return self.real.load(names)

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        self.seconds.now_s += 20.0
        return self.real.swap(changes)


def test_a_lease_starts_before_its_cell_is_written(place: Place) -> None:
    """Other processes may see the cell when the write begins, so the lease must not count from its end."""
    slow = place.join("slow", SlowCells(place.cells, place.seconds))
    lease = slow.try_acquire("it", place.cell)
    assert lease is not None
    assert not slow.is_held(lease)
    assert slow.renew(lease)
    assert not slow.is_held(lease)
    assert lease.renewed_s == place.seconds.now_s - 20.0


def test_a_holder_of_a_lost_lease_cannot_write_columns(records: Records) -> None:
    for kind, row in ((PaceRow, PACE), (SourceRow, SOURCE), (TimetableRow, TASK)):
        records.put([row])
        place = Place(LeaseColumns(records, kind), kind, SettableClock())
        name = NOTES[kind]
        slow, contender = (
            place.join("slow"),
            place.join("other", is_process_gone=lambda holder: True),
        )
        lease = slow.try_acquire("it", place.cell, {name: "began"})
        new_lease = contender.try_acquire("it", place.cell, {name: "took over"})
        assert lease is not None
        assert new_lease is not None
        assert not slow.renew(lease, {name: "late"})
        assert not slow.release(lease, {name: "late"})
        (stored,) = records.get(kind, ["it"])
        assert getattr(stored, name) == "took over"
        assert not contender.release(new_lease, {name: "ended"}, {name: "something else"})
        assert contender.renew(new_lease)
        assert contender.release(new_lease, {name: "ended"}, {name: "took over"})
        (stored,) = records.get(kind, ["it"])
        assert (getattr(stored, name), get_cell(stored).holder) == ("ended", None)


def test_a_process_cannot_release_a_lease_of_another(place: Place) -> None:
    holder, contender = place.join("one"), place.join("other")
    lease = holder.try_acquire("it", place.cell)
    assert lease is not None
    stolen = replace(lease, cell=LeaseCell("other", lease.cell.version), lost=threading.Event())
    assert not contender.release(stolen)
    assert stolen.lost.is_set()
    assert place.cell == lease.cell
    assert holder.renew(lease)


def test_a_released_lease_is_unusable_and_free(place: Place) -> None:
    leases = place.join("one")
    lease = leases.try_acquire("it", place.cell)
    assert lease is not None
    assert leases.release(lease)
    assert not leases.renew(lease)
    assert not leases.release(lease)
    with pytest.raises(LeaseConflictError):
        leases.check(lease)
    assert place.cell.holder is None
    assert leases.try_acquire("it", place.cell) is not None


def test_a_clock_jump_on_one_machine_costs_others_no_lease(place: Place) -> None:
    """Each process compares only times of its own clock."""
    holder = place.join("one")
    other_seconds = SettableClock()
    contender = Leases(place.cells, "other", other_seconds, LEASE_S)
    lease = holder.try_acquire("it", place.cell)
    assert lease is not None
    for other_seconds.now_s in (5.0, 9e9, 9e9 + LEASE_S - 1):
        place.seconds.now_s += LEASE_S / 3
        assert holder.renew(lease)
        assert contender.try_acquire("it", place.cell) is None


def test_the_lease_of_a_dead_local_process_is_free_at_once(place: Place) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    *machine, _, start, _ = create_worker_name().split("/")
    dead = place.join("/".join([*machine, str(ended.pid), start, "x"]))
    assert dead.try_acquire("it", place.cell) is not None
    living = place.join(create_worker_name())
    assert living.get_holder("it") is None
    assert living.try_acquire("it", place.cell) is not None


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_lost_response_costs_no_lease(place: Place, nth: int) -> None:
    """The response to an acquisition, renewal or release is lost after the change was stored."""
    lossy = RaisesOnce(place.cells, "swap", StoreUnavailableError("away"), nth=nth, after=True)
    holder, contender = place.join("one", lossy), place.join("other")  # type: ignore[arg-type]

    def insist(act: Callable[[], Any]) -> Any:
        try:
            return act()
        except StoreUnavailableError:
            return act()

    lease = insist(lambda: holder.try_acquire("it", place.cell))
    assert lease is not None
    assert insist(lambda: holder.renew(lease))
    assert place.cell == lease.cell
    insist(lambda: holder.release(lease))
    assert contender.try_acquire("it", place.cell) is not None


def test_many_leases_are_changed_in_one_call(records: Records) -> None:
    records.put([replace(PACE, domain=f"d{number:03}") for number in range(250)])
    cells, seconds = LeaseColumns(records, PaceRow), SettableClock()
    first, second = (Leases(cells, holder, seconds, LEASE_S) for holder in ("one", "other"))
    names = [f"d{number:03}" for number in range(250)]
    first_leases = second.try_acquire_all(cells.load(names[:50]))
    assert len(first_leases) == 50
    leases = first.try_acquire_all(cells.load([*names, "absent"]))
    assert sorted(leases) == names[50:]
    columns = {name: {"requested_by": f"{name}'s"} for name in names}
    assert first.renew_all(leases.values(), columns) == set(leases)
    assert first.release_all(leases.values()) == set(leases)
    rows = {row.domain: (row.lease_holder, row.requested_by) for row in records.find(PaceRow)}
    assert rows["d000"] == ("other", None)
    assert rows["d249"] == (None, "d249's")


# Waiting for a lease of the table of leases.


@pytest.fixture
def table(records: Records) -> Place:
    return Place(LeaseTable(records), LeaseRow, SettableClock())


def test_a_lease_lasts_as_long_as_its_context(table: Place, records: Records) -> None:
    first, second = table.join("a:1:x"), table.join("b:2:y")
    with first.acquire("it", 0.0):
        with (
            pytest.raises(LeaseConflictError, match="a:1:x has the lease"),
            second.acquire("it", 0.0),
        ):
            pass
        with second.acquire("something else", 0.0):
            pass
    with second.acquire("it", 0.0):
        assert first.get_holder("it") == "b:2:y"
    assert records.count(LeaseRow)[()] == 0


def test_two_threads_of_one_process_exclude_each_other(table: Place) -> None:
    leases = table.join("one")
    refused = []

    def contend() -> None:
        try:
            with leases.acquire("it", 0.0):
                pass
        except LeaseConflictError as error:
            refused.append(error)
        with leases.acquire_free(["it"]) as free:
            assert free == {}

    with leases.acquire("it", 0.0), ThreadPoolExecutor(1) as threads:
        threads.submit(contend).result(timeout=60)
    assert len(refused) == 1


def test_a_waiting_process_acquires_an_expired_lease(records: Records) -> None:
    class Running(SettableClock):
        def __call__(self) -> float:
            self.now_s += 0.5
            return self.now_s

    records.put([LeaseRow("it", "elsewhere:1:2:x", 7)])
    leases = Leases(LeaseTable(records), "a:1:x", Running(), LEASE_S)
    with pytest.raises(LeaseConflictError), leases.acquire("it", LEASE_S / 2):
        pass
    with leases.acquire("it", LEASE_S) as lease:
        assert lease.cell == LeaseCell("a:1:x", 8)


def test_a_context_renews_its_lease_until_another_process_takes_it(records: Records) -> None:
    cells = LeaseTable(records)
    leases = Leases(cells, "a:1:x", SettableClock(), 0.05)
    with leases.acquire_renewed("it") as lease:
        version, patience = lease.cell.version, threading.Event()
        for _ in range(500):
            if lease.cell.version >= version + 3:
                break
            patience.wait(0.02)
        else:
            pytest.fail("the lease is not renewed")
        records.put([LeaseRow("it", "b:2:y", 99)])
        assert lease.lost.wait(10.0)
        with pytest.raises(LeaseConflictError):
            leases.check(lease)
    assert leases.get_holder("it") == "b:2:y"


def test_every_name_has_a_separate_lease(records: Records) -> None:
    """SQL text cannot contain NUL or lone surrogates, but collections of other programs have such names."""
    names = ["n/a", "n/a\x00", "n/a%00", "n/a\udc80", "n/a\ufffd", "ä %", "\\"]
    leases = Leases(LeaseTable(records), "a", SettableClock(), LEASE_S)
    holders = []
    for name in names:
        with leases.acquire(name, 0.0) as lease:
            holders.append(leases.get_holder(name))
            leases.check(lease)
            other_names = [other_name for other_name in names if other_name != name]
            assert [leases.get_holder(other_name) for other_name in other_names] == [None] * 6
    assert holders == ["a"] * len(names)
