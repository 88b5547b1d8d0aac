"""Times and durations as texts for people."""

from __future__ import annotations

from datetime import datetime

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def format_time(moment: datetime) -> str:
    """Return a time in UTC to the second, such as `at 2026-11-25 21:04:05 UTC`."""
    return f"at {moment:%Y-%m-%d %H:%M:%S} UTC"


def format_duration(seconds: float) -> str:
    """Return a duration in its two largest units, such as `2 d 4 h`, `3 min 5 s` or `0 s`."""
    remaining_s = max(0, round(seconds))
    parts: list[str] = []
    for size, unit in UNITS:
        count, remaining_s = divmod(remaining_s, size)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part) or "0 s"
