"""How a backfill of a source stands, as a value, and what each of its polls makes of it: pure functions.

It is kept in the source's row as JSON. Two times are: when the backfill goes on, and when the source is
polled for what is new, so that neither keeps the other waiting: what is due longer goes first.
Docs: docs/decisions/0078-backfills-are-polls-of-older-pages.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from hashlib import sha1
from typing import Any

import msgspec

from fonds.model.prepared import prepared
from fonds.model.rows import InputRow, SourceRow

ATTEMPTS_MAX = 5
PAGES_MAX = 1_000
MARK_CHARS = 12


class State(StrEnum):
    """How a backfill stands; the words for people."""

    GOING_ON = "going on"
    ENDED = "ended"
    STOPPED = "stopped"
    FAILED = "failed"  # a page could not be had, and what is behind it is not known


@dataclass(frozen=True, slots=True)
class Backfill:
    """What was asked for, and how far it is.

    `first` and `last` are days in UTC; `takes_undated` whether entries that say no day enter. `at` is the
    page it goes on with, "" for the source's own listing; `seen` are marks of the pages that were read.
    Counted are `pages`, those that were `unread`able, the `sitemaps` of an index passed over since they
    changed last before `first`, and of the entries listed those that `entered`, that were `known`, `refused`,
    `outside` the days and `undated`. `earliest` is the first day met. `attempts` failed in a row, the last
    one by `trouble`. `why` says why it ended, at `ended_at`. `poll` is the number of its last poll,
    under way or over. It goes on at `due_at`; the source is polled for what is new at `poll_at`, None for as
    soon as it is polled at all.
    """

    first: date
    last: date
    takes_undated: bool
    asked_at: datetime
    asked_by: str
    due_at: datetime
    poll_at: datetime | None = None
    state: State = State.GOING_ON
    at: str = ""
    seen: tuple[str, ...] = ()
    pages: int = 0
    unread: int = 0
    sitemaps: int = 0
    entered: int = 0
    known: int = 0
    refused: int = 0
    outside: int = 0
    undated: int = 0
    earliest: date | None = None
    attempts: int = 0
    trouble: str = ""
    why: str = ""
    ended_at: datetime | None = None
    poll: int = 0

    @property
    def listed(self) -> int:
        """How many entries the pages had: each is one of these."""
        return self.entered + self.known + self.refused + self.outside + self.undated

    @property
    def is_going_on(self) -> bool:
        """Whether there is anything left to do."""
        return self.state is State.GOING_ON


@dataclass(frozen=True, slots=True)
class Found:
    """What one poll of a backfill met, as it stands on the books. `marks` are of the `pages` it read and of
    where they led; `wait_s` is how long the next is put off; the rest is as in `Backfill`."""

    pages: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    unread: int = 0
    sitemaps: int = 0
    outside: int = 0
    undated: int = 0
    earliest: date | None = None
    at: str = ""
    state: State = State.GOING_ON
    why: str = ""
    trouble: str = ""
    wait_s: float = 0.0


def mark(url: str) -> str:
    """What an address is known by among those that were seen."""
    return sha1(url.encode("utf-8", "replace")).hexdigest()[:MARK_CHARS]  # noqa: S324 (a key, not a seal)


def backfill_of(row: SourceRow) -> Backfill | None:
    """The last backfill of a source; None where nobody asked for one."""
    return None if row.backfill is None else msgspec.convert(dict(row.backfill), prepared(Backfill))


def found_in(told: Mapping[str, Any]) -> Found | None:
    """What a poll met, out of what it noted; None for one that was of no backfill."""
    found = told.get("backfill")
    return None if found is None else msgspec.convert(found, prepared(Found))


def kept(found: Backfill) -> dict[str, Any]:
    """As it is kept in the row."""
    return dict(msgspec.to_builtins(found))


def is_its_poll(row: SourceRow) -> bool:
    """Whether the poll a source is at is one of its backfill."""
    found = backfill_of(row)
    return found is not None and found.poll > 0 and found.poll == row.polls


def is_under_way(row: SourceRow) -> bool:
    """Whether a poll of its backfill is under way, or was broken off."""
    return row.polling and is_its_poll(row)


def has_turn(row: SourceRow, now: datetime) -> bool:
    """Whether the next poll of a source that is due, and of which none was broken off, is one of its
    backfill: where both are due, the one that is due longer goes first."""
    found = backfill_of(row)
    if found is None or not found.is_going_on or found.poll_at is None or found.due_at > now:
        return False
    return found.poll_at > now or found.due_at < found.poll_at


def begun(row: SourceRow, number: int) -> dict[str, Any]:
    """The column of a source whose poll of this number is one of its backfill."""
    found = backfill_of(row)
    return {} if found is None else {"backfill": kept(replace(found, poll=number))}


def due_next(row: SourceRow, poll_at: datetime) -> dict[str, Any]:
    """The columns that say when a source is polled next, for what is new at `poll_at`."""
    found = backfill_of(row)
    if found is None or not found.is_going_on:
        return {"next_poll": poll_at}
    return {
        "next_poll": min(poll_at, found.due_at),
        "backfill": kept(replace(found, poll_at=poll_at)),
    }


def polled_at_once(row: SourceRow) -> dict[str, Any]:
    """The columns of a source that is to be polled for what is new before its backfill goes on."""
    found = backfill_of(row)
    if found is None or not found.is_going_on:
        return {}
    return changed_by_a_person(row, replace(found, poll_at=None))


def changed_by_a_person(row: SourceRow, found: Backfill) -> dict[str, Any]:
    """The columns of a source of whose backfill a person says something: the poll that is under way keeps
    it, since it looks at the count when it ends."""
    return {"backfill": kept(found), "backfill_changes": row.backfill_changes + 1}


def polled_next(row: SourceRow) -> datetime | None:
    """When a source is polled for what is new; None for one that is paused or gone."""
    if row.state != "active":
        return None
    found = backfill_of(row)
    if found is None or not found.is_going_on:
        return row.next_poll
    return found.poll_at or row.next_poll


def with_poll(
    row: SourceRow, found: Found, poll: InputRow, told: Mapping[str, Any]
) -> dict[str, Any]:
    """The column of a source after a poll of its backfill that is on the books; `told` is what it noted."""
    was = backfill_of(row)
    return {} if was is None else {"backfill": kept(_after(was, found, poll, told))}


def _after(was: Backfill, found: Found, poll: InputRow, told: Mapping[str, Any]) -> Backfill:
    days = [day for day in (was.earliest, found.earliest) if day is not None]
    after = replace(
        was,
        at=found.at,
        seen=(*was.seen, *(one for one in found.marks if one not in was.seen)),
        pages=was.pages + len(found.pages),
        unread=was.unread + found.unread,
        sitemaps=max(was.sitemaps, found.sitemaps),
        entered=was.entered + poll.entries,
        known=was.known + int(told.get("known") or 0),
        refused=was.refused + int(told.get("refused") or 0),
        outside=was.outside + found.outside,
        undated=was.undated + found.undated,
        earliest=min(days, default=None),
        attempts=attempts_after(was, found.trouble, found.pages),
        trouble=found.trouble,
        due_at=poll.updated + timedelta(seconds=found.wait_s),
    )
    # A person may have stopped it while it was under way.
    if not was.is_going_on or found.state is State.GOING_ON:
        return after
    return ended(after, found.state, found.why, poll.updated)


def attempts_after(was: Backfill, trouble: str, pages: Sequence[str]) -> int:
    """How many attempts failed in a row after a poll that read these pages before the trouble it met, ""
    for none."""
    if not trouble:
        return 0
    return 1 if pages else was.attempts + 1


def ended(found: Backfill, state: State, why: str, now: datetime) -> Backfill:
    """It as it is when it goes on no more; what was seen is not needed any longer."""
    return replace(found, state=state, why=why, ended_at=now, seen=())


def put_off(row: SourceRow, is_backfill: bool, at: datetime) -> dict[str, Any]:
    """The columns of a source whose poll, of its backfill or not, was not begun and is due again then."""
    found = backfill_of(row)
    if found is None or not found.is_going_on:
        return {"next_poll": at, "backfill": row.backfill}
    found = replace(found, due_at=at) if is_backfill else replace(found, poll_at=at)
    other = found.poll_at if is_backfill else found.due_at
    is_begun = row.polling or other is None
    return {"next_poll": at if is_begun else min(at, other or at), "backfill": kept(found)}
