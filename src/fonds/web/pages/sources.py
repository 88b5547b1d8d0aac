"""Page of all followed sources, failing ones first, each with its last successful poll and its
links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.following.daily_counts import DayOutcome, count_days
from fonds.following.funnel import Funnel, LinkEnding, count_link_endings
from fonds.following.health import SourceHealth
from fonds.following.source_list import SourceCounts, SourceQuery, count_sources, list_sources
from fonds.following.source_summary import SourceSummary, build_source_summary
from fonds.model.encoding import pluralize
from fonds.model.extension import extend
from fonds.model.rows import SourceRow
from fonds.pipelines.flavours.registry import PIPELINES, list_stages
from fonds.ports import Records
from fonds.web.access.roles import READS
from fonds.web.html.charts import draw_sparkline, format_share
from fonds.web.html.rendering import (
    OpenStores,
    build_pager,
    build_url,
    capitalize,
    format_day,
    render_page,
)
from fonds.web.serving.csv_tables import add_csv_route

PAGE_SIZE, PAGES_MAX = 50, 2_000
CHART_DAYS = 90

router = APIRouter(tags=["sources"], dependencies=[READS])


class SourcesForm(BaseModel):
    """Query parameters that filter the followed sources. Without parameters, all sources are
    listed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: Literal["", "active", "paused", "gone"] = Field("", description="State")
    health: SourceHealth | Literal[""] = Field("", description="Health")
    since: date | None = Field(
        None, description="With `health` dead, failing or silent: since this day in UTC"
    )
    page: int = Field(1, ge=1, le=PAGES_MAX, description="Page number, from 1")

    def build_query(self) -> SourceQuery:
        """Build the query for followed sources from the filters of the page."""
        chosen_health = SourceHealth(self.health) if self.health else None
        since = datetime.combine(self.since, time.min, UTC) if self.since else None
        return SourceQuery(self.state, chosen_health, since)

    def build_params(self) -> dict[str, Any]:
        """Return all query parameters of the list of sources except the page number, for links."""
        return self.model_dump(exclude={"page"}, mode="json")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine(SourceSummary):
    """One followed source in the list of sources.

    `new_by_day`: new links on each of the last 90 days, None for a day that was not counted.
    `href`: address of the page of the source.
    """

    new_by_day: Sequence[int | None]
    href: str


@dataclass(frozen=True, slots=True)
class FunnelStage:
    """Number of links of a source that reached one stage: found, received, fetched or stored.

    `href`: address of the list of those links, '' if the source's pipeline has no stages.
    """

    word: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class SourcesPage:
    """One page of the list of followed sources.

    `states`: number of all sources by state: active, paused or gone.
    `health_counts`: number of all sources by health, those that need attention first.
    """

    answer: str
    total: int
    states: Mapping[str, int]
    health_counts: Mapping[str, int]
    rows: Sequence[SourceLine]


def build_source_lines(
    records: Records, rows: Sequence[SourceRow], now: datetime
) -> list[SourceLine]:
    """Build the lines of the list of sources, with a constant number of database queries."""
    endings = count_link_endings(records, rows, [*PIPELINES])
    return [build_source_line(row, now, endings[row.source_id]) for row in rows]


def build_source_line(row: SourceRow, now: datetime, endings: Sequence[LinkEnding]) -> SourceLine:
    """Build the line of a source from its row and from the numbers of its links by how they
    ended.
    """
    days = count_days(row, now.astimezone(UTC).date(), CHART_DAYS)
    return extend(
        SourceLine,
        build_source_summary(row, now, endings, list_stages(row.pipeline)),
        new_by_day=[
            None if source_day.brought is DayOutcome.UNKNOWN else source_day.new
            for source_day in days
        ],
        href=f"/sources/{row.source_id}",
    )


