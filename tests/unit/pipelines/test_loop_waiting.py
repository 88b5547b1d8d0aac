"""The loop while a store is away or full: what is in hand waits, and nothing is counted against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fonds.model.errors import StorageFullError, StoreUnavailableError
from fonds.model.step import Result
from fonds.pipelines.runtime.worker import WAITS_MAX
from small_pipeline import Number, RaisesOnce, Spy, Workplace, double, doubles


def test_while_a_store_is_away_messages_wait_in_hand_and_nothing_is_counted(
    place: Workplace,
) -> None:
    ids = place.enter(*range(3))
    tried: list[int] = []

    def away_at_first(item: Number) -> Result:
        tried.append(item.value)
        if tried.count(1) < 3 and item.value == 1:
            raise StoreUnavailableError("away")
        return double(item)

    loop = place.loop(away_at_first)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            loop.run_once(0.0)
        assert (place.get_depth().in_hand, place.get_depth().delayed) == (3, 0)
    assert loop.run_once(0.0) == 3
    assert tried == [0, 1, 1, 1, 2]
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))
    assert place.row("id-001").attempt == 0  # type: ignore[union-attr]


def test_what_came_stays_in_hand_when_the_queue_goes_away_while_more_is_waited_for(
    place: Workplace,
) -> None:
    """Given back by nobody, it would be in no hand until the process ends."""
    ids = place.enter(*range(3))
    bound = place.bound(double)
    lingering = replace(bound, stage=replace(bound.stage, linger_s=0.001))
    away = RaisesOnce(place.queue, "receive", StoreUnavailableError("away"), nth=2)
    loop = place.loop(queue=away, bound=lingering)
    with pytest.raises(StoreUnavailableError):
        loop.run_once(0.0)
    assert place.get_depth().in_hand == 3
    assert loop.run_once(0.0) == 3
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))
    assert place.get_depth().pending == 0


def test_a_batch_is_not_tried_message_by_message_while_its_store_is_away(
    place: Workplace,
) -> None:
    place.enter(*range(5))
    sizes: list[int] = []

    def away(items: Sequence[Number]) -> list[Result]:
        sizes.append(len(items))
        raise StoreUnavailableError("away")

    with pytest.raises(StoreUnavailableError):
        place.loop(away, batch=True).run_once(0.0)
    assert sizes == [5, 1]


def test_a_message_no_store_can_take_does_not_hold_the_others_for_ever(place: Workplace) -> None:
    place.enter(*range(3))

    def chokes(items: Sequence[Number]) -> list[Result]:
        if any(item.value == 1 for item in items):
            raise StoreUnavailableError("timed out")
        return doubles(items)

    loop = place.loop(chokes, batch=True)
    for _ in range(WAITS_MAX):
        with pytest.raises(StoreUnavailableError):
            loop.run_once(0.0)
    assert loop.run_once(0.0) == 3
    assert place.list_endings() == {
        "id-000": ("done", None),
        "id-001": ("retried", "store-unavailable"),
        "id-002": ("done", None),
    }


def test_what_was_handed_on_is_not_handed_on_again_while_the_ledger_is_away(
    place: Workplace,
) -> None:
    place.enter(1)
    calls: list[str] = []
    away = RaisesOnce(place.ledger, "write", StoreUnavailableError("away"))
    loop = place.loop(queue=Spy(place.queue, calls), ledger=away)
    with pytest.raises(StoreUnavailableError):
        loop.run_once(0.0)
    assert place.get_depth().in_hand == 1
    assert loop.run_once(0.0) == 0
    assert [call for call in calls if not call.startswith("receive")] == [
        "put t.sums.doubles",
        "settle",
    ]
    assert place.get_depth().pending == 0


def test_a_full_store_keeps_the_batch_in_hand(place: Workplace) -> None:
    place.enter(1)
    full = RaisesOnce(place.ledger, "write", StorageFullError("no room"))
    loop = place.loop(ledger=full)
    with pytest.raises(StorageFullError):
        loop.run_once(0.0)
    assert place.get_depth().in_hand == 1
    assert loop.run_once(0.0) == 0
    assert place.list_endings() == {"id-001": ("done", None)}
