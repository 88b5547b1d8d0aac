"""A person asks for a backfill of a source, or stops it; `fonds run` does what is written down here."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from fonds.following.backfill import (
    Backfill,
    BackfillState,
    build_due_columns,
    build_edited_columns,
    end_backfill,
    is_running,
    parse_backfill,
)
from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.ports import Records

BY_A_PERSON = "somebody stopped it"
_RELOADS_MAX = 10


def validate_days(first: date, last: date | None, now: datetime) -> tuple[date, date]:
    """The days asked for, in UTC, the last of them today where none is said. Raises ValueError for none that
    can be."""
    today = now.astimezone(UTC).date()
    last = last or max(first, today)
    if first > today:
        raise ValueError(f"{first} is yet to come: a backfill is of days that were")
    if first > last:
        raise ValueError(f"{first} is after {last}: the first day comes first")
    return first, last


def explain_no_older_pages(row: SourceRow) -> str:
    """Why a source is known to offer nothing older, as a sentence without its stop; "" for one that may."""
    if row.kind == "page":
        return "a page of links names nothing older"
    if row.kind == "rss-fetcher":
        return "an rss-fetcher is asked from its first id on anyway: there is nothing older"
    told = row.hints or {}
    if told.get("children") or told.get("older") or "older" not in told:
        return ""
    if told.get("complete"):
        return "its last listing says that it lists all there is"
    return "its last listing names no older page"


def request_backfill(
    records: Records,
    row: SourceRow,
    days: tuple[date, date],
    process_name: str,
    now: datetime,
    *,
    takes_undated: bool = False,
) -> Backfill:
    """Write down that a source is to be backfilled; nothing is asked yet. What another one left unread at
    its most pages is gone on with, where these days are no later.

    Raises ConfigurationError, without changing anything, for a source that is paused or gone, or known to
    offer nothing older, and where one goes on already.
    """
    for _ in range(_RELOADS_MAX):
        _check(row)
        was, (first, last) = parse_backfill(row), days
        wanted = Backfill(
            first,
            last,
            takes_undated,
            now,
            process_name,
            due_at=now,
            at=_find_resume_page(was, last),
        )
        told = build_edited_columns(row, wanted)
        if not row.polling:
            # When it is polled for what is new stays as it was.
            told |= build_due_columns(replace(row, **told), row.next_poll)
        if _change_columns(records, row, told):
            return wanted
        row = _reload(records, row)
    raise ConfigurationError(f"{row.url} is being changed by others: ask again")


def stop_backfill(records: Records, row: SourceRow, now: datetime) -> bool:
    """Have a backfill go on no more; what entered stays, and a poll of it that is under way is ended first.
    Whether one was going on."""
    for _ in range(_RELOADS_MAX):
        found = parse_backfill(row)
        if found is None or not found.is_active:
            return False
        told = build_edited_columns(
            row, end_backfill(found, BackfillState.STOPPED, BY_A_PERSON, now)
        )
        if not row.polling:
            told["next_poll"] = found.poll_at or row.next_poll
        if _change_columns(records, row, told):
            return True
        row = _reload(records, row)
    raise ConfigurationError(f"{row.url} is being changed by others: stop it again")


def _check(row: SourceRow) -> None:
    if row.state != "active":
        raise ConfigurationError(f"{row.url} is {row.state}: it can be asked once it is resumed")
    if why := explain_no_older_pages(row):
        raise ConfigurationError(f"{row.url} cannot be backfilled: {why}")
    found = parse_backfill(row)
    if found is not None and found.is_active:
        raise ConfigurationError(
            f"{row.url} is being backfilled from {found.first} to {found.last}; stop that first"
        )
    if is_running(row):
        raise ConfigurationError(
            f"the backfill of {row.url} is being stopped: ask again in a moment"
        )


def _find_resume_page(previous: Backfill | None, last: date) -> str:
    """Where the pages begin that the last backfill left unread, if all it read is later than these days."""
    if previous is None or previous.state is not BackfillState.ENDED or previous.earliest is None:
        return ""
    return previous.at if last <= previous.earliest else ""


def _change_columns(records: Records, row: SourceRow, values: dict[str, object]) -> int:
    still = {
        "state": row.state,
        "lease_version": row.lease_version,
        "polling": row.polling,
        "backfill_changes": row.backfill_changes,
    }
    return records.change(SourceRow, [row.source_id], values, still)


def _reload(records: Records, row: SourceRow) -> SourceRow:
    """The row as it is now. Raises ConfigurationError for one that was removed."""
    found = next(iter(records.get(SourceRow, [row.source_id])), None)
    if found is None:
        raise ConfigurationError(f"{row.url} is not followed any more")
    return found
