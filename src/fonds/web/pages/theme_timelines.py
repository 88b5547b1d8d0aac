"""Themes over time: one chart for each of the largest themes of a collection."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.grouping.views.clusters import ClusterView, load_clusters
from fonds.grouping.views.timeline import ABSENT, UNDATED, DocumentSample
from fonds.model.encoding import pluralize
from fonds.web.access.roles import READS
from fonds.web.html.charts import format_share
from fonds.web.html.periods import Period, build_spans
from fonds.web.html.rendering import build_url, render_page, to_datetime
from fonds.web.pages.theme_links import API, link_to_collection, link_to_theme
from fonds.web.pages.theme_selection import (
    CONF,
    LEVEL,
    TIMESTAMP_FIELD,
    Selection,
    resolve_selection,
)
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.parameters import Day, shorten
from fonds.wiring.collections import CollectionService

# Timelines of the largest themes: number and share of documents per period.


THEMES_MAX = 12
_EPOCH = dt.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ThemeTimeline:
    """Number of documents of one theme over time.

    `counts`: number of sampled documents of the theme per period.
    `sampled_count`: number of sampled documents of the theme.
    `undated`: number of sampled documents without a date.
    `change`: share of documents in the later half of the periods minus share in the earlier half,
        in percentage points; None if a half has no documents.
    `cohesion`: mean cosine of the sampled documents to the centroid, None if none was sampled.
    """

    theme: ClusterView
    counts: Sequence[int]
    sampled_count: int
    undated: int
    change: float | None
    cohesion: float | None


@dataclass(frozen=True, slots=True)
class ThemeTimelines:
    """Timelines of several themes. Themes whose share of documents changed most come first.

    `periods`: the periods, each with the number of sampled documents dated in it, in a theme or
        unclustered.
    `sampled_count`: number of all sampled documents.
    `undated`: number of sampled documents without a date.
    """

    periods: Sequence[Period]
    courses: Sequence[ThemeTimeline]
    sampled_count: int
    undated: int


def build_timelines(
    sample: DocumentSample,
    themes: Sequence[ClusterView],
    earliest: dt.date | None = None,
    latest: dt.date | None = None,
) -> ThemeTimelines:
    """Build the timelines of these themes from day `earliest` to day `latest`; None means no
    limit.
    """
    days_by_place: dict[int, Counter[int]] = defaultdict(Counter)
    for (place, day), n in Counter(zip(sample.places, sample.days, strict=True)).items():
        if place != ABSENT:
            days_by_place[place][day] = n
    totals: Counter[int] = Counter()
    for days in days_by_place.values():
        totals.update(days)
    dates = {
        day: date for day in totals if (date := _to_date_within(day, earliest, latest)) is not None
    }
    periods = build_spans({date: totals[day] for day, date in dates.items()})
    starts = [period.first for period in periods]
    periods_by_day = {day: bisect_right(starts, date) - 1 for day, date in dates.items()}
    cohesions = _compute_cohesions(sample)
    numbers = {label: number for number, label in enumerate(sample.labels[: sample.clusters])}
    timelines = []
    for theme in themes:
        number = numbers.get(theme.label, ABSENT)
        timelines.append(
            _build_timeline(
                theme, days_by_place.get(number, {}), periods, periods_by_day, cohesions.get(number)
            )
        )
    timelines.sort(key=lambda timeline: (timeline.change is None, -abs(timeline.change or 0.0)))
    return ThemeTimelines(periods, timelines, totals.total(), totals[UNDATED])


def _compute_cohesions(sample: DocumentSample) -> dict[int, float]:
    """Return the mean score (similarity to the centroid) of the sampled documents of each cluster,
    by the cluster's number in the sample.
    """
    sums: dict[int, float] = defaultdict(float)
    for place, score in zip(sample.places, sample.scores, strict=True):
        sums[place] += score
    counts = Counter(sample.places)
    return {place: round(total / counts[place], 4) for place, total in sums.items()}


def _build_timeline(
    theme: ClusterView,
    days: Mapping[int, int],
    periods: Sequence[Period],
    periods_by_day: Mapping[int, int],
    cohesion: float | None,
) -> ThemeTimeline:
    """Build the timeline of one theme.

    `days`: number of the theme's sampled documents by day number.
    `periods_by_day`: number of the period that contains each requested day.
    """
    counts = [0] * len(periods)
    for day, n in days.items():
        if (number := periods_by_day.get(day)) is not None:
            counts[number] += n
    undated_count = days.get(UNDATED, 0)
    change = _compute_change(counts, periods)
    return ThemeTimeline(theme, counts, sum(days.values()), undated_count, change, cohesion)


def _compute_change(counts: Sequence[int], periods: Sequence[Period]) -> float | None:
    """Return the change of a theme's share of documents from the earlier to the later half of the
    periods.

    The change is in percentage points; None if a half has no documents. With an odd number of
    periods, the middle one is in the later half.
    """
    half_length = len(periods) // 2
    totals = [
        sum(period.count for period in half_periods)
        for half_periods in (periods[:half_length], periods[half_length:])
    ]
    if not all(totals):
        return None
    earlier, later = sum(counts[:half_length]) / totals[0], sum(counts[half_length:]) / totals[1]
    return round(100 * (later - earlier), 2)


def _to_date_within(day: int, earliest: dt.date | None, latest: dt.date | None) -> dt.date | None:
    date = None if day == UNDATED else to_date(day)
    if date is None or (earliest and date < earliest) or (latest and date > latest):
        return None
    return date


def to_date(day: int) -> dt.date:
    """Convert a number of days since 1 January 1970 to a date."""
    return _EPOCH + dt.timedelta(days=day)


# Bar chart of one theme over the periods shared by all charts of the page.


HEIGHT, STEP, ONE_BAR_WIDTH = 60, 10, 40
SMALLEST = 2.0


@dataclass(frozen=True, slots=True)
class ChartBar:
    """Bar of one period in the chart of a theme.

    `value`: share or number of the theme's documents; None if no document of the collection is
        dated in the period.
    `label`: description of the bar as text.
    """

    value: float | None
    label: str
    href: str


def draw_multiple(
    number: int, bars: Sequence[ChartBar], maximum: float, title: str, text: str
) -> Markup:
    """Draw the chart of one theme, stretched to the available width. `maximum` is the value of a
    bar of full height.

    Periods without any documents of the collection are hatched. `number` makes the element ids
    unique within the page.
    """
    width = STEP * len(bars) if len(bars) > 1 else ONE_BAR_WIDTH
    name = f"multiple-{number}"
    pieces = [
        Markup(
            '<svg class="multiple" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="group" '
            'aria-labelledby="{n}-title {n}-desc"><title id="{n}-title">{title}</title>'
            '<desc id="{n}-desc">{said}</desc>'
            '<pattern id="{n}-hatch" width="5" height="5" patternUnits="userSpaceOnUse">'
            '<path class="hatch" d="M0,5 L5,0"/></pattern>'
        ).format(w=width, h=HEIGHT, n=name, title=title, said=text)
    ]
    step = width if len(bars) == 1 else STEP
    pieces += [_draw_bar(name, index * step, step, bar, maximum) for index, bar in enumerate(bars)]
    pieces.append(Markup("</svg>"))
    return Markup("").join(pieces)


def _draw_bar(name: str, x: int, step: int, bar: ChartBar, maximum: float) -> Markup:
    if bar.value is None:
        return Markup(
            '<rect class="nothing" x="{}" y="0" width="{}" height="{}" fill="url(#{}-hatch)">'
            "<title>{}</title></rect>"
        ).format(x, step, HEIGHT, name, bar.label)
    if bar.value <= 0:
        return Markup("")
    height = min(HEIGHT, max(SMALLEST, HEIGHT * bar.value / maximum))
    return Markup(
        '<a href="{}" tabindex="-1"><title>{}</title>'
        '<rect class="hit" x="{}" y="0" width="{}" height="{}"/>'
        '<rect class="bar" x="{:g}" y="{:.1f}" width="{:g}" height="{:.1f}"/></a>'
    ).format(
        bar.href, bar.label, x, step, HEIGHT, x + step * 0.075, HEIGHT - height, step * 0.85, height
    )


router = APIRouter(tags=["themes"], dependencies=[READS])


class TimelinesForm(BaseModel):
    """Query parameters that select a clustering of a collection and a range of days, and how to
    draw the timelines.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    level: int = LEVEL
    from_: Day = Field(None, alias="from", description="First day, YYYY-MM-DD; empty for any")
    to: Day = Field(None, description="Last day, YYYY-MM-DD; empty for any")
    measure: Literal["share", "documents"] = Field(
        "share", description="Shares of all documents in a period, or counts"
    )
    scale: Literal["same", "own"] = Field(
        "same", description="Same scale for all themes, or one per theme"
    )


