"""Overview page: how many records arrived, and how many of them have each outcome. The numbers of
all outcomes add up to the number that arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from fonds.derivatives.kinds import count_derivatives
from fonds.failures.accounting.days import DayRange, build_daily_tallies
from fonds.failures.accounting.tallies import (
    OutcomeTally,
    count_entries,
    count_files_by_type,
    count_step_failures,
    find_newest_input,
)
from fonds.model.encoding import pluralize
from fonds.ports import Records, Stores
from fonds.web.access.roles import READS
from fonds.web.html.charts import draw_meter, format_share
from fonds.web.html.rendering import OpenStores, build_url, render_page
from fonds.web.pages.days import (
    DayBar,
    DaysForm,
    DaysPage,
    build_bar,
    build_days,
    build_windows,
    draw_days_chart,
)
from fonds.web.pages.failures import FailureLine, build_failure
from fonds.web.pages.outcomes import OutcomeCount, build_outcomes
from fonds.wiring.stores import get_utc_now

# Arrivals since the last visit: the day is in the address, or is one of two that a cookie stores.


COOKIE = "fonds_visit"
COOKIE_S = 365 * 24 * 3600


def find_last_visit(request: Request, today: date) -> date | None:
    """Return the last day before today, in UTC, on which the browser of a request opened the
    overview page.

    The day is read from a cookie. Return None if it is unknown.
    """
    return next((day for day in _parse_days(request) if day < today), None)


def record_visit(request: Request, answer: Response, today: date) -> None:
    """Store the days of this visit to the overview page and of the one before in a cookie, unless
    today is already stored.
    """
    days = _parse_days(request)
    if days[:1] != [today]:
        answer.set_cookie(
            COOKIE,
            "_".join(day.isoformat() for day in [today, *days][:2]),
            max_age=COOKIE_S,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )


def _parse_days(request: Request) -> list[date]:
    """Return the last two days of visits to the overview page, the later day first.

    The list is empty if the cookie is missing or invalid.
    """
    try:
        return [date.fromisoformat(text) for text in request.cookies[COOKIE].split("_", 2)[:2]]
    except (KeyError, ValueError):
        return []


def count_arrivals_since(
    records: Records, since: date | None, today: date, pipelines: Sequence[str]
) -> DayBar | None:
    """Count the records of these pipelines that arrived from day `since` until `today`, by outcome.

    Return None if `since` is None or later than `today`.
    """
    if since is None or since > today:
        return None
    tallies = build_daily_tallies(records, DayRange(since, today), pipelines)
    return build_bar(since, today, tallies, None)


ATTENTION_MAX = 5
START_COMMANDS = (
    ("Add WARC, PDF, HTML, ZIP or CDX files, or folders", "fonds ingest PATH …"),
    ("Check the result", "fonds status"),
    ("Search the texts", "fonds search WORDS"),
)

router = APIRouter(tags=["records"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class FileType:
    """Number of stored files of one media type. `href`: address that lists the files."""

    mimetype: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class DerivativeCount:
    """Number of files that have a derivative of one kind.

    `by_status`: number of files by the status of the derivative, the most frequent status first.
    """

    kind: str
    title: str
    count: int
    by_status: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Overview:
    """Content of the overview page: the number of records that arrived, and their outcomes.

    `received`: number of records that ever arrived.
    `unaccounted`: `received` minus the sum of all outcomes; 0 unless Fonds lost records.
    `newest_input_at`: when the newest input was read, None if nothing ever arrived.
    `by_day`: numbers of records per day or week, by outcome.
    `since`: number of records that arrived since the requested day, by outcome; None if no day is
        requested.
    `as_of`: time at which the records were counted.
    """

    answer: str
    received: int
    outcomes: Sequence[OutcomeCount]
    unaccounted: int
    attention: Sequence[FailureLine]
    attention_groups_total: int
    file_types: Sequence[FileType]
    files_total: int
    derivatives: Sequence[DerivativeCount]
    searchable: int
    newest_input_at: datetime | None
    by_day: DaysPage
    since: DayBar | None
    as_of: datetime


def build_overview(stores: Stores, form: DaysForm, now: datetime) -> Overview:
    """Count all records, files and derivatives, as of the time `now`.

    Raises HTTPException 400 for an unknown pipeline.
    """
    records = stores.records
    tally = count_entries(records)
    groups = count_step_failures(records)
    all_outcomes = build_outcomes(tally)
    n_documents = stores.index.count()
    types = _list_file_types(records)
    by_day = build_days(records, form, tally.received, now)
    return Overview(
        answer=build_heading(tally, n_documents),
        received=tally.received,
        outcomes=all_outcomes,
        unaccounted=tally.received - sum(item.count for item in all_outcomes),
        attention=[build_failure(group) for group in groups[:ATTENTION_MAX]],
        attention_groups_total=len(groups),
        file_types=types,
        files_total=sum(item.count for item in types),
        derivatives=[
            DerivativeCount(kind.name, kind.title, sum(counts.values()), counts)
            for kind, counts in count_derivatives(records)
        ],
        searchable=n_documents,
        newest_input_at=find_newest_input(records),
        by_day=by_day,
        since=count_arrivals_since(records, form.since, now.date(), by_day.pipelines),
        as_of=now,
    )


def _list_file_types(records: Records) -> list[FileType]:
    return [
        FileType(name, n, build_url("/files", type=name))
        for name, n in count_files_by_type(records)
    ]


def build_heading(tally: OutcomeTally, n_documents: int) -> str:
    """Return the heading of the overview page: the number of documents, or of records if there are
    no documents.
    """
    if tally.received == 0:
        return "Your library is empty"
    if n_documents == 0:
        return f"{pluralize(tally.received, 'record')} received"
    return f"{pluralize(n_documents, 'document')} in your library"


@router.get("/", include_in_schema=False)
def overview_html(
    request: Request, stores: OpenStores, form: Annotated[DaysForm, Query()]
) -> HTMLResponse:
    """Show the overview."""
    now = get_utc_now()
    since = form.since or find_last_visit(request, now.date())
    overview = build_overview(stores, form.model_copy(update={"since": since}), now)
    response = render_page(
        request,
        "overview.html",
        heading=overview.answer,
        page=overview,
        windows=build_windows(form),
        days_chart=draw_days_chart(overview.by_day),
        meter=draw_meter,
        share=format_share,
        begin=START_COMMANDS,
        several=len({failure.pipeline for failure in overview.attention}) > 1,
        since_href=build_url("/", since=overview.since.first.isoformat())
        if overview.since
        else None,
        is_asked=form.since is not None,
    )
    record_visit(request, response, now.date())
    return response


@router.get("/.json", include_in_schema=False)
@router.get(
    "/api/overview", summary="Received records and their outcomes", operation_id="get_overview"
)
def overview_json(stores: OpenStores, form: Annotated[DaysForm, Query()]) -> Overview:
    """Return received = stored + skipped + rejected + failed + in progress, with the reasons of
    each, and arrivals per day.
    """
    return build_overview(stores, form, get_utc_now())
