"""Polls sources: requests one, enters what is new, and writes what is known of it now.

Killed at any moment nothing is lost: the links stand on the books under the poll they were found by, and a
poll that was broken off is begun again under its own number, or where all it found is on the books already
under the next: what the source lists by now may be something else.
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
from fonds.leases.cells import get_cell
from fonds.leases.lease import Lease, LeaseConflictError
from fonds.leases.leases import Leases
from fonds.model.errors import FondsError, PermanentError, PostponedError, TransientError
from fonds.model.rows import InputRow, SourceRow
from fonds.ports import Records, Source

LEASE_S = 900.0
"""A poll renews its lease once, before it enters links."""
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
class LeasedSource:
    """A source this process polls now, alone. `row` is its row as this process last wrote it."""

    row: SourceRow
    lease: Lease


@dataclass(frozen=True, slots=True)
class Poller:
    """Polls the sources of a pipeline. `enter` is the intake, `get` asks, `read` understands.

    `leases` are those in the rows of sources.
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
        """Return the sources to poll now: first those whose poll was broken off, then those longest due."""
        now = self.clock()
        active = {"state": "active", "pipeline": self.pipeline}
        due = [
            row
            for row in self.records.find(SourceRow, {**active, "polling": True})
            if row.lease_holder is not None
            and self.leases.is_acquirable(row.source_id, get_cell(row))
        ]
        free = {**active, "lease_holder": None}
        for row in self.records.find(SourceRow, free, order=("next_poll",)):
            if row.next_poll > now or len(due) >= count_max:
                break
            due.append(row)
        return due

    def poll(self, row: SourceRow) -> PollResult | None:
        """Poll a source now, either for new links or for its backfill.

        Return None if another process leased it, it is no longer active, or the poll was postponed
        or interrupted. Any response of the source is a result. Raises the errors of the stores.
        """
        leased = self._acquire(row)
        if leased is None:
            return None
        try:
            return self._poll_leased(row, leased)
        except LeaseConflictError:
            return None
        except Exception:
            with suppress(FondsError):
                self.leases.release(leased.lease)
            raise

    def _poll_leased(self, row: SourceRow, leased: LeasedSource) -> PollResult | None:
        if is_its_poll(leased.row):
            return self._poll_backfill(row, leased)
        try:
            seen = request_listing(leased.row, self.get, self.read, self.clock)
        except PostponedError as error:
            self._postpone(row, leased, error.after_s)
            return None
        except (TransientError, PermanentError) as error:
            return self._finish_failure(leased, PollResponse(0), str(error))
        status = seen.answer.status
        if status == _GONE_STATUS:
            return self._finish_failure(
                leased, seen.answer, "the source is permanently gone (410)", state="gone"
            )
        if seen.listing is None and status not in (200, _UNCHANGED):
            return self._finish_failure(leased, seen.answer, f"the server responded with {status}")
        return self._finish_success(leased, seen)

    def _acquire(self, row: SourceRow) -> LeasedSource | None:
        """Acquire the lease of a source and begin a poll. A poll that was broken off keeps its number, unless
        its links are all on the books."""
        now, ended = self.clock(), self._find_ended_poll(row)
        counted = add_entered_counts(row, ended) if ended else {}
        was = replace(row, **counted, polling=row.polling and ended is None)
        number = row.polls if was.polling else row.polls + 1
        # One that was broken off is begun again as what it was.
        is_older = is_its_poll(row) if was.polling else has_turn(was, now)
        values: dict[str, Any] = {
            **counted,
            **(build_started_column(was, number) if is_older else {}),
            "polls": number,
            "polling": True,
        }
        where = {"state": "active", "backfill_changes": row.backfill_changes}
        lease = self.leases.try_acquire(row.source_id, get_cell(row), values, where)
        if lease is None:
            return None
        # Whether an earlier one was broken off is told by what the row was before.
        begun = {**values, "polling": row.polling}
        return LeasedSource(replace(row, **begun), lease)

    def _find_ended_poll(self, row: SourceRow) -> InputRow | None:
        """Return the interrupted poll whose input was finished but whose source row was not
        updated.
        """
        if not row.polling:
            return None
        found = self.records.get(InputRow, [(compute_input_id(row), row.pipeline)])
        return next((one for one in found if one.finished), None)

    def _postpone(self, row: SourceRow, leased: LeasedSource, after_s: float) -> None:
        """Undo a poll that was not started and schedule it for when its host may be requested."""
        at = self.clock() + timedelta(seconds=after_s)
        values = {
            "polls": row.polls,
            "links": row.links,
            "refused_tally": row.refused_tally,
            "days": row.days,
            "polling": row.polling,
            **build_postponed_columns(row, is_its_poll(leased.row), at),
        }
        where = {"backfill_changes": row.backfill_changes}
        if not self.leases.release(leased.lease, values, where):
            # A person changed the backfill meanwhile: the poll counts as broken off.
            self.leases.release(leased.lease)

    def _poll_backfill(self, row: SourceRow, leased: LeasedSource) -> PollResult | None:
        """Poll for a backfill. Only counts and the backfill itself change."""
        backfill = leased.row.backfill
        if backfill is None:
            self.leases.release(leased.lease)
            return None
        try:
            older = read_older_pages(
                leased.row, backfill, self.get, self.read, self.clock, self.bounds
            )
        except PostponedError as error:
            self._postpone(row, leased, error.after_s)
            return None
        # Built directly, because the limit for one listing has already been applied to each page.
        read = Listing(older.kind, older.entries)
        sifted = sift(leased.row, read, self.rules, self.records, self.clock())
        notes = build_backfill_notes(older, sifted)
        failed = (
            None
            if older.backfill_poll.pages
            else older.backfill_poll.trouble or older.backfill_poll.why or None
        )
        entered = self._enter(leased, notes, sifted, failed)
        if entered is None:
            return None
        after = self._write(leased, entered, {}, backfill.poll_at or self.clock())
        return PollResult(after, notes, entered.entries, failed)

    def _finish_success(self, leased: LeasedSource, listing: PolledListing) -> PollResult | None:
        now, row = self.clock(), leased.row
        sifted = SiftedLinks()
        if listing.listing is not None:
            sifted = sift(row, listing.listing, self.rules, self.records, now)
        notes = build_poll_notes(listing, sifted)
        entered = self._enter(leased, notes, sifted, None)
        if entered is None:
            return None
        values = build_success_columns(row, listing, sifted, entered.entries, now)
        asked_s = listing.answer.get_requested_wait_s(now)
        recent_day = _compute_recent_rate(row, sifted, entered.entries, now)
        changed = self._write_with_health(
            leased, entered, values, asked_s, continues_soon=listing.has_more, recent_day=recent_day
        )
        return PollResult(changed, notes, entered.entries)

    def _finish_failure(
        self, leased: LeasedSource, answer: PollResponse, error: str, state: str = ""
    ) -> PollResult | None:
        now, row, notes = self.clock(), leased.row, PollNotes(status=answer.status)
        error = error[:ERROR_CHARS]
        entered = self._enter(leased, notes, SiftedLinks(), error)
        if entered is None:
            return None
        values: dict[str, object] = {
            "last_polled": now,
            "failures": row.failures + 1,
            "failing_since": row.failing_since if row.failures else now,
            "status": answer.status or None,
            "error": error,
            **({"state": state} if state else {}),
        }
        changed = self._write_with_health(leased, entered, values, answer.get_requested_wait_s(now))
        return PollResult(changed, notes, 0, error)

    def _enter(
        self,
        leased: LeasedSource,
        notes: PollNotes,
        sifted_links: SiftedLinks,
        error: str | None,
    ) -> InputRow | None:
        """Enter the poll with its links. None when the process stops before all are entered: the poll is
        begun again. Raises LeaseConflictError, with nothing entered, when the lease is lost."""
        row = leased.row
        self.leases.check_renewed([leased.lease])
        made = poll_row(row, notes, error, self.clock())
        # Written before the poll is recorded; after a crash the next poll writes the same rows.
        self.records.put(sifted_links.refused_links)
        self.enter(PollSource(made, row, sifted_links, self.records))
        found = self.records.get(InputRow, [(made.input_id, row.pipeline)])
        entered = next((one for one in found if one.finished), None)
        if entered is None:
            self.leases.release(leased.lease)
        return entered

    def _write_with_health(
        self,
        leased: LeasedSource,
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
        after, now = replace(leased.row, **values), self.clock()
        wait_s = compute_interval_s(after, self.bounds, now, requested_wait_s, recent_day)
        if continues_soon:
            wait_s = 0.0 if after.kind == API else max(self.bounds.min_s, requested_wait_s)
        stands = build_health_columns(after, now)
        return self._write(leased, poll, {**values, **stands}, now + timedelta(seconds=wait_s))

    def _write(
        self, leased: LeasedSource, poll: InputRow, values: Mapping[str, Any], poll_at: datetime
    ) -> SourceRow:
        """Write the row as it is after the poll, and release its lease. What a person changed meanwhile stays
        changed: where that is about its backfill, what the poll makes of it is told anew."""
        told: dict[str, Any] = {}
        row = leased.row
        for _ in range(CHANGES_MAX):
            told = {**values, **add_entered_counts(row, poll), "polling": False}
            told |= build_due_columns(replace(row, **told), poll_at)
            where = {"backfill_changes": row.backfill_changes}
            if self.leases.release(leased.lease, told, where) or leased.lease.lost.is_set():
                break
            found = next(iter(self.records.get(SourceRow, [row.source_id])), None)
            if found is None:
                break
            row = replace(row, backfill=found.backfill, backfill_changes=found.backfill_changes)
        else:
            self.leases.release(leased.lease)
        version = leased.lease.cell.version
        return replace(row, **told, lease_holder=None, lease_version=version)


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
        done = polling.poll(row)
        if done is not None:
            yield done
