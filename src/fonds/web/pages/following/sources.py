"""All sources that are followed: those that fail first, each with its last good poll and what it brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.model.rows import SourceRow
from fonds.ports import Records
from fonds.sources.following.days import Brought, counted
from fonds.sources.following.described import listing, states
from fonds.sources.following.rhythm import standing
from fonds.web.access.declared import READS
from fonds.web.charts import sparks
from fonds.web.rendering import OpenStores, how_many, link, page, pager
from fonds.web.serving.tables import tabled

PAGE_SIZE, PAGES_MAX = 50, 2_000
DAYS_SHOWN = 90

router = APIRouter(dependencies=[READS])


class SourcesForm(BaseModel):
    """Which sources; without a word all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: Literal["", "active", "paused", "gone"] = Field("", description="What is done with them")
    page: int = Field(1, ge=1, le=PAGES_MAX, description="The page of the list, from 1")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A source in the list. `standing` is active, silent, quiet, failing, dead, waiting, paused or gone;
    times are None before there was one, `links_a_day` before its first listing was read. `silent_since` says
    since when it lists nothing. `new_by_day` are the new links of the last 90 days, None for a day that was
    not counted."""

    source_id: str
    url: str
    title: str
    kind: str
    standing: str
    polls: int
    links: int
    links_a_day: float | None
    polled_last: datetime | None
    polled_next: datetime | None
    well_last: datetime | None
    new_last: datetime | None
    failures: int
    error: str | None
    silent_since: datetime | None
    new_by_day: Sequence[int | None]
    href: str


@dataclass(frozen=True, slots=True)
class SourcesPage:
    """One page of sources; `states` counts all of them by what is done with them."""

    answer: str
    total: int
    states: dict[str, int]
    rows: Sequence[SourceLine]


def source_line(row: SourceRow, now: datetime) -> SourceLine:
    """A source as the pages and the API show it."""
    days = counted(row, now.astimezone(UTC).date(), DAYS_SHOWN)
    return SourceLine(
        row.source_id,
        row.url,
        row.title,
        row.kind,
        str(standing(row, now)),
        row.polls,
        row.links,
        None if row.rate_day is None else round(row.rate_day, 2),
        row.last_polled,
        row.next_poll if row.state == "active" else None,
        row.last_well,
        row.last_new,
        row.failures,
        row.error,
        row.silent_since,
        [None if one.brought is Brought.UNKNOWN else one.new for one in days],
        f"/sources/{row.source_id}",
    )


def sources_page(records: Records, form: SourcesForm, now: datetime) -> SourcesPage:
    """What the form asks for."""
    there = states(records)
    total = there.get(form.state, 0) if form.state else sum(there.values())
    rows = listing(records, form.state, (form.page - 1) * PAGE_SIZE + 1, PAGE_SIZE)
    return SourcesPage(
        _answer(there, form.state), total, there, [source_line(row, now) for row in rows]
    )


def _answer(there: dict[str, int], state: str) -> str:
    total = sum(there.values())
    if not total:
        return "Nothing is followed yet"
    if state:
        return f"{how_many(there.get(state, 0), 'source')} of {total:,} {_IS[state]}"
    others = [f"{there[one]:,} {_IS[one]}" for one in ("paused", "gone") if there.get(one)]
    said = f"{how_many(there.get('active', 0), 'source')} followed"
    return ", ".join([said, *others])


_IS = {"active": "followed", "paused": "paused", "gone": "gone"}


@router.get("/sources", include_in_schema=False)
def sources_html(
    request: Request, stores: OpenStores, form: Annotated[SourcesForm, Query()]
) -> HTMLResponse:
    """What is followed and how it fares."""
    found = sources_page(stores.records, form, datetime.now(UTC))
    params = {"state": form.state}
    return page(
        request,
        "sources.html",
        heading=found.answer,
        found=found,
        chips=[("state", form.state, link("/sources"))] if form.state else [],
        sparks=sparks,
        choices=[(one, n, link("/sources", state=one)) for one, n in sorted(found.states.items())],
        pager=pager("/sources", params, found.total, form.page, PAGE_SIZE, PAGES_MAX),
    )


@tabled(router, "/sources", lambda found: found.rows)
@router.get("/sources.json", include_in_schema=False)
@router.get("/api/sources", summary="Sources that are followed")
def sources_json(stores: OpenStores, form: Annotated[SourcesForm, Query()]) -> SourcesPage:
    """Feeds, sitemaps and pages of links, 50 a page, those that failed most often first."""
    return sources_page(stores.records, form, datetime.now(UTC))
