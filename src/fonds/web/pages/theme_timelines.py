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
from fonds.web.html.charts import Period, build_spans, format_share
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

# The courses of the largest themes: how many documents each has in each period, and what share that is.


THEMES_MAX = 12
_EPOCH = dt.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ThemeTimeline:
    """A theme over the periods: `counts` of its documents in each. `sampled_count` counts those that were
    looked at, `undated` those of them without a date. `change`: by how many percentage points its share
    of the documents of the later half of the periods is above that of the earlier half, None where one of
    the halves has none. `cohesion`: the mean cosine of the documents looked at to the theme's middle,
    None without any."""

    theme: ClusterView
    counts: Sequence[int]
    sampled_count: int
    undated: int
    change: float | None
    cohesion: float | None


@dataclass(frozen=True, slots=True)
class ThemeTimelines:
    """The themes, those whose share changed most first. `periods` count the documents of the clustering that
    were looked at, in a theme or in none; `sampled_count` all of them, `undated` those without a date."""

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
    """The courses of `themes`, within the days asked for."""
    placed: dict[int, Counter[int]] = defaultdict(Counter)
    for (place, day), n in Counter(zip(sample.places, sample.days, strict=True)).items():
        if place != ABSENT:
            placed[place][day] = n
    totals: Counter[int] = Counter()
    for days in placed.values():
        totals.update(days)
    dates = {
        day: date for day in totals if (date := _to_date_within(day, earliest, latest)) is not None
    }
    periods = build_spans({date: totals[day] for day, date in dates.items()})
    starts = [one.first for one in periods]
    period_of = {day: bisect_right(starts, date) - 1 for day, date in dates.items()}
    cohesions = _compute_cohesions(sample)
    numbers = {label: at for at, label in enumerate(sample.labels[: sample.clusters])}
    found = []
    for one in themes:
        at = numbers.get(one.label, ABSENT)
        found.append(
            _build_timeline(one, placed.get(at, {}), periods, period_of, cohesions.get(at))
        )
    found.sort(key=lambda one: (one.change is None, -abs(one.change or 0.0)))
    return ThemeTimelines(periods, found, totals.total(), totals[UNDATED])


def _compute_cohesions(sample: DocumentSample) -> dict[int, float]:
    """The mean score of the documents of each place."""
    sums: dict[int, float] = defaultdict(float)
    for place, score in zip(sample.places, sample.scores, strict=True):
        sums[place] += score
    counts = Counter(sample.places)
    return {place: round(whole / counts[place], 4) for place, whole in sums.items()}


def _build_timeline(
    theme: ClusterView,
    days: Mapping[int, int],
    periods: Sequence[Period],
    periods_by_day: Mapping[int, int],
    cohesion: float | None,
) -> ThemeTimeline:
    """`periods_by_day`: the number of the period of each day within those asked for."""
    counts = [0] * len(periods)
    for day, n in days.items():
        if (number := periods_by_day.get(day)) is not None:
            counts[number] += n
    undated = days.get(UNDATED, 0)
    change = _compute_change(counts, periods)
    return ThemeTimeline(theme, counts, sum(days.values()), undated, change, cohesion)


def _compute_change(counts: Sequence[int], periods: Sequence[Period]) -> float | None:
    """In percentage points; of an odd number of periods the one in the middle is of the later half."""
    half = len(periods) // 2
    wholes = [sum(one.count for one in some) for some in (periods[:half], periods[half:])]
    if not all(wholes):
        return None
    earlier, later = sum(counts[:half]) / wholes[0], sum(counts[half:]) / wholes[1]
    return round(100 * (later - earlier), 2)


def _to_date_within(day: int, earliest: dt.date | None, latest: dt.date | None) -> dt.date | None:
    date = None if day == UNDATED else to_date(day)
    if date is None or (earliest and date < earliest) or (latest and date > latest):
        return None
    return date


def to_date(day: int) -> dt.date:
    """The date of a day since 1970."""
    return _EPOCH + dt.timedelta(days=day)


# Bar chart of one theme over the periods that all charts of the page share, as SVG.


