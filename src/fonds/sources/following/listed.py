"""Sources in lists: how many stand how, and a page of those that stand so, those that need someone first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from fonds.model.rows import SourceRow
from fonds.ports import Records
from fonds.sources.following.standing import (
    NEEDS_SOMEONE,
    Standing,
    muted,
    not_muted,
    standing_since,
    standing_so,
    stands_so,
)

ORDER = ("-failures", "-silent_polls", "url")


@dataclass(frozen=True, slots=True)
class Counts:
    """How many sources there are by `state` (active, paused, gone), by how they stand, those of which there
    are some, and how many of the active ones are muted, in trouble or not."""

    states: Mapping[str, int]
    standings: Mapping[Standing, int]
    muted: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.states.values())

    @property
    def need_someone(self) -> int:
        """Those that are dead, failing or silent, and not muted."""
        return sum(self.standings.get(one, 0) for one in NEEDS_SOMEONE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sources: those of a `state`, that stand so, and do so `since` a time; None and "" for all."""

    state: str = ""
    stands: Standing | None = None
    since: datetime | None = None


Part = tuple[Mapping[str, object], int]
"""A condition on sources, and how many fit it."""


def counts(records: Records, now: datetime) -> Counts:
    """All sources, counted in one statement."""
    states: Counter[str] = Counter()
    standings: Counter[Standing] = Counter()
    muted_count = 0
    by = ("state", "standing", "muted_until")
    for (state, left, until), count in records.count(SourceRow, by).items():
        holds = state == "active" and until is not None and until > now
        muted_count += count if holds else 0
        states[state] += count
        standings[stands_so(state, left, until, now)] += count
    known = {one: standings[one] for one in Standing if standings[one]}
    return Counts(dict(states), known, muted_count)


def listing(
    records: Records, wanted: Wanted, there: Counts, now: datetime, first: int, count_max: int
) -> tuple[int, list[SourceRow]]:
    """How many sources are wanted, and those from number `first` on: those that failed most often first,
    then those that list nothing where they used to; behind them those that are not polled, and last those
    that are muted. It walks over those before.

    Raises ValueError for `since` without a standing of which it is known.
    """
    parts = list(_parts(records, wanted, there, now))
    found: list[SourceRow] = []
    skip = first - 1
    for where, count in parts:
        left = count_max - len(found)
        if left and skip < count:
            rows = records.find(SourceRow, where, order=ORDER, count_max=skip + left)
            found += islice(rows, skip, None)
        skip = max(0, skip - count)
    return sum(count for _, count in parts), found


def _parts(records: Records, wanted: Wanted, there: Counts, now: datetime) -> Iterator[Part]:
    """The parts of a list in their order, none of which has a source of another."""
    if wanted.since is not None:
        if wanted.stands is None:
            raise ValueError("say how they stand, too: dead, failing or silent")
        where = standing_since(wanted.stands, wanted.since, now)
        yield from _of_state(where, wanted.state, records.count(SourceRow, (), where).get((), 0))
    elif wanted.stands is not None:
        where = standing_so(wanted.stands, now)
        yield from _of_state(where, wanted.state, there.standings.get(wanted.stands, 0))
    else:
        if wanted.state in ("", "active"):
            yield not_muted(now), there.states.get("active", 0) - there.muted
        for state in _idle(wanted.state):
            yield {"state": state}, there.states.get(state, 0)
        if wanted.state in ("", "active"):
            yield muted(now), there.muted


def _of_state(where: Mapping[str, object], state: str, count: int) -> Iterator[Part]:
    """A part, where it is of this state: each standing belongs to one."""
    if state in ("", where["state"]):
        yield where, count


def _idle(state: str) -> Sequence[str]:
    idle = ("paused", "gone")
    return idle if not state else [one for one in idle if one == state]
