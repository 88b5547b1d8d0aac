"""What of one partition was handed out and settled here, and up to where it may be committed."""

from __future__ import annotations

from dataclasses import dataclass, field

ENDS_MAX = 100
"""Unclean ends that are remembered: well within the 4 kB a broker takes as a commit's metadata."""
UNKNOWN = -1


@dataclass(slots=True)
class Ledger:
    """Offsets of a partition since it was assigned.

    `start` is where to commit: all before it is settled; UNKNOWN until something was read.
    `handed_to` is the offset behind the last that was ever handed out, also by readers before us.
    `ends` holds what that was whenever a reader ended with something unsettled in hand: a record was
    handed out once for each that lies behind it. Both travel as the commit's metadata.
    """

    start: int = UNKNOWN
    handed_to: int = 0
    ends: list[int] = field(default_factory=list)
    unsettled: dict[int, bool] = field(default_factory=dict)
    position: int = UNKNOWN

    @classmethod
    def resumed(cls, committed: int, metadata: str | None) -> Ledger:
        """Go on where a reader before us stopped: `committed` < 0 is none, or not known."""
        words = (metadata or "").split(",")
        known = all(word.isascii() and word.isdigit() and len(word) < 20 for word in words)
        handed_to, *ends = [int(word) for word in words] if known and committed >= 0 else [0]
        start = max(committed, UNKNOWN)
        ends = [end for end in (*ends, handed_to) if end > start][-ENDS_MAX:]
        return cls(start, handed_to, ends if committed >= 0 else [])

    def read(self, offset: int) -> None:
        """A record was read: it is unsettled from now on."""
        again = offset < self.position
        self.unsettled[offset] = False
        self.position = offset + 1
        if self.start == UNKNOWN:
            self.start = offset
        if again:
            # The topic was made anew, or the place to read from was set back by somebody.
            self.unsettled = dict(sorted(self.unsettled.items()))
            self.start = min(self.start, offset)

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
        """A record is finished; whether the place up to where all are has moved on."""
        if offset not in self.unsettled:
            return False
        self.unsettled[offset] = True
        before = self.start
        while self.unsettled:
            first = next(iter(self.unsettled))
            if not self.unsettled[first]:
                break
            del self.unsettled[first]
            self.start = first + 1
        self.ends = [end for end in self.ends if end > self.start]
        return self.start > before

    @property
    def settled_ahead(self) -> int:
        """Records settled that cannot be committed yet, because one before them is not."""
        return sum(self.unsettled.values())

    @property
    def metadata(self) -> str:
        """What a reader after us must know."""
        return ",".join(str(number) for number in (self.handed_to, *self.ends))
