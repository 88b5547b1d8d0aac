"""Count damage that continues: one capture reports it, and the tally of the input has the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from fonds.model.capture import DAMAGE, Capture
from fonds.model.disposition import Reason

Item = Capture | Mapping[str, int] | int
"""Item that a source yields: a capture, a count of other records, or a position."""


def count_damage_runs(
    items: Iterator[Item], reasons: Collection[Reason], name_position: Callable[[int], str]
) -> Iterator[Item]:
    """Yield the items of a source, with one capture for each run of damage.

    A run is damage for one of the `reasons`, followed directly by more damage for the same reason.
    Its first capture is yielded at the end of the run, and says how much follows. The others are
    yielded as counts. No position inside a run is yielded, so a source that is read again begins
    with the whole run.

    `name_position` describes a position for people.
    """
    run: _Run | None = None
    position: int | None = None
    for item in items:
        if isinstance(item, int):
            position = item
            continue
        if run is not None and run.has(item):
            run.extend(position)
            position = None
            yield {str(run.first.damage_reason): 1}
            continue
        if run is not None:
            yield run.build_capture(name_position)
        if position is not None:
            yield position
        run, position = None, None
        if (
            isinstance(item, Capture)
            and item.record_type == DAMAGE
            and item.damage_reason in reasons
        ):
            run = _Run(item)
        else:
            yield item
    if run is not None:
        yield run.build_capture(name_position)
    if position is not None:
        yield position


@dataclass(slots=True)
class _Run:
    """Run of damage: its first capture, the number of further ones, and the last one's position."""

    first: Capture
    more_count: int = 0
    last_position: int = 0

    def has(self, item: Item) -> bool:
        """Return whether an item that directly follows the run belongs to it."""
        return (
            isinstance(item, Capture)
            and item.record_type == DAMAGE
            and item.damage_reason == self.first.damage_reason
        )

    def extend(self, position: int | None) -> None:
        self.more_count += 1
        self.last_position = self.last_position if position is None else position

    def build_capture(self, name_position: Callable[[int], str]) -> Capture:
        """Return the capture that reports the run."""
        if not self.more_count:
            return self.first
        detail = (
            f"{self.first.damage}; and {self.more_count:,} more like it, the last at "
            f"{name_position(self.last_position)}"
        )
        return replace(self.first, damage=detail)
