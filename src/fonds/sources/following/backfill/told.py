"""What people and programs are told of a backfill."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from fonds.model.rows import SourceRow
from fonds.model.secrets import without_secrets
from fonds.sources.following.backfill.backfill import State, backfill_of


@dataclass(frozen=True, slots=True)
class BackfillTold:
    """A backfill of the days from `first` to `last`; `state` is `going on`, `ended`, `stopped` or `failed`,
    and `why` says why it goes on no more.

    `pages` were read, `unread` could not be, `sitemaps` of an index were passed over. Of the entries
    `listed` on them some `entered`, were `known`, `refused`, `outside` the days, or `undated` and left out,
    which with `takes_undated` none is. `earliest` is the first day met. It goes on with `next_page` at
    `next_at`, where `attempts` failed in a row, the last one by `trouble`; None once it is over.
    """

    first: date
    last: date
    takes_undated: bool
    asked_at: datetime
    state: str
    why: str | None
    ended_at: datetime | None
    pages: int
    unread: int
    sitemaps: int
    listed: int
    entered: int
    known: int
    refused: int
    outside: int
    undated: int
    earliest: date | None
    next_page: str | None
    next_at: datetime | None
    attempts: int
    trouble: str | None

    @property
    def in_a_list(self) -> str:
        """What a list of sources tells of it: nothing of one that was stopped, or ended well."""
        return f"backfill {self.state}" if self.state in (State.GOING_ON, State.FAILED) else ""


def backfill_told(row: SourceRow) -> BackfillTold | None:
    """The last backfill of a source; None where nobody asked for one."""
    found = backfill_of(row)
    if found is None:
        return None
    is_on = found.is_going_on
    return BackfillTold(
        first=found.first,
        last=found.last,
        takes_undated=found.takes_undated,
        asked_at=found.asked_at,
        state=str(found.state),
        why=found.why or None,
        ended_at=found.ended_at,
        pages=found.pages,
        unread=found.unread,
        sitemaps=found.sitemaps,
        listed=found.listed,
        entered=found.entered,
        known=found.known,
        refused=found.refused,
        outside=found.outside,
        undated=found.undated,
        earliest=found.earliest,
        next_page=without_secrets(found.at or row.url) if is_on else None,
        next_at=found.due_at if is_on and row.state == "active" else None,
        attempts=found.attempts if is_on else 0,
        trouble=(found.trouble or None) if is_on else None,
    )