@dataclass(frozen=True, slots=True)
class PeriodLine:
    """Number of sampled documents dated from `first` to `last`, both inclusive, with or without a
    theme.
    """

    label: str
    first: dt.date
    last: dt.date
    documents: int


@dataclass(frozen=True, slots=True)
class Point:
    """Number of documents of a theme in one period.

    `share`: share of all documents of the period, 0 to 1; None if the period has no documents.
    """

    documents: int
    share: float | None
    href: str


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """A theme with one point per period.

    `name`: the name a curator gave the theme, '' if none.
    `change`: difference in share between the later and the earlier half of the periods, in
        percentage points; None if a half has no documents.
    """

    id: str
    label: str
    name: str
    href: str
    size: int
    looked_at: int
    undated: int
    undated_href: str
    change: float | None
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class TimelinesPage:
    """The twelve largest themes over time, those whose share changed most first.

    `shown_at`: time of the clustering, None if none was built.
    `looked_at`: number of sampled documents. `undated`: number of sampled documents without a date.
    `complete`: False if the collection has more documents than the sample, the first 20,000 by id.
    """

    answer: str
    namespace: str
    key: str
    conf: str
    level: int
    shown_at: dt.datetime | None
    is_served: bool
    themes_total: int
    looked_at: int
    undated: int
    complete: bool
    periods: Sequence[PeriodLine]
    themes: Sequence[TimelineLine]


