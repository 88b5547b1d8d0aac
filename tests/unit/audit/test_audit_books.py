"""The audit of the ledger: every message is accounted for in its pipeline."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, cast

import msgspec
import pytest
from rich.console import Console

from audit_bench import (
    build_disposition,
    build_finished_input,
    build_input,
    enter_and_process,
    run_sums_audit,
)
from fonds.audit.audit import FAULTS_MAX, AuditResult, build_report, run_audit
from fonds.audit.conservation import build_accounts
from fonds.audit.fault import AuditCheck, AuditFault
from fonds.cli.audit import print_audit
from fonds.model.disposition import Reason, defer, quarantine, retry
from fonds.model.rows import EntryRow
from fonds.model.step import Pipeline, Result
from fonds.pipelines.runtime.binding import build_subscriptions
from fonds.ports import Stores
from small_pipeline import SUMS, Workplace, double


def test_an_empty_home_balances(place: Workplace, stores: Stores) -> None:
    audit = run_sums_audit(place, stores)
    assert audit.is_balanced
    assert audit.fault_texts == []


def test_waiting_and_finished_messages_add_up(place: Workplace, stores: Stores) -> None:
    enter_and_process(place)
    place.enter(7, 8)
    audit = run_sums_audit(place, stores)
    assert audit.is_balanced, audit.fault_texts
    assert msgspec.to_builtins(build_report(audit)) == {
        "balanced": True,
        "check_counts": {},
        "faults": [],
        "missing": [],
        "fault_count": 0,
        "steps": {
            "sums": {
                "double": {"in": 6, "done": 4, "dropped": 0, "quarantined": 0, "pending": 2},
                "keep": {"in": 4, "done": 0, "dropped": 0, "quarantined": 0, "pending": 4},
            },
        },
    }


def test_received_and_delayed_messages_are_pending(place: Workplace, stores: Stores) -> None:
    place.enter(1, 2)
    place.queue.receive("sums.double-in", 1, 0.0)
    (delayed,) = place.queue.receive("sums.double-in", 1, 0.0)
    place.queue.put("sums.double-in", [replace(delayed.message, attempt=1)], delay_s=60)
    place.queue.settle([delayed])
    audit = run_sums_audit(place, stores)
    assert audit.is_balanced, audit.fault_texts
    assert audit.steps["sums"]["double"].pending == 2


def test_a_message_lost_before_its_first_step_is_reported(place: Workplace, stores: Stores) -> None:
    place.enter(1, 2)
    place.ledger.enter([build_finished_input(2)], [], ())
    place.queue.settle(place.queue.receive("sums.double-in", 1, 0.0))
    audit = run_sums_audit(place, stores)
    assert not audit.is_balanced
    assert audit.fault_texts == [
        "sums.double: 1 of 2 unsettled messages are in no queue (for example id-001, id-002)"
    ]


def test_a_message_lost_between_two_steps_is_reported(place: Workplace, stores: Stores) -> None:
    enter_and_process(place, 1)
    place.take_all("sums.keep-in")
    audit = run_sums_audit(place, stores)
    assert audit.fault_texts == [
        "sums.keep: 1 of 1 unsettled messages are in no queue (for example id-000)"
    ]
    assert audit.steps["sums"]["keep"].missing == 1


def test_a_message_lost_from_quarantine_is_reported(place: Workplace, stores: Stores) -> None:
    place.enter(1)
    place.ledger.enter([build_finished_input(1)], [], ())
    place.loop(lambda item: Result(quarantine(Reason.TIMEOUT))).run_once(0.0)
    assert run_sums_audit(place, stores).is_balanced
    place.take_all("sums.double-quar")
    audit = run_sums_audit(place, stores)
    assert audit.fault_texts == [
        "sums.double: 1 quarantined messages are missing from the quarantine"
    ]


def test_dispositions_without_an_entry_do_not_hide_a_loss(place: Workplace, stores: Stores) -> None:
    place.ledger.write([build_disposition("id-000a", "double", "done")])
    place.enter(1)
    place.ledger.enter([build_finished_input(1)], [], ())
    place.take_all("sums.double-in")
    assert run_sums_audit(place, stores).fault_texts == [
        "sums.double: 1 of 1 unsettled messages are in no queue (for example id-001)",
        "entry id-000a (sums) is not in the ledger, but has 1 dispositions",
    ]


def test_entries_that_are_not_sent_yet_are_pending(place: Workplace, stores: Stores) -> None:
    """An intake that was killed between the ledger and the queue sends them when it continues."""
    place.enter(1, 2)
    place.take_all("sums.double-in")
    place.ledger.enter([build_input("input", "/w", 0, finished=False)], [], ())
    audit = run_sums_audit(place, stores)
    assert audit.fault_texts == []
    assert audit.steps["sums"]["double"].pending == 2


@dataclass
class RecordsWithWorker:
    """Records that let a worker run before they return the first row."""

    real: Any
    place: Workplace

    def __getattr__(self, name: str) -> Any:
        if name == "find":
            self.place.clock.now_s = time.time() + 1
            while self.place.loop(double).run_once(0.0):
                pass
        return getattr(self.real, name)


def test_a_worker_that_runs_during_the_audit_causes_no_fault(
    place: Workplace, stores: Stores
) -> None:
    place.enter(*range(5))
    stores_with_worker = replace(
        stores, records=cast(Any, RecordsWithWorker(stores.records, place))
    )
    audit = run_sums_audit(place, stores_with_worker)
    assert audit.fault_texts == []


def test_messages_quarantined_during_the_audit_are_not_missing(place: Workplace) -> None:
    """The queue is counted first, so only messages quarantined before that can be compared."""
    place.enter(1)
    started_at = place.clock()
    place.clock.pass_s(1.0)
    place.loop(lambda item: Result(quarantine(Reason.TIMEOUT))).run_once(0.0)
    readers = {SUMS.name: place.subscriptions}
    for moment, count in ((started_at, 0), (place.clock(), 1)):
        accounts = build_accounts(place.records, readers, moment, lambda *_: None)
        assert accounts[SUMS.name, "double"].quarantined_count == count


def test_an_input_with_entries_missing_from_the_ledger_is_reported(
    place: Workplace, stores: Stores
) -> None:
    place.enter(1)
    place.ledger.enter([build_finished_input(2)], [], ())
    audit = run_sums_audit(place, stores)
    assert audit.fault_texts == ["/w: 2 entries were read, but 1 are in the ledger"]


def test_an_unfinished_input_may_have_fewer_entries(place: Workplace, stores: Stores) -> None:
    place.enter(1)
    place.ledger.enter([build_input("input", "/w", 0, finished=False)], [], ())
    assert run_sums_audit(place, stores).is_balanced


def test_wrong_counts_and_outcomes_are_reported(place: Workplace, stores: Stores) -> None:
    (entry_id,) = enter_and_process(place, 1)
    place.ledger.enter([build_finished_input(1)], [], ())
    place.records.change(EntryRow, [(entry_id, SUMS.name)], {"outcome": "done"})
    audit = run_sums_audit(place, stores)
    assert audit.fault_count == 5
    assert audit.fault_texts[0].startswith(
        f"entry {entry_id} (sums) is recorded as done with 1 open"
    )
    assert [fault.split(":")[0] for fault in audit.fault_texts[1:]] == [
        "tally entries sums done double",
        "tally entries sums pending",
        "tally entries_by_day sums 2023-11-14 done",
        "tally entries_by_day sums 2023-11-14 pending",
    ]


def test_each_pipeline_balances_by_itself(place: Workplace, stores: Stores) -> None:
    """A surplus in the queue of one pipeline does not compensate for a loss in another."""
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


def test_all_faults_are_counted_and_some_are_listed(place: Workplace, stores: Stores) -> None:
    count = FAULTS_MAX + 20
    stores.ledger.enter(
        [build_input(f"i{n}", f"/{n}", 1, finished=True) for n in range(count)], [], ()
    )
    audit = run_sums_audit(place, stores)
    assert (audit.fault_count, len(audit.fault_texts)) == (count, FAULTS_MAX)
    assert audit.check_counts == {AuditCheck.INPUT_COUNT: count}
    full_audit = run_audit(stores, {SUMS.name: place.subscriptions}, faults_max=None)
    assert len(full_audit.faults) == count


def test_many_faults_of_one_check_do_not_hide_another() -> None:
    result = AuditResult()
    for number in range(50_000):
        result.add_fault(AuditFault(AuditCheck.BLOB, f"{number}", f"blob {number} is missing"))
    result.add_fault(AuditFault(AuditCheck.BODY, "w", "w is missing"))
    assert (result.fault_count, len(result.faults)) == (50_001, FAULTS_MAX + 1)
    output = StringIO()
    print_audit(Console(file=output, width=200), result)
    assert output.getvalue().count("is missing") == 6
    assert "and 49,995 more like it" in output.getvalue()
    assert "fault w is missing" in output.getvalue()


def test_more_dispositions_than_one_page_are_read(place: Workplace, stores: Stores) -> None:
    for start in range(0, 2500, 500):
        place.enter(*range(start, start + 500))
    while place.loop().run_once(0.0):
        pass
    audit = run_sums_audit(place, stores)
    assert audit.is_balanced, audit.fault_texts
    assert audit.steps["sums"]["double"].done == 2500


@pytest.mark.parametrize("verdict", [retry, defer])
def test_a_lost_message_that_waits_for_a_retry_is_reported(
    place: Workplace, stores: Stores, verdict: Any
) -> None:
    """It has not ended. If it were counted as settled, its loss would balance."""
    place.enter(1)
    place.ledger.enter([build_finished_input(1)], [], ())
    postponed = Result(verdict(Reason.STORE_UNAVAILABLE, "not now", 30.0))
    place.loop(lambda item: postponed).run_once(0.0)
    assert run_sums_audit(place, stores).is_balanced
    place.clock.pass_s(100.0)
    place.take_all("sums.double-in")
    audit = run_sums_audit(place, stores)
    assert audit.fault_texts == [
        "sums.double: 1 of 1 unsettled messages are in no queue (for example id-001)"
    ]
