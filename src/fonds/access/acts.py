"""What was done, by whom and when: a row before, its outcome behind it; the newest hundred thousand stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from fonds.model.rows import ActRow
from fonds.ports import Records

DESCRIPTION_MAX_CHARS = 500
ACTS_MAX = 100_000
TRIMMED_EVERY = 1_000
TRIM_BATCH = 5_000
DONE, REFUSED = 200, 400


@dataclass(slots=True)
class ActLog:
    """The acts of a home. Safe for several threads: of two who trim at once, either may."""

    records: Records
    clock: Callable[[], datetime]
    _begun: int = 0

    def begin(self, actor: str, description: str) -> ActRow:
        """Note what somebody is about to do."""
        row = ActRow(uuid4().hex, self.clock(), actor, description[:DESCRIPTION_MAX_CHARS])
        self.records.put([row])
        self._begun += 1
        if self._begun % TRIMMED_EVERY == 1:
            self.trim()
        return row

    def describe(self, act: ActRow, description: str) -> None:
        """Note of an act that was begun what more is known of it now."""
        what = f"{act.what} {description}"[:DESCRIPTION_MAX_CHARS]
        self.records.change(ActRow, [act.act_id], {"what": what})

    def end(self, act: ActRow, outcome: int = DONE) -> None:
        """Note how it ended."""
        self.records.change(ActRow, [act.act_id], {"outcome": outcome})

    def list_newest(self, count_max: int) -> list[ActRow]:
        """The last acts, the newest first."""
        order = ("-at", "-act_id")
        return list(self.records.find(ActRow, order=order, count_max=count_max))

    def trim(self, count_max: int = ACTS_MAX) -> int:
        """Forget the oldest beyond `count_max`; how many those were, some thousand at once."""
        over = self.records.count(ActRow).get((), 0) - count_max
        if over <= 0:
            return 0
        found = self.records.find(ActRow, order=("at", "act_id"), count_max=min(over, TRIM_BATCH))
        oldest = [row.act_id for row in found]
        self.records.delete(ActRow, oldest)
        return len(oldest)
