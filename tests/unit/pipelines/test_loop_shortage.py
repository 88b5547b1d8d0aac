"""The loop while the machine has no files, memory or room left: no message is to blame for that."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

import pytest

from fonds.model.disposition import Reason
from fonds.model.errors import (
    FondsError,
    PermanentError,
    StorageFullError,
    StoreUnavailableError,
    TransientError,
)
from fonds.model.step import Result
from small_pipeline import Number, Workplace, double, doubles


def bare(number: int) -> Exception:
    return OSError(number, os.strerror(number))


def wrapped(outer: Exception) -> Callable[[int], Exception]:
    def make(number: int) -> Exception:
        outer.__cause__ = bare(number)
        return outer

    return make


WAYS: dict[str, Callable[[int], Exception]] = {
    "bare": bare,
    "as damage": wrapped(PermanentError(Reason.UNREADABLE_SOURCE, "cannot be read")),
    "as a transient fault": wrapped(TransientError("just now")),
}
WANTS = {
    errno.EMFILE: StoreUnavailableError,
    errno.ENOMEM: StoreUnavailableError,
    errno.EDQUOT: StorageFullError,
    errno.ENOSPC: StorageFullError,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", WANTS, ids=errno.errorcode.get)
def test_a_want_of_the_machine_holds_the_step_up_and_counts_against_nobody(
    place: Workplace, number: int, way: str
) -> None:
    ids = place.enter(*range(3))
    wants = [True] * 4

    def short_at_first(item: Number) -> Result:
        if item.value == 1 and wants and wants.pop():
            raise WAYS[way](number)
        return double(item)

    loop = place.loop(short_at_first)
    for _ in range(4):
        with pytest.raises(WANTS[number]):
            loop.run_once(0.0)
        assert (place.get_depth().in_hand, place.get_depth().delayed) == (3, 0)
    assert loop.run_once(0.0) == 3
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))
    assert place.row("id-001").attempt == 0  # type: ignore[union-attr]


def test_want_of_memory_holds_a_sink_up(place: Workplace) -> None:
    ids = place.enter(*range(3))
    wants = [True] * 2

    def short_at_first(items: Sequence[Number]) -> list[Result]:
        if wants and wants.pop():
            raise MemoryError
        return doubles(items)

    # Tried together and then the first alone: both for want of memory.
    loop = place.loop(short_at_first, batch=True)
    with pytest.raises(FondsError, match="memory"):
        loop.run_once(0.0)
    assert loop.run_once(0.0) == 3
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))


def test_another_fault_of_the_system_is_that_items_own(place: Workplace) -> None:
    place.enter(1)

    def denied(item: Number) -> Result:
        raise bare(errno.EACCES)

    assert place.loop(denied).run_once(0.0) == 1
    assert place.list_endings() == {"id-001": ("retried", "internal-error")}
