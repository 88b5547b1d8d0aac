"""What is known of followed sources: how they stand, what their polls saw, and what became of their links."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import islice

from fonds.model.disposition import Reason, Weight
from fonds.model.rows import EntryRow, InputRow, SourceRow
from fonds.model.rows.row import Prefix, Within
from fonds.ports import Records
from fonds.sources.following.rhythm import Standing, standing

POLLS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Poll:
    """One look at a source: `listed` links stood there, None when it had not changed or could not be read;
    `new` of them entered, `known` had entered before, `refused` says why others did not."""

    poll: str
    at: datetime
    listed: int | None
    new: int
    known: int | None
    refused: Mapping[str, int]
    error: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Ended:
    """So many links of a source ended in one way: `reason` and `step` None where none decided."""

    outcome: str
    reason: str | None
    step: str | None
    count: int

    @property
    def weight(self) -> Weight | None:
        """How the reason counts; None for what was kept or is on its way."""
        return Reason(self.reason).weight if self.reason else None


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


def followed(records: Records, source_id: str, now: datetime) -> Followed | None:
    """All of one source; None where there is none of this id."""
    row = next(iter(records.get(SourceRow, [source_id])), None)
    if row is None:
        return None
    where = links_of(source_id)
    inputs = records.find(InputRow, where, order=("-input_id",), count_max=POLLS_SHOWN)
    polls = [_poll(one) for one in inputs]
    counted = records.count(EntryRow, ("outcome", "reason", "step"), where)
    ended = [Ended(str(how), _text(why), _text(at), n) for (how, why, at), n in counted.items()]
    ended.sort(key=lambda one: (-one.count, one.outcome, one.reason or "", one.step or ""))
    return Followed(row, standing(row, now), polls, ended)


def polls_on(records: Records, source_id: str, day: date) -> list[str]:
    """The polls of a source on a day, in UTC, that brought something."""
    where = {**links_of(source_id), "updated": Within(*_ends(day))}
    return [row.input_id for row in records.find(InputRow, where) if row.entries]


def states(records: Records) -> dict[str, int]:
    """How many sources there are by `state`: active, paused, gone."""
    return {str(state): count for (state,), count in records.count(SourceRow, ("state",)).items()}


def listing(records: Records, state: str, first: int, count_max: int) -> list[SourceRow]:
    """Sources from number `first` on, those that failed most often first, then those that list nothing
    where they used to. It walks over those before."""
    rows = records.find(
        SourceRow,
        {"state": state} if state else None,
        order=("-failures", "-silent_polls", "url"),
        count_max=first - 1 + count_max,
    )
    return list(islice(rows, first - 1, None))


def _ends(day: date) -> tuple[datetime, datetime]:
    return datetime.combine(day, time.min, UTC), datetime.combine(day, time.max, UTC)


def _poll(row: InputRow) -> Poll:
    found = seen(row)
    return Poll(
        row.input_id,
        row.updated,
        _number(found.get("listed")),
        row.entries,
        _number(found.get("known")),
        dict(row.tally),
        row.error,
        str(found["problem"]) if found.get("problem") else None,
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


def _text(value: object) -> str | None:
    return None if value is None else str(value)
