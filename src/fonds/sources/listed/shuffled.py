"""The links of lists in another order, and no more of them than are wanted in one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fonds.model.entry import Entry, UnreadTally
from fonds.model.rows import InputRow
from fonds.sources.listed.choice import Choice
from fonds.sources.listed.link_lists import LinkLists


@dataclass(frozen=True, slots=True)
class Shuffled:
    """A Source in another order: links within some thousand of each other change places, so that those of
    one site do not stand together. `mix` puts a list in another order, in place."""

    source: LinkLists
    mix: Callable[[list[Entry]], None]
    window: int = 2_500

    def inputs(self) -> Iterator[InputRow]:
        """The same."""
        return self.source.inputs()

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """The same, a window at a time; a position is told only when all before it was given out."""
        held: list[Entry] = []
        tally: Counter[str] = Counter()
        position, unread = row.position, list[UnreadTally]()
        for found in self.source.entries(row):
            if isinstance(found, Entry):
                held.append(found)
            elif isinstance(found, UnreadTally):
                unread.append(found)
            elif isinstance(found, Mapping):
                tally.update(found)
            else:
                position = found
                if len(held) >= self.window or self.source.choice.is_full():
                    self.mix(held)
                    yield from held
                    yield tally
                    yield position
                    held, tally = [], Counter()
        self.mix(held)
        yield from held
        yield tally
        if unread:
            # All that was held lies before it.
            yield position
            yield from unread


@dataclass(frozen=True, slots=True)
class Limited:
    """A Source that says when enough was taken in this run: `is_done` then tells the intake to stop, behind
    a position from which the next run goes on."""

    source: LinkLists | Shuffled
    choice: Choice

    def inputs(self) -> Iterator[InputRow]:
        """The same."""
        return self.source.inputs()

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """The same."""
        for found in self.source.entries(row):
            if isinstance(found, int) and self.choice.is_full():
                self.choice.done = True
            yield found

    @property
    def problems(self) -> list[str]:
        """A sentence for each file that could not be read, or not to its end, so far."""
        lists = self.source.source if isinstance(self.source, Shuffled) else self.source
        return lists.problems

    def is_done(self) -> bool:
        """Whether the intake is to stop."""
        return self.choice.done