HEIGHT, STEP, ALONE = 60, 10, 40
SMALLEST = 2.0


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A period: `value` of the bar, None where nothing of the collection is dated then; `label` in words."""

    value: float | None
    label: str
    href: str


def draw_multiple(
    number: int, bars: Sequence[ChartBar], maximum: float, title: str, text: str
) -> Markup:
    """The bars, as high as `maximum` at the most, stretched to the width there is. Periods of which
    nothing is known are hatched. `number` tells the pictures of a page apart."""
    width = STEP * len(bars) if len(bars) > 1 else ALONE
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
    pieces += [_draw_bar(name, at * step, step, bar, maximum) for at, bar in enumerate(bars)]
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


router = APIRouter(dependencies=[READS])


class TimelinesForm(BaseModel):
    """Which clustering of a collection, which days, and how the courses are drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = TIMESTAMP_FIELD
    level: int = LEVEL
    from_: Day = Field(None, alias="from", description="First day, YYYY-MM-DD; empty for any")
    to: Day = Field(None, description="Last day, YYYY-MM-DD; empty for any")
    measure: Literal["share", "documents"] = Field(
        "share", description="Shares of the documents of each period, or their counts"
    )
    scale: Literal["same", "own"] = Field(
        "same", description="One height for all themes, or each drawn to its own"
    )


@dataclass(frozen=True, slots=True)
class PeriodLine:
    """Documents dated from `first` to `last`, both inclusive: those looked at, in a theme or in none."""

    label: str
    first: dt.date
    last: dt.date
    documents: int


