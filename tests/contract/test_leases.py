"""One process at a time has a lease, whatever becomes of it: every kind of cell, every backend of records."""

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
"""A column of each kind of row that its holder writes."""


class Seconds:
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
    seconds: Seconds

    def join(self, holder: str, cells: LeaseCells | None = None, **options: Any) -> Leases:
        """The leases of one more process."""
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
    return Place(open_cells(records, request.param), request.param, Seconds())


def test_a_cell_is_set_only_while_it_is_as_expected(place: Place) -> None:
    free = place.cell
    assert free.holder is None
    one, two = LeaseCell("one", free.version + 1), LeaseCell("two", free.version + 1)
    assert place.cells.swap([LeaseChange("it", free, one)]) == {"it"}
    assert place.cells.swap([LeaseChange("it", free, two)]) == set()
    for wrong in (LeaseCell("one", one.version + 1), LeaseCell("other", one.version)):
        assert place.cells.swap([LeaseChange("it", wrong, two)]) == set()
        assert place.cells.swap([LeaseChange("it", wrong, LeaseCell(None, 9))]) == set()
    assert place.cell == one
    assert place.cells.swap([LeaseChange("it", one, LeaseCell(None, one.version + 1))]) == {"it"}
    assert place.cell.holder is None
    assert place.cell != free


def test_a_released_lease_never_has_an_earlier_cell_again(place: Place) -> None:
    leases, seen = place.join("one"), set()
    for _ in range(20):
        lease = leases.try_acquire("it", place.cell)
        assert lease is not None
        assert place.cell not in seen
        seen.add(place.cell)
        assert leases.release(lease)


def test_of_two_contenders_one_gets_the_lease(place: Place) -> None:
    one, other = place.join("one"), place.join("other")
    cell = place.cell
    lease = one.try_acquire("it", cell)
    assert lease is not None
    assert other.try_acquire("it", cell) is None
    assert other.try_acquire("it", place.cell) is None
    assert one.try_acquire("it", place.cell) is None
    assert one.get_holder("it") == "one"
    assert one.release(lease)
    assert one.get_holder("it") is None
    assert other.try_acquire("it", place.cell) is not None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.TABLE))
def test_of_many_contenders_at_once_one_gets_the_lease(
    open_records: Callable[[], Any], records: Records, kind: type[Any]
) -> None:
    for row in (PACE, SOURCE, TASK):
        records.put([row])
    seconds, inside, turns = Seconds(), [0], [0]
    handles = [open_records() for _ in range(4)]
    together = Barrier(len(handles))

    def contend(number: int) -> None:
        cells = open_cells(handles[number], kind)
        leases = Leases(cells, f"process {number}", seconds, LEASE_S)
        together.wait(60)
        for _ in range(15):
            lease = leases.try_acquire("it", cells.load(["it"])["it"])
            if lease is not None:
                inside[0] += 1
                assert inside[0] == 1
                turns[0] += 1
                inside[0] -= 1
                assert leases.release(lease)

    with ThreadPoolExecutor(len(handles)) as threads:
        for running in [threads.submit(contend, number) for number in range(len(handles))]:
            running.result(timeout=120)
    assert turns[0] > 0


def test_the_lease_of_a_killed_process_is_free_after_its_duration_and_not_before(
    place: Place,
) -> None:
    """The second look alone is no reason: the holder may be alive."""
    killed, other = place.join("killed"), place.join("other")
    assert killed.try_acquire("it", place.cell) is not None
    for after_s in (0.0, 0.0, 1.0, LEASE_S - 0.001):
        place.seconds.now_s = 1000.0 + after_s
        assert other.try_acquire("it", place.cell) is None
    place.seconds.now_s = 1000.0 + LEASE_S
    assert other.try_acquire("it", place.cell) is not None


def test_a_process_that_just_came_waits_a_whole_duration(place: Place) -> None:
    killed, other = place.join("killed"), place.join("other")
    assert killed.try_acquire("it", place.cell) is not None
    place.seconds.now_s += 100 * LEASE_S
    assert other.try_acquire("it", place.cell) is None
    place.seconds.now_s += LEASE_S
    assert other.try_acquire("it", place.cell) is not None


