"""Polls sources: claims one, asks it, enters what is new, and writes down what is known of it now.

Killed at any moment nothing is lost: the links stand on the books under the poll they were found by, and a
poll that was broken off is begun again under its own number, or where all it found is on the books already
under the next: what the source lists by now may be something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fonds.formats.listings.dates import read_moment
from fonds.formats.listings.feeds.form import form_of
from fonds.formats.listings.listing import Listing
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.rows import InputRow, SourceRow
from fonds.ports import Records, Source
from fonds.sources.following.answers import Answer, Get, Read
from fonds.sources.following.days import with_poll
from fonds.sources.following.looking import ERROR_CHARS, Seen, look
from fonds.sources.following.muting import UNMUTED
from fonds.sources.following.poll_source import PollSource, Sifted, input_id, poll_row, sift
from fonds.sources.following.rhythm import Bounds, first_rate, interval_s, learned
from fonds.sources.following.standing import NEEDS_SOMEONE, ONCE_WELL, as_polled
from fonds.sources.link_rules import LinkRules

CLAIM_S = 900.0
"""A poll that was begun so long ago and not ended was broken off, and is begun again."""
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
        """Poll a source now; None when somebody else took it, or it is not active any more.

        What the source answers, however odd, is a result. Raises what the stores raise.
        """
        taken = self._claim(row)
        if taken is None:
            return None
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
        values: dict[str, object] = {
            "claims": row.claims + 1,
            "polls": row.polls if row.polling and ended is None else row.polls + 1,
            **(_with(row, ended) if ended else {}),
            "polling": True,
            "claimed_by": self.who or None,
            "next_poll": now + timedelta(seconds=CLAIM_S),
        }
        still = {"claims": row.claims, "state": "active"}
        if not self.records.change(SourceRow, [row.source_id], values, still):
            return None
        # Whether an earlier one was broken off is told by what the row was before.
        return replace(row, **{**values, "polling": row.polling})  # type: ignore[arg-type]

    def _ended(self, row: SourceRow) -> InputRow | None:
        """The poll that was broken off before its source's row was written, and after its own was whole."""
        if not row.polling:
            return None
        found = self.records.get(InputRow, [(input_id(row), row.pipeline)])
        return next((one for one in found if one.finished), None)

    def _postpone(self, row: SourceRow, taken: SourceRow, after_s: float) -> None:
        """The poll was not begun, and is due again when its host may be asked."""
        values = {
            "polls": row.polls,
            "links": row.links,
            "refused_tally": row.refused_tally,
            "days": row.days,
            "polling": row.polling,
            "next_poll": self.clock() + timedelta(seconds=after_s),
        }
        self.records.change(SourceRow, [row.source_id], values, {"claims": taken.claims})

    def _well(self, row: SourceRow, seen: Seen) -> Polled | None:
        now = self.clock()
        told: dict[str, object] = {"status": seen.answer.status, "bytes": len(seen.answer.body)}
        sifted = Sifted()
        if seen.listing is not None:
            sifted = sift(row, seen.listing, self.rules, self.records, now)
            told |= _told(seen.listing, sifted)
        entered = self._enter(row, told, sifted, None)
        if entered is None:
            return None
        values = {**_after(row, seen, sifted, entered.entries, now), **_with(row, entered)}
        changed = self._write(row, values, seen.answer.asked_s(now), more=seen.more)
        return Polled(changed, told, entered.entries)

    def _failed(self, row: SourceRow, answer: Answer, error: str, state: str = "") -> Polled | None:
        now, told = self.clock(), {"status": answer.status}
        error = error[:ERROR_CHARS]
        entered = self._enter(row, told, Sifted(), error)
        if entered is None:
            return None
        values: dict[str, object] = {
            **_with(row, entered),
            "last_polled": now,
            "failures": row.failures + 1,
            "failing_since": row.failing_since if row.failures else now,
            "status": answer.status or None,
            "error": error,
            **({"state": state} if state else {}),
        }
        return Polled(self._write(row, values, answer.asked_s(now)), told, 0, error)

    def _enter(
        self, row: SourceRow, told: Mapping[str, object], sifted: Sifted, error: str | None
    ) -> InputRow | None:
        """The poll on the books, with its links; None when the process is to stop before all are entered."""
        made = poll_row(row, told, error, self.clock())
        self.enter(PollSource(made, row, sifted, self.records))
        found = self.records.get(InputRow, [(made.input_id, row.pipeline)])
        return next((one for one in found if one.finished), None)

    def _write(
        self, row: SourceRow, values: Mapping[str, object], asked_s: float, *, more: bool = False
    ) -> SourceRow:
        """The row as it is after the poll; with `more` it is gone on with soon. What a person changed
        meanwhile stays changed."""
        after = replace(row, **values)  # type: ignore[arg-type]
        wait_s = interval_s(after, self.bounds, self.clock(), asked_s)
        if more:
            wait_s = 0.0 if row.kind == "rss-fetcher" else max(self.bounds.shortest_s, asked_s)
        values = {
            **values,
            **_judged(after, self.clock()),
            "polling": False,
            "next_poll": self.clock() + timedelta(seconds=wait_s),
        }
        self.records.change(SourceRow, [row.source_id], values, {"claims": row.claims})
        return replace(row, **values)  # type: ignore[arg-type]