@dataclass(frozen=True, slots=True)
class Point:
    """Documents of a theme in a period, and their share of all of it, 0 to 1, None where there are none."""

    documents: int
    share: float | None
    href: str


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """A theme, one point for each period; `name` is what a curator called it, '' where nobody did. `change`:
    by how many percentage points its share is above that of the earlier half of the periods in the later
    half, None where one of the halves has no document."""

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
    """The largest twelve themes over time, those whose share changed most first; `shown_at` None where
    nothing was built yet.

    `looked_at` documents of the clustering were looked at, `undated` of them have no date; `complete` is
    False where there are more than were looked at, the first 20,000 by id.
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
    """What is asked for."""
    at, tables = selection.clustering, collections.tables
    level = None
    if at is not None:
        level = load_clusters(
            tables, selection.name, selection.conf, at.timestamp, level=selection.level, top=0
        )
    if at is None or level is None:
        return _build_empty_page(selection)
    looked = collections.times.get(
        tables, selection.name, selection.conf, at.timestamp, level=selection.level
    )
    found = build_timelines(looked, level.clusters[:THEMES_MAX], form.from_, form.to)
    return TimelinesPage(
        answer=_build_heading(selection, found),
        namespace=selection.name.namespace,
        key=selection.name.key,
        conf=selection.conf,
        level=selection.level,
        shown_at=to_datetime(at.timestamp),
        is_served=at.is_served,
        themes_total=len(level.clusters),
        looked_at=found.sampled_count,
        undated=found.undated,
        complete=looked.is_complete,
        periods=[PeriodLine(p.label, p.first, p.last, p.count) for p in found.periods],
        themes=[_build_line(selection, one, found) for one in found.courses],
    )


def _build_empty_page(selection: Selection) -> TimelinesPage:
    name = selection.name
    answer = f"{name} was not grouped by {selection.conf} yet"
    return TimelinesPage(
        answer, name.namespace, name.key, selection.conf, selection.level, None, False, 0, 0, 0, True, (), (),
    )  # fmt: skip


def _build_heading(selection: Selection, timelines: ThemeTimelines) -> str:
    if not timelines.courses:
        return f"{selection.name}: no themes"
    first, shown = timelines.courses[0], pluralize(len(timelines.courses), "theme")
    if not timelines.periods:
        return f"{selection.name}: {shown}, of which no document looked at has a date"
    over = f"{shown} from {timelines.periods[0].label} to {timelines.periods[-1].label}"
    if not first.change:
        return f"{selection.name}: {over}"
    verb = "rose" if first.change > 0 else "fell"
    by = "under 0.1" if abs(first.change) < 0.1 else f"{abs(first.change):.1f}"
    label = shorten(first.theme.display_name, 80)
    return f"{selection.name}: {over}; “{label}” {verb} most, by {by} percentage points"


def _build_line(
    selection: Selection, timeline: ThemeTimeline, timelines: ThemeTimelines
) -> TimelineLine:
    here = f"{link_to_theme(selection.name, timeline.theme.id)}/documents"
    points = [
        Point(
            n,
            round(n / span.count, 4) if span.count else None,
            build_url(here, **selection.build_params(), **{"from": span.first, "to": span.last}),
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
        undated_href=build_url(here, **selection.build_params(), undated="true"),
        change=timeline.change,
        points=points,
    )


def link_to_timelines(selection: Selection, **params: Any) -> str:
    """The page of the themes of a collection over time."""
    return build_url(f"{link_to_collection(selection.name)}/over-time", **params)


def _build_charts(
    page: TimelinesPage, form: TimelinesForm
) -> list[tuple[TimelineLine, Any, float]]:
    """Each theme with its picture, and what its highest bar stands for."""
    by_share = form.measure == "share"
    every = [[_get_value(point, by_share) for point in one.points] for one in page.themes]
    tops = [max((value or 0.0 for value in values), default=0.0) for values in every]
    drawn = []
    for number, (one, values) in enumerate(zip(page.themes, every, strict=True)):
        most = (tops[number] if form.scale == "own" else max(tops)) or 1.0
        bars = [
            ChartBar(value, _describe_point(point, span), point.href)
            for value, point, span in zip(values, one.points, page.periods, strict=True)
        ]
        said = "; ".join(bar.label for bar in bars if bar.value) or "No document of these days."
        title = f"{one.name or one.label} over time"
        drawn.append((one, draw_multiple(number, bars, most, title, said), most))
    return drawn


def _get_value(point: Point, by_share: bool) -> float | None:
    return None if point.share is None else point.share if by_share else float(point.documents)


def _describe_point(point: Point, span: PeriodLine) -> str:
    if point.share is None:
        return f"{span.label}: nothing of the collection is dated then"
    of = format_share(point.documents, span.documents)
    return f"{span.label}: {point.documents:,} of {pluralize(span.documents, 'document')}, {of}"


@router.get("/themes/{namespace}/{key}/over-time", include_in_schema=False)
def timelines_html(
    request: Request,
    collections: TheService,
    namespace: str,
    key: str,
    form: Annotated[TimelinesForm, Query()],
) -> HTMLResponse:
    """The themes over time."""
    there = resolve_selection(collections, namespace, key, form)
    found = build_timelines_page(collections, there, form)
    words = form.model_dump(by_alias=True, exclude_defaults=True)
    return render_page(
        request,
        "over_time.html",
        heading=found.answer,
        found=found,
        form=form,
        name=there.name,
        conf=there.conf,
        params=there.build_params(),
        path=link_to_timelines(there),
        collection_href=link_to_collection(there.name, **there.build_params()),
        newest_href=link_to_timelines(there, conf=there.build_params()["conf"]),
        charts=_build_charts(found, form),
        measures=_build_choices(there, words, "measure", ("share", "documents"), form.measure),
        scales=_build_choices(there, words, "scale", ("same", "own"), form.scale),
        api_href=f"{API}{link_to_timelines(there, **words)}",
    )


def _build_choices(
    selection: Selection, words: dict[str, Any], name: str, values: Sequence[str], selected: str
) -> list[tuple[str, str, bool]]:
    return [
        (one, link_to_timelines(selection, **{**words, name: one}), one == selected)
        for one in values
    ]


@router.get("/api/themes/{namespace}/{key}/over-time", summary="Themes over time")
def timelines_json(
    collections: TheService, namespace: str, key: str, form: Annotated[TimelinesForm, Query()]
) -> TimelinesPage:
    """The twelve largest themes of a collection by period, those whose share changed most first."""
    return build_timelines_page(
        collections, resolve_selection(collections, namespace, key, form), form
    )
