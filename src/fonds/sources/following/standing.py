"""How a source stands: what its last poll left, what a person said of it, and the time.

What a poll leaves is judged when it ends and kept in the row, so that sources can be asked for and counted by
it; pausing and muting are kept beside it. Docs: docs/decisions/0072-what-stands-in-a-list-of-sources.md.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from fonds.model.rows import SourceRow
from fonds.model.rows.row import Within

FAILURES_DEAD = 10
DEAD_AFTER = timedelta(days=14)
QUIET_AFTER = timedelta(days=90)
ONCE_WELL = datetime(9999, 1, 1, tzinfo=UTC)
"""Until when a source is muted that is so until it is well again."""
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), ONCE_WELL
_TICK = timedelta(microseconds=1)
WORD_CHARACTERS_MAX = 300
"""Of a title, folder or collection."""


class Standing(StrEnum):
    """How a source stands, for people; those that need someone first."""

    DEAD = "dead"  # nothing but failures for long: asked once a week
    FAILING = "failing"  # the last poll failed
    SILENT = "silent"  # it answers, and lists nothing, where it used to list something
    QUIET = "quiet"  # it answers, and had nothing new for long
    WAITING = "waiting"  # never polled yet
    ACTIVE = "active"
    PAUSED = "paused"
    GONE = "gone"  # it said that it is no more (410): not asked again
    MUTED = "muted"  # dead, failing or silent, and somebody said that this needs nobody


NEEDS_SOMEONE = (Standing.DEAD, Standing.FAILING, Standing.SILENT)


def standing(row: SourceRow, now: datetime) -> Standing:
    """How a source stands at an aware time."""
    return stands_so(row.state, row.standing, row.muted_until, now)


def stands_so(state: str, left: str, muted_until: datetime | None, now: datetime) -> Standing:
    """The same of the columns that decide it; `left` is how its polls left it."""
    if state in ("paused", "gone"):
        return Standing(state)
    stands = Standing(left)
    holds = muted_until is not None and muted_until > now
    return Standing.MUTED if stands in NEEDS_SOMEONE and holds else stands


def as_polled(row: SourceRow, now: datetime) -> Standing:
    """How the polls of a source left it, whatever a person says of it; `now` is when the last one ended."""
    if row.failures:
        return Standing.DEAD if is_dead(row, now) else Standing.FAILING
    if row.last_well is None:
        return Standing.WAITING
    if row.silent_polls:
        return Standing.SILENT
    newest = row.last_new or row.added_at
    return Standing.QUIET if now - newest >= QUIET_AFTER else Standing.ACTIVE


def is_dead(row: SourceRow, now: datetime) -> bool:
    """Whether it did nothing but fail, often enough and long enough."""
    alive = row.last_well or row.added_at
    return row.failures >= FAILURES_DEAD and now - alive >= DEAD_AFTER


def is_muted(row: SourceRow, now: datetime) -> bool:
    """Whether somebody said that trouble with it needs nobody, and that holds."""
    return row.muted_until is not None and row.muted_until > now


def muted(now: datetime) -> dict[str, object]:
    """The condition on sources that are muted, whether they are in trouble or not."""
    return {"state": "active", "muted_until": Within(now + _TICK, _LAST)}


def not_muted(now: datetime) -> dict[str, object]:
    """The condition on sources that are polled and not muted."""
    return {"state": "active", "muted_until": [None, Within(_FIRST, now)]}


def standing_so(stands: Standing, now: datetime) -> dict[str, object]:
    """The condition on sources that stand so: what `standing` says of a row, asked of all of them."""
    if stands in (Standing.PAUSED, Standing.GONE):
        return {"state": str(stands)}
    if stands is Standing.MUTED:
        return {**muted(now), "standing": [str(one) for one in NEEDS_SOMEONE]}
    if stands in NEEDS_SOMEONE:
        return {**not_muted(now), "standing": str(stands)}
    return {"state": "active", "standing": str(stands)}


def standing_since(stands: Standing, since: datetime, now: datetime) -> dict[str, object]:
    """The condition on sources that began to fail, or fell silent, at this time or later. Raises ValueError
    for a standing of which nobody knows since when."""
    if stands not in NEEDS_SOMEONE:
        known = ", ".join(NEEDS_SOMEONE)
        raise ValueError(f"it is not known since when a source is {stands}, only of {known}")
    column = "silent_since" if stands is Standing.SILENT else "failing_since"
    return {**standing_so(stands, now), column: Within(since, _LAST)}