def poll_each(polling: Polling, rows: list[SourceRow]) -> Iterator[Polled]:
    """Poll these one after the other: those of one host, so that it is never asked twice at once."""
    for row in rows:
        done = polling.poll(row)
        if done is not None:
            yield done


def _judged(after: SourceRow, now: datetime) -> dict[str, object]:
    """How the poll left the source; one that was muted until it is well is muted no more once it is."""
    stands = as_polled(after, now)
    is_over = after.muted_until == ONCE_WELL and stands not in NEEDS_SOMEONE
    return {"standing": str(stands), **(UNMUTED if is_over else {})}


def _told(listing: Listing, sifted: Sifted) -> dict[str, object]:
    told: dict[str, object] = {
        "kind": listing.kind,
        "listed": len(listing.entries),
        "known": sifted.known,
        "refused": len(sifted.refused),
    }
    extra = {"cut": listing.cut, "problem": listing.problem[:ERROR_CHARS]}
    return told | {name: value for name, value in extra.items() if value}


def _with(row: SourceRow, poll: InputRow) -> dict[str, object]:
    """What is counted over all polls of a source, with one more."""
    refused = Counter(row.refused_tally or {}) + Counter(poll.tally)
    return {
        "links": row.links + poll.entries,
        "refused_tally": dict(refused),
        "days": with_poll(row.days, poll),
    }


def _heard(row: SourceRow, seen: Seen, listing: Listing, now: datetime) -> dict[str, object]:
    """How many links stood in a listing; of one that has none, where there used to be some, since when."""
    count = len(listing.entries)
    # Of what is read in parts, or only for what is newer, none is nothing to wonder at.
    if count or _is_part(row, seen) or not row.listed:
        return {"listed": count, "silent_polls": 0, "silent_since": None}
    return {"silent_polls": row.silent_polls + 1, "silent_since": row.silent_since or now}


def _formed(row: SourceRow, seen: Seen, listing: Listing, now: datetime) -> dict[str, object]:
    """The form of a listing, where it has another than the last; parts of an index may have each its own."""
    form = row.form if _is_part(row, seen) else form_of(listing, row.form)
    if form == row.form:
        return {}
    changed = {"form_before": row.form, "form_changed": now} if row.form is not None else {}
    return {"form": form, **changed}


def _is_part(row: SourceRow, seen: Seen) -> bool:
    return row.kind == "rss-fetcher" or seen.more or row.mark > 0


def _after(
    row: SourceRow, seen: Seen, sifted: Sifted, new: int, now: datetime
) -> dict[str, object]:
    """What is known of a source after a poll that went well."""
    answer = seen.answer
    values: dict[str, object] = {
        "last_polled": now,
        "last_well": now,
        "failures": 0,
        "failing_since": None,
        "error": None,
        "status": answer.status,
        "rate_day": _rate(row, seen.listing, new, now),
    }
    if answer.moved_to and answer.moved_to != row.url:
        values |= {"url": answer.moved_to, "moved_from": row.url}
    if answer.status == 200:
        values |= {
            "etag": answer.headers.get("etag"),
            "last_modified": answer.headers.get("last-modified"),
            "digest": seen.digest,
            "mark": row.mark if seen.mark is None else seen.mark,
        }
    if seen.listing is not None:
        told = seen.listing.hints
        values |= {
            "title": row.title or seen.listing.title,
            **_heard(row, seen, seen.listing, now),
            **_formed(row, seen, seen.listing, now),
            "refused": sifted.refused,
            "hints": {
                "ttl_s": told.ttl_s,
                "update_s": told.update_s,
                "hubs": list(told.hubs),
                "cloud": told.cloud,
                "self_url": told.self_url,
                "children": seen.children,
            },
        }
    return values | ({"last_new": now} if new else {})


def _rate(row: SourceRow, listing: Listing | None, new: int, now: datetime) -> float | None:
    """How many new links a day it has, with what this poll told."""
    if row.last_well is None or row.rate_day is None:
        told = [read_moment(one.pub_date)[0] for one in listing.entries] if listing else []
        first = first_rate([moment for moment in told if moment], now)
        if first is not None or row.last_well is None:
            return first
    return learned(row.rate_day, new, (now - (row.last_well or row.added_at)).total_seconds())