def build_timelines_page(
    collections: CollectionService, selection: Selection, form: TimelinesForm
) -> TimelinesPage:
    """Build the page of the themes of a collection over time."""
    clustering, tables = selection.clustering, collections.tables
    level = None
    if clustering is not None:
        level = load_clusters(
            tables,
            selection.name,
            selection.conf,
            clustering.timestamp,
            level=selection.level,
            top=0,
        )
    if clustering is None or level is None:
        return _build_empty_page(selection)
    sample = collections.times.get(
        tables, selection.name, selection.conf, clustering.timestamp, level=selection.level
    )
    timelines = build_timelines(sample, level.clusters[:THEMES_MAX], form.from_, form.to)
    return TimelinesPage(
        answer=_build_heading(selection, timelines),
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        level=selection.level,
        shown_at=to_datetime(clustering.timestamp),
        is_served=clustering.is_served,
        themes_total=len(level.clusters),
        looked_at=timelines.sampled_count,
        undated=timelines.undated,
        complete=sample.is_complete,
        periods=[PeriodLine(p.label, p.first, p.last, p.count) for p in timelines.periods],
        themes=[_build_line(selection, timeline, timelines) for timeline in timelines.courses],
    )


def _build_empty_page(selection: Selection) -> TimelinesPage:
    name = selection.name
    answer = f"{name} has not been grouped by {selection.conf} yet"
    return TimelinesPage(
        answer, name.namespace, name.key, selection.conf, selection.level, None, False, 0, 0, 0, True, (), (),
    )  # fmt: skip


def _build_heading(selection: Selection, timelines: ThemeTimelines) -> str:
    if not timelines.courses:
        return f"{selection.name}: no themes"
    first, theme_count = timelines.courses[0], pluralize(len(timelines.courses), "theme")
    if not timelines.periods:
        return f"{selection.name}: {theme_count}, no dates"
    over = f"{theme_count} from {timelines.periods[0].label} to {timelines.periods[-1].label}"
    if not first.change:
        return f"{selection.name}: {over}"
    verb = "up" if first.change > 0 else "down"
    measure = "under 0.1" if abs(first.change) < 0.1 else f"{abs(first.change):.1f}"
    label = shorten(first.theme.display_name, 80)
    return f"{selection.name}: {over}, “{label}” {verb} {measure} points"


