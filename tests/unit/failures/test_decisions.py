"""Retrying and accepting failures: the ledger balances before, during and after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from failed_home import body, fail, reader
from filled_home import open_home
from fonds.audit.audit import audit_accounts
from fonds.config import Settings
from fonds.failures.accounting.tallies import count_entries
from fonds.failures.decisions import (
    FailureAct,
    accept,
    build_plan,
    execute_decision,
    list_stages_from,
    retry,
)
from fonds.failures.entries import FailureQuery, list_failures
from fonds.failures.retries import list_link_retries, list_next_retries, list_retry_groups
from fonds.model.disposition import Reason, Verdict
from fonds.model.entry import LINK
from fonds.model.message import Message
from fonds.model.rows import CrashedPdfRow, DecisionRow, EntryRow
from fonds.ports import Stores
from fonds.viewer.history import list_history
from fonds.wiring.flavours import get_pipeline, list_readers
from home_rows import NOW, build_disposition, enter, entry, write

LIBRARY = get_pipeline("library", Settings())
SLOW = FailureQuery(reason="timeout")


def clock() -> datetime:
    return NOW + timedelta(days=1)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as new_stores:
        yield new_stores


def get_group(stores: Stores, number: int) -> str:
    (row,) = stores.records.find(EntryRow, {"entry_id": body(number).capture_id})
    assert row.failure_group is not None
    return row.failure_group


def list_waiting(stores: Stores) -> list[Message]:
    return [received.message for received in stores.queue.receive(reader().incoming, 100, 0.0)]


def test_failures_that_differ_in_numbers_are_one_group_with_times_and_sample(
    stores: Stores,
) -> None:
    fail(stores, *range(9))
    failures = list_failures(stores.records, FailureQuery())
    assert (failures.total, failures.groups_total) == (9, 3)
    slow = next(group for group in failures.groups if group.reason is Reason.TIMEOUT)
    assert (slow.count, slow.cause, slow.host) == (3, "stopped after … s", "slow.example")
    assert (slow.first_at, slow.last_at) == (NOW, NOW + timedelta(minutes=6))
    assert slow.sample is not None
    assert slow.sample.url == "http://slow.example/6"
    assert list_failures(stores.records, FailureQuery(group=slow.group)).total == 3


def test_a_retried_group_is_sent_again_with_attempt_zero(stores: Stores) -> None:
    fail(stores, *range(6))
    query = FailureQuery("library", group=get_group(stores, 2))
    retried = retry(stores, [reader()], query, clock)
    entries = {(body(number).capture_id, "library") for number in (2, 5)}
    assert (retried.count, set(retried.entries)) == (2, entries)
    assert {(message.id, message.attempt) for message in list_waiting(stores)} == {
        (body(number).capture_id, 0) for number in (2, 5)
    }
    tally = count_entries(stores.records)
    assert (tally.pending, sum(tally.quarantined.values())) == (2, 4)
    assert stores.queue.get_depth(reader()).quarantined == 4
    assert stores.ledger.recount() == []


def test_one_failure_of_a_group_can_be_accepted_alone(stores: Stores) -> None:
    fail(stores, 0, 3)
    query = FailureQuery("library", keys=(body(3).capture_id,))
    assert build_plan(stores, query, LIBRARY).count == 1
    assert accept(stores, [reader()], query, clock) == 1
    assert list_failures(stores.records, SLOW).total == 1


def test_accepted_failures_are_counted_separately_and_removed_from_quarantine(
    stores: Stores,
) -> None:
    fail(stores, *range(3))
    assert (
        accept(stores, [reader()], FailureQuery(reason="broken-pdf"), clock, "no copy is left") == 1
    )
    failures = list_failures(stores.records, FailureQuery())
    assert (failures.total, failures.accepted) == (2, 1)
    tally = count_entries(stores.records)
    assert tally.dropped == {"accepted": 1}
    assert tally.is_balanced
    (row,) = (r for r in list_history(stores.records, body(1).sha1hex) if r.step == "extract_pdf")
    assert (row.verdict, row.reason) == ("dropped", "accepted")
    assert row.detail == (
        "accepted as final: no copy is left; before: broken-pdf: object 1 is missing"
    )
    assert stores.queue.get_depth(reader()).quarantined == 2
    assert stores.ledger.recount() == []


def test_a_retry_deletes_the_recorded_crash_of_its_file(stores: Stores) -> None:
    """Otherwise the step would return the recorded result and not read the file."""
    fail(stores, 0, 3)
    expires_at = clock() + timedelta(days=30)
    stores.records.put(
        [CrashedPdfRow(body(n).sha1hex, "x 1", "timeout", "slow", NOW, expires_at) for n in (0, 3)]
    )
    retry(stores, [reader()], FailureQuery(keys=(body(3).capture_id,)), clock)
    assert [row.sha1hex for row in stores.records.find(CrashedPdfRow)] == [body(0).sha1hex]


def test_a_decision_with_a_known_key_is_executed_once(stores: Stores) -> None:
    fail(stores, 0, 3)
    group = get_group(stores, 0)
    decision = DecisionRow(
        "k" * 32, FailureAct.RETRY, "library", group, None, "", "", NOW, None, None
    )
    first = execute_decision(stores, [reader()], decision, clock)
    assert (first.count, first.ended_at) == (2, clock())
    assert len(list_waiting(stores)) == 2
    fail(stores, 6)
    assert execute_decision(stores, [reader()], decision, clock) == first
    assert stores.queue.get_depth(reader()).quarantined == 1


def test_a_plan_lists_the_stages_that_run_again_and_its_precondition(stores: Stores) -> None:
    fail(stores, 0, 1)
    slow = build_plan(stores, SLOW, LIBRARY)
    assert slow.stages == list_stages_from(LIBRARY, "extract_pdf")
    assert "persist_pdf_text" in slow.stages
    assert "identify" not in slow.stages
    assert slow.precondition
    assert not build_plan(stores, FailureQuery(reason="broken-pdf"), LIBRARY).precondition
    assert build_plan(stores, FailureQuery(reason="bomb"), LIBRARY).count == 0


ACTS = st.lists(
    st.tuples(st.sampled_from(("fail", *FailureAct)), st.integers(0, 5), st.booleans()), max_size=12
)


@settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(acts=ACTS)
def test_counts_match_a_model_after_any_sequence_of_decisions(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int, bool]]
) -> None:
    """In the model each number is absent, failed, pending or accepted."""
    state: dict[int, str] = {}
    with open_home(tmp_path_factory.mktemp("model")) as stores:
        for act, number, is_group in acts:
            _apply(stores, state, act, number, is_group=is_group)
            _check_counts(stores, state)
        books = audit_accounts(stores, {"library": list_readers(Settings())})
        assert [
            fault_text
            for fault_text in books.fault_texts
            if "extract_pdf" in fault_text or "tally" in fault_text
        ] == []


def _apply(stores: Stores, state: dict[int, str], act: str, number: int, *, is_group: bool) -> None:
    current_state = state.get(number)
    if act == "fail":
        # Only a new or pending number can fail.
        if current_state in (None, "pending"):
            fail(stores, number)
            received = stores.queue.receive(reader().incoming, 100, 0.0)
            own_messages = [
                delivery for delivery in received if delivery.message.id == body(number).capture_id
            ]
            stores.queue.settle(own_messages)
            stores.queue.release(
                [delivery for delivery in received if delivery not in own_messages]
            )
            state[number] = "failed"
        return
    if current_state != "failed":
        return
    group = FailureQuery("library", group=get_group(stores, number))
    query = group if is_group else FailureQuery("library", keys=(body(number).capture_id,))
    decided = (
        [n for n in state if state[n] == "failed" and n % 3 == number % 3] if is_group else [number]
    )
    where = (stores, list_readers(Settings()), query, lambda: datetime.now(UTC))
    count = retry(*where).count if act == FailureAct.RETRY else accept(*where)
    assert count == len(decided)
    state |= dict.fromkeys(decided, "pending" if act == FailureAct.RETRY else "accepted")


def _check_counts(stores: Stores, state: dict[int, str]) -> None:
    numbers = {
        word: sum(item_state == word for item_state in state.values())
        for word in set(state.values())
    }
    tally = count_entries(stores.records)
    assert tally.is_balanced
    assert tally.received == len(state)
    assert sum(tally.quarantined.values()) == numbers.get("failed", 0)
    assert tally.pending == numbers.get("pending", 0)
    assert tally.dropped.get("accepted", 0) == numbers.get("accepted", 0)
    failures = list_failures(stores.records, FailureQuery())
    assert (failures.total, failures.accepted) == (
        numbers.get("failed", 0),
        numbers.get("accepted", 0),
    )
    assert sum(group.count for group in failures.groups) == failures.total
    depth = stores.queue.get_depth(reader())
    assert (depth.quarantined, depth.ready) == (failures.total, tally.pending)
    assert stores.ledger.recount() == []


def test_next_retries_are_listed_by_due_time_and_include_deferred_messages(
    stores: Stores,
) -> None:
    """Groups count only the retried messages, because a deferred message has not failed."""
    verdicts = (Verdict.RETRIED, Verdict.DEFERRED, Verdict.DONE)
    retried, deferred, *_ = bodies = [body(number) for number in range(3)]
    enter(stores, bodies)
    rows = [
        replace(
            build_disposition(row, "identify", 0, verdict=verdict, reason=Reason.STORE_UNAVAILABLE),
            next_attempt_at=NOW + timedelta(hours=3 - number),
        )
        for number, (row, verdict) in enumerate(zip(bodies, verdicts, strict=True))
    ]
    write(stores, rows)
    due = [deferred.capture_id, retried.capture_id]
    for count_max in (1, 5):
        next_retries = list_next_retries(stores.records, "library", count_max)
        assert [row.entry_id for row in next_retries] == due[:count_max]
    (group,) = list_retry_groups(stores.records)
    assert (group.count, group.first.entry_id) == (1, retried.capture_id)


def test_the_retries_of_links_are_those_of_one_pipeline_in_the_order_of_the_urls(
    stores: Stores,
) -> None:
    """The same link may wait in several pipelines."""
    urls = [f"http://news.example/{number}" for number in range(3)]
    entries = [
        replace(entry(body(number)), kind=LINK, url=url, pipeline=pipeline)
        for pipeline in ("news", "archive")
        for number, url in enumerate(urls)
    ]
    stores.ledger.enter([], entries, ["fetch"])
    rows = [
        replace(
            build_disposition(body(number), "fetch", 0, verdict=Verdict.RETRIED),
            pipeline=pipeline,
            next_attempt_at=NOW + timedelta(hours=hours),
        )
        for pipeline, hours in (("news", 1), ("archive", 2))
        for number in range(3)
    ]
    stores.ledger.write(rows)
    found = list_link_retries(stores.records, "archive", urls[::-1])
    assert [(one.url, one.pipeline) for one in found] == [(url, "archive") for url in urls[::-1]]
    assert {one.next_attempt_at for one in found} == {NOW + timedelta(hours=2)}
    assert list_link_retries(stores.records, "archive", ["http://other.example/"]) == []
