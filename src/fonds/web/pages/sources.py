"""All sources that are followed: those that fail first, each with its last good poll and what it brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.following.backfill import (
    BackfillStatus,
    build_backfill_status,
    find_next_poll,
)
from fonds.following.daily_counts import DayOutcome, count_days
from fonds.following.funnel import Funnel, LinkEnding, build_funnel, count_link_endings
from fonds.following.health import SourceHealth, get_mute, health
from fonds.following.source_list import SourceCounts, SourceQuery, count_sources, list_sources
from fonds.model.encoding import pluralize
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

router = APIRouter(dependencies=[READS])


class SourcesForm(BaseModel):
    """Which sources; without a word all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: Literal["", "active", "paused", "gone"] = Field("", description="What is done with them")
    standing: SourceHealth | Literal[""] = Field("", description="How they stand")
    since: date | None = Field(
        None, description="With `standing` dead, failing or silent: those so since this day in UTC"
    )
    page: int = Field(1, ge=1, le=PAGES_MAX, description="The page of the list, from 1")

    def build_query(self) -> SourceQuery:
        """Which sources the form asks for."""
        stands = SourceHealth(self.standing) if self.standing else None
        since = datetime.combine(self.since, time.min, UTC) if self.since else None
        return SourceQuery(self.state, stands, since)

    def build_params(self) -> dict[str, Any]:
        """Everything but the page, for links."""
        return self.model_dump(exclude={"page"}, mode="json")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A source in the list. `standing` is active, silent, quiet, failing, dead, waiting, muted, paused or
    gone; times are None before there was one, `links_a_day` before its first listing was read.
    `failing_since` says since when its polls fail, None also where that is not known, `silent_since`
    since when it lists nothing. While it is muted `muted_since` is a time and `mute_note` says why,
    `muted_until` None until it is well again. `backfill` is the last one somebody asked for, None for
    none. `funnel` says how far its links came. `new_by_day` are the new links of the last 90 days,
    None for a day that was not counted."""

    source_id: str
    url: str
    title: str
    kind: str
    pipeline: str
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
    failing_since: datetime | None
    silent_since: datetime | None
    muted_since: datetime | None
    muted_until: datetime | None
    mute_note: str | None
    backfill: BackfillStatus | None
    funnel: Funnel
    new_by_day: Sequence[int | None]
    href: str


@dataclass(frozen=True, slots=True)
class FunnelStage:
    """How many links of a source reached a stage. `href` opens them, '' where the pipeline has no stages."""

    word: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class SourcesPage:
    """One page of sources; `states` counts all of them by what is done with them, `standings` by how they
    stand, those that need someone first."""

    answer: str
    total: int
    states: Mapping[str, int]
    standings: Mapping[str, int]
    rows: Sequence[SourceLine]


def build_source_lines(
    records: Records, rows: Sequence[SourceRow], now: datetime
) -> list[SourceLine]:
    """Sources as the pages and the API show them, in few statements however many there are."""
    ended = count_link_endings(records, rows, [*PIPELINES])
    return [build_source_line(row, now, ended[row.source_id]) for row in rows]


def build_source_line(row: SourceRow, now: datetime, endings: Sequence[LinkEnding]) -> SourceLine:
    """A source and what became of its links."""
    days = count_days(row, now.astimezone(UTC).date(), CHART_DAYS)
    found = get_mute(row, now)
    return SourceLine(
        row.source_id,
        row.url,
        row.title,
        row.kind,
        row.pipeline,
        str(health(row, now)),
        row.polls,
        row.links,
        None if row.rate_day is None else round(row.rate_day, 2),
        row.last_polled,
        find_next_poll(row),
        row.last_well,
        row.last_new,
        row.failures,
        row.error,
        row.failing_since,
        row.silent_since,
        found.since if found else None,
        found.until if found else None,
        found.note if found else None,
        build_backfill_status(row),
        build_funnel(row, endings, list_stages(row.pipeline)),
        [None if one.brought is DayOutcome.UNKNOWN else one.new for one in days],
        f"/sources/{row.source_id}",
    )


def funnel_stages(source_id: str, pipeline: str, found: Funnel) -> list[FunnelStage]:
    """Return the counts of the funnel in order, each with a link to its links."""
    links = f"/sources/{source_id}/links"
    first = next(iter(list_stages(pipeline)), None)
    return [
        FunnelStage("announced", found.announced, f"/sources/{source_id}#ended"),
        FunnelStage("entered", found.entered, links),
        FunnelStage("fetched", found.fetched, build_url(links, beyond=first) if first else ""),
        FunnelStage("kept", found.kept, build_url(links, outcome="done")),
    ]


def format_coverage(funnel: Funnel) -> str:
    """Return the share of announced links that was kept, for people."""
    return format_share(funnel.kept, funnel.announced)


def build_sources_page(records: Records, form: SourcesForm, now: datetime) -> SourcesPage:
    """What the form asks for. Raises HTTPException 400 for `since` where it is not known."""
    there, first = count_sources(records, now), (form.page - 1) * PAGE_SIZE + 1
    try:
        total, rows = list_sources(records, form.build_query(), there, now, first, PAGE_SIZE)
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None
    return SourcesPage(
        _build_heading(there, form, total),
        total,
        there.states,
        {str(one): count for one, count in there.standings.items()},
        build_source_lines(records, rows, now),
    )


def _build_heading(counts: SourceCounts, form: SourcesForm, total: int) -> str:
    if not counts.total:
        return "Nothing is followed yet"
    if form.standing or form.state:
        told = [str(form.standing)] if form.standing else []
        told += [_IS[form.state]] if form.state else []
        since = f" since {format_day(form.since)}" if form.since else ""
        return f"{pluralize(total, 'source')} of {counts.total:,} {' and '.join(told)}{since}"
    others = [
        f"{counts.states[one]:,} {_IS[one]}" for one in ("paused", "gone") if counts.states.get(one)
    ]
    said = ", ".join([f"{pluralize(counts.states.get('active', 0), 'source')} followed", *others])
    need = counts.attention_count
    parts = [f"{need:,} {'needs' if need == 1 else 'need'} someone"] if need else []
    quiet = counts.standings.get(SourceHealth.MUTED, 0)
    parts += [f"{quiet:,} {'is' if quiet == 1 else 'are'} muted"] if quiet else []
    return said + (f": {', '.join(parts)}" if parts else "")


_IS = {"active": "followed", "paused": "paused", "gone": "gone"}


@router.get("/sources", include_in_schema=False)
def sources_html(
    request: Request, stores: OpenStores, form: Annotated[SourcesForm, Query()]
) -> HTMLResponse:
    """What is followed and how it fares."""
    found = build_sources_page(stores.records, form, datetime.now(UTC))
    params = form.build_params()
    return render_page(
        request,
        "sources.html",
        heading=found.answer,
        found=found,
        chips=[
            (n, v, build_url("/sources", **_drop_filter(params, n))) for n, v in params.items() if v
        ],
        sparks=draw_sparkline,
        coverage=format_coverage,
        funnel_stages=funnel_stages,
        choices=[
            (one, n, build_url("/sources", standing=one)) for one, n in found.standings.items()
        ],
        asked=form.standing,
        pager=build_pager("/sources", params, found.total, form.page, PAGE_SIZE, PAGES_MAX),
    )


def _drop_filter(params: dict[str, Any], name: str) -> dict[str, Any]:
    """The other filters; without a standing no day, which goes with it."""
    gone = {name, "since"} if name == "standing" else {name}
    return {**params, **dict.fromkeys(gone)}


@add_csv_route(router, "/sources", lambda found: found.rows)
@router.get("/sources.json", include_in_schema=False)
@router.get("/api/sources", summary="Sources that are followed")
def sources_json(stores: OpenStores, form: Annotated[SourcesForm, Query()]) -> SourcesPage:
    """Feeds, sitemaps and pages of links, 50 a page, those that failed most often first, those that are muted
    last."""
    return build_sources_page(stores.records, form, datetime.now(UTC))
