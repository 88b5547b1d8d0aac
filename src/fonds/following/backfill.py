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

from fonds.model.encoding import prepare_type
from fonds.model.rows import InputRow, SourceRow
from fonds.model.secrets import redact_secrets

ATTEMPTS_MAX = 5
PAGES_MAX = 1_000
MARK_CHARS = 12


class BackfillState(StrEnum):
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
    state: BackfillState = BackfillState.GOING_ON
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
    def is_active(self) -> bool:
        """Whether there is anything left to do."""
        return self.state is BackfillState.GOING_ON


@dataclass(frozen=True, slots=True)
class BackfillPoll:
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
    state: BackfillState = BackfillState.GOING_ON
    why: str = ""
    trouble: str = ""
    wait_s: float = 0.0


def hash_url(url: str) -> str:
    """What an address is known by among those that were seen."""
    return sha1(url.encode("utf-8", "replace")).hexdigest()[:MARK_CHARS]  # noqa: S324 (a key, not a seal)


def parse_backfill(row: SourceRow) -> Backfill | None:
    """The last backfill of a source; None where nobody asked for one."""
    return (
        None
        if row.backfill is None
        else msgspec.convert(dict(row.backfill), prepare_type(Backfill))
    )


def parse_backfill_poll(notes: Mapping[str, Any]) -> BackfillPoll | None:
    """What a poll met, out of what it noted; None for one that was of no backfill."""
    found = notes.get("backfill")
    return None if found is None else msgspec.convert(found, prepare_type(BackfillPoll))


def encode_backfill(backfill: Backfill) -> dict[str, Any]:
    """As it is kept in the row."""
    return dict(msgspec.to_builtins(backfill))


def is_its_poll(row: SourceRow) -> bool:
    """Whether the poll a source is at is one of its backfill."""
    found = parse_backfill(row)
    return found is not None and found.poll > 0 and found.poll == row.polls


def is_running(row: SourceRow) -> bool:
    """Whether a poll of its backfill is under way, or was broken off."""
    return row.polling and is_its_poll(row)


def has_turn(row: SourceRow, now: datetime) -> bool:
    """Whether the next poll of a source that is due, and of which none was broken off, is one of its
    backfill: where both are due, the one that is due longer goes first."""
    found = parse_backfill(row)
    if found is None or not found.is_active or found.poll_at is None or found.due_at > now:
        return False
    return found.poll_at > now or found.due_at < found.poll_at


def build_started_column(row: SourceRow, number: int) -> dict[str, Any]:
    """The column of a source whose poll of this number is one of its backfill."""
    found = parse_backfill(row)
    return {} if found is None else {"backfill": encode_backfill(replace(found, poll=number))}


def build_due_columns(row: SourceRow, poll_at: datetime) -> dict[str, Any]:
    """The columns that say when a source is polled next, for what is new at `poll_at`."""
    found = parse_backfill(row)
    if found is None or not found.is_active:
        return {"next_poll": poll_at}
    return {
        "next_poll": min(poll_at, found.due_at),
        "backfill": encode_backfill(replace(found, poll_at=poll_at)),
    }


def build_immediate_columns(row: SourceRow) -> dict[str, Any]:
    """The columns of a source that is to be polled for what is new before its backfill goes on."""
    found = parse_backfill(row)
    if found is None or not found.is_active:
        return {}
    return build_edited_columns(row, replace(found, poll_at=None))


def build_edited_columns(row: SourceRow, backfill: Backfill) -> dict[str, Any]:
    """The columns of a source of whose backfill a person says something: the poll that is under way keeps
    it, since it looks at the count when it ends."""
    return {"backfill": encode_backfill(backfill), "backfill_changes": row.backfill_changes + 1}


def find_next_poll(row: SourceRow) -> datetime | None:
    """When a source is polled for what is new; None for one that is paused or gone."""
    if row.state != "active":
        return None
    found = parse_backfill(row)
    if found is None or not found.is_active:
        return row.next_poll
    return found.poll_at or row.next_poll


