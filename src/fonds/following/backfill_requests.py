"""Request or stop a backfill of a source. The process `fonds run` reads the pages later."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from fonds.following.backfill import (
    build_due_columns,
    build_edited_columns,
    end_backfill,
    is_running,
)
from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.model.source import Backfill, BackfillState
from fonds.ports import Records

STOPPED_BY_PERSON = "a person stopped it"
_RELOADS_MAX = 10


def validate_days(first: date, last: date | None, now: datetime) -> tuple[date, date]:
    """Return the first and last date (UTC) of a backfill request; the last date defaults to today.

    Raises ValueError if the first date is in the future or after the last date.
    """
    today = now.astimezone(UTC).date()
    last = last or max(first, today)
    if first > today:
        raise ValueError(f"{first} is in the future. Choose a past day")
    if first > last:
        raise ValueError(f"the first day, {first}, is after the last day, {last}")
    return first, last


def explain_no_older_pages(row: SourceRow) -> str:
    """Return a sentence, without full stop, that says why a source has no older pages; "" if it may
    have some.
    """
    if row.kind == "page":
        return "a page of links has no older pages"
    if row.kind == "rss-fetcher":
        return "an rss-fetcher is always read from its first id, so nothing older exists"
    hints = row.hints
    if hints is None or hints.children or hints.older or hints.older is None:
        return ""
    if hints.is_complete:
        return "its last listing says that it lists everything"
    return "its last listing has no link to an older page"


def request_backfill(
    records: Records,
    row: SourceRow,
    days: tuple[date, date],
    process_name: str,
    now: datetime,
    *,
    takes_undated: bool = False,
) -> Backfill:
    """Record a request to backfill a source for a range of dates. Nothing is fetched yet.

    If the previous backfill stopped at its page limit, and no requested date is later than the
    earliest date that it reached, the new backfill continues at that page. Raises
    ConfigurationError, without changing anything, if the source is paused or gone, has no older
    pages, or has an active backfill.
    """
    for _ in range(_RELOADS_MAX):
        _check(row)
        previous, (first, last) = row.backfill, days
        backfill = Backfill(
            first,
            last,
            takes_undated,
            now,
            process_name,
            due_at=now,
            at=_find_resume_page(previous, last),
        )
        values = build_edited_columns(row, backfill)
        if not row.polling:
            # Keep the time of the next poll for new links.
            values |= build_due_columns(replace(row, **values), row.next_poll)
        if _change_columns(records, row, values):
            return backfill
        row = _reload(records, row)
    raise ConfigurationError(f"others keep changing {row.url}. Start the backfill again")


def stop_backfill(records: Records, row: SourceRow, now: datetime) -> bool:
    """Stop the backfill of a source. Return whether a backfill was active.

    Links that the backfill found stay in the library. A running poll of the backfill finishes
    first.
    """
    for _ in range(_RELOADS_MAX):
        backfill = row.backfill
        if backfill is None or not backfill.is_active:
            return False
        values = build_edited_columns(
            row, end_backfill(backfill, BackfillState.STOPPED, STOPPED_BY_PERSON, now)
        )
        if not row.polling:
            values["next_poll"] = backfill.poll_at or row.next_poll
        if _change_columns(records, row, values):
            return True
        row = _reload(records, row)
    raise ConfigurationError(f"others keep changing {row.url}. Stop the backfill again")


def _check(row: SourceRow) -> None:
    if row.state != "active":
        raise ConfigurationError(f"{row.url} is {row.state}. Resume it before you start a backfill")
    if explanation := explain_no_older_pages(row):
        raise ConfigurationError(f"cannot backfill {row.url}: {explanation}")
    backfill = row.backfill
    if backfill is not None and backfill.is_active:
        raise ConfigurationError(
            f"a backfill of {row.url} from {backfill.first} to {backfill.last} is "
            "running. Stop it first"
        )
    if is_running(row):
        raise ConfigurationError(f"the backfill of {row.url} is stopping. Try again in a moment")


def _find_resume_page(previous: Backfill | None, last: date) -> str:
    """Return the URL of the page at which a new backfill continues, if the previous backfill
    stopped at its page limit.

    Return "" if the previous backfill ended for another reason, if it read entries that are older
    than `last`, the last requested date, or if it read no entry with a date.
    """
    if previous is None or previous.state is not BackfillState.ENDED or previous.earliest is None:
        return ""
    return previous.at if last <= previous.earliest else ""


def _change_columns(records: Records, row: SourceRow, values: dict[str, object]) -> int:
    expected_values = {
        "state": row.state,
        "lease_version": row.lease_version,
        "polling": row.polling,
        "backfill_changes": row.backfill_changes,
    }
    return records.change(SourceRow, [row.source_id], values, expected_values)


def _reload(records: Records, row: SourceRow) -> SourceRow:
    """Load the current database row of a source. Raises ConfigurationError if the source was
    removed.
    """
    current = next(iter(records.get(SourceRow, [row.source_id])), None)
    if current is None:
        raise ConfigurationError(f"{row.url} is no longer followed")
    return current
