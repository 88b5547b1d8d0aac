"""Muting: a person says that what ails a source needs nobody, for a time or until it is well again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fonds.model.errors import ConfigurationError
from fonds.model.rows import SourceRow
from fonds.ports import Records
from fonds.sources.following.standing import NEEDS_SOMEONE, ONCE_WELL, WORD_CHARACTERS_MAX, is_muted

UNMUTED: Mapping[str, object] = {"muted_at": None, "muted_until": None, "mute_note": ""}


@dataclass(frozen=True, slots=True)
class Mute:
    """That a source is muted, `since` when, `until` when (None until it is well again), and why."""

    since: datetime | None
    until: datetime | None
    note: str


def mute_of(row: SourceRow, now: datetime) -> Mute | None:
    """How a source is muted; None for one that is not, or not any more."""
    if row.state != "active" or not is_muted(row, now):
        return None
    until = None if row.muted_until == ONCE_WELL else row.muted_until
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
    if until is not None and not now < until < ONCE_WELL:
        raise ConfigurationError(f"{until:%Y-%m-%d %H:%M} is no time to come")
    if len(note) > WORD_CHARACTERS_MAX:
        raise ConfigurationError(f"a note has at most {WORD_CHARACTERS_MAX} characters")
    values = {"muted_at": now, "muted_until": until or ONCE_WELL, "mute_note": note}
    records.change(SourceRow, [row.source_id], values, {"state": "active"})


def unmute(records: Records, row: SourceRow) -> None:
    """Mute a source no more; one that is not muted stays as it is."""
    records.change(SourceRow, [row.source_id], UNMUTED)