def add_poll(
    row: SourceRow, backfill_poll: BackfillPoll, poll: InputRow, notes: Mapping[str, Any]
) -> dict[str, Any]:
    """The column of a source after a poll of its backfill that is on the books; `notes` is what it noted."""
    was = parse_backfill(row)
    return (
        {}
        if was is None
        else {"backfill": encode_backfill(_advance(was, backfill_poll, poll, notes))}
    )


def _advance(
    previous: Backfill, backfill_poll: BackfillPoll, poll: InputRow, notes: Mapping[str, Any]
) -> Backfill:
    days = [day for day in (previous.earliest, backfill_poll.earliest) if day is not None]
    after = replace(
        previous,
        at=backfill_poll.at,
        seen=(*previous.seen, *(one for one in backfill_poll.marks if one not in previous.seen)),
        pages=previous.pages + len(backfill_poll.pages),
        unread=previous.unread + backfill_poll.unread,
        sitemaps=max(previous.sitemaps, backfill_poll.sitemaps),
        entered=previous.entered + poll.entries,
        known=previous.known + int(notes.get("known") or 0),
        refused=previous.refused + int(notes.get("refused") or 0),
        outside=previous.outside + backfill_poll.outside,
        undated=previous.undated + backfill_poll.undated,
        earliest=min(days, default=None),
        attempts=count_failed_attempts(previous, backfill_poll.trouble, backfill_poll.pages),
        trouble=backfill_poll.trouble,
        due_at=poll.updated + timedelta(seconds=backfill_poll.wait_s),
    )
    # A person may have stopped it while it was under way.
    if not previous.is_active or backfill_poll.state is BackfillState.GOING_ON:
        return after
    return end_backfill(after, backfill_poll.state, backfill_poll.why, poll.updated)


def count_failed_attempts(previous: Backfill, trouble: str, pages: Sequence[str]) -> int:
    """How many attempts failed in a row after a poll that read these pages before the trouble it met, ""
    for none."""
    if not trouble:
        return 0
    return 1 if pages else previous.attempts + 1


def end_backfill(backfill: Backfill, state: BackfillState, reason: str, now: datetime) -> Backfill:
    """It as it is when it goes on no more; what was seen is not needed any longer."""
    return replace(backfill, state=state, why=reason, ended_at=now, seen=())


def build_postponed_columns(row: SourceRow, is_backfill: bool, moment: datetime) -> dict[str, Any]:
    """The columns of a source whose poll, of its backfill or not, was not begun and is due again then."""
    found = parse_backfill(row)
    if found is None or not found.is_active:
        return {"next_poll": moment, "backfill": row.backfill}
    found = replace(found, due_at=moment) if is_backfill else replace(found, poll_at=moment)
    other = found.poll_at if is_backfill else found.due_at
    is_begun = row.polling or other is None
    return {
        "next_poll": moment if is_begun else min(moment, other or moment),
        "backfill": encode_backfill(found),
    }


# What people and programs are told of a backfill.


@dataclass(frozen=True, slots=True)
class BackfillStatus:
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
    def short_text(self) -> str:
        """What a list of sources tells of it: nothing of one that was stopped, or ended well."""
        return (
            f"backfill {self.state}"
            if self.state in (BackfillState.GOING_ON, BackfillState.FAILED)
            else ""
        )


def build_backfill_status(row: SourceRow) -> BackfillStatus | None:
    """The last backfill of a source; None where nobody asked for one."""
    found = parse_backfill(row)
    if found is None:
        return None
    is_on = found.is_active
    return BackfillStatus(
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
        next_page=redact_secrets(found.at or row.url) if is_on else None,
        next_at=found.due_at if is_on and row.state == "active" else None,
        attempts=found.attempts if is_on else 0,
        trouble=(found.trouble or None) if is_on else None,
    )
