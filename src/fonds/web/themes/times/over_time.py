"""Themes over time: one chart for each of the largest themes of a collection."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.collections.reading.clusters import clusters
from fonds.model.numbers import how_many
from fonds.web.access.declared import READS
from fonds.web.charts import share
from fonds.web.parameters import Day, shorten
from fonds.web.rendering import instant, link, page
from fonds.web.rest.service import TheService
from fonds.web.themes.addresses import API, collection_href, theme_href
from fonds.web.themes.asking import AT, CONF, LEVEL, Asked, asked
from fonds.web.themes.times.courses import THEMES_MAX, Course, Courses, courses
from fonds.web.themes.times.multiples import Bar, multiple
from fonds.wiring.recurring.collections import CollectionService

router = APIRouter(dependencies=[READS])


class OverTimeForm(BaseModel):
    """Which clustering of a collection, which days, and how the courses are drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conf: str = CONF
    at: int | None = AT
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
class CourseLine:
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
class OverTimePage:
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
    themes: Sequence[CourseLine]


def over_time_page(themes: CollectionService, there: Asked, form: OverTimeForm) -> OverTimePage:
    """What is asked for."""
    at, tables = there.clustering, themes.tables
    level = None
    if at is not None:
        level = clusters(tables, there.name, there.conf, at.timestamp, level=there.level, top=0)
    if at is None or level is None:
        return _nothing(there)
    looked = themes.times.of(tables, there.name, there.conf, at.timestamp, level=there.level)
    found = courses(looked, level.clusters[:THEMES_MAX], form.from_, form.to)
    return OverTimePage(
        answer=_answer(there, found),
        namespace=there.name.namespace,
        key=there.name.key,
        conf=there.conf,
        level=there.level,
        shown_at=instant(at.timestamp),
        is_served=at.is_served,
        themes_total=len(level.clusters),
        looked_at=found.looked_at,
        undated=found.undated,
        complete=looked.complete,
        periods=[PeriodLine(p.label, p.first, p.last, p.count) for p in found.periods],
        themes=[_line(there, one, found) for one in found.courses],
    )


def _nothing(there: Asked) -> OverTimePage:
    name = there.name
    answer = f"{name} was not grouped by {there.conf} yet"
    return OverTimePage(
        answer, name.namespace, name.key, there.conf, there.level, None, False, 0, 0, 0, True, (), (),
    )  # fmt: skip


def _answer(there: Asked, found: Courses) -> str:
    if not found.courses:
        return f"{there.name}: no themes"
    first, shown = found.courses[0], how_many(len(found.courses), "theme")
    if not found.periods:
        return f"{there.name}: {shown}, of which no document looked at has a date"
    over = f"{shown} from {found.periods[0].label} to {found.periods[-1].label}"
    if not first.change:
        return f"{there.name}: {over}"
    verb = "rose" if first.change > 0 else "fell"
    by = "under 0.1" if abs(first.change) < 0.1 else f"{abs(first.change):.1f}"
    label = shorten(first.theme.called, 80)
    return f"{there.name}: {over}; “{label}” {verb} most, by {by} percentage points"


def _line(there: Asked, one: Course, found: Courses) -> CourseLine:
    here = f"{theme_href(there.name, one.theme.id)}/documents"
    points = [
        Point(
            n,
            round(n / span.count, 4) if span.count else None,
            link(here, **there.params(), **{"from": span.first, "to": span.last}),
        )
        for n, span in zip(one.counts, found.periods, strict=True)
    ]
    return CourseLine(
        id=one.theme.id,
        label=one.theme.label,
        name=one.theme.name,
        href=theme_href(there.name, one.theme.id, **there.params()),
        size=one.theme.size,
        looked_at=one.looked_at,
        undated=one.undated,
        undated_href=link(here, **there.params(), undated="true"),
        change=one.change,
        points=points,
    )


def over_time_href(there: Asked, **params: Any) -> str:
    """The page of the themes of a collection over time."""
    return link(f"{collection_href(there.name)}/over-time", **params)


def _charts(found: OverTimePage, form: OverTimeForm) -> list[tuple[CourseLine, Any, float]]:
    """Each theme with its picture, and what its highest bar stands for."""
    by_share = form.measure == "share"
    every = [[_value(point, by_share) for point in one.points] for one in found.themes]
    tops = [max((value or 0.0 for value in values), default=0.0) for values in every]
    drawn = []
    for number, (one, values) in enumerate(zip(found.themes, every, strict=True)):
        most = (tops[number] if form.scale == "own" else max(tops)) or 1.0
        bars = [
            Bar(value, _said(point, span), point.href)
            for value, point, span in zip(values, one.points, found.periods, strict=True)
        ]
        said = "; ".join(bar.said for bar in bars if bar.value) or "No document of these days."
        title = f"{one.name or one.label} over time"
        drawn.append((one, multiple(number, bars, most, title, said), most))
    return drawn


def _value(point: Point, by_share: bool) -> float | None:
    return None if point.share is None else point.share if by_share else float(point.documents)


def _said(point: Point, span: PeriodLine) -> str:
    if point.share is None:
        return f"{span.label}: nothing of the collection is dated then"
    of = share(point.documents, span.documents)
    return f"{span.label}: {point.documents:,} of {how_many(span.documents, 'document')}, {of}"


@router.get("/themes/{namespace}/{key}/over-time", include_in_schema=False)
def over_time_html(
    request: Request,
    themes: TheService,
    namespace: str,
    key: str,
    form: Annotated[OverTimeForm, Query()],
) -> HTMLResponse:
    """The themes over time."""
    there = asked(themes, namespace, key, form)
    found = over_time_page(themes, there, form)
    words = form.model_dump(by_alias=True, exclude_defaults=True)
    return page(
        request,
        "over_time.html",
        heading=found.answer,
        found=found,
        form=form,
        name=there.name,
        conf=there.conf,
        params=there.params(),
        path=over_time_href(there),
        collection_href=collection_href(there.name, **there.params()),
        newest_href=over_time_href(there, conf=there.params()["conf"]),
        charts=_charts(found, form),
        measures=_choices(there, words, "measure", ("share", "documents"), form.measure),
        scales=_choices(there, words, "scale", ("same", "own"), form.scale),
        api_href=f"{API}{over_time_href(there, **words)}",
    )


def _choices(
    there: Asked, words: dict[str, Any], name: str, values: Sequence[str], chosen: str
) -> list[tuple[str, str, bool]]:
    return [(one, over_time_href(there, **{**words, name: one}), one == chosen) for one in values]


@router.get("/api/themes/{namespace}/{key}/over-time", summary="Themes over time")
def over_time_json(
    themes: TheService, namespace: str, key: str, form: Annotated[OverTimeForm, Query()]
) -> OverTimePage:
    """The twelve largest themes of a collection by period, those whose share changed most first."""
    return over_time_page(themes, asked(themes, namespace, key, form), form)
