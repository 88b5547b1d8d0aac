"""State of a source's backfill (reading of older pages of the source), and how each poll changes
the state. All functions are pure.

The state is stored as JSON in the database row of the source. Backfills and polls for new links
each have their own due time, so that neither delays the other. If both are due, the one that has
been due for longer goes first. Docs: docs/decisions/0078-backfill-of-a-source.md.
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
    """Return a short hash of a URL: the first 12 hexadecimal digits of its SHA-1.

    A backfill recognises the URLs that it has read by these hashes (`Backfill.seen`).
    """
    return sha1(url.encode("utf-8", "replace")).hexdigest()[:MARK_CHARS]  # noqa: S324 (a key, not security)


def is_backfill_poll(row: SourceRow) -> bool:
    """Return whether the latest poll of a source belongs to its backfill."""
    backfill = row.backfill
    return backfill is not None and backfill.poll > 0 and backfill.poll == row.polls


def is_running(row: SourceRow) -> bool:
    """Return whether a poll of the source's backfill is running or was interrupted."""
    return row.polling and is_backfill_poll(row)


def is_backfill_due(row: SourceRow, now: datetime) -> bool:
    """Return whether the next poll of a source belongs to its backfill, rather than being a poll
    for new links.

    The backfill is next if it is due and no poll for new links has been due for longer. The source
    must be due, and must not have an interrupted poll, which is repeated first.
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
    """Return the changed column of a source's row when poll `number` of the source starts and
    belongs to its backfill; {} without a backfill.
    """
    backfill = row.backfill
    return {} if backfill is None else {"backfill": replace(backfill, poll=number)}


def build_due_columns(row: SourceRow, poll_at: datetime) -> dict[str, Any]:
    """Return the changed columns of a source's row that schedule its next poll. `poll_at` is the
    time of the next poll for new links.

    If a backfill is active and due before `poll_at`, it is polled first.
    """
    backfill = row.backfill
    if backfill is None or not backfill.is_active:
        return {"next_poll": poll_at}
    return {
        "next_poll": min(poll_at, backfill.due_at),
        "backfill": replace(backfill, poll_at=poll_at),
    }


def build_immediate_columns(row: SourceRow) -> dict[str, Any]:
    """Return the changed columns of a source's row so that a poll for new links precedes the next
    poll of its backfill.

    Return {} if no backfill is active.
    """
    backfill = row.backfill
    if backfill is None or not backfill.is_active:
        return {}
    return build_edited_columns(row, replace(backfill, poll_at=None))


def build_edited_columns(row: SourceRow, backfill: Backfill) -> dict[str, Any]:
    """Return the changed columns of a source's row after a person has changed its backfill.

    They include a higher change counter, by which a running poll recognises the change when the
    poll ends.
    """
    return {"backfill": backfill, "backfill_changes": row.backfill_changes + 1}


def find_next_poll(row: SourceRow) -> datetime | None:
    """Return when a source is next polled for new links; None if the source is paused or gone."""
    if row.state != "active":
        return None
    backfill = row.backfill
    if backfill is None or not backfill.is_active:
        return row.next_poll
    return backfill.poll_at or row.next_poll


def add_poll(
    row: SourceRow, backfill_poll: BackfillPoll, poll: InputRow, notes: PollNotes
) -> dict[str, Any]:
    """Return the changed column of a source's row after a recorded poll of its backfill; {} without
    a backfill.

    - `backfill_poll`: progress and counts of the poll.
    - `poll`: input row of the poll.
    - `notes`: notes that were recorded for the poll.
    """
    previous = row.backfill
    return {} if previous is None else {"backfill": _advance(previous, backfill_poll, poll, notes)}


def _advance(
    previous: Backfill, backfill_poll: BackfillPoll, poll: InputRow, notes: PollNotes
) -> Backfill:
    dates = [day for day in (previous.earliest, backfill_poll.earliest) if day is not None]
    updated_backfill = replace(
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
    if not previous.is_active or backfill_poll.state is BackfillState.RUNNING:
        return updated_backfill
    return end_backfill(updated_backfill, backfill_poll.state, backfill_poll.why, poll.updated)


def count_failed_attempts(previous: Backfill, trouble: str, pages: Sequence[str]) -> int:
    """Return the number of consecutive failed attempts of a backfill after one more poll.

    - `trouble`: error of the poll; "" for none.
    - `pages`: URLs of the pages that the poll read before the error. If there are any, counting
      starts again at 1.
    """
    if not trouble:
        return 0
    return 1 if pages else previous.attempts + 1


def end_backfill(backfill: Backfill, state: BackfillState, reason: str, now: datetime) -> Backfill:
    """Return the backfill after its end, with final `state` and `reason`.

    The hashes of the URLs that were read are removed, because they are needed only while the
    backfill runs.
    """
    return replace(backfill, state=state, why=reason, ended_at=now, seen=())


def build_postponed_columns(row: SourceRow, is_backfill: bool, moment: datetime) -> dict[str, Any]:
    """Return the changed columns of a source's row that postpone a poll, which could not start, to
    `moment`.

    `is_backfill` says whether the poll belongs to the source's backfill or is for new links. The
    source is due before `moment` if a poll of the other kind is due earlier.
    """
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
    """Public status of a backfill, which reads older pages of a source.

    - `first`, `last`: requested dates (UTC), inclusive.
    - `takes_undated`: whether entries without a date are entered too.
    - `requested_at`: time of the request.
    - `state`: `running`, `ended`, `stopped` or `failed`.
    - `why`: reason for the end; None while it goes on.
    - `ended_at`: time of the end; None while it goes on.
    - `pages`: number of pages read.
    - `unread`: number of pages that could not be read.
    - `sitemaps`: number of sitemaps skipped because they last changed before `first`.
    - `listed`: number of entries on the pages read.
    - `entered`: number of entries that became links.
    - `known`: number of entries whose links were entered before, or occur twice in one poll.
    - `refused`: number of entries refused by the link rules.
    - `outside`: number of entries with other dates than `first` to `last`.
    - `undated`: number of entries omitted because they have no date; 0 with `takes_undated`.
    - `earliest`: earliest date of any entry; None if no entry has a date.
    - `next_page`: URL of the next page to read; None after the end.
    - `next_at`: when the backfill continues; None after the end.
    - `attempts`: number of consecutive failed polls; 0 after the end.
    - `trouble`: error of the last failed poll; None if it succeeded, and after the end.
    """

    first: date
    last: date
    takes_undated: bool
    requested_at: datetime
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
        """State of the backfill for lists of sources, such as `backfill failed`; "" if it was
        stopped or ended without failure.
        """
        return (
            f"backfill {self.state}"
            if self.state in (BackfillState.RUNNING, BackfillState.FAILED)
            else ""
        )


def build_backfill_status(row: SourceRow) -> BackfillStatus | None:
    """Return the status of a source's latest backfill; None if the source never had a backfill."""
    backfill = row.backfill
    if backfill is None:
        return None
    is_active = backfill.is_active
    return BackfillStatus(
        first=backfill.first,
        last=backfill.last,
        takes_undated=backfill.takes_undated,
        requested_at=backfill.requested_at,
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
