"""The loop while a store is unavailable or full: received messages wait, and no attempt is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fonds.model.errors import StorageFullError, StoreUnavailableError
from fonds.model.step import Result
from fonds.pipelines.runtime.worker import WAITS_MAX
from small_pipeline import Number, RaisesOnce, Spy, Workplace, double, doubles


def test_messages_wait_while_a_store_is_unavailable_and_no_attempt_is_counted(
    place: Workplace,
) -> None:
    ids = place.enter(*range(3))
    tried: list[int] = []

    def fail_at_first(item: Number) -> Result:
        tried.append(item.value)
        if tried.count(1) < 3 and item.value == 1:
            raise StoreUnavailableError("away")
        return double(item)

    loop = place.loop(fail_at_first)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            loop.run_once(0.0)
        assert (place.get_depth().in_hand, place.get_depth().delayed) == (3, 0)
    assert loop.run_once(0.0) == 3
    assert tried == [0, 1, 1, 1, 2]
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))
    assert place.row("id-001").attempt == 0  # type: ignore[union-attr]


def test_received_messages_are_kept_when_the_queue_fails_during_a_linger(
    place: Workplace,
) -> None:
    """Otherwise the message would be leased but unprocessed until the process ends."""
    ids = place.enter(*range(3))
    bound = place.bound(double)
    lingering_stage = replace(bound, stage=replace(bound.stage, linger_s=0.001))
    failing_queue = RaisesOnce(place.queue, "receive", StoreUnavailableError("away"), nth=2)
    loop = place.loop(queue=failing_queue, bound=lingering_stage)
    with pytest.raises(StoreUnavailableError):
        loop.run_once(0.0)
    assert place.get_depth().in_hand == 3
    assert loop.run_once(0.0) == 3
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))
    assert place.get_depth().pending == 0


def test_a_batch_is_not_retried_item_by_item_while_its_store_is_unavailable(
    place: Workplace,
) -> None:
    place.enter(*range(5))
    sizes: list[int] = []

    def fail(items: Sequence[Number]) -> list[Result]:
        sizes.append(len(items))
        raise StoreUnavailableError("away")

    with pytest.raises(StoreUnavailableError):
        place.loop(fail, batch=True).run_once(0.0)
    assert sizes == [5, 1]


def test_a_message_that_no_store_accepts_does_not_block_the_others_forever(
    place: Workplace,
) -> None:
    place.enter(*range(3))

    def fail_on_item_1(items: Sequence[Number]) -> list[Result]:
        if any(item.value == 1 for item in items):
            raise StoreUnavailableError("timed out")
        return doubles(items)

    loop = place.loop(fail_on_item_1, batch=True)
    for _ in range(WAITS_MAX):
        with pytest.raises(StoreUnavailableError):
            loop.run_once(0.0)
    assert loop.run_once(0.0) == 3
    assert place.list_endings() == {
        "id-000": ("done", None),
        "id-001": ("retried", "store-unavailable"),
        "id-002": ("done", None),
    }


def test_items_are_not_put_twice_while_the_ledger_is_unavailable(
    place: Workplace,
) -> None:
    place.enter(1)
    calls: list[str] = []
    failing_ledger = RaisesOnce(place.ledger, "write", StoreUnavailableError("away"))
    loop = place.loop(queue=Spy(place.queue, calls), ledger=failing_ledger)
    with pytest.raises(StoreUnavailableError):
        loop.run_once(0.0)
    assert place.get_depth().in_hand == 1
    assert loop.run_once(0.0) == 0
    assert [call for call in calls if not call.startswith("receive")] == [
        "put t.sums.doubles",
        "settle",
    ]
    assert place.get_depth().pending == 0


def test_a_full_ledger_keeps_the_batch_leased(place: Workplace) -> None:
    place.enter(1)
    full_ledger = RaisesOnce(place.ledger, "write", StorageFullError("no room"))
    loop = place.loop(ledger=full_ledger)
    with pytest.raises(StorageFullError):
        loop.run_once(0.0)
    assert place.get_depth().in_hand == 1
    assert loop.run_once(0.0) == 0
    assert place.list_endings() == {"id-001": ("done", None)}
