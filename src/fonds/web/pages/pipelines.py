"""Page of the pipelines in use: the backlog of each step, and a diagram of the steps."""

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
from fonds.wiring.flavours import get_pipeline
from fonds.wiring.pipeline_names import list_used_readers

router = APIRouter(tags=["pipelines"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step of a pipeline, with the topic from which the step reads messages.

    `ready`, `delayed`, `in_hand`: numbers of messages in the queue that are ready, wait for a
        delay, or are leased by a worker. Exact if the queue is on one machine, estimates on
        brokers.
    `open`: number of messages that were sent to the step and have no disposition in the ledger yet.
    `oldest_at`: when the oldest message counted in `open` was sent, None if there is none.
    `ended`: number of all messages that ever ended at the step, by verdict.
    `quarantined`: number of quarantined messages, from `ended`, because the number in the queue
        would include messages about files that a reader may not see.
    `workers`: worker processes of the step, counted by their heartbeats.
    `came_by_hour`, `ended_by_hour`: messages that arrived and ended in each of the last 24 clock
        hours (UTC), oldest hour first, including the current hour.
    `minutes_left`: minutes until the backlog is finished at the rate of this and the previous hour;
        None if no message ended in those hours.
    `is_growing`: whether more messages arrived than ended in this and the previous hour.
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
        """Return the number of messages of the step in its queue: ready, delayed, or leased by a
        worker.
        """
        return self.ready + self.delayed + self.in_hand

    @property
    def outlook(self) -> str:
        """Describe in a few words when the backlog of the step will be finished."""
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
    """One pipeline, with its steps in order.

    `ended_last_hour`: number of entries that ended in the last hour.
    `ended_more`: whether `ended_last_hour` is a lower bound, because counting stops at 250,000.
    `ended_last_at`: when the last entry ended, None if none ended yet.
    `seen`: newest heartbeat of a process that works on the pipeline, None if there is none.
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
    """Content of the page of pipelines: every pipeline that ever received an entry, and the
    configured pipeline of the library.
    """

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
    """Build the page of the pipelines in use. `now` is the current time."""
    lines = []
    for name, readers in list_used_readers(stores.records, stores.queue, settings).items():
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
        ended_count: EndedCount = count_ended_last_hour(stores.records, name, now)
        pipeline = get_pipeline(name, settings)
        lines.append(
            PipelineLine(
                pipeline=name,
                about=pipeline.about,
                chosen=name == settings.pipeline,
                steps=steps,
                ended_last_hour=ended_count.count,
                ended_more=ended_count.is_lower_bound,
                ended_last_at=ended_count.last_at,
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
@router.get(
    "/api/pipeline", summary="Backlog of each step of each pipeline", operation_id="list_pipelines"
)
def pipelines_json(stores: OpenStores, settings: CurrentSettings) -> PipelinesPage:
    """List the used pipelines with their steps: ready, delayed and in hand from the queue; open,
    ended and quarantined from the ledger.
    """
    return build_pipelines_page(stores, settings, datetime.now(UTC))
