"""Dates that papers give: a day, a month or a year."""

from __future__ import annotations

from datetime import date


def first_day(published: object) -> date | None:
    """The day, or the first day of the month or year; None for anything else."""
    parts = str(published or "").split("-")
    try:
        return date(*map(int, (*parts, "1", "1")[:3]))
    except ValueError:
        return None
