"""The loop while the machine lacks file handles, memory or disk space: no message is blamed."""

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


def build_os_error(number: int) -> Exception:
    return OSError(number, os.strerror(number))


def wrap_os_error(outer: Exception) -> Callable[[int], Exception]:
    def make(number: int) -> Exception:
        outer.__cause__ = build_os_error(number)
        return outer

    return make


ERROR_FORMS: dict[str, Callable[[int], Exception]] = {
    "bare": build_os_error,
    "as damage": wrap_os_error(PermanentError(Reason.UNREADABLE_SOURCE, "cannot be read")),
    "as a transient fault": wrap_os_error(TransientError("just now")),
}
EXPECTED_ERRORS = {
    errno.EMFILE: StoreUnavailableError,
    errno.ENOMEM: StoreUnavailableError,
    errno.EDQUOT: StorageFullError,
    errno.ENOSPC: StorageFullError,
}


@pytest.mark.parametrize("form", ERROR_FORMS)
@pytest.mark.parametrize("number", EXPECTED_ERRORS, ids=errno.errorcode.get)
def test_a_resource_shortage_pauses_the_step_and_counts_no_attempt(
    place: Workplace, number: int, form: str
) -> None:
    ids = place.enter(*range(3))
    shortages = [True] * 4

    def fail_at_first(item: Number) -> Result:
        if item.value == 1 and shortages and shortages.pop():
            raise ERROR_FORMS[form](number)
        return double(item)

    loop = place.loop(fail_at_first)
    for _ in range(4):
        with pytest.raises(EXPECTED_ERRORS[number]):
            loop.run_once(0.0)
        assert (place.get_depth().in_hand, place.get_depth().delayed) == (3, 0)
    assert loop.run_once(0.0) == 3
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))
    assert place.row("id-001").attempt == 0  # type: ignore[union-attr]


def test_a_lack_of_memory_pauses_a_batch_step(place: Workplace) -> None:
    ids = place.enter(*range(3))
    shortages = [True] * 2

    def fail_at_first(items: Sequence[Number]) -> list[Result]:
        if shortages and shortages.pop():
            raise MemoryError
        return doubles(items)

    # The batch and then its first item alone fail for lack of memory.
    loop = place.loop(fail_at_first, batch=True)
    with pytest.raises(FondsError, match="memory"):
        loop.run_once(0.0)
    assert loop.run_once(0.0) == 3
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))


def test_another_system_error_is_a_failure_of_the_item(place: Workplace) -> None:
    place.enter(1)

    def raise_denied(item: Number) -> Result:
        raise build_os_error(errno.EACCES)

    assert place.loop(raise_denied).run_once(0.0) == 1
    assert place.list_endings() == {"id-001": ("retried", "internal-error")}
