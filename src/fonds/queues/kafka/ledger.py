"""What of one partition was handed out and settled here, and up to where it may be committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

ENDS_MAX, RUNS_MAX_CHARS = 50, 2_800
"""Unclean ends and runs of settled records that are remembered: within the 4,096 bytes a broker takes as
a commit's metadata. Records settled beyond those that fit come again should their reader be killed."""
UNKNOWN = -1


@dataclass(slots=True)
class Ledger:
    """Offsets of a partition since it was assigned.

    `start` is where to commit: all before it is settled; UNKNOWN until something was read.
    `handed_to` is the offset behind the last that was ever handed out, also by readers before us.
    `ends` holds what that was whenever a reader ended with something unsettled in hand: a record was
    handed out once for each that lies behind it. `ahead` are the runs behind `start` that readers before
    us settled: first offset and the one behind the last. All travel as the commit's metadata.
    """

    start: int = UNKNOWN
    handed_to: int = 0
    ends: list[int] = field(default_factory=list)
    ahead: list[tuple[int, int]] = field(default_factory=list)
    unsettled: dict[int, bool] = field(default_factory=dict)
    position: int = UNKNOWN
    told: int = UNKNOWN

    @classmethod
    def resumed(cls, committed: int, metadata: str | None) -> Ledger:
        """Go on where a reader before us stopped: `committed` < 0 is none, or not known."""
        numbers, _, runs = (metadata or "").partition(";")
        words, lengths = numbers.split(","), runs.split()
        known = all(
            word.isascii() and word.isdigit() and len(word) < 20 for word in words + lengths
        )
        if not known or committed < 0:
            return cls(max(committed, UNKNOWN), told=max(committed, UNKNOWN))
        handed_to, *ends = map(int, words)
        bounds = list(accumulate(map(int, lengths), initial=committed))
        ahead = list(zip(bounds[1::2], bounds[2::2], strict=False))
        ends = [end for end in (*ends, handed_to) if end > committed][-ENDS_MAX:]
        return cls(committed, handed_to, ends, ahead, told=committed)

    def read(self, offset: int) -> bool:
        """A record was read; whether it is to be handed out: it is unsettled from now on."""
        again = offset < self.position
        self.unsettled[offset] = False
        self.position = offset + 1
        if self.start == UNKNOWN:
            self.start = offset
        if again:
            # The topic was made anew, or the place to read from was set back by somebody.
            self.unsettled = dict(sorted(self.unsettled.items()))
            self.start = min(self.start, offset)
            self.ahead = []
        while self.ahead and self.ahead[0][1] <= offset:
            del self.ahead[0]
        if self.ahead and self.ahead[0][0] <= offset:
            self.settle(offset)
            return False
        return True

    def reached_end(self, offset: int) -> None:
        """There is nothing to read before `offset`, the end of the partition."""
        self.position = max(self.position, offset)

    def returned(self, offset: int) -> int:
        """How often the record was handed out by readers that ended without settling it."""
        return sum(offset < end for end in self.ends)

    def hand_out(self, offset: int) -> None:
        """A record is in somebody's hand; those up to it count as such should we end."""
        self.handed_to = max(self.handed_to, offset + 1)

    def settle(self, offset: int) -> bool:
        """A record is finished; whether it was not before."""
        if self.unsettled.get(offset, True):
            return False
        self.unsettled[offset] = True
        before = self.start
        while self.unsettled:
            first = next(iter(self.unsettled))
            if not self.unsettled[first]:
                break
            del self.unsettled[first]
            self.start = first + 1
        if self.start > before:
            self.ends = [end for end in self.ends if end > self.start]
        return True

    @property
    def settled_ahead(self) -> int:
        """Records settled that cannot be committed yet, because one before them is not."""
        return sum(self.unsettled.values()) + sum(end - first for first, end in self._to_skip())

    @property
    def untold(self) -> int:
        """How many offsets were settled since the last commit was made."""
        return max(0, self.start - self.told) if self.told != UNKNOWN else 0

    @property
    def metadata(self) -> str:
        """What a reader after us must know: `handed_to,end,…;gap run gap run…`."""
        words, room, at = list[str](), RUNS_MAX_CHARS, self.start
        for first, end in [*self._settled_runs(), *self._to_skip()]:
            words.append(f"{first - at} {end - first}")
            room, at = room - len(words[-1]) - 1, end
            if room < 0:
                words.pop()
                break
        numbers = ",".join(str(number) for number in (self.handed_to, *self.ends))
        return f"{numbers};{' '.join(words)}"

    def _settled_runs(self) -> Iterator[tuple[int, int]]:
        """Where records read here are settled behind one that is not: first offset, and behind the last."""
        if not any(self.unsettled.values()):
            return
        first = end = UNKNOWN
        for offset, settled in self.unsettled.items():
            if settled:
                first, end = (offset if first == UNKNOWN else first), offset + 1
            elif first != UNKNOWN:
                yield first, end
                first = UNKNOWN
        if first != UNKNOWN:
            yield first, end

    def _to_skip(self) -> list[tuple[int, int]]:
        """What is left of `ahead`."""
        return [
            (max(first, self.position), end) for first, end in self.ahead if end > self.position
        ]
