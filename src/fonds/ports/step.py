"""Interfaces of sources of work, of steps that process the work, and of isolated function calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from fonds.model.entry import Entry
    from fonds.model.rows import InputRow
    from fonds.model.step import Result

ItemT = TypeVar("ItemT", contravariant=True)
ValueT = TypeVar("ValueT")


class Source(Protocol):
    """Interface of a source of work: it finds inputs (WARC, CDX, ZIP or loose files) and reads
    them.
    """

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield every input of the source, with its read position at 0; streamed, in a stable
        order.
        """

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the contents of one input, starting at its read position `row.position`.

        Yields three types of values: entries (captures, links or messages); mappings with the
        number of items, by reason, that are counted but not processed; and positions (int) from
        which reading can resume later.
        """


class Isolate(Protocol):
    """Interface that runs a pure function in a disposable child process with limits."""

    def __call__(self, function: Callable[..., ValueT], *args: object) -> ValueT:
        """Run the function in a child process and return its value.

        The function must be importable by name. Arguments and value are plain data, except that up
        to four arguments may each be an OpenBody (an open file). Raises ChildError with the reason
        `timeout`, `out-of-memory` or `crashed-reader`, and whatever the function raises.
        """


class Step(Protocol[ItemT]):
    """Interface of a step that processes one item at a time.

    Each item gives any number of new items and one disposition, which says how the item ended.
    """

    def __call__(self, item: ItemT, /) -> Result:
        """Process one item; return the new items and how the item ended.

        Raises TransientError if the item must be retried, PermanentError if it must be quarantined,
        and StoreUnavailableError if it must wait until the store answers again.
        """


class Sink(Protocol[ItemT]):
    """Interface of a step that stores a batch of items, and returns one result per item, in order.

    Processing an item again changes nothing.
    """

    def __call__(self, items: Sequence[ItemT], /) -> Sequence[Result]:
        """Process a batch of items; return one result per item, in order.

        Raises the same errors as `Step`. After an error, the runtime processes the items one by
        one.
        """


class ConcurrentStep(Protocol):
    """Interface of a step that processes many items concurrently, each at its own speed.

    Only one thread may call its methods.
    """

    @property
    def free_slots(self) -> int:
        """Number of items that the step can begin now, in addition to those in progress."""

    def begin(self, items: Sequence[tuple[int, Any]]) -> None:
        """Begin to process items, given as (number, item). The numbers identify the items
        afterwards.

        The method neither waits nor raises an error.
        """

    def collect_finished(self, wait_s: float) -> Sequence[tuple[int, Result | Exception]]:
        """Return the finished items as (number, result); wait at most `wait_s` seconds for the
        first.

        An exception in place of a result is what a `Step` would raise for that item. If this method
        raises StoreUnavailableError, the next call returns the finished items.
        """

    def forget(self, numbers: Sequence[int]) -> None:
        """Forget the items with these numbers, whose results the caller no longer wants.

        Work on them may be abandoned.
        """

    def close(self) -> None:
        """Abandon all work in progress, and release the resources that only this process uses."""
