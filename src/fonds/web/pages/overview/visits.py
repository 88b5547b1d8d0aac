"""What came in since somebody looked last: a day the address says, or one of two a cookie keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from fastapi import Request
from starlette.responses import Response

from fonds.library.tracing.days import Days, tally_by_day
from fonds.ports import Records
from fonds.web.pages.overview.days import Bar, bar_of

COOKIE = "fonds_visit"
COOKIE_S = 365 * 24 * 3600


def last_visit(request: Request, today: date) -> date | None:
    """The last day before today, in UTC, that somebody looked with this browser; None without one."""
    return next((day for day in _days(request) if day < today), None)


def note_visit(request: Request, answer: Response, today: date) -> None:
    """Have the browser keep today and the day before it, where today is not the last it keeps."""
    days = _days(request)
    if days[:1] != [today]:
        answer.set_cookie(
            COOKIE,
            "_".join(one.isoformat() for one in [today, *days][:2]),
            max_age=COOKIE_S,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )


def _days(request: Request) -> list[date]:
    """The two last days, the later first; none for what is none."""
    try:
        return [date.fromisoformat(one) for one in request.cookies[COOKIE].split("_", 2)[:2]]
    except (KeyError, ValueError):
        return []


def came_since(
    records: Records, since: date | None, today: date, pipelines: Sequence[str]
) -> Bar | None:
    """What came into these pipelines from this day until today, and what became of it; None without a day,
    and for a later one than today."""
    if since is None or since > today:
        return None
    found = tally_by_day(records, Days(since, today), pipelines)
    return bar_of(since, today, found, None)
