"""Trying failures again and accepting them: the books add up before, between and after."""

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
from fonds.wiring.stores import get_pipeline, list_readers
from home_rows import NOW, build_disposition, enter, entry, write

LIBRARY = get_pipeline("library", Settings())
SLOW = FailureQuery(reason="timeout")


def clock() -> datetime:
    return NOW + timedelta(days=1)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as found:
        yield found


def group_of(stores: Stores, number: int) -> str:
    (row,) = stores.records.find(EntryRow, {"entry_id": body(number).capture_id})
    assert row.failure_group is not None
    return row.failure_group


def waiting(stores: Stores) -> list[Message]:
    return [one.message for one in stores.queue.receive(reader().incoming, 100, 0.0)]


def test_failures_that_differ_by_numbers_are_one_group_with_first_last_and_sample(
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


def test_a_group_goes_back_to_work_alone_and_with_a_clean_slate(stores: Stores) -> None:
    fail(stores, *range(6))
    asked = FailureQuery("library", group=group_of(stores, 2))
    retried = retry(stores, [reader()], asked, clock)
    entries = {(body(number).capture_id, "library") for number in (2, 5)}
    assert (retried.count, set(retried.entries)) == (2, entries)
    assert {(one.id, one.attempt) for one in waiting(stores)} == {
        (body(number).capture_id, 0) for number in (2, 5)
    }
    counted = count_entries(stores.records)
    assert (counted.pending, sum(counted.quarantined.values())) == (2, 4)
    assert stores.queue.get_depth(reader()).quarantined == 4
    assert stores.ledger.recount() == []


def test_one_of_a_group_can_be_decided_about_alone(stores: Stores) -> None:
    fail(stores, 0, 3)
    asked = FailureQuery("library", keys=(body(3).capture_id,))
    assert build_plan(stores, asked, LIBRARY).count == 1
    assert accept(stores, [reader()], asked, clock) == 1
    assert list_failures(stores.records, SLOW).total == 1


def test_accepted_failures_are_counted_apart_and_wait_no_more(stores: Stores) -> None:
    fail(stores, *range(3))
    assert (
        accept(stores, [reader()], FailureQuery(reason="broken-pdf"), clock, "no copy is left") == 1
    )
    failures = list_failures(stores.records, FailureQuery())
    assert (failures.total, failures.accepted) == (2, 1)
    counted = count_entries(stores.records)
    assert counted.dropped == {"accepted": 1}
    assert counted.is_balanced
    (row,) = (r for r in list_history(stores.records, body(1).sha1hex) if r.step == "extract_pdf")
    assert (row.verdict, row.reason) == ("dropped", "accepted")
    assert row.detail == (
        "accepted as final: no copy is left; before: broken-pdf: object 1 is missing"
    )
    assert stores.queue.get_depth(reader()).quarantined == 2
    assert stores.ledger.recount() == []


def test_what_stopped_a_reader_is_forgotten_when_its_file_is_tried_again(stores: Stores) -> None:
    """Else the step would answer out of what is remembered, and nothing would be read."""
    fail(stores, 0, 3)
    later = clock() + timedelta(days=30)
    stores.records.put(
        [CrashedPdfRow(body(n).sha1hex, "x 1", "timeout", "slow", NOW, later) for n in (0, 3)]
    )
    retry(stores, [reader()], FailureQuery(keys=(body(3).capture_id,)), clock)
    assert [row.sha1hex for row in stores.records.find(CrashedPdfRow)] == [body(0).sha1hex]


def test_what_was_decided_under_one_key_is_done_once(stores: Stores) -> None:
    fail(stores, 0, 3)
    group = group_of(stores, 0)
    wanted = DecisionRow(
        "k" * 32, FailureAct.RETRY, "library", group, None, "", "", NOW, None, None
    )
    first = execute_decision(stores, [reader()], wanted, clock)
    assert (first.count, first.ended_at) == (2, clock())
    assert len(waiting(stores)) == 2
    fail(stores, 6)
    assert execute_decision(stores, [reader()], wanted, clock) == first
    assert stores.queue.get_depth(reader()).quarantined == 1


def test_a_plan_names_the_stages_that_run_again_and_whether_it_helps(stores: Stores) -> None:
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
def test_whatever_is_decided_in_whatever_order_the_counts_are_those_of_a_model(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int, bool]]
) -> None:
    """The model: each thing is absent, failed, on its way or accepted."""
    state: dict[int, str] = {}
    with open_home(tmp_path_factory.mktemp("model")) as stores:
        for act, number, whole in acts:
            _act(stores, state, act, number, whole=whole)
            _agrees(stores, state)
        books = audit_accounts(stores, {"library": list_readers(Settings())})
        assert [
            fault_text
            for fault_text in books.fault_texts
            if "extract_pdf" in fault_text or "tally" in fault_text
        ] == []


