"""Poll sources: lease a source, request it, enter its new links and update its row.

A crash at any time loses nothing, because links are recorded under the poll that found them. An
interrupted poll starts again under its own number. If all its links were already recorded, the next
poll gets a new number, because the source may list something else by now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from fonds.following.backfill import (
    build_due_columns,
    build_postponed_columns,
    build_started_column,
    has_turn,
    is_its_poll,
)
from fonds.following.backfill_poll import read_older_pages
from fonds.following.link_rules import LinkRules
from fonds.following.listings.listing import Listing
from fonds.following.poll_interval import (
    API,
    PollIntervals,
    compute_interval_s,
    compute_recent_rate,
)
from fonds.following.poll_links import (
    PollSource,
    SiftedLinks,
    compute_input_id,
    poll_row,
    sift,
)
from fonds.following.poll_notes import PollNotes
from fonds.following.poll_request import (
    ERROR_CHARS,
    PolledListing,
    PollResponse,
    Read,
    SendRequest,
    request_listing,
)
from fonds.following.poll_result import (
    add_entered_counts,
    build_backfill_notes,
    build_health_columns,
    build_poll_notes,
    build_success_columns,
)
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.rows import InputRow, SourceRow
from fonds.ports import Records, Source

LEASE_S = 900.0
"""Lease duration of a poll. A poll that has not ended after this time counts as interrupted."""
CHANGES_MAX = 10
"""Maximum attempts to merge a poll's result with concurrent changes by people."""
_GONE_STATUS, _UNCHANGED = 410, 304

RunIntake = Callable[[Source], None]
"""Function that enters a source's links into the pipeline. It may stop early at shutdown."""


