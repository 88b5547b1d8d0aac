"""State of a source's backfill and its changes after each poll: pure functions.

The state is stored in the source's row as JSON. It has two due times, one for the backfill and one
for polls for new links, so that neither delays the other: the one that is due longer goes first.
Docs: docs/decisions/0078-backfills-are-polls-of-older-pages.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from hashlib import sha1
from typing import Any

from fonds.following.poll_notes import BackfillPoll, PollNotes
from fonds.model.rows import InputRow, SourceRow
from fonds.model.secrets import redact_secrets
from fonds.model.source import Backfill, BackfillState

ATTEMPTS_MAX = 5
PAGES_MAX = 1_000
MARK_CHARS = 12


def hash_url(url: str) -> str:
    """Return the short hash that identifies a URL in `Backfill.seen`."""
    return sha1(url.encode("utf-8", "replace")).hexdigest()[:MARK_CHARS]  # noqa: S324 (a key, not security)


def is_backfill_poll(row: SourceRow) -> bool:
    """Return whether the latest poll of a source belongs to its backfill."""
    backfill = row.backfill
    return backfill is not None and backfill.poll > 0 and backfill.poll == row.polls


def is_running(row: SourceRow) -> bool:
    """Return whether a poll of its backfill is running or was interrupted."""
    return row.polling and is_backfill_poll(row)


def is_backfill_due(row: SourceRow, now: datetime) -> bool:
    """Return whether the next poll of a source belongs to its backfill.

    The source must be due and have no interrupted poll. If both kinds of poll are due, the one that
    is due longer goes first.
    """
    backfill = row.backfill
    if (
        backfill is None
        or not backfill.is_active
        or backfill.poll_at is None
        or backfill.due_at > now
    ):
        return False
    return backfill.poll_at > now or backfill.due_at < backfill.poll_at


def build_started_column(row: SourceRow, number: int) -> dict[str, Any]:
    """Return the column for a source that starts this poll of its backfill."""
    backfill = row.backfill
    return {} if backfill is None else {"backfill": replace(backfill, poll=number)}


def build_due_columns(row: SourceRow, poll_at: datetime) -> dict[str, Any]:
    """Return the columns that schedule a source, with its next poll for new links at `poll_at`."""
    backfill = row.backfill
    if backfill is None or not backfill.is_active:
        return {"next_poll": poll_at}
    return {
        "next_poll": min(poll_at, backfill.due_at),
        "backfill": replace(backfill, poll_at=poll_at),
    }


def build_immediate_columns(row: SourceRow) -> dict[str, Any]:
    """Return the columns for a source that is polled for new links before its backfill continues."""
    backfill = row.backfill
    if backfill is None or not backfill.is_active:
        return {}
    return build_edited_columns(row, replace(backfill, poll_at=None))


def build_edited_columns(row: SourceRow, backfill: Backfill) -> dict[str, Any]:
    """Return the columns for a backfill that a person changes.

    The changed counter makes a running poll notice the change when it ends.
    """
    return {"backfill": backfill, "backfill_changes": row.backfill_changes + 1}


def find_next_poll(row: SourceRow) -> datetime | None:
    """Return when a source is polled for new links; None if it is paused or gone."""
    if row.state != "active":
        return None
    backfill = row.backfill
    if backfill is None or not backfill.is_active:
        return row.next_poll
    return backfill.poll_at or row.next_poll


def add_poll(
    row: SourceRow, backfill_poll: BackfillPoll, poll: InputRow, notes: PollNotes
) -> dict[str, Any]:
    """Return the column for a source after a recorded poll of its backfill.

    `notes` are the poll's notes.
    """
    previous = row.backfill
    return {} if previous is None else {"backfill": _advance(previous, backfill_poll, poll, notes)}


def _advance(
    previous: Backfill, backfill_poll: BackfillPoll, poll: InputRow, notes: PollNotes
) -> Backfill:
    dates = [day for day in (previous.earliest, backfill_poll.earliest) if day is not None]
    after = replace(
        previous,
        at=backfill_poll.at,
        seen=(*previous.seen, *(mark for mark in backfill_poll.marks if mark not in previous.seen)),
        pages=previous.pages + len(backfill_poll.pages),
        unread=previous.unread + backfill_poll.unread,
        sitemaps=max(previous.sitemaps, backfill_poll.sitemaps),
        entered=previous.entered + poll.entries,
        known=previous.known + (notes.known or 0),
        refused=previous.refused + (notes.refused or 0),
        outside=previous.outside + backfill_poll.outside,
        undated=previous.undated + backfill_poll.undated,
        earliest=min(dates, default=None),
        attempts=count_failed_attempts(previous, backfill_poll.trouble, backfill_poll.pages),
        trouble=backfill_poll.trouble,
        due_at=poll.updated + timedelta(seconds=backfill_poll.wait_s),
    )
    # A person may have stopped the backfill while the poll was running.
    if not previous.is_active or backfill_poll.state is BackfillState.GOING_ON:
        return after
    return end_backfill(after, backfill_poll.state, backfill_poll.why, poll.updated)


def count_failed_attempts(previous: Backfill, trouble: str, pages: Sequence[str]) -> int:
    """Return the number of consecutive failed attempts after a poll.

    `pages` are those read before the error; `trouble` is the error, "" for none.
    """
    if not trouble:
        return 0
    return 1 if pages else previous.attempts + 1


def end_backfill(backfill: Backfill, state: BackfillState, reason: str, now: datetime) -> Backfill:
    """Return the backfill in an ended state, without the hashes of seen URLs, which are not needed."""
    return replace(backfill, state=state, why=reason, ended_at=now, seen=())


def build_postponed_columns(row: SourceRow, is_backfill: bool, moment: datetime) -> dict[str, Any]:
    """Return the columns for a source whose poll was not started and is due again at `moment`."""
    backfill = row.backfill
    if backfill is None or not backfill.is_active:
        return {"next_poll": moment, "backfill": row.backfill}
    backfill = (
        replace(backfill, due_at=moment) if is_backfill else replace(backfill, poll_at=moment)
    )
    other_due = backfill.poll_at if is_backfill else backfill.due_at
    is_begun = row.polling or other_due is None
    return {
        "next_poll": moment if is_begun else min(moment, other_due or moment),
        "backfill": backfill,
    }


@dataclass(frozen=True, slots=True)
class BackfillStatus:
    """Public status of a backfill of the dates from `first` to `last`.

    `state` is `going on`, `ended`, `stopped` or `failed`; `why` is the reason why it ended.
    `pages` were read, `unread` could not be read, and `sitemaps` of an index were skipped.
    Of the `listed` entries, some `entered`, and others were `known`, `refused`, `outside` the dates
    or `undated` and left out; with `takes_undated`, `undated` is 0.
    `earliest` is the earliest date of any entry.
    It continues with `next_page` at `next_at`, after `attempts` consecutive failures, the last one
    with the error `trouble`. After it ended, these are None, and `attempts` is 0.
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
        """Text for lists of sources; empty if the backfill was stopped or ended without failure."""
        return (
            f"backfill {self.state}"
            if self.state in (BackfillState.GOING_ON, BackfillState.FAILED)
            else ""
        )


def build_backfill_status(row: SourceRow) -> BackfillStatus | None:
    """Return the status of a source's latest backfill; None if there was none."""
    backfill = row.backfill
    if backfill is None:
        return None
    is_active = backfill.is_active
    return BackfillStatus(
        first=backfill.first,
        last=backfill.last,
        takes_undated=backfill.takes_undated,
        asked_at=backfill.asked_at,
        state=str(backfill.state),
        why=backfill.why or None,
        ended_at=backfill.ended_at,
        pages=backfill.pages,
        unread=backfill.unread,
        sitemaps=backfill.sitemaps,
        listed=backfill.listed,
        entered=backfill.entered,
        known=backfill.known,
        refused=backfill.refused,
        outside=backfill.outside,
        undated=backfill.undated,
        earliest=backfill.earliest,
        next_page=redact_secrets(backfill.at or row.url) if is_active else None,
        next_at=backfill.due_at if is_active and row.state == "active" else None,
        attempts=backfill.attempts if is_active else 0,
        trouble=(backfill.trouble or None) if is_active else None,
    )