def _build_line(
    selection: Selection, timeline: ThemeTimeline, timelines: ThemeTimelines
) -> TimelineLine:
    documents_url = f"{link_to_theme(selection.name, timeline.theme.id)}/documents"
    points = [
        Point(
            n,
            round(n / span.count, 4) if span.count else None,
            build_url(
                documents_url, **selection.build_params(), **{"from": span.first, "to": span.last}
            ),
        )
        for n, span in zip(timeline.counts, timelines.periods, strict=True)
    ]
    return TimelineLine(
        id=timeline.theme.id,
        label=timeline.theme.label,
        name=timeline.theme.name,
        href=link_to_theme(selection.name, timeline.theme.id, **selection.build_params()),
        size=timeline.theme.size,
        looked_at=timeline.sampled_count,
        undated=timeline.undated,
        undated_href=build_url(documents_url, **selection.build_params(), undated="true"),
        change=timeline.change,
        points=points,
    )


def link_to_timelines(selection: Selection, **params: Any) -> str:
    """Return the URL of the page of a collection's themes over time."""
    return build_url(f"{link_to_collection(selection.name)}/over-time", **params)


def _build_charts(
    page: TimelinesPage, form: TimelinesForm
) -> list[tuple[TimelineLine, Any, float]]:
    """Return each theme with its chart, and with the share or number of documents at the chart's
    full height.
    """
    by_share = form.measure == "share"
    values_by_theme = [
        [_get_value(point, by_share) for point in line.points] for line in page.themes
    ]
    tops = [max((value or 0.0 for value in values), default=0.0) for values in values_by_theme]
    charts = []
    for number, (line, values) in enumerate(zip(page.themes, values_by_theme, strict=True)):
        value_max = (tops[number] if form.scale == "own" else max(tops)) or 1.0
        bars = [
            ChartBar(value, _describe_point(point, span), point.href)
            for value, point, span in zip(values, line.points, page.periods, strict=True)
        ]
        description = (
            "; ".join(bar.label for bar in bars if bar.value) or "No documents in this period."
        )
        title = f"{line.name or line.label} over time"
        charts.append((line, draw_multiple(number, bars, value_max, title, description), value_max))
    return charts


def _get_value(point: Point, by_share: bool) -> float | None:
    return None if point.share is None else point.share if by_share else float(point.documents)


def _describe_point(point: Point, span: PeriodLine) -> str:
    if point.share is None:
        return f"{span.label}: no documents in the collection"
    share = format_share(point.documents, span.documents)
    return f"{span.label}: {point.documents:,} of {pluralize(span.documents, 'document')}, {share}"


@router.get("/themes/{namespace}/{key}/over-time", include_in_schema=False)
def timelines_html(
    request: Request,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[TimelinesForm, Query()],
) -> HTMLResponse:
    """Show the themes over time."""
    selection = resolve_selection(collections, namespace, key, form)
    page = build_timelines_page(collections, selection, form)
    params = form.model_dump(by_alias=True, exclude_defaults=True)
    return render_page(
        request,
        "over_time.html",
        heading=page.answer,
        page=page,
        form=form,
        name=selection.name,
        conf=selection.conf,
        params=selection.build_params(),
        path=link_to_timelines(selection),
        collection_href=link_to_collection(selection.name, **selection.build_params()),
        newest_href=link_to_timelines(selection, conf=selection.build_params()["conf"]),
        charts=_build_charts(page, form),
        measures=_build_choices(selection, params, "measure", ("share", "documents"), form.measure),
        scales=_build_choices(selection, params, "scale", ("same", "own"), form.scale),
        api_href=f"{API}{link_to_timelines(selection, **params)}",
    )


def _build_choices(
    selection: Selection,
    words: dict[str, Any],
    name: str,
    values: Sequence[str],
    selected_value: str,
) -> list[tuple[str, str, bool]]:
    return [
        (value, link_to_timelines(selection, **{**words, name: value}), value == selected_value)
        for value in values
    ]


@router.get(
    "/api/themes/{namespace}/{key}/over-time",
    summary="Themes over time",
    operation_id="get_theme_timelines",
)
def timelines_json(
    collections: TheService, namespace: str, key: str, form: Annotated[TimelinesForm, Query()]
) -> TimelinesPage:
    """Return the number of documents per period of the twelve largest themes of a collection.

    The themes whose share of the documents changed most come first.
    """
    return build_timelines_page(
        collections, resolve_selection(collections, namespace, key, form), form
    )