def _act(stores: Stores, state: dict[int, str], act: str, number: int, *, whole: bool) -> None:
    there = state.get(number)
    if act == "fail":
        # Only what is new, or on its way again, can fail.
        if there in (None, "pending"):
            fail(stores, number)
            taken = stores.queue.receive(reader().incoming, 100, 0.0)
            mine = [one for one in taken if one.message.id == body(number).capture_id]
            stores.queue.settle(mine)
            stores.queue.release([one for one in taken if one not in mine])
            state[number] = "failed"
        return
    if there != "failed":
        return
    group = FailureQuery("library", group=group_of(stores, number))
    asked = group if whole else FailureQuery("library", keys=(body(number).capture_id,))
    chosen = (
        [n for n in state if state[n] == "failed" and n % 3 == number % 3] if whole else [number]
    )
    where = (stores, list_readers(Settings()), asked, lambda: datetime.now(UTC))
    count = retry(*where).count if act == FailureAct.RETRY else accept(*where)
    assert count == len(chosen)
    state |= dict.fromkeys(chosen, "pending" if act == FailureAct.RETRY else "accepted")


def _agrees(stores: Stores, state: dict[int, str]) -> None:
    numbers = {word: sum(one == word for one in state.values()) for word in set(state.values())}
    counted = count_entries(stores.records)
    assert counted.is_balanced
    assert counted.received == len(state)
    assert sum(counted.quarantined.values()) == numbers.get("failed", 0)
    assert counted.pending == numbers.get("pending", 0)
    assert counted.dropped.get("accepted", 0) == numbers.get("accepted", 0)
    failures = list_failures(stores.records, FailureQuery())
    assert (failures.total, failures.accepted) == (
        numbers.get("failed", 0),
        numbers.get("accepted", 0),
    )
    assert sum(group.count for group in failures.groups) == failures.total
    depth = stores.queue.get_depth(reader())
    assert (depth.quarantined, depth.ready) == (failures.total, counted.pending)
    assert stores.ledger.recount() == []


def test_the_next_attempts_are_of_retried_and_deferred_messages_the_first_due_first(
    stores: Stores,
) -> None:
    """Groups count the retried ones only: a deferred message has not failed."""
    verdicts = (Verdict.RETRIED, Verdict.DEFERRED, Verdict.DONE)
    retried, deferred, *_ = bodies = [body(number) for number in range(3)]
    enter(stores, bodies)
    rows = [
        replace(
            build_disposition(one, "identify", 0, verdict=verdict, reason=Reason.STORE_UNAVAILABLE),
            next_attempt_at=NOW + timedelta(hours=3 - number),
        )
        for number, (one, verdict) in enumerate(zip(bodies, verdicts, strict=True))
    ]
    write(stores, rows)
    due = [deferred.capture_id, retried.capture_id]
    for count_max in (1, 5):
        found = list_next_retries(stores.records, "library", count_max)
        assert [one.entry_id for one in found] == due[:count_max]
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
