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

from fonds.formats.listings.listing import Listing
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.rows import InputRow, SourceRow
from fonds.ports import Records, Source
from fonds.sources.following.backfill.backfill import (
    backfill_of,
    begun,
    due_next,
    has_turn,
    is_its_poll,
    put_off,
)
from fonds.sources.following.polls.answers import Answer, Get, Read
from fonds.sources.following.polls.learned import (
    after_well,
    judged,
    told_of,
    told_of_older,
    with_entered,
)
from fonds.sources.following.polls.looking import ERROR_CHARS, Seen, look
from fonds.sources.following.polls.older import look_back
from fonds.sources.following.polls.poll_source import (
    PollSource,
    Sifted,
    input_id,
    poll_row,
    sift,
)
from fonds.sources.following.rhythm import API, Bounds, interval_s, recent_rate
from fonds.sources.link_rules import LinkRules

CLAIM_S = 900.0
"""A poll that was begun so long ago and not ended was broken off, and is begun again."""
CHANGES_MAX = 10
"""So often a poll that ends looks anew at what a person changed meanwhile."""
_GONE, _UNCHANGED = 410, 304

Enter = Callable[[Source], None]
"""Enters what a source finds into the pipeline; may leave off when the process is to stop."""


@dataclass(frozen=True, slots=True)
class Polled:
    """What came of one poll: the source's row as it is now, what was seen, and why it failed, if it did."""

    row: SourceRow
    told: Mapping[str, object]
    new: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Polling:
    """Polls the sources of a pipeline. `enter` is the intake, `get` asks, `read` understands. `who` names
    this process; `is_gone(who)` says of another's name whether it is known to have ended.
    """

    records: Records
    pipeline: str
    enter: Enter
    get: Get
    read: Read
    rules: LinkRules
    bounds: Bounds
    clock: Callable[[], datetime]
    who: str = ""
    is_gone: Callable[[str], bool] = lambda who: False

    def due(self, count_max: int) -> list[SourceRow]:
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
            if row.next_poll > now and row.claimed_by and self.is_gone(row.claimed_by)
        ]
        for row in found:
            if row.next_poll > now or len(due) >= count_max:
                break
            due.append(row)
        return due

    def poll(self, row: SourceRow) -> Polled | None:
        """Poll a source now, for what is new or, when its backfill has the turn, for what it listed before;
        None when somebody else took it, or it is not active any more.

        What the source answers, however odd, is a result. Raises what the stores raise.
        """
        taken = self._claim(row)
        if taken is None:
            return None
        if is_its_poll(taken):
            return self._look_back(row, taken)
        try:
            seen = look(taken, self.get, self.read, self.clock)
        except PostponedError as error:
            self._postpone(row, taken, error.after_s)
            return None
        except (TransientError, PermanentError) as error:
            return self._failed(taken, Answer(0), str(error))
        status = seen.answer.status
        if status == _GONE:
            return self._failed(taken, seen.answer, "it is gone for good (410)", state="gone")
        if seen.listing is None and status not in (200, _UNCHANGED):
            return self._failed(taken, seen.answer, f"it answers {status}")
        return self._well(taken, seen)

    def _claim(self, row: SourceRow) -> SourceRow | None:
        """The row as this process has it, alone; a poll that was broken off keeps its number, but for one
        whose links are all on the books."""
        now, ended = self.clock(), self._ended(row)
        counted = with_entered(row, ended) if ended else {}
        was = replace(row, **counted, polling=row.polling and ended is None)
        number = row.polls if was.polling else row.polls + 1
        # One that was broken off is begun again as what it was.
        is_older = is_its_poll(row) if was.polling else has_turn(was, now)
        values: dict[str, Any] = {
            **counted,
            **(begun(was, number) if is_older else {}),
            "claims": row.claims + 1,
            "polls": number,
            "polling": True,
            "claimed_by": self.who or None,
            "next_poll": now + timedelta(seconds=CLAIM_S),
        }
        if not self._change(row, values, {"state": "active"}):
            return None
        # Whether an earlier one was broken off is told by what the row was before.
        return replace(row, **{**values, "polling": row.polling})

    def _ended(self, row: SourceRow) -> InputRow | None:
        """The poll that was broken off before its source's row was written, and after its own was whole."""
        if not row.polling:
            return None
        found = self.records.get(InputRow, [(input_id(row), row.pipeline)])
        return next((one for one in found if one.finished), None)

    def _postpone(self, row: SourceRow, taken: SourceRow, after_s: float) -> None:
        """The poll was not begun, and is due again when its host may be asked."""
        at = self.clock() + timedelta(seconds=after_s)
        values = {
            "polls": row.polls,
            "links": row.links,
            "refused_tally": row.refused_tally,
            "days": row.days,
            "polling": row.polling,
            **put_off(row, is_its_poll(taken), at),
        }
        self._change(taken, values)

    def _look_back(self, row: SourceRow, taken: SourceRow) -> Polled | None:
        """The poll of a backfill: nothing but counts and the backfill itself is different after it."""
        was = backfill_of(taken)
        if was is None:
            return None
        try:
            older = look_back(taken, was, self.get, self.read, self.clock, self.bounds)
        except PostponedError as error:
            self._postpone(row, taken, error.after_s)
            return None
        # Not cut as one listing is: each of its pages was.
        read = Listing(older.kind, older.entries)
        sifted = sift(taken, read, self.rules, self.records, self.clock())
        told = told_of_older(older, sifted)
        failed = None if older.found.pages else older.found.trouble or older.found.why or None
        entered = self._enter(taken, told, sifted, failed)
        if entered is None:
            return None
        after = self._write(taken, entered, {}, was.poll_at or self.clock())
        return Polled(after, told, entered.entries, failed)

    def _well(self, row: SourceRow, seen: Seen) -> Polled | None:
        now = self.clock()
        told: dict[str, object] = {"status": seen.answer.status, "bytes": len(seen.answer.body)}
        sifted = Sifted()
        if seen.listing is not None:
            sifted = sift(row, seen.listing, self.rules, self.records, now)
            told |= told_of(seen.listing, sifted)
        entered = self._enter(row, told, sifted, None)
        if entered is None:
            return None
        values = after_well(row, seen, sifted, entered.entries, now)
        asked_s = seen.answer.asked_s(now)
        recent_day = _recent_day(row, sifted, entered.entries, now)
        changed = self._judge_and_write(
            row, entered, values, asked_s, more=seen.more, recent_day=recent_day
        )
        return Polled(changed, told, entered.entries)

    def _failed(self, row: SourceRow, answer: Answer, error: str, state: str = "") -> Polled | None:
        now, told = self.clock(), {"status": answer.status}
        error = error[:ERROR_CHARS]
        entered = self._enter(row, told, Sifted(), error)
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
        changed = self._judge_and_write(row, entered, values, answer.asked_s(now))
        return Polled(changed, told, 0, error)

    def _enter(
        self, row: SourceRow, told: Mapping[str, object], sifted: Sifted, error: str | None
    ) -> InputRow | None:
        """The poll on the books, with its links; None when the process is to stop before all are entered."""
        made = poll_row(row, told, error, self.clock())
        # Before the poll is on the books: whoever polls again after a death writes the same rows.
        self.records.put(sifted.refused_links)
        self.enter(PollSource(made, row, sifted, self.records))
        found = self.records.get(InputRow, [(made.input_id, row.pipeline)])
        return next((one for one in found if one.finished), None)

    def _judge_and_write(
        self,
        row: SourceRow,
        poll: InputRow,
        values: Mapping[str, Any],
        asked_s: float,
        *,
        more: bool = False,
        recent_day: float = 0.0,
    ) -> SourceRow:
        """The row as it is after a poll for what is new; with `more` it is gone on with soon."""
        after, now = replace(row, **values), self.clock()
        wait_s = interval_s(after, self.bounds, now, asked_s, recent_day)
        if more:
            wait_s = 0.0 if row.kind == API else max(self.bounds.shortest_s, asked_s)
        stands = judged(after, now)
        return self._write(row, poll, {**values, **stands}, now + timedelta(seconds=wait_s))

    def _write(
        self, row: SourceRow, poll: InputRow, values: Mapping[str, Any], poll_at: datetime
    ) -> SourceRow:
        """Write the row as it is after the poll. What a person changed meanwhile stays changed: where that
        is about its backfill, what the poll makes of it is told anew."""
        told: dict[str, Any] = {}
        for _ in range(CHANGES_MAX):
            told = {**values, **with_entered(row, poll), "polling": False}
            told |= due_next(replace(row, **told), poll_at)
            if self._change(row, told):
                break
            found = next(iter(self.records.get(SourceRow, [row.source_id])), None)
            if found is None or found.claims != row.claims:
                break
            row = replace(row, backfill=found.backfill, backfill_changes=found.backfill_changes)
        return replace(row, **told)

    def _change(
        self, row: SourceRow, values: Mapping[str, Any], still: Mapping[str, Any] | None = None
    ) -> int:
        """Set columns of a source that nobody else took, and of whose backfill nobody said anything, since it
        was read; how many were changed."""
        seen = {"claims": row.claims, "backfill_changes": row.backfill_changes, **(still or {})}
        return self.records.change(SourceRow, [row.source_id], values, seen)


def _recent_day(row: SourceRow, sifted: Sifted, new: int, now: datetime) -> float:
    """The rate of this poll alone; 0.0 for the first one, before which nothing was seen."""
    if row.last_well is None:
        return 0.0
    return recent_rate(new, sifted.known, (now - row.last_well).total_seconds())


def poll_each(polling: Polling, rows: list[SourceRow]) -> Iterator[Polled]:
    """Poll these one after the other: those of one host, so that it is never asked twice at once."""
    for row in rows:
        done = polling.poll(row)
        if done is not None:
            yield done
