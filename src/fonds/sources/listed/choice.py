"""Which of the links that are found are taken."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1


@dataclass(slots=True)
class Choice:
    """Which links of those that are found are taken: a share of them in percent, and so many in this run."""

    percent: float = 100.0
    count_max: int | None = None
    taken: int = 0
    done: bool = False

    def is_full(self) -> bool:
        """Whether no more are wanted in this run."""
        return self.count_max is not None and self.taken >= self.count_max

    def is_sampled(self, url: str) -> bool:
        """Whether an address belongs to the share; the same ones whenever the share is the same."""
        if self.percent >= 100.0:
            return True
        chance = sha1(url.encode("utf-8", "replace")).digest()  # noqa: S324 (a choice, not a seal)
        return int.from_bytes(chance[:8]) < self.percent / 100.0 * 2**64
