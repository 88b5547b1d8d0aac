"""The overview: what came in, and what became of all of it, in numbers that add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from fonds.library.accounting import (
    Tally,
    derivative_counts,
    files_by_type,
    newest_input,
    step_failures,
    tally,
)
from fonds.model.numbers import how_many
from fonds.ports import Records, Stores
from fonds.web.access.declared import READS
from fonds.web.charts import meter, share
from fonds.web.pages.failures.listing import Failure, failure
from fonds.web.pages.overview.days import Bar, DaysForm, DaysShown, days_chart, days_shown, windows
from fonds.web.pages.overview.outcomes import Outcome, outcomes
from fonds.web.pages.overview.visits import came_since, last_visit, note_visit
from fonds.web.rendering import OpenStores, link, page

ATTENTION_MAX = 5
BEGIN_COMMANDS = (
    ("Take something in: a WARC, a folder, a ZIP, a CDX", "fonds ingest PATH …"),
    ("See what became of it", "fonds status"),
    ("Find what it says", "fonds search WORDS"),
)

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class FileType:
    """How many files of one type are kept."""

    mimetype: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class DerivativeCount:
    """How many files have a derivative of one kind, by its status, the most frequent first."""

    kind: str
    title: str
    count: int
    by_status: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole intake. `unaccounted` is 0 when received = the sum of the outcomes.

    `newest_input_at` is None when nothing ever came in. `by_day` is what came in day by day, `since` what
    came in since the day in the request, None without one.
    """

    answer: str
    received: int
    outcomes: Sequence[Outcome]
    unaccounted: int
    attention: Sequence[Failure]
    attention_groups_total: int
    file_types: Sequence[FileType]
    files_total: int
    derivatives: Sequence[DerivativeCount]
    searchable: int
    newest_input_at: datetime | None
    by_day: DaysShown
    since: Bar | None
    as_of: datetime


def overview(stores: Stores, form: DaysForm, now: datetime) -> Overview:
    """Count everything as of `now`.

    Raises HTTPException 400 for a pipeline there is not.
    """
    records = stores.records
    found = tally(records)
    groups = step_failures(records)
    all_outcomes = outcomes(found)
    types = _file_types(records)
    by_day = days_shown(records, form, found.received, now)
    return Overview(
        answer=answer(found, all_outcomes),
        received=found.received,
        outcomes=all_outcomes,
        unaccounted=found.received - sum(one.count for one in all_outcomes),
        attention=[failure(group) for group in groups[:ATTENTION_MAX]],
        attention_groups_total=len(groups),
        file_types=types,
        files_total=sum(one.count for one in types),
        derivatives=[
            DerivativeCount(kind.name, kind.title, sum(counts.values()), counts)
            for kind, counts in derivative_counts(records)
        ],
        searchable=stores.index.count(),
        newest_input_at=newest_input(records),
        by_day=by_day,
        since=came_since(records, form.since, now.date(), by_day.pipelines),
        as_of=now,
    )


def _file_types(records: Records) -> list[FileType]:
    return [FileType(name, n, link("/files", type=name)) for name, n in files_by_type(records)]


def answer(found: Tally, all_outcomes: Sequence[Outcome]) -> str:
    """The state of the whole as one sentence."""
    if found.received == 0:
        return "Nothing has come in yet"
    kept, _, _, failed, flight = (one.count for one in all_outcomes)
    parts = [f"{kept:,} {'was' if kept == 1 else 'were'} kept"]
    if flight:
        parts.append(f"{flight:,} {'is' if flight == 1 else 'are'} still on the way")
    parts.append(
        f"{failed:,} {'needs' if failed == 1 else 'need'} someone" if failed else "nothing failed"
    )
    listed = (
        ", ".join(parts[:-1]) + f", and {parts[-1]}" if len(parts) > 2 else ", and ".join(parts)
    )
    return f"{how_many(found.received, 'record')} came in: {listed}"


@router.get("/", include_in_schema=False)
def overview_html(
    request: Request, stores: OpenStores, form: Annotated[DaysForm, Query()]
) -> HTMLResponse:
    """The page that adds up."""
    now = datetime.now(UTC)
    since = form.since or last_visit(request, now.date())
    found = overview(stores, form.model_copy(update={"since": since}), now)
    answered = page(
        request,
        "overview.html",
        heading=found.answer,
        found=found,
        windows=windows(form),
        days_chart=days_chart(found.by_day),
        meter=meter,
        share=share,
        begin=BEGIN_COMMANDS,
        several=len({one.pipeline for one in found.attention}) > 1,
        since_href=link("/", since=found.since.first.isoformat()) if found.since else None,
        is_asked=form.since is not None,
    )
    note_visit(request, answered, now.date())
    return answered


@router.get("/.json", include_in_schema=False)
@router.get("/api/overview", summary="What came in and what became of it")
def overview_json(stores: OpenStores, form: Annotated[DaysForm, Query()]) -> Overview:
    """Everything received = kept + set aside + refused + failed + in flight, with the reasons of each, and
    what came in day by day."""
    return overview(stores, form, datetime.now(UTC))
