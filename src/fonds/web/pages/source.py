"""Page of a followed source: its polls, its new links by day, and the stages at which links were
lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from fonds.following.backfill_requests import explain_no_older_pages
from fonds.following.daily_counts import DayOutcome, SourceDay, judge_days
from fonds.following.funnel import LinkEnding, get_refused_counts
from fonds.following.source_list import SourceDetails, load_source_details
from fonds.following.source_summary import PollSummary
from fonds.model.disposition import Reason
from fonds.model.encoding import pluralize
from fonds.pipelines.flavours.registry import PIPELINES, list_stages
from fonds.ports import Records
from fonds.web.access.roles import READS
from fonds.web.html.charts import format_share
from fonds.web.html.rendering import OpenStores, build_url, format_day, render_page
from fonds.web.pages.sources import CHART_DAYS, SourceLine, build_source_line
from fonds.web.serving.csv_tables import add_csv_route

# Where the links of a source were lost, by stage of its pipeline.


LISTED, FIRST_STAGES = "listed", "before any stage"


@dataclass(frozen=True, slots=True)
class EndingLine:
    """Number of links of a source that ended with the same outcome, reason and step.

    `why`: explanation of the reason.
    `href`: address of the list of those links, '' for links that were never entered.
    """

    outcome: str
    reason: str | None
    step: str | None
    count: int
    why: str
    href: str


@dataclass(frozen=True, slots=True)
class StageLine:
    """Number of links of a source at one stage of the pipeline.

    `ended`: number of links that were lost at the stage.
    `endings`: the lost links by outcome and reason, the most frequent first.
    `left`: number of links that were not lost at this stage or an earlier one.
    """

    stage: str
    ended: int
    left: int
    endings: Sequence[EndingLine]


@dataclass(frozen=True, slots=True)
class LinkPassage:
    """Numbers of links of a source, from announced to stored.

    `announced`: number of all links that the source listed. Each link was lost at one of the
        `stages`, is still `waiting`, or was stored (`kept`).
    `coverage`: share of announced links that was stored, as text; None if no link was announced.
    """

    announced: int
    stages: Sequence[StageLine]
    waiting: int
    waiting_href: str
    kept: int
    kept_href: str
    coverage: str | None


def build_passage(details: SourceDetails) -> LinkPassage:
    """Count the links of a source that were stored, that wait, and that were lost at each stage of
    its pipeline.
    """
    row = details.source
    refused_counts = get_refused_counts(row)
    by_stage: dict[str, list[EndingLine]] = {}
    if refused_counts:
        by_stage[LISTED] = [
            EndingLine("refused", reason, None, n, _explain_reason(reason), "")
            for reason, n in sorted(refused_counts.items(), key=lambda item: (-item[1], item[0]))
        ]
    for stage in _order_stages(row.pipeline, details.endings):
        stage_endings = [
            _build_ending(row.source_id, ending)
            for ending in details.endings
            if _is_at(ending, stage)
        ]
        if stage_endings:
            by_stage[stage or FIRST_STAGES] = stage_endings
    announced_count = sum(refused_counts.values()) + details.links
    waiting, kept_count = _count_endings(details.endings)
    links = f"/sources/{row.source_id}/links"
    return LinkPassage(
        announced_count,
        _build_lines(by_stage, announced_count),
        waiting,
        build_url(links, outcome="pending"),
        kept_count,
        build_url(links, outcome="done"),
        format_share(kept_count, announced_count) if announced_count else None,
    )


def _build_lines(by_stage: Mapping[str, list[EndingLine]], announced_count: int) -> list[StageLine]:
    lines, remaining = [], announced_count
    for stage, endings in by_stage.items():
        ended_count = sum(ending.count for ending in endings)
        remaining -= ended_count
        lines.append(StageLine(stage, ended_count, remaining, endings))
    return lines


def _order_stages(pipeline: str, endings: Sequence[LinkEnding]) -> list[str | None]:
    """Return the current stages of a pipeline in order, then former stages at which links of a
    source ended.
    """
    current_stages: list[str | None] = [*list_stages(pipeline)]
    former_stages = {ending.step for ending in endings} - set(current_stages)
    return [*current_stages, *sorted(former_stages, key=lambda step: step or "")]


def _is_at(ending: LinkEnding, stage: str | None) -> bool:
    return ending.step == stage and ending.is_lost


def _count_endings(endings: Sequence[LinkEnding]) -> tuple[int, int]:
    waiting = sum(ending.count for ending in endings if ending.outcome == "pending")
    return waiting, sum(ending.count for ending in endings if ending.outcome == "done")


def _build_ending(source_id: str, ending: LinkEnding) -> EndingLine:
    href = build_url(
        f"/sources/{source_id}/links",
        outcome=ending.outcome,
        reason=ending.reason,
        step=ending.step,
    )
    explanation = _explain_reason(ending.reason) if ending.reason else ""
    return EndingLine(ending.outcome, ending.reason, ending.step, ending.count, explanation, href)


def _explain_reason(reason: str) -> str:
    return Reason(reason).explanation


# New links of a source by day as SVG: bars, the usual range, and a row of marks below.


DAY_WIDTH, GAP = 10, 1.5
HEIGHT, GROUND = 132, 118
SMALLEST = 3.0


def describe_day(source_day: SourceDay) -> str:
    """Describe as text what the polls of a source found on one day."""
    text = f"{format_day(source_day.day)}: {source_day.brought}"
    if source_day.new:
        text = f"{format_day(source_day.day)}: {pluralize(source_day.new, 'new link')}"
    if source_day.polls:
        text += f" in {pluralize(source_day.polls, 'poll')}"
    if source_day.failed and source_day.brought is not DayOutcome.FAILED:
        text += f", {source_day.failed:,} failed"
    if source_day.outside:
        text += f", {source_day.outside} the usual number"
    return text


def draw_days(source_id: str, days: Sequence[SourceDay]) -> Markup:
    """Draw the new links of a source per day, stretched to the available width.

    Marks below the baseline: crossed for a day on which all polls failed, a line for a day without
    polls, none for a day that was not counted. Links are not tab stops: the date form below opens
    the same links.
    """
    count_max = (
        max((max(source_day.new, source_day.most or 0.0) for source_day in days), default=0.0)
        or 1.0
    )
    pieces = [
        Markup(
            '<svg class="strip-days" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="group" '
            'aria-labelledby="strip-title strip-desc"><title id="strip-title">New links per day</title>'
            '<desc id="strip-desc">{said}</desc>{usual}'
        ).format(
            w=DAY_WIDTH * len(days),
            h=HEIGHT,
            said=describe_days(days),
            usual=_draw_usual(days, count_max),
        )
    ]
    for position, source_day in enumerate(days):
        inner = (
            _draw_hit(position)
            + _draw_bar(source_day, position, count_max)
            + _draw_mark(source_day, position)
        )
        href = (
            build_url(f"/sources/{source_id}/links", day=source_day.day.isoformat())
            if source_day.new
            else ""
        )
        form = '<a href="{}" tabindex="-1"><title>{}</title>{}</a>'
        if href:
            pieces.append(Markup(form).format(href, describe_day(source_day), inner))  # noqa: S704
        else:
            pieces.append(
                Markup("<g><title>{}</title>{}</g>").format(describe_day(source_day), inner)
            )
    return Markup("").join([*pieces, Markup("</svg>")])


def describe_days(days: Sequence[SourceDay]) -> str:
    """Describe the chart of new links per day in sentences."""
    counts = [
        (sum(source_day.brought is outcome for source_day in days), str(outcome))
        for outcome in DayOutcome
    ]
    text = ", ".join(
        f"{outcome} on {pluralize(count, 'day')}" for count, outcome in counts if count
    )
    outside = [source_day for source_day in days if source_day.outside]
    if outside:
        text += f"; {pluralize(len(outside), 'day')} with an unusual number of links"
    return text[:1].upper() + text[1:] + "."


def _draw_usual(days: Sequence[SourceDay], maximum: float) -> Markup:
    """Draw the range of the usual number of new links of a source, one step per day."""
    segments = [
        f"M{position * DAY_WIDTH}"
        f" {_compute_y(day.most, maximum):.1f}h{DAY_WIDTH}V{_compute_y(day.least, maximum):.1f}h-{DAY_WIDTH}z"
        for position, day in enumerate(days)
        if day.most is not None and day.least is not None
    ]
    return Markup('<path class="usual" d="{}"/>').format("".join(segments))


def _compute_y(count: float, maximum: float) -> float:
    return GROUND * (1.0 - count / maximum)


def _draw_hit(place: int) -> Markup:
    return Markup('<rect class="hit" x="{}" y="0" width="{}" height="{}"/>').format(
        place * DAY_WIDTH, DAY_WIDTH, HEIGHT
    )


def _draw_bar(day: SourceDay, place: int, maximum: float) -> Markup:
    if not day.new:
        return Markup("")
    height = max(SMALLEST, GROUND * day.new / maximum)
    return Markup(
        '<rect class="bar {tone}" x="{x:g}" y="{y:.1f}" width="{w:g}" height="{h:.1f}"/>'
    ).format(
        tone=_choose_tone(day), x=place * DAY_WIDTH + GAP / 2, y=GROUND - height,
        w=DAY_WIDTH - GAP, h=height,
    )  # fmt: skip


def _choose_tone(day: SourceDay) -> str:
    if day.brought is DayOutcome.UNKNOWN:
        return "aside"
    return "failed" if day.outside else "kept"


def _draw_mark(day: SourceDay, place: int) -> Markup:
    left, top, foot = place * DAY_WIDTH + 1, GROUND + 3, HEIGHT - 1
    right = left + DAY_WIDTH - 2
    path = {
        DayOutcome.FAILED: f"M{left} {top}L{right} {foot}M{left} {foot}L{right} {top}",
        DayOutcome.UNPOLLED: f"M{left} {(top + foot) / 2:g}H{right}",
        DayOutcome.NOTHING: f"M{(left + right) / 2:g} {top}V{foot - 5}",
    }.get(day.brought)
    if path is None:
        return Markup("")
    tone = "failed" if day.brought is DayOutcome.FAILED else "aside"
    return Markup('<path class="mark {}" d="{}"/>').format(tone, path)


SourceId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="Id of the source")]

router = APIRouter(tags=["sources"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class SourcePage:
    """Content of the page of a source: the source, its last polls (newest first), and its links.

    `passage`: numbers of the source's links by the stage at which they were lost, and of stored
        links.
    `days`: new links on each of the last 90 days, until today.
    `nothing_older`: why the source cannot have a backfill, None if a backfill is possible.
    """

    answer: str
    source: SourceLine
    nothing_older: str | None
    passage: LinkPassage
    days: Sequence[SourceDay]
    last_polls: Sequence[PollSummary]


def build_source_page(records: Records, source_id: str, now: datetime) -> SourcePage:
    """Build the page of a source. Raises HTTPException 404 if there is no source with this id."""
    details = load_source(records, source_id, now)
    row = details.source
    return SourcePage(
        _build_heading(details),
        build_source_line(row, now, details.endings),
        explain_no_older_pages(row) or None,
        build_passage(details),
        judge_days(row, now.astimezone(UTC).date(), CHART_DAYS),
        details.polls,
    )


def load_source(records: Records, source_id: str, now: datetime) -> SourceDetails:
    """Load the details of a source. Raises HTTPException 404 if there is no source with this id."""
    details = load_source_details(records, source_id, now, [*PIPELINES])
    if details is None:
        raise HTTPException(404, "There is no source with this id.")
    return details


def _build_heading(details: SourceDetails) -> str:
    name = details.source.title or details.source.url
    passage = build_passage(details)
    if not passage.announced:
        return f"{name} is {details.health}, no links yet"
    links = pluralize(passage.announced, "link")
    return f"{name} is {details.health}: {passage.kept:,} of {links} stored"


@add_csv_route(router, "/sources/{source_id}", lambda page: page.last_polls)
@router.get("/sources/{source_id}.json", include_in_schema=False)
@router.get("/api/sources/{source_id}", summary="Details of a source", operation_id="get_source")
def source_json(stores: OpenStores, source_id: SourceId) -> SourcePage:
    """Return what its polls found, and the outcomes of its links by outcome, reason and step."""
    return build_source_page(stores.records, source_id, datetime.now(UTC))


@router.get("/sources/{source_id}", include_in_schema=False)
def source_html(request: Request, stores: OpenStores, source_id: SourceId) -> HTMLResponse:
    """Show a source and where its links were lost."""
    page = build_source_page(stores.records, source_id, datetime.now(UTC))
    strip = draw_days(source_id, page.days)
    return render_page(request, "source.html", heading=page.answer, page=page, strip=strip)