def build_funnel_stages(source_id: str, pipeline: str, funnel: Funnel) -> list[FunnelStage]:
    """Return the number of links of a source at each stage, from found to stored, each with the
    address of the list of those links.
    """
    links = f"/sources/{source_id}/links"
    first = next(iter(list_stages(pipeline)), None)
    return [
        FunnelStage("found", funnel.announced, f"/sources/{source_id}#ended"),
        FunnelStage("received", funnel.entered, links),
        FunnelStage("fetched", funnel.fetched, build_url(links, beyond=first) if first else ""),
        FunnelStage("stored", funnel.kept, build_url(links, outcome="done")),
    ]


def format_coverage(funnel: Funnel) -> str:
    """Return the share of announced links of a source that was stored, as text."""
    return format_share(funnel.kept, funnel.announced)


def build_sources_page(records: Records, form: SourcesForm, now: datetime) -> SourcesPage:
    """Build the requested page of followed sources. Raises HTTPException 400 for `since` with a
    health whose beginning is not stored.
    """
    counts, first = count_sources(records, now), (form.page - 1) * PAGE_SIZE + 1
    try:
        total, rows = list_sources(records, form.build_query(), counts, now, first, PAGE_SIZE)
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None
    return SourcesPage(
        _build_heading(counts, form, total),
        total,
        counts.states,
        {str(source_health): count for source_health, count in counts.health_counts.items()},
        build_source_lines(records, rows, now),
    )


def _build_heading(counts: SourceCounts, form: SourcesForm, total: int) -> str:
    if not counts.total:
        return "No sources yet"
    if form.health or form.state:
        conditions = [str(form.health)] if form.health else []
        conditions += [_STATE_WORDS[form.state]] if form.state else []
        since = f" since {format_day(form.since)}" if form.since else ""
        return f"{pluralize(total, 'source')} of {counts.total:,} {' and '.join(conditions)}{since}"
    state_texts = [
        f"{counts.states[state]:,} {_STATE_WORDS[state]}"
        for state in ("paused", "gone")
        if counts.states.get(state)
    ]
    heading = ", ".join(
        [f"{pluralize(counts.states.get('active', 0), 'source')} followed", *state_texts]
    )
    n_attention = counts.attention_count
    parts = (
        [f"{n_attention:,} {'needs' if n_attention == 1 else 'need'} attention"]
        if n_attention
        else []
    )
    n_muted = counts.health_counts.get(SourceHealth.MUTED, 0)
    parts += [f"{n_muted:,} muted"] if n_muted else []
    return heading + (f": {', '.join(parts)}" if parts else "")


_STATE_WORDS = {"active": "followed", "paused": "paused", "gone": "gone"}


@router.get("/sources", include_in_schema=False)
def sources_html(
    request: Request, stores: OpenStores, form: Annotated[SourcesForm, Query()]
) -> HTMLResponse:
    """Show the followed sources and their health."""
    page = build_sources_page(stores.records, form, datetime.now(UTC))
    params = form.build_params()
    return render_page(
        request,
        "sources.html",
        heading=page.answer,
        page=page,
        chips=[
            (n, v, build_url("/sources", **_drop_filter(params, n))) for n, v in params.items() if v
        ],
        sparks=draw_sparkline,
        coverage=format_coverage,
        funnel_stages=build_funnel_stages,
        choices=[
            (health, n, build_url("/sources", health=health))
            for health, n in page.health_counts.items()
        ],
        chosen=form.health,
        pager=build_pager("/sources", params, page.total, form.page, PAGE_SIZE, PAGES_MAX),
    )


def _drop_filter(params: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the query parameters of the list of sources without the filter `name`.

    If `name` is the filter by health, `since` is removed too, because it depends on the health.
    """
    removed_names = {name, "since"} if name == "health" else {name}
    return {**params, **dict.fromkeys(removed_names)}


@add_csv_route(router, "/sources", lambda page: page.rows)
@router.get("/sources.json", include_in_schema=False)
@router.get("/api/sources", summary="Followed sources", operation_id="list_sources")
def sources_json(stores: OpenStores, form: Annotated[SourcesForm, Query()]) -> SourcesPage:
    """List feeds, sitemaps and pages of links, 50 per page, those that failed most often first,
    muted ones last.
    """
    return build_sources_page(stores.records, form, datetime.now(UTC))
