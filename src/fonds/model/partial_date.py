"""Dates as papers give them (a day, a month or a year), and days as people enter them."""

from __future__ import annotations

from datetime import date


def parse_first_day(published: object) -> date | None:
    """The day, or the first day of the month or year; None for anything else."""
    parts = str(published or "").split("-")
    try:
        return date(*map(int, (*parts, "1", "1")[:3]))
    except ValueError:
        return None


def entered_day(value: object) -> object:
    """Return the day of a form's text YYYY-MM-DD, and None for blank text; other values stay as they are.

    Raises ValueError for any other text.
    """
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip()) if value.strip() else None
        except ValueError:
            raise ValueError("this is not a day; write it as 2024-05-31") from None
    return value
