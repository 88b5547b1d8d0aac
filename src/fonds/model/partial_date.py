"""Dates as papers state them (a day, a month or a year), and dates entered in forms."""

from __future__ import annotations

from datetime import date


def parse_first_day(published: object) -> date | None:
    """Return the date, or the first day of the month or year; None for anything else."""
    parts = str(published or "").split("-")
    try:
        return date(*map(int, (*parts, "1", "1")[:3]))
    except (ValueError, OverflowError):  # a number that fits no C integer
        return None


def entered_day(value: object) -> object:
    """Return the date of a form's text YYYY-MM-DD, and None for blank text.

    Other values stay unchanged. Raises ValueError for any other text.
    """
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip()) if value.strip() else None
        except ValueError:
            raise ValueError("this is not a day; write it as 2024-05-31") from None
    return value
