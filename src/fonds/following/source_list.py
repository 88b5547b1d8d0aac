"""Sources in lists: how many stand how, and a page of those that stand so, those that need someone first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import islice

from fonds.following.backfill import parse_backfill_poll
from fonds.following.funnel import LinkEnding, count_link_endings
from fonds.following.health import (
    NEEDS_SOMEONE,
    SourceHealth,
    build_muted_filter,
    build_unmuted_filter,
    health,
    health_filter,
    health_from_columns,
    health_since_filter,
)
from fonds.model.rows import InputRow, SourceRow
from fonds.model.rows.row import Prefix, TimeRange
from fonds.model.tallies import find_host
from fonds.ports import Records

ORDER = ("-failures", "-silent_polls", "url")


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """How many sources there are by `state` (active, paused, gone), by how they stand, those of which there
    are some, and how many of the active ones are muted, in trouble or not."""

    states: Mapping[str, int]
    standings: Mapping[SourceHealth, int]
    muted: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.states.values())

    @property
    def attention_count(self) -> int:
        """Those that are dead, failing or silent, and not muted."""
        return sum(self.standings.get(one, 0) for one in NEEDS_SOMEONE)


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """Which sources: those of a `state`, that stand so, and do so `since` a time; None and "" for all."""

    state: str = ""
    health: SourceHealth | None = None
    since: datetime | None = None


Part = tuple[Mapping[str, object], int]
"""A condition on sources, and how many fit it."""


def count_sources(records: Records, now: datetime) -> SourceCounts:
    """All sources, counted in one statement."""
    states: Counter[str] = Counter()
    standings: Counter[SourceHealth] = Counter()
    muted_count = 0
    by = ("state", "standing", "muted_until")
    for (state, left, until), count in records.count(SourceRow, by).items():
        holds = state == "active" and until is not None and until > now
        muted_count += count if holds else 0
        states[state] += count
        standings[health_from_columns(state, left, until, now)] += count
    known = {one: standings[one] for one in SourceHealth if standings[one]}
    return SourceCounts(dict(states), known, muted_count)


def list_sources(
    records: Records,
    query: SourceQuery,
    counts: SourceCounts,
    now: datetime,
    first: int,
    count_max: int,
) -> tuple[int, list[SourceRow]]:
    """How many sources are wanted, and those from number `first` on: those that failed most often first,
    then those that list nothing where they used to; behind them those that are not polled, and last those
    that are muted. It walks over those before.

    Raises ValueError for `since` without a standing of which it is known.
    """
    parts = list(_iter_parts(records, query, counts, now))
    found: list[SourceRow] = []
    skip = first - 1
    for where, count in parts:
        left = count_max - len(found)
        if left and skip < count:
            rows = records.find(SourceRow, where, order=ORDER, count_max=skip + left)
            found += islice(rows, skip, None)
        skip = max(0, skip - count)
    return sum(count for _, count in parts), found


def _iter_parts(
    records: Records, query: SourceQuery, counts: SourceCounts, now: datetime
) -> Iterator[Part]:
    """The parts of a list in their order, none of which has a source of another."""
    if query.since is not None:
        if query.health is None:
            raise ValueError("say how they stand, too: dead, failing or silent")
        where = health_since_filter(query.health, query.since, now)
        yield from _iter_state_part(
            where, query.state, records.count(SourceRow, (), where).get((), 0)
        )
    elif query.health is not None:
        where = health_filter(query.health, now)
        yield from _iter_state_part(where, query.state, counts.standings.get(query.health, 0))
    else:
        if query.state in ("", "active"):
            yield build_unmuted_filter(now), counts.states.get("active", 0) - counts.muted
        for state in _list_idle_states(query.state):
            yield {"state": state}, counts.states.get(state, 0)
        if query.state in ("", "active"):
            yield build_muted_filter(now), counts.muted


def _iter_state_part(where: Mapping[str, object], state: str, count: int) -> Iterator[Part]:
    """A part, where it is of this state: each standing belongs to one."""
    if state in ("", where["state"]):
        yield where, count


def _list_idle_states(state: str) -> Sequence[str]:
    idle = ("paused", "gone")
    return idle if not state else [one for one in idle if one == state]


# Which followed sources should have had an address: those of its host, of hosts above and below it.


SOURCES_SEARCHED_MAX = 10_000
SOURCES_MAX = 20


def find_related_sources(records: Records, url: str) -> list[SourceRow]:
    """Sources whose own address has the host of `url`, or one above or below it, `www.` aside; twenty at
    most, out of the first ten thousand there are. None for what is no address of the web."""
    host = _strip_www(url)
    if not host:
        return []
    rows = records.find(SourceRow, count_max=SOURCES_SEARCHED_MAX)
    fit = (row for row in rows if _is_related(host, _strip_www(row.url)))
    return list(islice(fit, SOURCES_MAX))


def _strip_www(url: str) -> str:
    return find_host(url).removeprefix("www.")


def _is_related(first: str, other: str) -> bool:
    if "." not in first or "." not in other:
        return first == other
    return first == other or first.endswith(f".{other}") or other.endswith(f".{first}")


# What is known of followed sources: how they stand, what their polls saw, and what became of their links.


POLLS_MAX = 20


@dataclass(frozen=True, slots=True)
class SourcePoll:
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
class SourceDetails:
    """A source with its polls, the newest first, and what became of its links, the most first."""

    source: SourceRow
    health: SourceHealth
    polls: Sequence[SourcePoll]
    ended: Sequence[LinkEnding]

    @property
    def links(self) -> int:
        """How many links entered."""
        return sum(one.count for one in self.ended)


def build_links_filter(source_id: str) -> dict[str, object]:
    """The condition on entries and inputs that are a source's."""
    return {"input_id": Prefix(f"{source_id}.")}


