"""Times and lengths of time as people read them."""

from __future__ import annotations

from datetime import datetime

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def shown_time(at: datetime) -> str:
    """A time in UTC to the second: `at 2026-11-25 21:04:05 UTC`."""
    return f"at {at:%Y-%m-%d %H:%M:%S} UTC"


def shown_seconds(seconds: float) -> str:
    """The two largest units a length of time has: `2 d 4 h`, `3 min 5 s`, `0 s`."""
    left = max(0, round(seconds))
    told: list[str] = []
    for size, unit in UNITS:
        count, left = divmod(left, size)
        if count or told:
            told.append(f"{count} {unit}" if count else "")
        if len(told) == 2:
            break
    return " ".join(one for one in told if one) or "0 s"
