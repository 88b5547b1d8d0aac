"""Polls sources: claims one, asks it, enters what is new, and writes down what is known of it now.

Killed at any moment nothing is lost: the links stand on the books under the poll they were found by, and a
poll that was broken off is begun again under its own number, or where all it found is on the books already
under the next: what the source lists by now may be something else.
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
    parse_backfill,
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
"""A poll that was begun so long ago and not ended was broken off, and is begun again."""
CHANGES_MAX = 10
"""So often a poll that ends looks anew at what a person changed meanwhile."""
_GONE_STATUS, _UNCHANGED = 410, 304

RunIntake = Callable[[Source], None]
"""Enters what a source finds into the pipeline; may leave off when the process is to stop."""


@dataclass(frozen=True, slots=True)
class PollResult:
    """What came of one poll: the source's row as it is now, what was seen, and why it failed, if it did."""

    row: SourceRow
    notes: Mapping[str, object]
    new: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Poller:
    """Polls the sources of a pipeline. `enter` is the intake, `get` asks, `read` understands.
    `process_name` names this process; `is_process_gone(who)` says of another's name whether it is known
    to have ended."""

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
        """Sources that are to be polled now: those whose poll a process that has ended left behind, then
        those longest due."""
        now = self.clock()
        found = self.records.find(
            SourceRow, {"state": "active", "pipeline": self.pipeline}, order=("next_poll",)
        )
        begun = {"state": "active", "pipeline": self.pipeline, "polling": True}
        due = [
            row
            for row in self.records.find(SourceRow, begun)
            if row.next_poll > now and row.claimed_by and self.is_process_gone(row.claimed_by)
        ]
        for row in found:
            if row.next_poll > now or len(due) >= count_max:
                break
            due.append(row)
        return due

    def poll(self, row: SourceRow) -> PollResult | None:
        """Poll a source now, for what is new or, when its backfill has the turn, for what it listed before;
        None when somebody else took it, or it is not active any more.

        What the source answers, however odd, is a result. Raises what the stores raise.
        """
        taken = self._lease(row)
        if taken is None:
            return None
        if is_its_poll(taken):
            return self._poll_backfill(row, taken)
        try:
            seen = request_listing(taken, self.get, self.read, self.clock)
        except PostponedError as error:
            self._postpone(row, taken, error.after_s)
            return None
        except (TransientError, PermanentError) as error:
            return self._finish_failure(taken, PollResponse(0), str(error))
        status = seen.answer.status
        if status == _GONE_STATUS:
            return self._finish_failure(
                taken, seen.answer, "it is gone for good (410)", state="gone"
            )
        if seen.listing is None and status not in (200, _UNCHANGED):
            return self._finish_failure(taken, seen.answer, f"it answers {status}")
        return self._finish_success(taken, seen)

    def _lease(self, row: SourceRow) -> SourceRow | None:
        """The row as this process has it, alone; a poll that was broken off keeps its number, but for one
        whose links are all on the books."""
        now, ended = self.clock(), self._find_ended_poll(row)
        counted = add_entered_counts(row, ended) if ended else {}
        was = replace(row, **counted, polling=row.polling and ended is None)
        number = row.polls if was.polling else row.polls + 1
        # One that was broken off is begun again as what it was.
        is_older = is_its_poll(row) if was.polling else has_turn(was, now)
        values: dict[str, Any] = {
            **counted,
            **(build_started_column(was, number) if is_older else {}),
            "claims": row.claims + 1,
            "polls": number,
            "polling": True,
            "claimed_by": self.process_name or None,
            "next_poll": now + timedelta(seconds=LEASE_S),
        }
        if not self._change(row, values, {"state": "active"}):
            return None
        # Whether an earlier one was broken off is told by what the row was before.
        return replace(row, **{**values, "polling": row.polling})

    def _find_ended_poll(self, row: SourceRow) -> InputRow | None:
        """The poll that was broken off before its source's row was written, and after its own was whole."""
        if not row.polling:
            return None
        found = self.records.get(InputRow, [(compute_input_id(row), row.pipeline)])
        return next((one for one in found if one.finished), None)

    def _postpone(self, row: SourceRow, leased: SourceRow, after_s: float) -> None:
        """The poll was not begun, and is due again when its host may be asked."""
        at = self.clock() + timedelta(seconds=after_s)
        values = {
            "polls": row.polls,
            "links": row.links,
            "refused_tally": row.refused_tally,
            "days": row.days,
            "polling": row.polling,
            **build_postponed_columns(row, is_its_poll(leased), at),
        }
        self._change(leased, values)

    def _poll_backfill(self, row: SourceRow, leased: SourceRow) -> PollResult | None:
        """The poll of a backfill: nothing but counts and the backfill itself is different after it."""
        was = parse_backfill(leased)
        if was is None:
            return None
        try:
            older = read_older_pages(leased, was, self.get, self.read, self.clock, self.bounds)
        except PostponedError as error:
            self._postpone(row, leased, error.after_s)
            return None
        # Not cut as one listing is: each of its pages was.
        read = Listing(older.kind, older.entries)
        sifted = sift(leased, read, self.rules, self.records, self.clock())
        told = build_backfill_notes(older, sifted)
        failed = (
            None
            if older.backfill_poll.pages
            else older.backfill_poll.trouble or older.backfill_poll.why or None
        )
        entered = self._enter(leased, told, sifted, failed)
        if entered is None:
            return None
        after = self._write(leased, entered, {}, was.poll_at or self.clock())
        return PollResult(after, told, entered.entries, failed)

    def _finish_success(self, row: SourceRow, listing: PolledListing) -> PollResult | None:
        now = self.clock()
        told: dict[str, object] = {
            "status": listing.answer.status,
            "bytes": len(listing.answer.body),
        }
        sifted = SiftedLinks()
        if listing.listing is not None:
            sifted = sift(row, listing.listing, self.rules, self.records, now)
            told |= build_poll_notes(listing.listing, sifted)
        entered = self._enter(row, told, sifted, None)
        if entered is None:
            return None
        values = build_success_columns(row, listing, sifted, entered.entries, now)
        asked_s = listing.answer.get_requested_wait_s(now)
        recent_day = _compute_recent_rate(row, sifted, entered.entries, now)
        changed = self._write_with_health(
            row, entered, values, asked_s, continues_soon=listing.has_more, recent_day=recent_day
        )
        return PollResult(changed, told, entered.entries)

    def _finish_failure(
        self, row: SourceRow, answer: PollResponse, error: str, state: str = ""
    ) -> PollResult | None:
        now, told = self.clock(), {"status": answer.status}
        error = error[:ERROR_CHARS]
        entered = self._enter(row, told, SiftedLinks(), error)
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
        changed = self._write_with_health(row, entered, values, answer.get_requested_wait_s(now))
        return PollResult(changed, told, 0, error)

    def _enter(
        self,
        row: SourceRow,
        notes: Mapping[str, object],
        sifted_links: SiftedLinks,
        error: str | None,
    ) -> InputRow | None:
        """The poll on the books, with its links; None when the process is to stop before all are entered."""
        made = poll_row(row, notes, error, self.clock())
        # Before the poll is on the books: whoever polls again after a death writes the same rows.
        self.records.put(sifted_links.refused_links)
        self.enter(PollSource(made, row, sifted_links, self.records))
        found = self.records.get(InputRow, [(made.input_id, row.pipeline)])
        return next((one for one in found if one.finished), None)

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
        """The row as it is after a poll for what is new; with `continues_soon` it is gone on with soon."""
        after, now = replace(row, **values), self.clock()
        wait_s = compute_interval_s(after, self.bounds, now, requested_wait_s, recent_day)
        if continues_soon:
            wait_s = 0.0 if row.kind == API else max(self.bounds.min_s, requested_wait_s)
        stands = build_health_columns(after, now)
        return self._write(row, poll, {**values, **stands}, now + timedelta(seconds=wait_s))

    def _write(
        self, row: SourceRow, poll: InputRow, values: Mapping[str, Any], poll_at: datetime
    ) -> SourceRow:
        """Write the row as it is after the poll. What a person changed meanwhile stays changed: where that
        is about its backfill, what the poll makes of it is told anew."""
        told: dict[str, Any] = {}
        for _ in range(CHANGES_MAX):
            told = {**values, **add_entered_counts(row, poll), "polling": False}
            told |= build_due_columns(replace(row, **told), poll_at)
            if self._change(row, told):
                break
            found = next(iter(self.records.get(SourceRow, [row.source_id])), None)
            if found is None or found.claims != row.claims:
                break
            row = replace(row, backfill=found.backfill, backfill_changes=found.backfill_changes)
        return replace(row, **told)

    def _change(
        self, row: SourceRow, values: Mapping[str, Any], expected: Mapping[str, Any] | None = None
    ) -> int:
        """Set columns of a source that nobody else took, and of whose backfill nobody said anything, since it
        was read; how many were changed."""
        seen = {"claims": row.claims, "backfill_changes": row.backfill_changes, **(expected or {})}
        return self.records.change(SourceRow, [row.source_id], values, seen)


def _compute_recent_rate(
    row: SourceRow, sifted_links: SiftedLinks, new: int, now: datetime
) -> float:
    """The rate of this poll alone; 0.0 for the first one, before which nothing was seen."""
    if row.last_well is None:
        return 0.0
    return compute_recent_rate(new, sifted_links.known_count, (now - row.last_well).total_seconds())


def poll_in_turn(polling: Poller, rows: list[SourceRow]) -> Iterator[PollResult]:
    """Poll these one after the other: those of one host, so that it is never asked twice at once."""
    for row in rows:
        done = polling.poll(row)
        if done is not None:
            yield done
