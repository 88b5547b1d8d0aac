"""One process at a time, whatever becomes of the one that had it."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from empty_records import open_records
from fonds.isolation.process_identity import create_worker_name
from fonds.model.rows import LeaseRow
from fonds.pipelines.runtime.leases import LeaseConflictError, Leases
from fonds.ports import Records


class Seconds:
    """Seconds that go on when they are told to, and a little each time they are asked for."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        self.now += 0.001
        return self.now


@pytest.fixture
def records(tmp_path: Path, migrated: Path) -> Iterator[Records]:
    shutil.copy(migrated, tmp_path / "records.sqlite")
    opened = open_records(tmp_path / "records.sqlite")
    yield opened
    opened.close()


def test_what_one_holds_no_other_gets_until_it_is_given_back(records: Records) -> None:
    one, other = Leases(records, "a:1:x", Seconds()), Leases(records, "b:2:y", Seconds())
    with one.acquire("it", 0.0):
        assert one.get_holder("it") == "a:1:x"
        with pytest.raises(LeaseConflictError, match="a:1:x is at it"), other.acquire("it", 0.0):
            pass
        with other.acquire("something else", 0.0):
            pass
    with other.acquire("it", 0.0):
        assert one.get_holder("it") == "b:2:y"
    assert one.get_holder("it") is None


def test_two_threads_of_one_process_exclude_each_other(records: Records) -> None:
    claims, refused = Leases(records, create_worker_name(), Seconds()), []

    def take() -> None:
        try:
            with claims.acquire("it", 0.0):
                pass
        except LeaseConflictError as error:
            refused.append(error)

    with claims.acquire("it", 0.0):
        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
    assert len(refused) == 1


def test_a_claim_that_stands_still_for_a_lease_is_nobodys(records: Records) -> None:
    records.put([LeaseRow("it", "elsewhere:1:2:x", 7)])
    seconds = Seconds()
    claims = Leases(records, "a:1:x", seconds, lease_s=0.2)
    with pytest.raises(LeaseConflictError), claims.acquire("it", 0.1):
        pass
    with claims.acquire("it", 5.0) as claim:
        assert claim.row.beats == 8
        assert seconds.now >= 0.2


def test_the_claim_of_a_dead_process_of_this_machine_is_taken_at_once(records: Records) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
        *machine, _, start, _ = create_worker_name().split("/")
        dead = "/".join([*machine, str(ended.pid), start, "x"])
        records.put([LeaseRow("it", dead, 7)])
    claims = Leases(records, create_worker_name(), Seconds())
    assert claims.get_holder("it") is None
    with claims.acquire("it", 0.0):
        pass


def test_who_held_too_long_writes_nothing_more(records: Records) -> None:
    seconds = Seconds()
    claims = Leases(records, "a:1:x", seconds, lease_s=30.0)
    with claims.acquire("it", 0.0) as claim:
        claims.check(claim)
        seconds.now += 16
        with pytest.raises(LeaseConflictError, match="took too long"):
            claims.check(claim)


def test_a_claim_another_took_meanwhile_is_lost_and_stays_the_others(records: Records) -> None:
    claims = Leases(records, "a:1:x", Seconds(), lease_s=0.05)
    with claims.acquire_renewed("it") as claim:
        records.put([LeaseRow("it", "b:2:y", 99)])
        assert claim.lost.wait(5.0)
        with pytest.raises(LeaseConflictError):
            claims.check(claim)
    assert claims.get_holder("it") == "b:2:y"
