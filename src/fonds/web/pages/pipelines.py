"""Page of active pipelines: the backlog of each step, and how the steps are connected."""

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
from fonds.web.html.rendering import CurrentSettings, OpenStores, build_url, render_page
from fonds.web.serving.csv_tables import add_csv_route
from fonds.wiring.pipelines import list_used_readers
from fonds.wiring.stores import get_pipeline

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step and the topic it reads.

    `ready`, `delayed`, `in_hand`: message counts of the queue, exact on one machine and estimates
        on brokers.
    `open`: messages the ledger expects to end here. `oldest_at`: when the oldest was promised, None
        if none is open.
    `ended`: all messages that ever ended here, by verdict. `quarantined` is one of these numbers; a
        queue cannot leave out records hidden from a reader.
    `workers`: workers of the step, by their heartbeats.
    `came_by_hour`, `ended_by_hour`: counts for the last 24 clock hours in UTC, oldest first,
        including the current one.
    `minutes_left`: time to finish the backlog at the rate of this and the previous hour, None if
        nothing ended in them.
    `is_growing`: whether more messages arrived than ended in these hours.
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
        """Return the number of messages in the queue that have not ended."""
        return self.ready + self.delayed + self.in_hand

    @property
    def outlook(self) -> str:
        """Describe when the backlog will be finished."""
        if not self.waiting:
            return "no backlog"
        if self.minutes_left is None:
            return "no estimate"
        if self.is_growing:
            return "backlog is growing"
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
    """A pipeline and its steps in order.

    `ended_last_hour`: number of entries that ended in the last hour; a lower bound if `ended_more`.
    `ended_last_at`: None if nothing has ended yet.
    `seen`: newest heartbeat of a process that works on it, None if there is none.
    """

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
    """The pipelines that anything entered, and the home's own pipeline."""

    answer: str
    waiting: int
    pipelines: Sequence[PipelineLine]
    as_of: datetime


def _build_step_line(
    pipeline: str, backlog: StepBacklog, workers: StepWorkers, pace: StepPace
) -> StepLine:
    depth = backlog.depth
    minutes_left = pace.estimate_minutes_left(depth.ready + depth.delayed + depth.in_hand)
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
        minutes_left=None if minutes_left is None else round(minutes_left),
        is_growing=pace.is_growing,
    )


def build_pipelines_page(stores: Stores, settings: Settings, now: datetime) -> PipelinesPage:
    """Build the page of all used pipelines. `now` is the current time."""
    lines = []
    for name, readers in list_used_readers(stores, settings).items():
        workers_by_step = summarize_workers(stores.records, name, now)
        pace = compute_paces(stores.records, name, now)
        steps = [
            _build_step_line(
                name,
                item,
                workers_by_step.get(item.step, NO_WORKERS),
                pace.get(item.step, StepPace()),
            )
            for item in list_backlogs(stores.records, stores.queue, name, readers)
        ]
        ended: EndedCount = count_ended_last_hour(stores.records, name, now)
        pipeline = get_pipeline(name, settings)
        lines.append(
            PipelineLine(
                pipeline=name,
                about=pipeline.about,
                chosen=name == settings.pipeline,
                steps=steps,
                ended_last_hour=ended.count,
                ended_more=ended.is_lower_bound,
                ended_last_at=ended.last_at,
                seen=max(
                    (item.seen for item in workers_by_step.values() if item.seen), default=None
                ),
                drawn=format_tree(pipeline),
            )
        )
    total = sum(step.ready + step.delayed + step.in_hand for line in lines for step in line.steps)
    return PipelinesPage(_build_heading(total, lines), total, lines, now)


def _build_heading(total: int, lines: Sequence[PipelineLine]) -> str:
    if not total:
        return "All work is done"
    n_in_hand = sum(step.in_hand for line in lines for step in line.steps)
    return f"{pluralize(total, 'message')} queued, {n_in_hand:,} in progress"


@router.get("/pipeline", include_in_schema=False)
def pipelines_html(
    request: Request,
    stores: OpenStores,
    settings: CurrentSettings,
    refresh: Annotated[int | None, Query(ge=5, le=600)] = None,
) -> HTMLResponse:
    """Show the backlogs and a diagram of each pipeline. Reload every `refresh` seconds if
    requested.
    """
    page = build_pipelines_page(stores, settings, datetime.now(UTC))
    # The diagram consists only of names in the code.
    pictures = {
        line.pipeline: Markup(draw_svg(get_pipeline(line.pipeline, settings)))  # noqa: S704
        for line in page.pipelines
    }
    return render_page(
        request,
        "pipeline.html",
        heading=page.answer,
        page=page,
        pictures=pictures,
        refresh=refresh,
        sparks=draw_sparkline,
    )


@add_csv_route(
    router,
    "/pipeline",
    lambda page: [step for pipeline in page.pipelines for step in pipeline.steps],
)
@router.get("/pipeline.json", include_in_schema=False)
@router.get("/api/pipeline", summary="Backlog of each step of each pipeline")
def pipelines_json(stores: OpenStores, settings: CurrentSettings) -> PipelinesPage:
    """List the used pipelines with their steps: ready, delayed and in hand from the queue; open,
    ended and quarantined from the ledger.
    """
    return build_pipelines_page(stores, settings, datetime.now(UTC))