@dataclass(frozen=True, slots=True)
class PollResult:
    """Result of one poll: the updated row, notes, number of new links, and the error, if any."""

    row: SourceRow
    notes: PollNotes
    new: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Poller:
    """Polls the sources of a pipeline.

    `enter` is the intake, `get` sends requests and `read` parses listings. `process_name` names
    this process. `is_process_gone` returns whether another process is known to have ended.
    """

    records: Records
    pipeline: str
    enter: RunIntake
    get: SendRequest
    read: Read
    rules: LinkRules
    bounds: PollIntervals
    clock: Callable[[], datetime]
    process_name: str = ""
    is_process_gone: Callable[[str], bool] = lambda who: False

    def list_due(self, count_max: int) -> list[SourceRow]:
        """Return sources that are due: first those leased by a process that has ended, then the
        longest due.
        """
        now = self.clock()
        active_rows = self.records.find(
            SourceRow, {"state": "active", "pipeline": self.pipeline}, order=("next_poll",)
        )
        conditions = {"state": "active", "pipeline": self.pipeline, "polling": True}
        due = [
            row
            for row in self.records.find(SourceRow, conditions)
            if row.next_poll > now and row.claimed_by and self.is_process_gone(row.claimed_by)
        ]
        for row in active_rows:
            if row.next_poll > now or len(due) >= count_max:
                break
            due.append(row)
        return due

    def poll(self, row: SourceRow) -> PollResult | None:
        """Poll a source now, either for new links or for its backfill.

        Return None if another process leased it, it is no longer active, or the poll was postponed
        or interrupted. Any response of the source is a result. Raises the errors of the stores.
        """
        leased = self._lease(row)
        if leased is None:
            return None
        if is_its_poll(leased):
            return self._poll_backfill(row, leased)
        try:
            listing = request_listing(leased, self.get, self.read, self.clock)
        except PostponedError as error:
            self._postpone(row, leased, error.after_s)
            return None
        except (TransientError, PermanentError) as error:
            return self._finish_failure(leased, PollResponse(0), str(error))
        status = listing.answer.status
        if status == _GONE_STATUS:
            return self._finish_failure(
                leased, listing.answer, "it is gone for good (410)", state="gone"
            )
        if listing.listing is None and status not in (200, _UNCHANGED):
            return self._finish_failure(leased, listing.answer, f"it answers {status}")
        return self._finish_success(leased, listing)

    def _lease(self, row: SourceRow) -> SourceRow | None:
        """Lease a source and return its row; None if another process was faster.

        An interrupted poll keeps its number, unless all its links are recorded.
        """
        now, ended_poll = self.clock(), self._find_ended_poll(row)
        counts = add_entered_counts(row, ended_poll) if ended_poll else {}
        previous = replace(row, **counts, polling=row.polling and ended_poll is None)
        number = row.polls if previous.polling else row.polls + 1
        # An interrupted poll restarts as the same kind of poll.
        is_older = is_its_poll(row) if previous.polling else has_turn(previous, now)
        values: dict[str, Any] = {
            **counts,
            **(build_started_column(previous, number) if is_older else {}),
            "claims": row.claims + 1,
            "polls": number,
            "polling": True,
            "claimed_by": self.process_name or None,
            "next_poll": now + timedelta(seconds=LEASE_S),
        }
        if not self._change(row, values, {"state": "active"}):
            return None
        # The previous value shows whether an earlier poll was interrupted.
        return replace(row, **{**values, "polling": row.polling})

    def _find_ended_poll(self, row: SourceRow) -> InputRow | None:
        """Return the interrupted poll whose input was finished but whose source row was not
        updated.
        """
        if not row.polling:
            return None
        inputs = self.records.get(InputRow, [(compute_input_id(row), row.pipeline)])
        return next((input_row for input_row in inputs if input_row.finished), None)

    def _postpone(self, row: SourceRow, leased: SourceRow, after_s: float) -> None:
        """Undo a poll that was not started and schedule it for when its host may be requested."""
        due_at = self.clock() + timedelta(seconds=after_s)
        values = {
            "polls": row.polls,
            "links": row.links,
            "refused_tally": row.refused_tally,
            "days": row.days,
            "polling": row.polling,
            **build_postponed_columns(row, is_its_poll(leased), due_at),
        }
        self._change(leased, values)

    def _poll_backfill(self, row: SourceRow, leased: SourceRow) -> PollResult | None:
        """Poll for a backfill. Only counts and the backfill itself change."""
        backfill = leased.backfill
        if backfill is None:
            return None
        try:
            older = read_older_pages(leased, backfill, self.get, self.read, self.clock, self.bounds)
        except PostponedError as error:
            self._postpone(row, leased, error.after_s)
            return None
        # Built directly, because the limit for one listing has already been applied to each page.
        listing = Listing(older.kind, older.entries)
        sifted = sift(leased, listing, self.rules, self.records, self.clock())
        notes = build_backfill_notes(older, sifted)
        failed = (
            None
            if older.backfill_poll.pages
            else older.backfill_poll.trouble or older.backfill_poll.why or None
        )
        poll = self._enter(leased, notes, sifted, failed)
        if poll is None:
            return None
        after = self._write(leased, poll, {}, backfill.poll_at or self.clock())
        return PollResult(after, notes, poll.entries, failed)

    def _finish_success(self, row: SourceRow, listing: PolledListing) -> PollResult | None:
        now = self.clock()
        sifted = SiftedLinks()
        if listing.listing is not None:
            sifted = sift(row, listing.listing, self.rules, self.records, now)
        notes = build_poll_notes(listing, sifted)
        poll = self._enter(row, notes, sifted, None)
        if poll is None:
            return None
        values = build_success_columns(row, listing, sifted, poll.entries, now)
        requested_wait_s = listing.answer.get_requested_wait_s(now)
        recent_day = _compute_recent_rate(row, sifted, poll.entries, now)
        updated_row = self._write_with_health(
            row,
            poll,
            values,
            requested_wait_s,
            continues_soon=listing.has_more,
            recent_day=recent_day,
        )
        return PollResult(updated_row, notes, poll.entries)

    def _finish_failure(
        self, row: SourceRow, answer: PollResponse, error: str, state: str = ""
    ) -> PollResult | None:
        now, notes = self.clock(), PollNotes(status=answer.status)
        error = error[:ERROR_CHARS]
        poll = self._enter(row, notes, SiftedLinks(), error)
        if poll is None:
            return None
        values: dict[str, object] = {
            "last_polled": now,
            "failures": row.failures + 1,
            "failing_since": row.failing_since if row.failures else now,
            "status": answer.status or None,
            "error": error,
            **({"state": state} if state else {}),
        }
        updated_row = self._write_with_health(row, poll, values, answer.get_requested_wait_s(now))
        return PollResult(updated_row, notes, 0, error)

    def _enter(
        self,
        row: SourceRow,
        notes: PollNotes,
        sifted_links: SiftedLinks,
        error: str | None,
    ) -> InputRow | None:
        """Record the poll and its links. Return None if the process stops before all are entered."""
        poll = poll_row(row, notes, error, self.clock())
        # Written before the poll is recorded; after a crash the next poll writes the same rows.
        self.records.put(sifted_links.refused_links)
        self.enter(PollSource(poll, row, sifted_links, self.records))
        inputs = self.records.get(InputRow, [(poll.input_id, row.pipeline)])
        return next((input_row for input_row in inputs if input_row.finished), None)

    def _write_with_health(
        self,
        row: SourceRow,
        poll: InputRow,
        values: Mapping[str, Any],
        requested_wait_s: float,
        *,
        continues_soon: bool = False,
        recent_day: float = 0.0,
    ) -> SourceRow:
        """Update the row after a poll for new links.

        `continues_soon` schedules the next poll immediately.
        """
        after, now = replace(row, **values), self.clock()
        wait_s = compute_interval_s(after, self.bounds, now, requested_wait_s, recent_day)
        if continues_soon:
            wait_s = 0.0 if row.kind == API else max(self.bounds.min_s, requested_wait_s)
        health_columns = build_health_columns(after, now)
        return self._write(row, poll, {**values, **health_columns}, now + timedelta(seconds=wait_s))

    def _write(
        self, row: SourceRow, poll: InputRow, values: Mapping[str, Any], poll_at: datetime
    ) -> SourceRow:
        """Update the row after a poll.

        Concurrent changes by people are kept. If they concern the backfill, the poll's result is
        applied to the changed backfill.
        """
        columns: dict[str, Any] = {}
        for _ in range(CHANGES_MAX):
            columns = {**values, **add_entered_counts(row, poll), "polling": False}
            columns |= build_due_columns(replace(row, **columns), poll_at)
            if self._change(row, columns):
                break
            current = next(iter(self.records.get(SourceRow, [row.source_id])), None)
            if current is None or current.claims != row.claims:
                break
            row = replace(row, backfill=current.backfill, backfill_changes=current.backfill_changes)
        return replace(row, **columns)

    def _change(
        self, row: SourceRow, values: Mapping[str, Any], expected: Mapping[str, Any] | None = None
    ) -> int:
        """Set columns unless another process leased the source or its backfill was changed.

        Return the number of changed rows.
        """
        conditions = {
            "claims": row.claims,
            "backfill_changes": row.backfill_changes,
            **(expected or {}),
        }
        return self.records.change(SourceRow, [row.source_id], values, conditions)


def _compute_recent_rate(
    row: SourceRow, sifted_links: SiftedLinks, new: int, now: datetime
) -> float:
    """Return the rate of this poll alone; 0.0 for the first poll."""
    if row.last_well is None:
        return 0.0
    return compute_recent_rate(new, sifted_links.known_count, (now - row.last_well).total_seconds())


def poll_in_turn(polling: Poller, rows: list[SourceRow]) -> Iterator[PollResult]:
    """Poll sources of one host one after the other, so that the host gets one request at a time."""
    for row in rows:
        result = polling.poll(row)
        if result is not None:
            yield result
