"""Interfaces of sources and steps, and what the runtime provides to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from fonds.model.entry import Entry
from fonds.model.rows import InputRow
from fonds.model.step import Result

ItemT = TypeVar("ItemT", contravariant=True)
ValueT = TypeVar("ValueT")


class Source(Protocol):
    """Source of work: finds inputs, and reads entries from each."""

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield every input with `position` 0; streamed, in a stable order."""

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the contents of one input from `row.position` on.

        Three kinds of values: entries; tallies of items that are counted but not emitted; and
        positions (int) from which reading can resume later.
        """


class Isolate(Protocol):
    """Runs a pure function in a disposable child process with limits."""

    def __call__(self, function: Callable[..., ValueT], *args: object) -> ValueT:
        """Return the function's value.

        Raises ChildError with `timeout`, `out-of-memory` or `crashed-reader`. The function must be
        importable by name. Arguments and value are plain data, except that up to four arguments may
        each be an OpenBody. What the function raises is raised here.
        """


class Step(Protocol[ItemT]):
    """Step that turns one item into any number of new items and one disposition (how the item
    ended).
    """

    def __call__(self, item: ItemT, /) -> Result:
        """Process one item.

        Raises TransientError to be retried, PermanentError to be quarantined, and
        StoreUnavailableError to be held until the store is back.
        """


class Sink(Protocol[ItemT]):
    """Step that takes a batch and returns one result per item, in order.

    It is idempotent by the items' keys.
    """

    def __call__(self, items: Sequence[ItemT], /) -> Sequence[Result]:
        """Process a batch. Raises like a Step; the runtime then tries the items one by one."""


class ConcurrentStep(Protocol):
    """Step that processes many items concurrently, each at its own speed; for one thread."""

    @property
    def free_slots(self) -> int:
        """Number of further items that can begin now."""

    def begin(self, items: Sequence[tuple[int, Any]]) -> None:
        """Begin items, each under its own number. Neither waits nor raises."""

    def collect_finished(self, wait_s: float) -> Sequence[tuple[int, Result | Exception]]:
        """Return the finished items; wait at most `wait_s` seconds for the first.

        An exception is what a Step would raise for that item. After StoreUnavailableError, finished
        items are returned by the next call.
        """

    def forget(self, numbers: Sequence[int]) -> None:
        """Drop these items; their work may be abandoned."""

    def close(self) -> None:
        """Abandon all work, and release what belongs to this process alone."""
