"""What is known of followed sources: how they stand, what their polls saw, and what became of their links."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from fonds.model.rows import InputRow, SourceRow
from fonds.model.rows.row import Prefix, Within
from fonds.ports import Records
from fonds.sources.following.backfill.backfill import found_in
from fonds.sources.following.funnel import Ended, ended_of
from fonds.sources.following.standing import Standing, standing

POLLS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Poll:
    """One look at a source: `listed` links stood there, None when it had not changed or could not be read;
    `new` of them entered, `known` had entered before, `refused` says why others did not. Of a poll of a
    backfill `pages` is how many pages it read, `outside` how many links were of other days than asked for,
    and `undated` how many were left out since they say none; None for others."""

    input_id: str
    at: datetime
    listed: int | None
    new: int
    known: int | None
    refused: Mapping[str, int]
    error: str | None
    problem: str | None
    pages: int | None = None
    outside: int | None = None
    undated: int | None = None


@dataclass(frozen=True, slots=True)
class Followed:
    """A source with its polls, the newest first, and what became of its links, the most first."""

    source: SourceRow
    standing: Standing
    polls: Sequence[Poll]
    ended: Sequence[Ended]

    @property
    def links(self) -> int:
        """How many links entered."""
        return sum(one.count for one in self.ended)


def links_of(source_id: str) -> dict[str, object]:
    """The condition on entries and inputs that are a source's."""
    return {"input_id": Prefix(f"{source_id}.")}


def followed(
    records: Records, source_id: str, now: datetime, pipelines: Sequence[str] = ()
) -> Followed | None:
    """All of one source, its links in these pipelines and its own; None where there is none of this id."""
    row = next(iter(records.get(SourceRow, [source_id])), None)
    if row is None:
        return None
    where = links_of(source_id)
    inputs = records.find(InputRow, where, order=("-input_id",), count_max=POLLS_SHOWN)
    polls = [_poll(one) for one in inputs]
    ended = ended_of(records, [row], pipelines)[source_id]
    return Followed(row, standing(row, now), polls, ended)


def polls_on(records: Records, source_id: str, day: date) -> list[str]:
    """The polls of a source on a day, in UTC, that brought something new; those of its backfill, which bring
    what is old, count on no day."""
    where = {**links_of(source_id), "updated": Within(*_ends(day))}
    rows = records.find(InputRow, where)
    return [row.input_id for row in rows if row.entries and found_in(seen(row)) is None]


def _ends(day: date) -> tuple[datetime, datetime]:
    return datetime.combine(day, time.min, UTC), datetime.combine(day, time.max, UTC)


def _poll(row: InputRow) -> Poll:
    found = seen(row)
    older = found_in(found)
    return Poll(
        row.input_id,
        row.updated,
        _number(found.get("listed")),
        row.entries,
        _number(found.get("known")),
        dict(row.tally),
        row.error,
        str(found["problem"]) if found.get("problem") else None,
        *((len(older.pages), older.outside, older.undated) if older else ()),
    )


def seen(row: InputRow) -> dict[str, object]:
    """What a poll noted of the listing it read; nothing of one that noted nothing."""
    try:
        found = json.loads(row.fingerprint)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
