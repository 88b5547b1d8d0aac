"""What came in day by day, or week by week, and what became of it: bars, each of which opens its records."""

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
from fonds.web.pages.outcomes import FIVE, count_outcomes
from fonds.web.serving.parameters import Day
from fonds.wiring.pipelines import check_names

WINDOWS: Mapping[str, str] = MappingProxyType(
    {"7": "7 days", "30": "30 days", "90": "90 days", "365": "a year by week"}
)
WEEKS = 52


class DaysForm(BaseModel):
    """Which days, and of which pipeline."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    days: Literal["7", "30", "90", "365"] = Field(
        "90", description="How many days until today are told one by one; 365 week by week"
    )
    pipeline: str = Field("", max_length=100, description="By day only what came into this one")
    since: Day = Field(
        None, description="What came in since this day is told by itself, YYYY-MM-DD in UTC"
    )


@dataclass(frozen=True, slots=True)
class BarPart:
    """How many of a bar's records became this; `href` opens them."""

    name: str
    title: str
    tone: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class DayBar:
    """What came in from `first` to `last`, both included, in UTC: `received` is the sum of its `parts`."""

    label: str
    first: date
    last: date
    received: int
    href: str
    parts: Sequence[BarPart]


@dataclass(frozen=True, slots=True)
class DaysPage:
    """What came in over some days until today, a bar each, or a bar a week, the oldest first.

    Records are of the day they entered, with what has become of them since; what an input counted and did not
    emit is of the day the input was last read. `received` is the sum of the bars; with `before`, and `later`
    by a clock that was wrong, it is everything that ever came into `pipeline` (None: into all `pipelines`).
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
    """The bars the form asks for; `total` is how many ever came in, `now` is when.

    Raises HTTPException 400 for a pipeline there is not.
    """
    try:
        check_names(records, pipeline=form.pipeline, step="")
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None
    pipeline, today = form.pipeline or None, now.astimezone(UTC).date()
    spans = list(_iter_spans(int(form.days), today))
    first = spans[0][0]
    known = list_pipelines(records)
    chosen = [pipeline] if pipeline else known
    found = build_daily_tallies(records, DayRange(first, today), chosen)
    bars = [build_bar(begin, end, found, pipeline) for begin, end in spans]
    received = sum(one.received for one in bars)
    later = count_after(records, today, chosen)
    ever = count_entries(records, None, pipeline).received if pipeline else total
    before, after = first - timedelta(days=1), today + timedelta(days=1)
    return DaysPage(
        days=int(form.days),
        by_week=form.days == "365",
        pipeline=pipeline,
        pipelines=known,
        first=first,
        last=today,
        received=received,
        before=ever - received - later,
        before_href=build_url("/records", to=before.isoformat(), pipeline=pipeline),
        later=later,
        later_href=build_url("/records", **{"from": after.isoformat()}, pipeline=pipeline),
        bars=bars,
    )


def _iter_spans(count: int, today: date) -> Iterator[tuple[date, date]]:
    """The days of each bar; weeks begin on Monday, and this one ends today."""
    if count < 365:
        for ago in reversed(range(count)):
            yield (today - timedelta(days=ago),) * 2
        return
    monday = today - timedelta(days=today.weekday())
    for ago in reversed(range(WEEKS)):
        begin = monday - timedelta(weeks=ago)
        yield begin, min(begin + timedelta(days=6), today)


def build_bar(
    first: date, last: date, day_tallies: Mapping[date, OutcomeTally], pipeline: str | None
) -> DayBar:
    """What came in from `first` to `last`, both included, out of the tallies of days."""
    of = {"from": first.isoformat(), "to": last.isoformat(), "pipeline": pipeline}
    # Only days something came in on: of a day asked for there may be centuries until today.
    days = (
        {first} & day_tallies.keys()
        if first == last
        else {d for d in day_tallies if first <= d <= last}
    )
    tallies = (day_tallies[at] for at in days)
    counts = [
        sum(column) for column in zip([0] * len(FIVE), *map(count_outcomes, tallies), strict=True)
    ]
    parts = [
        BarPart(one.name, one.title, one.tone, count, build_url("/records", **one.asked, **of))
        for one, count in zip(FIVE, counts, strict=True)
    ]
    label = format_day(first) if first == last else f"{format_day(first)} – {format_day(last)}"
    return DayBar(label, first, last, sum(counts), build_url("/records", **of), parts)


def build_windows(form: DaysForm) -> list[tuple[str, str, bool]]:
    """(words, link, whether it is shown now) of each window."""
    return [
        (said, build_url("/", days=one, pipeline=form.pipeline) + "#days", one == form.days)
        for one, said in WINDOWS.items()
    ]


def draw_days_chart(page: DaysPage) -> Markup:
    """The bars as a picture, which says in words what it shows."""
    most = max(page.bars, key=lambda one: one.received)
    empty = sum(not one.received for one in page.bars)
    unit = "week" if page.by_week else "day"
    said = f"{pluralize(page.received, 'record')} came in. "
    if page.received:
        said += f"The most, {most.received:,}, on {most.label}. "
    said += f"Nothing came in on {pluralize(empty, unit)} of {len(page.bars)}."
    bars = [
        StackedBar(
            f"{one.label}: {', '.join(f'{p.count:,} {p.title.lower()}' for p in one.parts if p.count)}"
            if one.received
            else f"{one.label}: nothing came in",
            one.href if one.received else "",
            [(part.tone, part.count) for part in one.parts],
        )
        for one in page.bars
    ]
    return draw_stacks(
        bars, "What came in " + ("week by week" if page.by_week else "day by day"), said
    )
