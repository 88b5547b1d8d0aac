"""What of one partition was handed out and settled here, and up to where it may be committed."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Ledger:
    """Offsets of a partition since it was assigned, in the order they were read.

    `handed_to` is the offset behind the last that was ever handed out, also by readers before us, and
    `returns` how often readers ended with some of those unsettled; both travel as the commit's metadata.
    """

    start: int
    handed_to: int = 0
    returns: int = 0
    unsettled: dict[int, bool] = field(default_factory=dict)
    position: int = -1

    @classmethod
    def resumed(cls, committed: int, metadata: str | None) -> Ledger:
        """Go on where a reader before us stopped: `committed` < 0 is none."""
        handed_to, returns = 0, 0
        words = (metadata or "").split(",")
        if len(words) == 2 and all(word.isdigit() for word in words):
            handed_to, returns = int(words[0]), int(words[1])
        outstanding = handed_to > max(committed, 0)
        return cls(max(committed, 0), handed_to, returns + 1 if outstanding else 0)

    def read(self, offset: int) -> None:
        """A record was read: it is unsettled from now on."""
        self.unsettled[offset] = False
        self.position = offset + 1

    def returned(self, offset: int) -> int:
        """How often the record was handed out before without being settled."""
        return self.returns if offset < self.handed_to else 0

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
        if self.start >= self.handed_to:
            self.returns = 0
        return self.start > before

    @property
    def settled_ahead(self) -> int:
        """Records settled that cannot be committed yet, because one before them is not."""
        return sum(self.unsettled.values())

    @property
    def metadata(self) -> str:
        """What a reader after us must know."""
        return f"{self.handed_to},{self.returns}"
