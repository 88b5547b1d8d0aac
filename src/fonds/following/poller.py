"""Poll sources: request a listing, enter its new links, and update the source's row.

A crash loses nothing. Entries in the database record each link and the poll that found it. An
interrupted poll starts again with the same poll number. If all its links were recorded before the
interruption, the next number is used, because the source may list other links by now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from fonds.following.backfill import (
    build_due_columns,
    build_postponed_columns,
    build_started_column,
    is_backfill_due,
    is_backfill_poll,
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
    build_poll_row,
    compute_input_id,
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
from fonds.leases.cells import get_cell
from fonds.leases.lease import Lease, LeaseConflictError
from fonds.leases.leases import Leases
from fonds.model.errors import FondsError, PermanentError, PostponedError, TransientError
from fonds.model.rows import InputRow, SourceRow
from fonds.ports import Records, Source

LEASE_S = 900.0
"""Duration of the lease of a source in seconds.

A poll renews the lease once, before it enters links.
"""
CHANGES_MAX = 10
"""Maximum number of attempts to merge the result of a poll with concurrent changes by people."""
_GONE_STATUS, _NOT_MODIFIED = 410, 304

RunIntake = Callable[[Source], None]
"""Function that enters the links of a source into the pipeline. It may stop early at shutdown."""


@dataclass(frozen=True, slots=True)
class PollResult:
    """Result of one poll.

    - `row`: database row of the source after the poll.
    - `notes`: notes about the response.
    - `new`: number of new links.
    - `error`: error of the poll, or None.
    """

    row: SourceRow
    notes: PollNotes
    new: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class LeasedSource:
    """Source whose lease this process has, so that no other process polls it.

    `row` is the source's database row as this process last wrote it.
    """

    row: SourceRow
    lease: Lease


@dataclass(frozen=True, slots=True)
class Poller:
    """Poller of the sources of one pipeline.

    - `records`: database with sources, polls and entries.
    - `pipeline`: name of the pipeline.
    - `enter`: function that enters links into the pipeline.
    - `get`: function that sends a request and returns the response.
    - `read`: function that parses a listing.
    - `rules`: rules by which links are refused.
    - `bounds`: limits of the time between two polls.
    - `clock`: function that returns the current time.
    - `leases`: leases of sources.
    """

    records: Records
    pipeline: str
    enter: RunIntake
    get: SendRequest
    read: Read
    rules: LinkRules
    bounds: PollIntervals
    clock: Callable[[], datetime]
    leases: Leases

    def list_due(self, count_max: int) -> list[SourceRow]:
        """Return up to `count_max` sources that are due now.

        Interrupted polls come first, then the sources that have been due for longest.
        """
        now = self.clock()
        active = {"state": "active", "pipeline": self.pipeline}
        due_rows = [
            row
            for row in self.records.find(SourceRow, {**active, "polling": True})
            if row.lease_holder is not None
            and self.leases.is_acquirable(row.source_id, get_cell(row))
        ]
        free = {**active, "lease_holder": None}
        for row in self.records.find(SourceRow, free, order=("next_poll",)):
            if row.next_poll > now or len(due_rows) >= count_max:
                break
            due_rows.append(row)
        return due_rows

    def poll(self, row: SourceRow) -> PollResult | None:
        """Poll a source now, either for new links or for its backfill.

        Return None if another process has the lease, the source is no longer active, or the poll
        was postponed or interrupted. If the request or the parsing fails, return a result with an
        error. Raises the errors of the database.
        """
        leased_source = self._acquire(row)
        if leased_source is None:
            return None
        try:
            return self._poll_leased(row, leased_source)
        except LeaseConflictError:
            return None
        except Exception:
            with suppress(FondsError):
                self.leases.release(leased_source.lease)
            raise

    def _poll_leased(self, row: SourceRow, leased_source: LeasedSource) -> PollResult | None:
        if is_backfill_poll(leased_source.row):
            return self._poll_backfill(row, leased_source)
        try:
            polled_listing = request_listing(leased_source.row, self.get, self.read, self.clock)
        except PostponedError as error:
            self._postpone(row, leased_source, error.after_s)
            return None
        except (TransientError, PermanentError) as error:
            return self._finish_failure(leased_source, PollResponse(0), str(error))
        status = polled_listing.response.status
        if status == _GONE_STATUS:
            return self._finish_failure(
                leased_source,
                polled_listing.response,
                "the source is permanently gone (410)",
                state="gone",
            )
        if polled_listing.listing is None and status not in (200, _NOT_MODIFIED):
            return self._finish_failure(
                leased_source, polled_listing.response, f"the server responded with {status}"
            )
        return self._finish_success(leased_source, polled_listing)

    def _acquire(self, row: SourceRow) -> LeasedSource | None:
        """Acquire the lease of a source and begin a poll.

        Return None if the lease cannot be acquired, or the row of the source has changed. A poll
        that was interrupted begins again with the same number, unless all its links were recorded
        before; then a new poll begins.
        """
        now, finished_poll = self.clock(), self._find_ended_poll(row)
        count_columns = add_entered_counts(row, finished_poll) if finished_poll else {}
        previous = replace(row, **count_columns, polling=row.polling and finished_poll is None)
        number = row.polls if previous.polling else row.polls + 1
        # An interrupted poll starts again as the same kind of poll.
        is_older = is_backfill_poll(row) if previous.polling else is_backfill_due(previous, now)
        values: dict[str, Any] = {
            **count_columns,
            **(build_started_column(previous, number) if is_older else {}),
            "polls": number,
            "polling": True,
        }
        conditions = {"state": "active", "backfill_changes": row.backfill_changes}
        lease = self.leases.try_acquire(row.source_id, get_cell(row), values, conditions)
        if lease is None:
            return None
        # Keep the earlier value of `polling`, which says whether an earlier poll was interrupted.
        row_values = {**values, "polling": row.polling}
        return LeasedSource(replace(row, **row_values), lease)

    def _find_ended_poll(self, row: SourceRow) -> InputRow | None:
        """Return the row of an interrupted poll in `inputs` if all its links were recorded;
        otherwise None.

        Such a poll was interrupted before the row of the source was updated.
        """
        if not row.polling:
            return None
        inputs = self.records.get(InputRow, [(compute_input_id(row), row.pipeline)])
        return next((poll for poll in inputs if poll.finished), None)

    def _postpone(self, row: SourceRow, leased_source: LeasedSource, after_s: float) -> None:
        """Undo a poll that was not started, and schedule it again after `after_s` seconds."""
        due_at = self.clock() + timedelta(seconds=after_s)
        values = {
            "polls": row.polls,
            "links": row.links,
            "refused_tally": row.refused_tally,
            "days": row.days,
            "polling": row.polling,
            **build_postponed_columns(row, is_backfill_poll(leased_source.row), due_at),
        }
        conditions = {"backfill_changes": row.backfill_changes}
        if not self.leases.release(leased_source.lease, values, conditions):
            # A person changed the backfill meanwhile, so the poll counts as interrupted.
            self.leases.release(leased_source.lease)

    def _poll_backfill(self, row: SourceRow, leased_source: LeasedSource) -> PollResult | None:
        """Poll a source for its backfill.

        Only counts and the backfill itself change in the source's row.
        """
        backfill = leased_source.row.backfill
        if backfill is None:
            self.leases.release(leased_source.lease)
            return None
        try:
            backfill_result = read_older_pages(
                leased_source.row, backfill, self.get, self.read, self.clock, self.bounds
            )
        except PostponedError as error:
            self._postpone(row, leased_source, error.after_s)
            return None
        # Built directly, because the limit for one listing has already been applied to each page.
        listing = Listing(backfill_result.kind, backfill_result.entries)
        sifted_links = sift(leased_source.row, listing, self.rules, self.records, self.clock())
        notes = build_backfill_notes(backfill_result, sifted_links)
        failure = (
            None
            if backfill_result.backfill_poll.pages
            else backfill_result.backfill_poll.trouble or backfill_result.backfill_poll.why or None
        )
        entered_poll = self._enter(leased_source, notes, sifted_links, failure)
        if entered_poll is None:
            return None
        new_row = self._write(leased_source, entered_poll, {}, backfill.poll_at or self.clock())
        return PollResult(new_row, notes, entered_poll.entries, failure)

    def _finish_success(
        self, leased_source: LeasedSource, listing: PolledListing
    ) -> PollResult | None:
        now, row = self.clock(), leased_source.row
        sifted_links = SiftedLinks()
        if listing.listing is not None:
            sifted_links = sift(row, listing.listing, self.rules, self.records, now)
        notes = build_poll_notes(listing, sifted_links)
        entered_poll = self._enter(leased_source, notes, sifted_links, None)
        if entered_poll is None:
            return None
        values = build_success_columns(row, listing, sifted_links, entered_poll.entries, now)
        requested_wait_s = listing.response.get_requested_wait_s(now)
        recent_day = _compute_recent_rate(row, sifted_links, entered_poll.entries, now)
        new_row = self._write_with_health(
            leased_source,
            entered_poll,
            values,
            requested_wait_s,
            continues_soon=listing.has_more,
            recent_day=recent_day,
        )
        return PollResult(new_row, notes, entered_poll.entries)

    def _finish_failure(
        self, leased_source: LeasedSource, response: PollResponse, error: str, state: str = ""
    ) -> PollResult | None:
        now, row, notes = self.clock(), leased_source.row, PollNotes(status=response.status)
        error = error[:ERROR_CHARS]
        entered_poll = self._enter(leased_source, notes, SiftedLinks(), error)
        if entered_poll is None:
            return None
        values: dict[str, object] = {
            "last_polled": now,
            "failures": row.failures + 1,
            "failing_since": row.failing_since if row.failures else now,
            "status": response.status or None,
            "error": error,
            **({"state": state} if state else {}),
        }
        new_row = self._write_with_health(
            leased_source, entered_poll, values, response.get_requested_wait_s(now)
        )
        return PollResult(new_row, notes, 0, error)

    def _enter(
        self,
        leased_source: LeasedSource,
        notes: PollNotes,
        sifted_links: SiftedLinks,
        error: str | None,
    ) -> InputRow | None:
        """Record a poll and enter its links into the pipeline. Return the row of the poll in
        `inputs`.

        Return None if the process stops before all links are entered; the poll then starts again
        later. Raises LeaseConflictError, and enters nothing, if the lease is lost.
        """
        row = leased_source.row
        self.leases.renew_due_leases([leased_source.lease])
        new_poll = build_poll_row(row, notes, error, self.clock())
        # Written before the poll is recorded; after a crash the next poll writes the same rows.
        self.records.put(sifted_links.refused_links)
        self.enter(PollSource(new_poll, row, sifted_links, self.records))
        stored_polls = self.records.get(InputRow, [(new_poll.input_id, row.pipeline)])
        entered_poll = next((item for item in stored_polls if item.finished), None)
        if entered_poll is None:
            self.leases.release(leased_source.lease)
        return entered_poll

    def _write_with_health(
        self,
        leased_source: LeasedSource,
        poll: InputRow,
        values: Mapping[str, Any],
        requested_wait_s: float,
        *,
        continues_soon: bool = False,
        recent_day: float = 0.0,
    ) -> SourceRow:
        """Update the row of a source after a poll for new links, and schedule the next poll. Return
        the row.

        With `continues_soon`, a part of the listing is not read yet. An API is then polled again at
        once, any other source after the minimum interval.
        """
        new_row, now = replace(leased_source.row, **values), self.clock()
        wait_s = compute_interval_s(new_row, self.bounds, now, requested_wait_s, recent_day)
        if continues_soon:
            wait_s = 0.0 if new_row.kind == API else max(self.bounds.min_s, requested_wait_s)
        health = build_health_columns(new_row, now)
        return self._write(
            leased_source, poll, {**values, **health}, now + timedelta(seconds=wait_s)
        )

    def _write(
        self,
        leased_source: LeasedSource,
        poll: InputRow,
        values: Mapping[str, Any],
        poll_at: datetime,
    ) -> SourceRow:
        """Write the changed columns of a source's row after a poll, and release the lease. Return
        the row.

        Changes that people have made during the poll are kept. If they changed the backfill, the
        columns are computed again from the changed backfill.
        """
        columns: dict[str, Any] = {}
        row = leased_source.row
        for _ in range(CHANGES_MAX):
            columns = {**values, **add_entered_counts(row, poll), "polling": False}
            columns |= build_due_columns(replace(row, **columns), poll_at)
            conditions = {"backfill_changes": row.backfill_changes}
            if (
                self.leases.release(leased_source.lease, columns, conditions)
                or leased_source.lease.lost.is_set()
            ):
                break
            current = next(iter(self.records.get(SourceRow, [row.source_id])), None)
            if current is None:
                break
            row = replace(row, backfill=current.backfill, backfill_changes=current.backfill_changes)
        else:
            self.leases.release(leased_source.lease)
        version = leased_source.lease.cell.version
        return replace(row, **columns, lease_holder=None, lease_version=version)


def _compute_recent_rate(
    row: SourceRow, sifted_links: SiftedLinks, new_count: int, now: datetime
) -> float:
    """Return the number of new links per day, computed from this poll alone; 0.0 for the first
    successful poll.
    """
    if row.last_well is None:
        return 0.0
    return compute_recent_rate(
        new_count, sifted_links.known_count, (now - row.last_well).total_seconds()
    )


def poll_in_turn(poller: Poller, rows: list[SourceRow]) -> Iterator[PollResult]:
    """Poll sources of one host one after the other, so that the host receives one request at a
    time.

    Yield the result of each poll. Polls that were postponed or interrupted yield nothing.
    """
    for row in rows:
        result = poller.poll(row)
        if result is not None:
            yield result
