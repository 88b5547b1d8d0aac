"""The audit of the books: every message is accounted for, in each pipeline by itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec
import pytest

from audit_bench import (
    build_disposition,
    enter_and_process,
    finished_input,
    input_of,
    run_sums_audit,
)
from fonds.audit.audit import FAULTS_MAX, build_report, run_audit
from fonds.audit.conservation import build_accounts
from fonds.model.disposition import Reason, defer, quarantine, retry
from fonds.model.rows import EntryRow
from fonds.model.step import Pipeline, Result
from fonds.pipelines.runtime.binding import build_subscriptions
from fonds.ports import Stores
from small_pipeline import SUMS, Workplace, double


def test_an_empty_home_balances(place: Workplace, stores: Stores) -> None:
    found = run_sums_audit(place, stores)
    assert found.is_balanced
    assert found.fault_texts == []


def test_what_waits_and_what_ended_adds_up(place: Workplace, stores: Stores) -> None:
    enter_and_process(place)
    place.enter(7, 8)
    found = run_sums_audit(place, stores)
    assert found.is_balanced, found.fault_texts
    assert msgspec.to_builtins(build_report(found)) == {
        "balanced": True,
        "faults": [],
        "missing": [],
        "missing_count": 0,
        "steps": {
            "sums": {
                "double": {"in": 6, "done": 4, "dropped": 0, "quarantined": 0, "pending": 2},
                "keep": {"in": 4, "done": 0, "dropped": 0, "quarantined": 0, "pending": 4},
            },
        },
    }


def test_what_is_in_hand_or_delayed_is_pending(place: Workplace, stores: Stores) -> None:
    place.enter(1, 2)
    place.queue.receive("sums.double-in", 1, 0.0)
    (delayed,) = place.queue.receive("sums.double-in", 1, 0.0)
    place.queue.put("sums.double-in", [replace(delayed.message, attempt=1)], delay_s=60)
    place.queue.settle([delayed])
    found = run_sums_audit(place, stores)
    assert found.is_balanced, found.fault_texts
    assert found.steps["sums"]["double"].pending == 2


def test_a_message_that_vanished_before_its_first_step_is_named(
    place: Workplace, stores: Stores
) -> None:
    place.enter(1, 2)
    place.ledger.enter([finished_input(2)], [], ())
    place.queue.settle(place.queue.receive("sums.double-in", 1, 0.0))
    found = run_sums_audit(place, stores)
    assert not found.is_balanced
    assert found.fault_texts == [
        "sums.double: 1 of 2 unsettled messages are in no queue (for example id-001, id-002)"
    ]


def test_a_message_that_vanished_between_two_steps_is_named(
    place: Workplace, stores: Stores
) -> None:
    enter_and_process(place, 1)
    place.take_all("sums.keep-in")
    found = run_sums_audit(place, stores)
    assert found.fault_texts == [
        "sums.keep: 1 of 1 unsettled messages are in no queue (for example id-000)"
    ]
    assert found.steps["sums"]["keep"].missing == 1


def test_a_message_that_vanished_from_quarantine_is_told(place: Workplace, stores: Stores) -> None:
    place.enter(1)
    place.ledger.enter([finished_input(1)], [], ())
    place.loop(lambda item: Result(quarantine(Reason.TIMEOUT))).run_once(0.0)
    assert run_sums_audit(place, stores).is_balanced
    place.take_all("sums.double-quar")
    found = run_sums_audit(place, stores)
    assert found.fault_texts == [
        "sums.double: 1 quarantined messages are missing from the quarantine"
    ]


def test_dispositions_of_what_never_entered_do_not_hide_a_loss(
    place: Workplace, stores: Stores
) -> None:
    place.ledger.write([build_disposition("id-000a", "double", "done")])
    place.enter(1)
    place.ledger.enter([finished_input(1)], [], ())
    place.take_all("sums.double-in")
    assert run_sums_audit(place, stores).fault_texts == [
        "sums.double: 1 of 1 unsettled messages are in no queue (for example id-001)",
        "entry id-000a (sums) is not in the ledger, but has 1 dispositions",
    ]


def test_entries_written_down_and_not_yet_sent_are_pending(
    place: Workplace, stores: Stores
) -> None:
    """An intake that was killed between the two sends them when it goes on."""
    place.enter(1, 2)
    place.take_all("sums.double-in")
    place.ledger.enter([input_of("input", "/w", 0, finished=False)], [], ())
    found = run_sums_audit(place, stores)
    assert found.fault_texts == []
    assert found.steps["sums"]["double"].pending == 2


@dataclass
class WorksMeanwhile:
    """Records that are read slowly: before the first row is given out, a worker takes a turn."""

    real: Any
    place: Workplace

    def __getattr__(self, name: str) -> Any:
        if name == "find":
            self.place.clock.now_s = time.time() + 1
            while self.place.loop(double).run_once(0.0):
                pass
        return getattr(self.real, name)


def test_a_worker_that_runs_meanwhile_is_no_loss(place: Workplace, stores: Stores) -> None:
    place.enter(*range(5))
    moving = replace(stores, records=cast(Any, WorksMeanwhile(stores.records, place)))
    found = run_sums_audit(place, moving)
    assert found.fault_texts == []


def test_what_is_quarantined_while_the_audit_runs_is_not_missing(place: Workplace) -> None:
    """The queue was counted before, so only what was quarantined by then can be compared with it."""
    place.enter(1)
    started_at = place.clock()
    place.clock.pass_s(1.0)
    place.loop(lambda item: Result(quarantine(Reason.TIMEOUT))).run_once(0.0)
    readers = {SUMS.name: place.subscriptions}
    for moment, count in ((started_at, 0), (place.clock(), 1)):
        accounts = build_accounts(place.records, readers, moment, lambda *told: None)
        assert accounts[SUMS.name, "double"].quarantined == count


def test_an_input_whose_entries_are_not_all_on_the_books_is_named(
    place: Workplace, stores: Stores
) -> None:
    place.enter(1)
    place.ledger.enter([finished_input(2)], [], ())
    found = run_sums_audit(place, stores)
    assert found.fault_texts == ["/w: 2 entries were read, but 1 are in the ledger"]


def test_an_input_that_is_still_read_may_be_behind(place: Workplace, stores: Stores) -> None:
    place.enter(1)
    place.ledger.enter([input_of("input", "/w", 0, finished=False)], [], ())
    assert run_sums_audit(place, stores).is_balanced


def test_counts_and_outcomes_that_are_wrong_are_named(place: Workplace, stores: Stores) -> None:
    (one,) = enter_and_process(place, 1)
    place.ledger.enter([finished_input(1)], [], ())
    place.records.change(EntryRow, [(one, SUMS.name)], {"outcome": "done"})
    found = run_sums_audit(place, stores)
    assert found.missing_count == 5
    assert found.fault_texts[0].startswith(f"entry {one} (sums) is recorded as done with 1 open")
    assert [fault.split(":")[0] for fault in found.fault_texts[1:]] == [
        "tally entries sums done double",
        "tally entries sums pending",
        "tally entries_by_day sums 2023-11-14 done",
        "tally entries_by_day sums 2023-11-14 pending",
    ]


def test_pipelines_are_balanced_each_by_itself(place: Workplace, stores: Stores) -> None:
    """What one pipeline has too much in its queue does not make up for what another lost."""
    other = Pipeline("more", SUMS.entry, SUMS.stages)
    readers = build_subscriptions(other, "t")
    place.queue.declare(readers)
    entry = EntryRow("id-9", other.name, "number", "", "", None, None, "", place.clock())
    place.ledger.enter([], [entry], ["double"])
    place.enter(1, 2)
    audit = run_audit(stores, {SUMS.name: place.subscriptions, other.name: readers})
    assert audit.fault_texts == [
        "more.double: 1 of 1 unsettled messages are in no queue (for example id-9)"
    ]
    assert audit.steps["sums"]["double"].pending == 2
    assert audit.steps["more"]["double"].missing == 1


def test_of_many_faults_all_are_counted_and_some_named(place: Workplace, stores: Stores) -> None:
    count = FAULTS_MAX + 20
    stores.ledger.enter(
        [input_of(f"i{n}", f"/{n}", 1, finished=True) for n in range(count)], [], ()
    )
    found = run_sums_audit(place, stores)
    assert (found.missing_count, len(found.fault_texts)) == (count, FAULTS_MAX)


def test_more_dispositions_than_one_page_are_all_read(place: Workplace, stores: Stores) -> None:
    for start in range(0, 2500, 500):
        place.enter(*range(start, start + 500))
    while place.loop().run_once(0.0):
        pass
    found = run_sums_audit(place, stores)
    assert found.is_balanced, found.fault_texts
    assert found.steps["sums"]["double"].done == 2500


@pytest.mark.parametrize("verdict", [retry, defer])
def test_a_message_to_be_tried_again_that_vanished_is_named(
    place: Workplace, stores: Stores, verdict: Any
) -> None:
    """It has not ended: counted as settled its loss would balance."""
    place.enter(1)
    place.records.put([finished_input(1)])
    later = Result(verdict(Reason.STORE_UNAVAILABLE, "not now", 30.0))
    place.loop(lambda item: later).run_once(0.0)
    assert run_sums_audit(place, stores).is_balanced
    place.clock.pass_s(100.0)
    place.take_all("sums.double-in")
    found = run_sums_audit(place, stores)
    assert found.fault_texts == [
        "sums.double: 1 of 1 unsettled messages are in no queue (for example id-001)"
    ]
