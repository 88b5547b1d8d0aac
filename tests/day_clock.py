"""A clock that a test sets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass
class DayClock:
    """A clock that only moves when a test calls `go`."""

    at: datetime = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def go(self, **duration: float) -> None:
        """Move the clock by a timedelta's arguments."""
        self.at += timedelta(**duration)
