"""Log of user actions: who did what and when. The log keeps the newest 100,000 actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from fonds.model.rows import ActRow
from fonds.ports import Records

DESCRIPTION_MAX_CHARS = 500
ACTS_MAX = 100_000
TRIM_EVERY_ACTS = 1_000
TRIM_BATCH = 5_000
DONE, REFUSED = 200, 400


@dataclass(slots=True)
class ActionLog:
    """Log of user actions in one library. Safe for several threads, also while two threads trim the
    log.

    The row of an action is written before the action; its outcome is added afterwards.
    """

    records: Records
    clock: Callable[[], datetime]
    _begun: int = 0

    def begin(self, actor: str, description: str) -> ActRow:
        """Record an action of a user that is about to start, and return its row. The outcome is
        still None.
        """
        row = ActRow(uuid4().hex, self.clock(), actor, description[:DESCRIPTION_MAX_CHARS])
        self.records.put([row])
        self._begun += 1
        if self._begun % TRIM_EVERY_ACTS == 1:
            self.trim()
        return row

    def describe(self, act: ActRow, description: str) -> None:
        """Append a text to the stored description of a user's action; cut the description to 500
        characters.
        """
        full_description = f"{act.what} {description}"[:DESCRIPTION_MAX_CHARS]
        self.records.change(ActRow, [act.act_id], {"what": full_description})

    def end(self, act: ActRow, outcome: int = DONE) -> None:
        """Record the outcome of a user's action as an HTTP status; 200 for a successful command."""
        self.records.change(ActRow, [act.act_id], {"outcome": outcome})

    def list_newest(self, count_max: int) -> list[ActRow]:
        """Return the last `count_max` user actions, newest first."""
        order = ("-at", "-act_id")
        return list(self.records.find(ActRow, order=order, count_max=count_max))

    def trim(self, count_max: int = ACTS_MAX) -> int:
        """Delete the oldest user actions beyond the newest `count_max`, at most 5,000 per call.

        Return the number of deleted actions.
        """
        n_excess = self.records.count(ActRow).get((), 0) - count_max
        if n_excess <= 0:
            return 0
        oldest_rows = self.records.find(
            ActRow, order=("at", "act_id"), count_max=min(n_excess, TRIM_BATCH)
        )
        act_ids = [row.act_id for row in oldest_rows]
        self.records.delete(ActRow, act_ids)
        return len(act_ids)
