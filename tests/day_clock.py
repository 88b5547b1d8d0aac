"""A clock of days that a test sets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass
class DayClock:
    """Stands still until it is told to go."""

    at: datetime = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def go(self, **by: float) -> None:
        self.at += timedelta(**by)
