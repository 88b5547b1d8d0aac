"""Parsing of dates that papers state as a day, month or year, and of dates entered in forms."""

from __future__ import annotations

from datetime import date


def parse_first_day(partial_date: object) -> date | None:
    """Parse `2011-03-28`, `2011-03` or `2011` to a date; return None for any other value.

    A month or year becomes its first day.
    """
    parts = str(partial_date or "").split("-")
    try:
        return date(*map(int, (*parts, "1", "1")[:3]))
    except (ValueError, OverflowError):  # a number that fits no C integer
        return None


def entered_day(value: object) -> object:
    """Parse the text YYYY-MM-DD from a form field to a date; return None for blank text.

    A value that is not a text is returned unchanged. Raises ValueError for any other text.
    """
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip()) if value.strip() else None
        except ValueError:
            raise ValueError("this is not a date; write it as 2024-05-31") from None
    return value