def test_a_renewal_just_before_expiry_keeps_the_lease(place: Place) -> None:
    one, other = place.join("one"), place.join("other")
    lease = one.try_acquire("it", place.cell)
    assert lease is not None
    for _ in range(5):
        assert other.try_acquire("it", place.cell) is None
        place.seconds.now_s += LEASE_S - 0.001
        assert one.renew(lease)
        place.seconds.now_s += 0.002
        assert other.try_acquire("it", place.cell) is None
    assert one.release(lease)


def test_a_slow_holder_that_lost_its_lease_notices_and_writes_nothing(place: Place) -> None:
    slow, other = place.join("slow"), place.join("other")
    lease = slow.try_acquire("it", place.cell)
    assert lease is not None
    slow.check(lease)
    other.try_acquire("it", place.cell)
    place.seconds.now_s += LEASE_S
    taken = other.try_acquire("it", place.cell)
    assert taken is not None
    with pytest.raises(LeaseConflictError):
        slow.check(lease)
    with pytest.raises(LeaseConflictError):
        slow.check_renewed([lease])
    assert lease.lost.is_set()
    assert not slow.renew(lease)
    assert not slow.release(lease)
    assert place.cell == taken.cell
    # It may contend again.
    assert other.release(taken)
    assert slow.try_acquire("it", place.cell) is not None


@dataclass
class SlowCells:
    """Cells whose writes take 20 seconds."""

    real: LeaseCells
    seconds: Seconds

    def load(self, names: Sequence[str]) -> Mapping[str, LeaseCell]:
        return self.real.load(names)

    def swap(self, changes: Sequence[LeaseChange]) -> set[str]:
        self.seconds.now_s += 20.0
        return self.real.swap(changes)


def test_a_lease_counts_from_before_its_cell_is_written(place: Place) -> None:
    """Others may see the cell as soon as the write begins, so its holder cannot count from the end."""
    slow = place.join("slow", SlowCells(place.cells, place.seconds))
    lease = slow.try_acquire("it", place.cell)
    assert lease is not None
    assert not slow.is_held(lease)
    assert slow.renew(lease)
    assert not slow.is_held(lease)
    assert lease.renewed_s == place.seconds.now_s - 20.0


def test_the_columns_of_a_holder_that_lost_its_lease_are_not_written(records: Records) -> None:
    for kind, row in ((PaceRow, PACE), (SourceRow, SOURCE), (TimetableRow, TASK)):
        records.put([row])
        place = Place(LeaseColumns(records, kind), kind, Seconds())
        name = NOTES[kind]
        slow, other = place.join("slow"), place.join("other", is_process_gone=lambda who: True)
        lease = slow.try_acquire("it", place.cell, {name: "began"})
        taken = other.try_acquire("it", place.cell, {name: "took over"})
        assert lease is not None
        assert taken is not None
        assert not slow.renew(lease, {name: "late"})
        assert not slow.release(lease, {name: "late"})
        (found,) = records.get(kind, ["it"])
        assert getattr(found, name) == "took over"
        assert not other.release(taken, {name: "ended"}, {name: "something else"})
        assert other.renew(taken)
        assert other.release(taken, {name: "ended"}, {name: "took over"})
        (found,) = records.get(kind, ["it"])
        assert (getattr(found, name), get_cell(found).holder) == ("ended", None)


def test_a_process_that_does_not_hold_a_lease_cannot_release_it(place: Place) -> None:
    one, other = place.join("one"), place.join("other")
    lease = one.try_acquire("it", place.cell)
    assert lease is not None
    stolen = replace(lease, cell=LeaseCell("other", lease.cell.version), lost=threading.Event())
    assert not other.release(stolen)
    assert stolen.lost.is_set()
    assert place.cell == lease.cell
    assert one.renew(lease)


def test_a_released_lease_is_over(place: Place) -> None:
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


def test_a_clock_that_jumps_on_one_machine_takes_nothing_from_another(place: Place) -> None:
    """Each process has its own clock; only differences of one clock count."""
    one = place.join("one")
    other_seconds = Seconds()
    other = Leases(place.cells, "other", other_seconds, LEASE_S)
    lease = one.try_acquire("it", place.cell)
    assert lease is not None
    for other_seconds.now_s in (5.0, 9e9, 9e9 + LEASE_S - 1):
        place.seconds.now_s += LEASE_S / 3
        assert one.renew(lease)
        assert other.try_acquire("it", place.cell) is None


