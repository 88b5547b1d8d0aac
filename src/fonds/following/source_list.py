"""List sources and load their details: counts by health, pages, polls and link outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import islice

from fonds.following.funnel import LinkEnding, count_link_endings
from fonds.following.health import (
    NEEDS_ATTENTION,
    SourceHealth,
    build_health_filter,
    build_health_since_filter,
    build_muted_filter,
    build_unmuted_filter,
    compute_health,
    compute_health_from_columns,
)
from fonds.following.poll_notes import parse_poll_notes
from fonds.following.source_summary import PollSummary, build_poll_summary
from fonds.model.rows import InputRow, SourceRow
from fonds.model.rows.row import Prefix, TimeRange
from fonds.model.tallies import find_host
from fonds.ports import Records

ORDER = ("-failures", "-silent_polls", "url")


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """Number of sources by state and health.

    - `states`: number of sources by state (active, paused, gone).
    - `health_counts`: number of sources by health; health values without sources are omitted.
    - `muted`: number of active sources that are muted.
    """

    states: Mapping[str, int]
    health_counts: Mapping[SourceHealth, int]
    muted: int

    @property
    def total(self) -> int:
        """Number of all sources."""
        return sum(self.states.values())

    @property
    def attention_count(self) -> int:
        """Number of sources that are dead, failing or silent and not muted."""
        return sum(self.health_counts.get(value, 0) for value in NEEDS_ATTENTION)


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """Filter for a list of sources.

    - `state`: active, paused or gone; "" for all states.
    - `health`: health of the sources; None for all.
    - `since`: only sources whose current health began at this time or later; None for all.
    """

    state: str = ""
    health: SourceHealth | None = None
    since: datetime | None = None


Part = tuple[Mapping[str, object], int]
"""Query condition for one section of a list of sources, and the number of sources that match it."""


def count_sources(records: Records, now: datetime) -> SourceCounts:
    """Return the number of sources by state and health, counted in one query."""
    states: Counter[str] = Counter()
    health_counts: Counter[SourceHealth] = Counter()
    muted_count = 0
    columns = ("state", "health", "muted_until")
    for (state, poll_health, until), count in records.count(SourceRow, columns).items():
        is_muted = state == "active" and until is not None and until > now
        muted_count += count if is_muted else 0
        states[state] += count
        health_counts[compute_health_from_columns(state, poll_health, until, now)] += count
    present_health = {value: health_counts[value] for value in SourceHealth if health_counts[value]}
    return SourceCounts(dict(states), present_health, muted_count)


def list_sources(
    records: Records,
    query: SourceQuery,
    counts: SourceCounts,
    now: datetime,
    first: int,
    count_max: int,
) -> tuple[int, list[SourceRow]]:
    """Return the number of matching sources, and one page of their rows, from row number `first`
    (from 1), at most `count_max`.

    `counts` are the numbers of all sources. Sources with the most failures come first, then those
    with empty listings, then those that are not polled; muted sources come last. The database reads
    and skips rows before the page. Raises ValueError if `since` is given without a health whose
    start is recorded.
    """
    parts = list(_iter_parts(records, query, counts, now))
    rows_on_page: list[SourceRow] = []
    skip = first - 1
    for conditions, count in parts:
        remaining = count_max - len(rows_on_page)
        if remaining and skip < count:
            rows = records.find(SourceRow, conditions, order=ORDER, count_max=skip + remaining)
            rows_on_page += islice(rows, skip, None)
        skip = max(0, skip - count)
    return sum(count for _, count in parts), rows_on_page


def _iter_parts(
    records: Records, query: SourceQuery, counts: SourceCounts, now: datetime
) -> Iterator[Part]:
    """Yield the query conditions for the sections of a list of sources, in list order, each with
    its number of sources.

    Each source belongs to at most one section.
    """
    if query.since is not None:
        if query.health is None:
            raise ValueError("a start date needs a health: dead, failing or silent")
        conditions = build_health_since_filter(query.health, query.since, now)
        yield from _iter_state_part(
            conditions, query.state, records.count(SourceRow, (), conditions).get((), 0)
        )
    elif query.health is not None:
        conditions = build_health_filter(query.health, now)
        yield from _iter_state_part(
            conditions, query.state, counts.health_counts.get(query.health, 0)
        )
    else:
        if query.state in ("", "active"):
            yield build_unmuted_filter(now), counts.states.get("active", 0) - counts.muted
        for state in _list_idle_states(query.state):
            yield {"state": state}, counts.states.get(state, 0)
        if query.state in ("", "active"):
            yield build_muted_filter(now), counts.muted


def _iter_state_part(conditions: Mapping[str, object], state: str, count: int) -> Iterator[Part]:
    """Yield a query condition and its number of sources, if the condition is for the requested
    state or `state` is "".
    """
    if state in ("", conditions["state"]):
        yield conditions, count


def _list_idle_states(state: str) -> Sequence[str]:
    idle = ("paused", "gone")
    return idle if not state else [value for value in idle if value == state]


SOURCES_SEARCHED_MAX = 10_000
SOURCES_MAX = 20


def find_related_sources(records: Records, url: str) -> list[SourceRow]:
    """Return up to 20 sources on the host of a URL, on its parent domains, or on its subdomains.

    `www.` is ignored. Only the first 10,000 sources are searched. Returns an empty list if the URL
    has no host.
    """
    host = _strip_www(url)
    if not host:
        return []
    rows = records.find(SourceRow, count_max=SOURCES_SEARCHED_MAX)
    related_rows = (row for row in rows if _is_related(host, _strip_www(row.url)))
    return list(islice(related_rows, SOURCES_MAX))


def _strip_www(url: str) -> str:
    return find_host(url).removeprefix("www.")


def _is_related(host: str, other_host: str) -> bool:
    if "." not in host or "." not in other_host:
        return host == other_host
    return host == other_host or host.endswith(f".{other_host}") or other_host.endswith(f".{host}")


# Details of one source


POLLS_MAX = 20


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """Source with its recent polls and the outcomes of its links.

    - `source`: database row of the source.
    - `health`: current health of the source.
    - `polls`: last polls, newest first.
    - `endings`: number of the source's links with each outcome, the most frequent first.
    """

    source: SourceRow
    health: SourceHealth
    polls: Sequence[PollSummary]
    endings: Sequence[LinkEnding]

    @property
    def links(self) -> int:
        """Number of links of the source that were entered into pipelines."""
        return sum(ending.count for ending in self.endings)


def build_links_filter(source_id: str) -> dict[str, object]:
    """Return the query condition that selects the polls of a source in `inputs`, and in `entries`
    the links that these polls found.
    """
    return {"input_id": Prefix(f"{source_id}.")}


def load_source_details(
    records: Records,
    source_id: str,
    now: datetime,
    pipelines: Sequence[str] = (),
    *,
    polls_max: int = POLLS_MAX,
) -> SourceDetails | None:
    """Load the details of a source; return None if the source does not exist.

    - `pipelines`: pipelines in which links are counted, besides the source's own.
    - `polls_max`: maximum number of polls.
    """
    row = next(iter(records.get(SourceRow, [source_id])), None)
    if row is None:
        return None
    conditions = build_links_filter(source_id)
    inputs = records.find(InputRow, conditions, order=("-input_id",), count_max=polls_max)
    polls = [build_poll_summary(input_row) for input_row in inputs]
    endings = count_link_endings(records, [row], pipelines)[source_id]
    return SourceDetails(row, compute_health(row, now), polls, endings)


def list_polls_on(records: Records, source_id: str, day: date) -> list[str]:
    """Return the ids (in `inputs`) of those polls of a source on a date (UTC) that found new links.

    Polls of backfills are omitted.
    """
    conditions = {**build_links_filter(source_id), "updated": TimeRange(*_day_bounds(day))}
    rows = records.find(InputRow, conditions)
    return [row.input_id for row in rows if row.entries and parse_poll_notes(row).backfill is None]


def _day_bounds(day: date) -> tuple[datetime, datetime]:
    return datetime.combine(day, time.min, UTC), datetime.combine(day, time.max, UTC)
