"""Taking messages out of quarantine."""

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


def _fail(item: Number) -> Result:
    even = item.value % 2 == 0
    return Result(quarantine(Reason.BROKEN_PDF if even else Reason.TIMEOUT, f"no. {item.value}"))


@pytest.fixture
def failed(place: Workplace) -> Workplace:
    place.enter(*range(6))
    place.loop(_fail).run_once(0.0)
    assert place.get_depth().quarantined == 6
    return place


def _release(place: Workplace, reason: str, **stores: Any) -> int:
    return release(
        stores.get("queue", place.queue),
        stores.get("ledger", place.ledger),
        place.subscriptions[0],
        lambda message: message.headers.get("reason") == reason,
        place.clock,
    )


def test_the_wanted_go_back_to_work_with_a_clean_slate(failed: Workplace) -> None:
    assert _release(failed, "timeout") == 3
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


def test_what_is_not_wanted_stays_where_it_was(failed: Workplace) -> None:
    assert _release(failed, "bomb") == 0
    assert failed.get_depth().quarantined == 6
    assert failed.list_endings()["id-000"] == ("quarantined", "broken-pdf")
    assert len(failed.queue.receive("sums.double-quar", 10, 0.0)) == 6


def test_what_was_released_ends_anew(failed: Workplace) -> None:
    _release(failed, "timeout")
    assert failed.outcomes()["id-001"] == "pending"
    assert failed.loop().run_once(0.0) == 3
    assert failed.list_endings()["id-001"] == ("done", None)
    assert failed.get_depth().quarantined == 3


def test_what_is_made_of_it_this_time_has_an_id_of_its_own(failed: Workplace) -> None:
    """Else what was made of it before would answer for it on the books."""
    _release(failed, "timeout")
    failed.loop().run_once(0.0)
    made = [message.id for message in failed.take_all("sums.keep-in")]
    assert sorted(made) == [f"id-{n:03}.doubles.run2" for n in (1, 3, 5)]
    assert failed.outcomes()["id-001"] == "pending"


def test_what_fails_again_is_set_apart_again_once(failed: Workplace) -> None:
    _release(failed, "timeout")
    failed.loop(_fail).run_once(0.0)
    assert failed.get_depth().quarantined == 6
    assert failed.list_endings()["id-001"] == ("quarantined", "timeout")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("where", ["queue.put", "ledger.write", "queue.settle"])
def test_a_failure_between_the_acts_loses_no_message(
    failed: Workplace, tmp_path: Path, where: str, after: bool
) -> None:
    """Whoever was releasing ends then; another goes on."""
    releasing = SqliteQueue(tmp_path / "queue.sqlite", clock=failed.clock.seconds)
    stores: dict[str, Any] = {"queue": releasing, "ledger": failed.ledger}
    store, _, method = where.partition(".")
    error = StoreUnavailableError("the answer was lost")
    stores[store] = RaisesOnce(stores[store], method, error, after=after)
    with pytest.raises(StoreUnavailableError):
        _release(failed, "timeout", **stores)
    releasing.close()
    failed.loop().run_once(0.0)
    held = {one.message.id for one in failed.queue.receive("sums.double-quar", 10, 0.0)}
    done = {one for one, ended in failed.list_endings().items() if ended[0] == "done"}
    assert held | done == {f"id-{n:03}" for n in range(6)}


def test_what_was_tried_often_before_has_all_its_attempts_again(place: Workplace) -> None:
    place.enter(1)

    def away(item: Number) -> Result:
        raise TransientError("no answer")

    while not place.get_depth().quarantined:
        place.loop(away).run_once(0.0)
        place.clock.pass_s(100.0)
    assert _release(place, "store-unavailable") == 1
    for attempt in range(RETRY.count_max):
        assert place.loop(away).run_once(0.0) == 1
        row = place.row("id-001")
        assert row is not None
        assert (row.verdict, row.attempt) == ("retried", attempt)
        place.clock.pass_s(100.0)
