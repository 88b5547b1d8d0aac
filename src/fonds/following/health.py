"""Health of a source, computed from its last poll, its mute and the current time.

The health after a poll is stored in the row of the source, so that queries can select and count
sources by health. Whether a source is paused or muted is stored separately.

Docs: docs/decisions/0072-source-list-counts-and-health.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from fonds.model.errors import ConfigurationError, DamagedRowError
from fonds.model.rows import SourceRow
from fonds.model.rows.row import TimeRange
from fonds.ports import Records

FAILURES_DEAD = 10
DEAD_AFTER = timedelta(days=14)
QUIET_AFTER = timedelta(days=90)
UNTIL_RECOVERED = datetime(9999, 1, 1, tzinfo=UTC)
"""Value of the column `muted_until` of `sources` for a source that is muted until it recovers."""
_TIME_MIN, _TIME_MAX = datetime(1970, 1, 1, tzinfo=UTC), UNTIL_RECOVERED
_TICK = timedelta(microseconds=1)
TEXT_MAX_CHARS = 300
"""Maximum number of characters in a source's title, folder or collection, or in a note on its mute.
"""


class SourceHealth(StrEnum):
    """Health of a source, as people see it. Values that need attention come first."""

    DEAD = "dead"  # only failures for a long time: polled once a week
    FAILING = "failing"  # the last poll failed
    SILENT = "silent"  # responds with an empty listing that used to have entries
    QUIET = "quiet"  # responds, but had nothing new for a long time
    WAITING = "waiting"  # not polled yet
    ACTIVE = "active"
    PAUSED = "paused"
    GONE = "gone"  # the server responded 410: never polled again
    MUTED = "muted"  # dead, failing or silent, and a person muted it


NEEDS_ATTENTION = (SourceHealth.DEAD, SourceHealth.FAILING, SourceHealth.SILENT)


def compute_health(row: SourceRow, now: datetime) -> SourceHealth:
    """Return the health of a source at the time `now`, including pauses and mutes."""
    return compute_health_from_columns(row.state, row.health, row.muted_until, now)


def compute_health_from_columns(
    state: str, poll_state: str, muted_until: datetime | None, now: datetime
) -> SourceHealth:
    """Return the health of a source from columns of its database row.

    - `state`: active, paused or gone.
    - `poll_state`: health that was stored after the last poll.
    - `muted_until`: end of the mute; None if it is not muted.

    Raises DamagedRowError for another health.
    """
    if state in ("paused", "gone"):
        return SourceHealth(state)
    if poll_state not in set(SourceHealth):
        raise DamagedRowError(
            f"{poll_state!r} is not the health of a source. Another program or a broken disk changed "
            "the table sources. Restore the records from a backup."
        )
    poll_health = SourceHealth(poll_state)
    is_muted_now = muted_until is not None and muted_until > now
    return SourceHealth.MUTED if poll_health in NEEDS_ATTENTION and is_muted_now else poll_health


def compute_health_after_poll(row: SourceRow, now: datetime) -> SourceHealth:
    """Return the health of a source after its last poll, computed from the poll's results. Pauses
    and mutes are ignored.

    `now` is the time at which that poll ended.
    """
    if row.failures:
        return SourceHealth.DEAD if is_dead(row, now) else SourceHealth.FAILING
    if row.last_well is None:
        return SourceHealth.WAITING
    if row.silent_polls:
        return SourceHealth.SILENT
    newest = row.last_new or row.added_at
    return SourceHealth.QUIET if now - newest >= QUIET_AFTER else SourceHealth.ACTIVE


def is_dead(row: SourceRow, now: datetime) -> bool:
    """Return whether the last polls of a source all failed, at least 10 of them and for at least 14
    days.
    """
    last_success = row.last_well or row.added_at
    return row.failures >= FAILURES_DEAD and now - last_success >= DEAD_AFTER


def is_muted(row: SourceRow, now: datetime) -> bool:
    """Return whether a source is muted at the time `now`."""
    return row.muted_until is not None and row.muted_until > now


def build_muted_filter(now: datetime) -> dict[str, object]:
    """Return the query condition for all active sources that are muted, even if they are
    healthy.
    """
    return {"state": "active", "muted_until": TimeRange(now + _TICK, _TIME_MAX)}


def build_unmuted_filter(now: datetime) -> dict[str, object]:
    """Return the query condition for active sources that are not muted."""
    return {"state": "active", "muted_until": [None, TimeRange(_TIME_MIN, now)]}


def build_health_filter(health: SourceHealth, now: datetime) -> dict[str, object]:
    """Return the query condition for all sources whose health has the value `health`, as
    `compute_health` computes it.
    """
    if health in (SourceHealth.PAUSED, SourceHealth.GONE):
        return {"state": str(health)}
    if health is SourceHealth.MUTED:
        return {**build_muted_filter(now), "health": [str(value) for value in NEEDS_ATTENTION]}
    if health in NEEDS_ATTENTION:
        return {**build_unmuted_filter(now), "health": str(health)}
    return {"state": "active", "health": str(health)}


def build_health_since_filter(
    health: SourceHealth, since: datetime, now: datetime
) -> dict[str, object]:
    """Return the query condition for sources whose current health is `health` and began at the time
    `since` or later.

    Raises ValueError if the database does not record when this health began.
    """
    if health not in NEEDS_ATTENTION:
        names = ", ".join(NEEDS_ATTENTION)
        raise ValueError(f"no start date is known for {health} sources; use one of {names}")
    column = "silent_since" if health is SourceHealth.SILENT else "failing_since"
    return {**build_health_filter(health, now), column: TimeRange(since, _TIME_MAX)}


# Muting a source hides its problems until a time or until it recovers.


UNMUTED_COLUMNS: Mapping[str, object] = {"muted_at": None, "muted_until": None, "mute_note": ""}


@dataclass(frozen=True, slots=True)
class Mute:
    """Mute of a source: its problems raise no alerts.

    - `since`: start of the mute.
    - `until`: end of the mute. None if it ends when the source recovers.
    - `note`: note of the person who muted the source.
    """

    since: datetime | None
    until: datetime | None
    note: str


def get_mute(row: SourceRow, now: datetime) -> Mute | None:
    """Return the current mute of a source; None if it is not muted."""
    if row.state != "active" or not is_muted(row, now):
        return None
    until = None if row.muted_until == UNTIL_RECOVERED else row.muted_until
    return Mute(row.muted_at, until, row.mute_note)


def mute(
    records: Records, row: SourceRow, until: datetime | None, note: str, now: datetime
) -> None:
    """Mute the alerts of a source until a time, or until the source recovers (`until` is None).

    A muted source is still polled. An existing mute is replaced. Raises ConfigurationError in these
    cases: the source is not polled; it is healthy and `until` is None; `until` is in the past; the
    note is too long.
    """
    note = " ".join(note.split())
    if row.state != "active":
        raise ConfigurationError(
            f"{row.url} is {row.state}, so it is not polled and needs no muting"
        )
    if until is None and row.health not in NEEDS_ATTENTION:
        raise ConfigurationError(f"{row.url} is {row.health} and has no problem. Give an end time")
    if until is not None and not now < until < UNTIL_RECOVERED:
        raise ConfigurationError(f"{until:%Y-%m-%d %H:%M} is not in the future")
    if len(note) > TEXT_MAX_CHARS:
        raise ConfigurationError(f"a note can have at most {TEXT_MAX_CHARS} characters")
    values = {"muted_at": now, "muted_until": until or UNTIL_RECOVERED, "mute_note": note}
    records.change(SourceRow, [row.source_id], values, {"state": "active"})


def unmute(records: Records, row: SourceRow) -> None:
    """Unmute a source. Nothing changes if it is not muted."""
    records.change(SourceRow, [row.source_id], UNMUTED_COLUMNS)
