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

from fonds.library.accounting import Tally, tally
from fonds.library.tracing.days import Days, later_than, pipelines_counted, tally_by_day
from fonds.model.numbers import how_many
from fonds.ports import Records
from fonds.web.pages.overview.bars import Stack, stacks
from fonds.web.pages.overview.outcomes import FIVE, five_counts
from fonds.web.parameters import Day
from fonds.web.rendering import day, link, sentence
from fonds.wiring.known import check_names

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
class Part:
    """How many of a bar's records became this; `href` opens them."""

    name: str
    title: str
    tone: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Bar:
    """What came in from `first` to `last`, both included, in UTC: `received` is the sum of its `parts`."""

    label: str
    first: date
    last: date
    received: int
    href: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class DaysShown:
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
    bars: Sequence[Bar]


def days_shown(records: Records, form: DaysForm, total: int, now: datetime) -> DaysShown:
    """The bars the form asks for; `total` is how many ever came in, `now` is when.

    Raises HTTPException 400 for a pipeline there is not.
    """
    try:
        check_names(records, pipeline=form.pipeline, step="")
    except ValueError as error:
        raise HTTPException(400, sentence(str(error))) from None
    pipeline, today = form.pipeline or None, now.astimezone(UTC).date()
    spans = list(_spans(int(form.days), today))
    first = spans[0][0]
    known = pipelines_counted(records)
    chosen = [pipeline] if pipeline else known
    found = tally_by_day(records, Days(first, today), chosen)
    bars = [bar_of(begin, end, found, pipeline) for begin, end in spans]
    received = sum(one.received for one in bars)
    later = later_than(records, today, chosen)
    ever = tally(records, None, pipeline).received if pipeline else total
    before, after = first - timedelta(days=1), today + timedelta(days=1)
    return DaysShown(
        days=int(form.days),
        by_week=form.days == "365",
        pipeline=pipeline,
        pipelines=known,
        first=first,
        last=today,
        received=received,
        before=ever - received - later,
        before_href=link("/records", to=before.isoformat(), pipeline=pipeline),
        later=later,
        later_href=link("/records", **{"from": after.isoformat()}, pipeline=pipeline),
        bars=bars,
    )


def _spans(count: int, today: date) -> Iterator[tuple[date, date]]:
    """The days of each bar; weeks begin on Monday, and this one ends today."""
    if count < 365:
        for ago in reversed(range(count)):
            yield (today - timedelta(days=ago),) * 2
        return
    monday = today - timedelta(days=today.weekday())
    for ago in reversed(range(WEEKS)):
        begin = monday - timedelta(weeks=ago)
        yield begin, min(begin + timedelta(days=6), today)


def bar_of(first: date, last: date, found: Mapping[date, Tally], pipeline: str | None) -> Bar:
    """What came in from `first` to `last`, both included, out of the tallies of days."""
    of = {"from": first.isoformat(), "to": last.isoformat(), "pipeline": pipeline}
    # Only days something came in on: of a day asked for there may be centuries until today.
    days = {first} & found.keys() if first == last else {d for d in found if first <= d <= last}
    tallies = (found[at] for at in days)
    counts = [
        sum(column) for column in zip([0] * len(FIVE), *map(five_counts, tallies), strict=True)
    ]
    parts = [
        Part(one.name, one.title, one.tone, count, link("/records", **one.asked, **of))
        for one, count in zip(FIVE, counts, strict=True)
    ]
    label = day(first) if first == last else f"{day(first)} – {day(last)}"
    return Bar(label, first, last, sum(counts), link("/records", **of), parts)


def windows(form: DaysForm) -> list[tuple[str, str, bool]]:
    """(words, link, whether it is shown now) of each window."""
    return [
        (said, link("/", days=one, pipeline=form.pipeline) + "#days", one == form.days)
        for one, said in WINDOWS.items()
    ]


def days_chart(found: DaysShown) -> Markup:
    """The bars as a picture, which says in words what it shows."""
    most = max(found.bars, key=lambda one: one.received)
    empty = sum(not one.received for one in found.bars)
    unit = "week" if found.by_week else "day"
    said = f"{how_many(found.received, 'record')} came in. "
    if found.received:
        said += f"The most, {most.received:,}, on {most.label}. "
    said += f"Nothing came in on {how_many(empty, unit)} of {len(found.bars)}."
    bars = [
        Stack(
            f"{one.label}: {', '.join(f'{p.count:,} {p.title.lower()}' for p in one.parts if p.count)}"
            if one.received
            else f"{one.label}: nothing came in",
            one.href if one.received else "",
            [(part.tone, part.count) for part in one.parts],
        )
        for one in found.bars
    ]
    return stacks(bars, "What came in " + ("week by week" if found.by_week else "day by day"), said)
