"""Chart of records by the day or week of their arrival, and by outcome. Each bar links to its
records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Literal

from fastapi import HTTPException
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field

from fonds.failures.accounting.days import (
    DayRange,
    build_daily_tallies,
    count_after,
    list_pipelines,
)
from fonds.failures.accounting.tallies import OutcomeTally, count_entries
from fonds.model.encoding import pluralize
from fonds.ports import Records
from fonds.web.html.charts import StackedBar, draw_stacks
from fonds.web.html.rendering import build_url, capitalize, format_day
from fonds.web.pages.outcomes import OUTCOME_KINDS, list_outcome_counts
from fonds.web.serving.parameters import Day
from fonds.wiring.pipeline_names import check_names

WINDOWS: Mapping[str, str] = MappingProxyType(
    {"7": "7 days", "30": "30 days", "90": "90 days", "365": "1 year"}
)
WEEKS = 52


class DaysForm(BaseModel):
    """Query parameters of the chart of records per day or week: the number of days, and the
    pipeline.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    days: Literal["7", "30", "90", "365"] = Field(
        "90", description="Number of days until today; 365 is grouped by week"
    )
    pipeline: str = Field("", max_length=100, description="Only records of this pipeline")
    since: Day = Field(
        None, description="Count records received since this day separately, YYYY-MM-DD in UTC"
    )


@dataclass(frozen=True, slots=True)
class BarPart:
    """Number of records with one outcome in one bar of the chart. `href`: address that lists those
    records.
    """

    name: str
    title: str
    tone: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class DayBar:
    """One bar of the chart: the records that arrived from day `first` to day `last`, both
    inclusive, in UTC.

    `received`: number of records, the sum of the counts in `parts`.
    """

    label: str
    first: date
    last: date
    received: int
    href: str
    parts: Sequence[BarPart]


@dataclass(frozen=True, slots=True)
class DaysPage:
    """Chart of the records that arrived in the last days, one bar per day or week, oldest first.

    A record counts for the day on which it was entered, with its current outcome. Records that an
    input only counts, without storing them, count for the day on which the input was last read.
    `received`: number of records in all bars.
    `before`: number of records that arrived before the first bar.
    `later`: number of records dated in the future, because a clock was wrong.
    `pipeline`: the pipeline that is counted; None for all `pipelines`.
    `received` + `before` + `later` is the number of all records of the pipeline.
    """

    days: int
    by_week: bool
    pipeline: str | None
    pipelines: Sequence[str]
    first: date
    last: date
    received: int
    before: int
    before_href: str
    later: int
    later_href: str
    bars: Sequence[DayBar]


def build_days(records: Records, form: DaysForm, total: int, now: datetime) -> DaysPage:
    """Build the chart of records per day or week that a form requests.

    `total`: number of records that ever arrived, in all pipelines.
    `now`: the current time.
    Raises HTTPException 400 for an unknown pipeline.
    """
    try:
        check_names(records, pipeline=form.pipeline, step="")
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None
    pipeline, today = form.pipeline or None, now.astimezone(UTC).date()
    spans = list(_iter_spans(int(form.days), today))
    first = spans[0][0]
    all_pipelines = list_pipelines(records)
    chosen_pipelines = [pipeline] if pipeline else all_pipelines
    tallies = build_daily_tallies(records, DayRange(first, today), chosen_pipelines)
    bars = [build_bar(begin, end, tallies, pipeline) for begin, end in spans]
    received_count = sum(bar.received for bar in bars)
    later = count_after(records, today, chosen_pipelines)
    all_received = count_entries(records, None, pipeline).received if pipeline else total
    previous_day, next_day = first - timedelta(days=1), today + timedelta(days=1)
    return DaysPage(
        days=int(form.days),
        by_week=form.days == "365",
        pipeline=pipeline,
        pipelines=all_pipelines,
        first=first,
        last=today,
        received=received_count,
        before=all_received - received_count - later,
        before_href=build_url("/records", to=previous_day.isoformat(), pipeline=pipeline),
        later=later,
        later_href=build_url("/records", **{"from": next_day.isoformat()}, pipeline=pipeline),
        bars=bars,
    )


def _iter_spans(count: int, today: date) -> Iterator[tuple[date, date]]:
    """Yield the first and last day of each bar of the chart.

    A bar is a day or a week. Weeks begin on Monday; the bar of the current week ends today.
    """
    if count < 365:
        for weeks_ago in reversed(range(count)):
            yield (today - timedelta(days=weeks_ago),) * 2
        return
    monday = today - timedelta(days=today.weekday())
    for weeks_ago in reversed(range(WEEKS)):
        begin = monday - timedelta(weeks=weeks_ago)
        yield begin, min(begin + timedelta(days=6), today)


def build_bar(
    first: date, last: date, day_tallies: Mapping[date, OutcomeTally], pipeline: str | None
) -> DayBar:
    """Build the bar of the records from day `first` to day `last`, both inclusive.

    `day_tallies`: numbers of records by outcome for each day.
    """
    params = {"from": first.isoformat(), "to": last.isoformat(), "pipeline": pipeline}
    # Iterate over days with arrivals only: the requested period may span centuries.
    days = (
        {first} & day_tallies.keys()
        if first == last
        else {d for d in day_tallies if first <= d <= last}
    )
    tallies = (day_tallies[day] for day in days)
    counts = [
        sum(column)
        for column in zip([0] * len(OUTCOME_KINDS), *map(list_outcome_counts, tallies), strict=True)
    ]
    parts = [
        BarPart(
            kind.name, kind.title, kind.tone, count, build_url("/records", **kind.filters, **params)
        )
        for kind, count in zip(OUTCOME_KINDS, counts, strict=True)
    ]
    label = format_day(first) if first == last else f"{format_day(first)} – {format_day(last)}"
    return DayBar(label, first, last, sum(counts), build_url("/records", **params), parts)


def build_windows(form: DaysForm) -> list[tuple[str, str, bool]]:
    """Return a link for each number of days that the chart can show: (text, URL, whether the chart
    shows it now).
    """
    return [
        (text, build_url("/", days=window, pipeline=form.pipeline) + "#days", window == form.days)
        for window, text in WINDOWS.items()
    ]


def draw_days_chart(page: DaysPage) -> Markup:
    """Draw the chart of records per day or week, with a text description."""
    busiest_bar = max(page.bars, key=lambda day_bar: day_bar.received)
    empty = sum(not bar.received for bar in page.bars)
    unit = "week" if page.by_week else "day"
    description = f"{pluralize(page.received, 'record')} received. "
    if page.received:
        description += f"Most on {busiest_bar.label}: {busiest_bar.received:,}. "
    description += f"None on {pluralize(empty, unit)} of {len(page.bars)}."
    bars = [
        StackedBar(
            f"{bar.label}: {', '.join(f'{p.count:,} {p.title.lower()}' for p in bar.parts if p.count)}"
            if bar.received
            else f"{bar.label}: no records",
            bar.href if bar.received else "",
            [(part.tone, part.count) for part in bar.parts],
        )
        for bar in page.bars
    ]
    return draw_stacks(bars, "Records by " + ("week" if page.by_week else "day"), description)