def load_source_details(
    records: Records, source_id: str, now: datetime, pipelines: Sequence[str] = ()
) -> SourceDetails | None:
    """All of one source, its links in these pipelines and its own; None where there is none of this id."""
    row = next(iter(records.get(SourceRow, [source_id])), None)
    if row is None:
        return None
    where = build_links_filter(source_id)
    inputs = records.find(InputRow, where, order=("-input_id",), count_max=POLLS_MAX)
    polls = [_poll(one) for one in inputs]
    ended = count_link_endings(records, [row], pipelines)[source_id]
    return SourceDetails(row, health(row, now), polls, ended)


def list_polls_on(records: Records, source_id: str, day: date) -> list[str]:
    """The polls of a source on a day, in UTC, that brought something new; those of its backfill, which bring
    what is old, count on no day."""
    where = {**build_links_filter(source_id), "updated": TimeRange(*_day_bounds(day))}
    rows = records.find(InputRow, where)
    return [
        row.input_id
        for row in rows
        if row.entries and parse_backfill_poll(get_poll_notes(row)) is None
    ]


def _day_bounds(day: date) -> tuple[datetime, datetime]:
    return datetime.combine(day, time.min, UTC), datetime.combine(day, time.max, UTC)


def _poll(row: InputRow) -> SourcePoll:
    found = get_poll_notes(row)
    older = parse_backfill_poll(found)
    return SourcePoll(
        row.input_id,
        row.updated,
        _get_int(found.get("listed")),
        row.entries,
        _get_int(found.get("known")),
        dict(row.tally),
        row.error,
        str(found["problem"]) if found.get("problem") else None,
        *((len(older.pages), older.outside, older.undated) if older else ()),
    )


def get_poll_notes(row: InputRow) -> dict[str, object]:
    """What a poll noted of the listing it read; nothing of one that noted nothing."""
    try:
        found = json.loads(row.fingerprint)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _get_int(value: object) -> int | None:
    return value if isinstance(value, int) else None
