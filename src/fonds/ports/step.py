"""What sources and steps promise the runtime, and what it gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from fonds.model.entry import Entry
from fonds.model.rows import InputRow
from fonds.model.step import Result

ItemT = TypeVar("ItemT", contravariant=True)
ValueT = TypeVar("ValueT")


class Source(Protocol):
    """Where work comes from: finds inputs, and reads entries out of each."""

    def iter_inputs(self) -> Iterator[InputRow]:
        """Every input, `position` 0; streamed, in a stable order."""

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """What lies in one input from `row.position` on: entries; tallies of what is counted and not
        emitted; and positions (int) from which reading can go on later."""


class Isolate(Protocol):
    """Runs a pure function in a disposable child process with limits."""

    def __call__(self, function: Callable[..., ValueT], *args: object) -> ValueT:
        """The function's value. Raises ChildError with `timeout`, `out-of-memory` or `crashed-reader`.

        The function is importable by name; arguments and value are plain data, but that up to four of
        the arguments may each be an OpenBody. What the function raises is raised here.
        """


class Step(Protocol[ItemT]):
    """One item in, any number of items and a disposition out."""

    def __call__(self, item: ItemT, /) -> Result:
        """Raises TransientError to be retried, PermanentError to be quarantined, StoreUnavailableError
        to be kept in hand until the store is back."""


class Sink(Protocol[ItemT]):
    """A batch in, a result for each out, in order; idempotent by the items' keys."""

    def __call__(self, items: Sequence[ItemT], /) -> Sequence[Result]:
        """Raises as a Step does; the runtime then tries the items one by one to find the culprit."""


class ConcurrentStep(Protocol):
    """Many items in hand at once, each as long as it takes; for one thread."""

    @property
    def free_slots(self) -> int:
        """How many more items may be begun."""

    def begin(self, items: Sequence[tuple[int, Any]]) -> None:
        """Begin items, each under a number of its own. Neither waits nor raises."""

    def collect_finished(self, wait_s: float) -> Sequence[tuple[int, Result | Exception]]:
        """What has ended, waiting at most `wait_s` seconds for the first; an exception stands for what a Step
        would raise. Raises StoreUnavailableError: what has ended is told the next time."""

    def forget(self, numbers: Sequence[int]) -> None:
        """These are not wanted any more; whatever was begun for them may be given up."""

    def close(self) -> None:
        """Give up everything, and let go of what belongs to this process alone."""
