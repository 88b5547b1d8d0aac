"""How a source stands: what its last poll left, what a person said of it, and the time.

What a poll leaves is judged when it ends and kept in the row, so that sources can be asked for and counted by
it; pausing and muting are kept beside it. Docs: docs/decisions/0072-what-stands-in-a-list-of-sources.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.model.rows.row import TimeRange
from fonds.ports import Records

FAILURES_DEAD = 10
DEAD_AFTER = timedelta(days=14)
QUIET_AFTER = timedelta(days=90)
UNTIL_RECOVERED = datetime(9999, 1, 1, tzinfo=UTC)
"""Until when a source is muted that is so until it is well again."""
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), UNTIL_RECOVERED
_TICK = timedelta(microseconds=1)
WORD_MAX_CHARS = 300
"""Of a title, folder or collection."""


class SourceHealth(StrEnum):
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


NEEDS_SOMEONE = (SourceHealth.DEAD, SourceHealth.FAILING, SourceHealth.SILENT)


def health(row: SourceRow, now: datetime) -> SourceHealth:
    """How a source stands at an aware time."""
    return health_from_columns(row.state, row.standing, row.muted_until, now)


def health_from_columns(
    state: str, poll_state: str, muted_until: datetime | None, now: datetime
) -> SourceHealth:
    """The same of the columns that decide it; `poll_state` is how its polls left it."""
    if state in ("paused", "gone"):
        return SourceHealth(state)
    stands = SourceHealth(poll_state)
    holds = muted_until is not None and muted_until > now
    return SourceHealth.MUTED if stands in NEEDS_SOMEONE and holds else stands


def health_after_poll(row: SourceRow, now: datetime) -> SourceHealth:
    """How the polls of a source left it, whatever a person says of it; `now` is when the last one ended."""
    if row.failures:
        return SourceHealth.DEAD if is_dead(row, now) else SourceHealth.FAILING
    if row.last_well is None:
        return SourceHealth.WAITING
    if row.silent_polls:
        return SourceHealth.SILENT
    newest = row.last_new or row.added_at
    return SourceHealth.QUIET if now - newest >= QUIET_AFTER else SourceHealth.ACTIVE


def is_dead(row: SourceRow, now: datetime) -> bool:
    """Whether it did nothing but fail, often enough and long enough."""
    alive = row.last_well or row.added_at
    return row.failures >= FAILURES_DEAD and now - alive >= DEAD_AFTER


def is_muted(row: SourceRow, now: datetime) -> bool:
    """Whether somebody said that trouble with it needs nobody, and that holds."""
    return row.muted_until is not None and row.muted_until > now


def build_muted_filter(now: datetime) -> dict[str, object]:
    """The condition on sources that are muted, whether they are in trouble or not."""
    return {"state": "active", "muted_until": TimeRange(now + _TICK, _LAST)}


def build_unmuted_filter(now: datetime) -> dict[str, object]:
    """The condition on sources that are polled and not muted."""
    return {"state": "active", "muted_until": [None, TimeRange(_FIRST, now)]}


def health_filter(health: SourceHealth, now: datetime) -> dict[str, object]:
    """The condition on sources that stand so: what `health` says of a row, asked of all of them."""
    if health in (SourceHealth.PAUSED, SourceHealth.GONE):
        return {"state": str(health)}
    if health is SourceHealth.MUTED:
        return {**build_muted_filter(now), "standing": [str(one) for one in NEEDS_SOMEONE]}
    if health in NEEDS_SOMEONE:
        return {**build_unmuted_filter(now), "standing": str(health)}
    return {"state": "active", "standing": str(health)}


def health_since_filter(health: SourceHealth, since: datetime, now: datetime) -> dict[str, object]:
    """The condition on sources that began to fail, or fell silent, at this time or later. Raises ValueError
    for a standing of which nobody knows since when."""
    if health not in NEEDS_SOMEONE:
        known = ", ".join(NEEDS_SOMEONE)
        raise ValueError(f"it is not known since when a source is {health}, only of {known}")
    column = "silent_since" if health is SourceHealth.SILENT else "failing_since"
    return {**health_filter(health, now), column: TimeRange(since, _LAST)}


# Muting: a person says that what ails a source needs nobody, for a time or until it is well again.


UNMUTED: Mapping[str, object] = {"muted_at": None, "muted_until": None, "mute_note": ""}


@dataclass(frozen=True, slots=True)
class Mute:
    """That a source is muted, `since` when, `until` when (None until it is well again), and why."""

    since: datetime | None
    until: datetime | None
    note: str


def get_mute(row: SourceRow, now: datetime) -> Mute | None:
    """How a source is muted; None for one that is not, or not any more."""
    if row.state != "active" or not is_muted(row, now):
        return None
    until = None if row.muted_until == UNTIL_RECOVERED else row.muted_until
    return Mute(row.muted_at, until, row.mute_note)


def mute(
    records: Records, row: SourceRow, until: datetime | None, note: str, now: datetime
) -> None:
    """Mute a source until a time, or (None) until it is well again; it is polled as before. One that is
    muted is muted anew. Raises ConfigurationError for one that is not polled, one that is well where no time
    is said, a time that is over, and a note that is too long."""
    note = " ".join(note.split())
    if row.state != "active":
        raise ConfigurationError(f"{row.url} is {row.state}: it is not polled, and needs nobody")
    if until is None and row.standing not in NEEDS_SOMEONE:
        raise ConfigurationError(f"{row.url} is {row.standing}, not in trouble: say until when")
    if until is not None and not now < until < UNTIL_RECOVERED:
        raise ConfigurationError(f"{until:%Y-%m-%d %H:%M} is no time to come")
    if len(note) > WORD_MAX_CHARS:
        raise ConfigurationError(f"a note has at most {WORD_MAX_CHARS} characters")
    values = {"muted_at": now, "muted_until": until or UNTIL_RECOVERED, "mute_note": note}
    records.change(SourceRow, [row.source_id], values, {"state": "active"})


def unmute(records: Records, row: SourceRow) -> None:
    """Mute a source no more; one that is not muted stays as it is."""
    records.change(SourceRow, [row.source_id], UNMUTED)
