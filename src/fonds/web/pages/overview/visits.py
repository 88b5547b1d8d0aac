"""What came in since somebody looked last: a day the address says, or a cookie that holds nothing else."""

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


def last_visit(request: Request) -> date | None:
    """The day in UTC the cookie says; None without one, and for what is no day."""
    try:
        return date.fromisoformat(request.cookies.get(COOKIE, ""))
    except ValueError:
        return None


def note_visit(request: Request, answer: Response, today: date) -> None:
    """Have the browser keep the day, where it is not the one it keeps."""
    if last_visit(request) != today:
        answer.set_cookie(
            COOKIE,
            today.isoformat(),
            max_age=COOKIE_S,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )


def came_since(
    records: Records, since: date | None, today: date, pipelines: Sequence[str]
) -> Bar | None:
    """What came into these pipelines from this day until today, and what became of it; None without a day,
    and for a later one than today."""
    if since is None or since > today:
        return None
    found = tally_by_day(records, Days(since, today), pipelines)
    return bar_of(since, today, found, None)
