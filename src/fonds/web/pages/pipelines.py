"""The pipelines at work: what waits for each step and since when, and how the steps hang together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from fonds.config import Settings
from fonds.failures.accounting.workload import (
    NO_WORKERS,
    EndedCount,
    StepBacklog,
    StepPace,
    StepWorkers,
    compute_paces,
    count_ended_last_hour,
    list_backlogs,
    summarize_workers,
)
from fonds.model.disposition import Verdict
from fonds.model.encoding import pluralize
from fonds.pipelines.diagram import draw_svg, format_tree
from fonds.ports import Stores
from fonds.web.access.roles import READS
from fonds.web.html.charts import draw_sparkline
from fonds.web.html.rendering import InForce, OpenStores, build_url, render_page
from fonds.web.serving.csv_tables import add_csv_route
from fonds.wiring.pipelines import list_used_readers
from fonds.wiring.stores import get_pipeline

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step and the topic it reads. `ready`, `delayed` and `in_hand` are the queue's numbers, exact on one
    machine and estimates on brokers; `open` the ledger's of what is promised and has not ended, `oldest_at`
    since when (None: nothing is open). `ended` counts all that ever ended there by verdict, and `quarantined`
    is one of these: a queue cannot leave out what is hidden from a reader. `workers` is who works it, by the
    signs of life they write. Links open the rows behind. `came_by_hour` and `ended_by_hour` are the last 24
    hours of the clock in UTC, the oldest first and the one that runs last. `minutes_left` is what waits at
    the pace of this hour and the one before, None where nothing ended in these; `is_growing`: more came in
    them than ended.
    """

    step: str
    topic: str
    ready: int
    delayed: int
    in_hand: int
    quarantined: int
    open: int
    oldest_at: datetime | None
    ended: Mapping[str, int]
    workers: StepWorkers
    failures_href: str
    came_by_hour: Sequence[int]
    ended_by_hour: Sequence[int]
    minutes_left: int | None
    is_growing: bool

    @property
    def waiting(self) -> int:
        """Messages that are not over, by the queue."""
        return self.ready + self.delayed + self.in_hand

    @property
    def outlook(self) -> str:
        """When what waits will have ended, in words."""
        if not self.waiting:
            return "nothing waits"
        if self.minutes_left is None:
            return "no estimate: nothing ended lately"
        if self.is_growing:
            return "growing: more comes than ends"
        return f"done in {self._format_time_left(self.minutes_left)}"

    @staticmethod
    def _format_time_left(minutes: int) -> str:
        hours = round(minutes / 60)
        if minutes < 1:
            return "less than a minute"
        if minutes < 120:
            return f"about {pluralize(minutes, 'minute')}"
        return f"about {hours} hours" if hours < 48 else f"about {round(hours / 24)} days"


@dataclass(frozen=True, slots=True)
class PipelineLine:
    """A pipeline: its steps in their order, and how many entries ended in the last hour: `ended_last_hour`,
    or more where `ended_more`. `ended_last_at` None: nothing has ended yet. `seen` is the newest sign of life
    of a process that works on it, None where none does."""

    pipeline: str
    about: str
    chosen: bool
    steps: Sequence[StepLine]
    ended_last_hour: int
    ended_more: bool
    ended_last_at: datetime | None
    seen: datetime | None
    drawn: str


@dataclass(frozen=True, slots=True)
class PipelinesPage:
    """The pipelines anything entered, and the home's own."""

    answer: str
    waiting: int
    pipelines: Sequence[PipelineLine]
    as_of: datetime


def _build_step_line(
    pipeline: str, backlog: StepBacklog, workers: StepWorkers, pace: StepPace
) -> StepLine:
    depth = backlog.depth
    left = pace.estimate_minutes_left(depth.ready + depth.delayed + depth.in_hand)
    return StepLine(
        step=backlog.step,
        topic=backlog.topic,
        ready=backlog.depth.ready,
        delayed=backlog.depth.delayed,
        in_hand=backlog.depth.in_hand,
        quarantined=backlog.ended[str(Verdict.QUARANTINED)],
        open=backlog.open_count,
        oldest_at=backlog.oldest_at,
        ended=backlog.ended,
        workers=workers,
        failures_href=build_url("/failures", pipeline=pipeline, step=backlog.step),
        came_by_hour=pace.arrived,
        ended_by_hour=pace.ended,
        minutes_left=None if left is None else round(left),
        is_growing=pace.is_growing,
    )


def build_pipelines_page(stores: Stores, settings: Settings, now: datetime) -> PipelinesPage:
    """What waits in each pipeline; `now` is when."""
    lines = []
    for name, readers in list_used_readers(stores, settings).items():
        at_work = summarize_workers(stores.records, name, now)
        pace = compute_paces(stores.records, name, now)
        steps = [
            _build_step_line(
                name, one, at_work.get(one.step, NO_WORKERS), pace.get(one.step, StepPace())
            )
            for one in list_backlogs(stores.records, stores.queue, name, readers)
        ]
        ended: EndedCount = count_ended_last_hour(stores.records, name, now)
        drawn = get_pipeline(name, settings)
        lines.append(
            PipelineLine(
                pipeline=name,
                about=drawn.about,
                chosen=name == settings.pipeline,
                steps=steps,
                ended_last_hour=ended.count,
                ended_more=ended.is_lower_bound,
                ended_last_at=ended.last_at,
                seen=max((one.seen for one in at_work.values() if one.seen), default=None),
                drawn=format_tree(drawn),
            )
        )
    total = sum(step.ready + step.delayed + step.in_hand for line in lines for step in line.steps)
    return PipelinesPage(_build_heading(total, lines), total, lines, now)


def _build_heading(total: int, lines: Sequence[PipelineLine]) -> str:
    if not total:
        return "Nothing waits"
    held = sum(step.in_hand for line in lines for step in line.steps)
    at_work = "nobody has any of them in hand" if not held else f"{held:,} are in somebody's hand"
    return f"{pluralize(total, 'message')} {'waits' if total == 1 else 'wait'}, {at_work}"


@router.get("/pipeline", include_in_schema=False)
def pipelines_html(
    request: Request,
    stores: OpenStores,
    settings: InForce,
    refresh: Annotated[int | None, Query(ge=5, le=600)] = None,
) -> HTMLResponse:
    """What waits, and the pipelines as pictures; every `refresh` seconds anew, where that is asked for."""
    found = build_pipelines_page(stores, settings, datetime.now(UTC))
    # The picture is made of names in the code alone.
    pictures = {
        one.pipeline: Markup(draw_svg(get_pipeline(one.pipeline, settings)))  # noqa: S704
        for one in found.pipelines
    }
    return render_page(
        request,
        "pipeline.html",
        heading=found.answer,
        found=found,
        pictures=pictures,
        refresh=refresh,
        sparks=draw_sparkline,
    )


@add_csv_route(
    router, "/pipeline", lambda found: [step for one in found.pipelines for step in one.steps]
)
@router.get("/pipeline.json", include_in_schema=False)
@router.get("/api/pipeline", summary="What waits for each step of each pipeline")
def pipelines_json(stores: OpenStores, settings: InForce) -> PipelinesPage:
    """Each pipeline in use with its steps: ready, delayed and in hand by the queue, open, ended and
    quarantined by the ledger."""
    return build_pipelines_page(stores, settings, datetime.now(UTC))