def test_the_lease_of_a_dead_process_of_this_machine_is_free_at_once(place: Place) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    *machine, _, start, _ = create_worker_name().split("/")
    dead = place.join("/".join([*machine, str(ended.pid), start, "x"]))
    assert dead.try_acquire("it", place.cell) is not None
    living = place.join(create_worker_name())
    assert living.get_holder("it") is None
    assert living.try_acquire("it", place.cell) is not None


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_an_answer_that_is_lost_costs_no_lease(place: Place, nth: int) -> None:
    """A change is kept and its answer lost: of the acquisition, the renewal or the release."""
    lossy = RaisesOnce(place.cells, "swap", StoreUnavailableError("away"), nth=nth, after=True)
    one, other = place.join("one", lossy), place.join("other")  # type: ignore[arg-type]

    def insist(act: Callable[[], Any]) -> Any:
        try:
            return act()
        except StoreUnavailableError:
            return act()

    lease = insist(lambda: one.try_acquire("it", place.cell))
    assert lease is not None
    assert insist(lambda: one.renew(lease))
    assert place.cell == lease.cell
    insist(lambda: one.release(lease))
    assert other.try_acquire("it", place.cell) is not None


def test_many_leases_are_acquired_renewed_and_released_at_once(records: Records) -> None:
    records.put([replace(PACE, domain=f"d{number:03}") for number in range(250)])
    cells, seconds = LeaseColumns(records, PaceRow), Seconds()
    one, other = (Leases(cells, who, seconds, LEASE_S) for who in ("one", "other"))
    names = [f"d{number:03}" for number in range(250)]
    held = other.try_acquire_all(cells.load(names[:50]))
    assert len(held) == 50
    leases = one.try_acquire_all(cells.load([*names, "absent"]))
    assert sorted(leases) == names[50:]
    columns = {name: {"requested_by": f"{name}'s"} for name in names}
    assert one.renew_all(leases.values(), columns) == set(leases)
    assert one.release_all(leases.values()) == set(leases)
    told = {row.domain: (row.lease_holder, row.requested_by) for row in records.find(PaceRow)}
    assert told["d000"] == ("other", None)
    assert told["d249"] == (None, "d249's")


# What waits for a lease, in the table of leases.


@pytest.fixture
def table(records: Records) -> Place:
    return Place(LeaseTable(records), LeaseRow, Seconds())


def test_a_lease_is_held_while_its_context_lasts(table: Place, records: Records) -> None:
    one, other = table.join("a:1:x"), table.join("b:2:y")
    with one.acquire("it", 0.0):
        with (
            pytest.raises(LeaseConflictError, match="a:1:x has the lease"),
            other.acquire("it", 0.0),
        ):
            pass
        with other.acquire("something else", 0.0):
            pass
    with other.acquire("it", 0.0):
        assert one.get_holder("it") == "b:2:y"
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


def test_who_waits_gets_an_expired_lease(records: Records) -> None:
    class Running(Seconds):
        def __call__(self) -> float:
            self.now_s += 0.5
            return self.now_s

    records.put([LeaseRow("it", "elsewhere:1:2:x", 7)])
    leases = Leases(LeaseTable(records), "a:1:x", Running(), LEASE_S)
    with pytest.raises(LeaseConflictError), leases.acquire("it", LEASE_S / 2):
        pass
    with leases.acquire("it", LEASE_S) as lease:
        assert lease.cell == LeaseCell("a:1:x", 8)


def test_a_lease_is_renewed_in_its_context_until_another_takes_it(records: Records) -> None:
    cells = LeaseTable(records)
    leases = Leases(cells, "a:1:x", Seconds(), 0.05)
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


def test_any_name_has_a_lease_of_its_own(records: Records) -> None:
    """SQL text holds no NUL and no lone surrogate, and collections of other programs have such names."""
    names = ["n/a", "n/a\x00", "n/a%00", "n/a\udc80", "n/a\ufffd", "ä %", "\\"]
    leases = Leases(LeaseTable(records), "a", Seconds(), LEASE_S)
    held = []
    for name in names:
        with leases.acquire(name, 0.0) as lease:
            held.append(leases.get_holder(name))
            leases.check(lease)
            assert [leases.get_holder(other) for other in names if other != name] == [None] * 6
    assert held == ["a"] * len(names)
