"""Releasing messages from quarantine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fonds.model.disposition import Reason, quarantine
from fonds.model.errors import StoreUnavailableError, TransientError
from fonds.model.step import Result
from fonds.pipelines.runtime.quarantine import release
from fonds.queues.sqlite import SqliteQueue
from small_pipeline import RETRY, Number, RaisesOnce, Workplace


def fail_step(item: Number) -> Result:
    is_even = item.value % 2 == 0
    return Result(quarantine(Reason.BROKEN_PDF if is_even else Reason.TIMEOUT, f"no. {item.value}"))


@pytest.fixture
def failed(place: Workplace) -> Workplace:
    place.enter(*range(6))
    place.loop(fail_step).run_once(0.0)
    assert place.get_depth().quarantined == 6
    return place


def release_by_reason(place: Workplace, reason: str, **stores: Any) -> int:
    return release(
        stores.get("queue", place.queue),
        stores.get("ledger", place.ledger),
        place.subscriptions[0],
        lambda message: message.headers.get("reason") == reason,
        place.clock,
    )


def test_released_messages_are_queued_without_attempts_or_failure(failed: Workplace) -> None:
    assert release_by_reason(failed, "timeout") == 3
    depth = failed.get_depth()
    assert (depth.ready, depth.quarantined, depth.in_hand) == (3, 3, 0)
    row = failed.row("id-001")
    assert row is not None
    assert (row.verdict, row.is_open) == ("retried", True)
    assert row.detail == "released by a person; before: no. 1"
    messages = failed.take_all("sums.double-in")
    assert [(message.id, message.attempt, dict(message.headers)) for message in messages] == [
        (f"id-{n:03}", 0, {"run": "2"}) for n in (1, 3, 5)
    ]


def test_messages_with_another_reason_stay_in_quarantine(failed: Workplace) -> None:
    assert release_by_reason(failed, "bomb") == 0
    assert failed.get_depth().quarantined == 6
    assert failed.list_endings()["id-000"] == ("quarantined", "broken-pdf")
    assert len(failed.queue.receive("sums.double-quar", 10, 0.0)) == 6


def test_a_released_message_ends_a_second_time(failed: Workplace) -> None:
    release_by_reason(failed, "timeout")
    assert failed.outcomes()["id-001"] == "pending"
    assert failed.loop().run_once(0.0) == 3
    assert failed.list_endings()["id-001"] == ("done", None)
    assert failed.get_depth().quarantined == 3


def test_a_child_of_a_released_message_has_a_new_id(failed: Workplace) -> None:
    """Otherwise the ledger row of the earlier child would stand for the new one."""
    release_by_reason(failed, "timeout")
    failed.loop().run_once(0.0)
    child_ids = [message.id for message in failed.take_all("sums.keep-in")]
    assert sorted(child_ids) == [f"id-{n:03}.doubles.run2" for n in (1, 3, 5)]
    assert failed.outcomes()["id-001"] == "pending"


def test_a_released_message_that_fails_again_is_quarantined_once(failed: Workplace) -> None:
    release_by_reason(failed, "timeout")
    failed.loop(fail_step).run_once(0.0)
    assert failed.get_depth().quarantined == 6
    assert failed.list_endings()["id-001"] == ("quarantined", "timeout")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method_path", ["queue.put", "ledger.write", "queue.settle"])
def test_a_failure_between_the_writes_loses_no_message(
    failed: Workplace, tmp_path: Path, method_path: str, after: bool
) -> None:
    """The releasing process ends and another one continues."""
    releasing_queue = SqliteQueue(tmp_path / "queue.sqlite", clock=failed.clock.seconds)
    stores: dict[str, Any] = {"queue": releasing_queue, "ledger": failed.ledger}
    store, _, method = method_path.partition(".")
    error = StoreUnavailableError("the answer was lost")
    stores[store] = RaisesOnce(stores[store], method, error, after=after)
    with pytest.raises(StoreUnavailableError):
        release_by_reason(failed, "timeout", **stores)
    releasing_queue.close()
    failed.loop().run_once(0.0)
    quarantined_ids = {
        delivery.message.id for delivery in failed.queue.receive("sums.double-quar", 10, 0.0)
    }
    done = {id_ for id_, ended in failed.list_endings().items() if ended[0] == "done"}
    assert quarantined_ids | done == {f"id-{n:03}" for n in range(6)}


def test_a_released_message_has_all_its_attempts_again(place: Workplace) -> None:
    place.enter(1)

    def raise_transient(item: Number) -> Result:
        raise TransientError("no answer")

    while not place.get_depth().quarantined:
        place.loop(raise_transient).run_once(0.0)
        place.clock.pass_s(100.0)
    assert release_by_reason(place, "store-unavailable") == 1
    for attempt in range(RETRY.count_max):
        assert place.loop(raise_transient).run_once(0.0) == 1
        row = place.row("id-001")
        assert row is not None
        assert (row.verdict, row.attempt) == ("retried", attempt)
        place.clock.pass_s(100.0)
