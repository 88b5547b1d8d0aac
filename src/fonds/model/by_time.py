"""Tallies by time: what they are counted as, and the day and the hour a moment belongs to, both in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime

ENTRIES_BY_DAY = "entries_by_day"
"""Entries by the day they entered, outcome and reason."""
INPUTS_BY_DAY = "inputs_by_day"
"""What inputs counted and did not emit, by the day the input was last read, and reason."""
FAILURES_BY_DAY = "failures_by_day"
"""What is in quarantine by failure group and the day it failed."""
MESSAGES_BY_HOUR = "messages_by_hour"
"""Messages of a step by the hour, once as `CAME` when they were promised and once as `ENDED` when over."""
CAME, ENDED = "came", "ended"


def day_of(at: datetime | date | None) -> str:
    """YYYY-MM-DD; "" for None."""
    if isinstance(at, datetime):
        return at.astimezone(UTC).date().isoformat()
    return at.isoformat() if at else ""


def hour_of(at: datetime | None) -> str:
    """YYYY-MM-DD HH; "" for None."""
    return at.astimezone(UTC).isoformat(sep=" ")[:13] if at else ""
