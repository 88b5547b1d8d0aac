"""One source: what its polls saw, and where its links got lost."""

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
from fonds.following.source_list import SourceDetails, SourcePoll, load_source_details
from fonds.model.disposition import Reason
from fonds.model.encoding import pluralize
from fonds.pipelines.flavours.registry import PIPELINES, list_stages
from fonds.ports import Records
from fonds.web.access.roles import READS
from fonds.web.html.charts import format_share
from fonds.web.html.rendering import OpenStores, build_url, format_day, render_page
from fonds.web.pages.sources import CHART_DAYS, SourceLine, build_source_line
from fonds.web.serving.csv_tables import add_csv_route

# Where the links of a source got lost: each stage of its pipeline, what ended there, and what was left.


LISTED, FIRST_STAGES = "listed", "before any stage"


@dataclass(frozen=True, slots=True)
class EndingLine:
    """So many links of the source ended so; `why` says it in words, `href` opens them, empty for those that
    never entered."""

    outcome: str
    reason: str | None
    step: str | None
    count: int
    why: str
    href: str


@dataclass(frozen=True, slots=True)
class StageLine:
    """One stage: `ended` links went no further, by `endings`, the most first; `left` went on or wait."""

    stage: str
    ended: int
    left: int
    endings: Sequence[EndingLine]


@dataclass(frozen=True, slots=True)
class LinkPassage:
    """From what a source listed to what was kept: `announced` = ended at the `stages` + `waiting` + `kept`.

    `coverage` is the share of what was announced that was kept, in words; None where nothing was announced.
    """

    announced: int
    stages: Sequence[StageLine]
    waiting: int
    waiting_href: str
    kept: int
    kept_href: str
    coverage: str | None


def build_passage(details: SourceDetails) -> LinkPassage:
    """What became of all links of a source, stage by stage as its pipeline has them."""
    row = details.source
    refused = get_refused_counts(row)
    by_stage: dict[str, list[EndingLine]] = {}
    if refused:
        by_stage[LISTED] = [
            EndingLine("refused", why, None, n, _explain_reason(why), "")
            for why, n in sorted(refused.items(), key=lambda one: (-one[1], one[0]))
        ]
    for stage in _order_stages(row.pipeline, details.ended):
        of_stage = [
            _build_ending(row.source_id, one) for one in details.ended if _is_at(one, stage)
        ]
        if of_stage:
            by_stage[stage or FIRST_STAGES] = of_stage
    announced = sum(refused.values()) + details.links
    waiting, kept = _count_endings(details.ended)
    links = f"/sources/{row.source_id}/links"
    return LinkPassage(
        announced,
        _build_lines(by_stage, announced),
        waiting,
        build_url(links, outcome="pending"),
        kept,
        build_url(links, outcome="done"),
        format_share(kept, announced) if announced else None,
    )


def _build_lines(by_stage: Mapping[str, list[EndingLine]], announced: int) -> list[StageLine]:
    lines, left = [], announced
    for stage, endings in by_stage.items():
        ended = sum(one.count for one in endings)
        left -= ended
        lines.append(StageLine(stage, ended, left, endings))
    return lines


def _order_stages(pipeline: str, endings: Sequence[LinkEnding]) -> list[str | None]:
    """The stages as the pipeline has them, behind them those it has no more."""
    known: list[str | None] = [*list_stages(pipeline)]
    others = {one.step for one in endings} - set(known)
    return [*known, *sorted(others, key=lambda step: step or "")]


def _is_at(ending: LinkEnding, stage: str | None) -> bool:
    return ending.step == stage and ending.is_lost


def _count_endings(endings: Sequence[LinkEnding]) -> tuple[int, int]:
    waiting = sum(one.count for one in endings if one.outcome == "pending")
    return waiting, sum(one.count for one in endings if one.outcome == "done")


def _build_ending(source_id: str, ending: LinkEnding) -> EndingLine:
    href = build_url(
        f"/sources/{source_id}/links",
        outcome=ending.outcome,
        reason=ending.reason,
        step=ending.step,
    )
    why = _explain_reason(ending.reason) if ending.reason else ""
    return EndingLine(ending.outcome, ending.reason, ending.step, ending.count, why, href)


def _explain_reason(reason: str) -> str:
    return Reason(reason).explanation


# What a source brought day by day as SVG: bars, what is usual behind them, and a row of marks below.


DAY_WIDTH, GAP = 10, 1.5
HEIGHT, GROUND = 132, 118
SMALLEST = 3.0


def describe_day(source_day: SourceDay) -> str:
    """A day in words."""
    said = f"{format_day(source_day.day)}: {source_day.brought}"
    if source_day.new:
        said = f"{format_day(source_day.day)}: {pluralize(source_day.new, 'new link')}"
    if source_day.polls:
        said += f" in {pluralize(source_day.polls, 'poll')}"
    if source_day.failed and source_day.brought is not DayOutcome.FAILED:
        said += f", {source_day.failed:,} of them failed"
    if source_day.outside:
        said += f", {source_day.outside} what is usual"
    return said


def draw_days(source_id: str, days: Sequence[SourceDay]) -> Markup:
    """The days, each stretched to the width there is. Below the ground a hatched mark is a day whose polls
    all failed, a line one without a poll, nothing one that was not counted. Links are no tab stops: the date
    form below opens the same links."""
    most = max((max(one.new, one.most or 0.0) for one in days), default=0.0) or 1.0
    pieces = [
        Markup(
            '<svg class="strip-days" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="group" '
            'aria-labelledby="strip-title strip-desc"><title id="strip-title">New links day by day</title>'
            '<desc id="strip-desc">{said}</desc>{usual}'
        ).format(
            w=DAY_WIDTH * len(days),
            h=HEIGHT,
            said=describe_days(days),
            usual=_draw_usual(days, most),
        )
    ]
    for place, one in enumerate(days):
        inner = _draw_hit(place) + _draw_bar(one, place, most) + _draw_mark(one, place)
        href = build_url(f"/sources/{source_id}/links", day=one.day.isoformat()) if one.new else ""
        form = '<a href="{}" tabindex="-1"><title>{}</title>{}</a>'
        if href:
            pieces.append(Markup(form).format(href, describe_day(one), inner))  # noqa: S704
        else:
            pieces.append(Markup("<g><title>{}</title>{}</g>").format(describe_day(one), inner))
    return Markup("").join([*pieces, Markup("</svg>")])


def describe_days(days: Sequence[SourceDay]) -> str:
    """The picture as sentences."""
    counts = [(sum(one.brought is how for one in days), str(how)) for how in DayOutcome]
    said = ", ".join(f"{how} on {pluralize(count, 'day')}" for count, how in counts if count)
    outside = [one for one in days if one.outside]
    if outside:
        said += f"; {pluralize(len(outside), 'day')} brought more or less than usual"
    return said[:1].upper() + said[1:] + "."


def _draw_usual(days: Sequence[SourceDay], maximum: float) -> Markup:
    """What is usual, a step a day."""
    steps = [
        f"M{place * DAY_WIDTH}"
        f" {_compute_y(one.most, maximum):.1f}h{DAY_WIDTH}V{_compute_y(one.least, maximum):.1f}h-{DAY_WIDTH}z"
        for place, one in enumerate(days)
        if one.most is not None and one.least is not None
    ]
    return Markup('<path class="usual" d="{}"/>').format("".join(steps))


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
    drawn = {
        DayOutcome.FAILED: f"M{left} {top}L{right} {foot}M{left} {foot}L{right} {top}",
        DayOutcome.UNPOLLED: f"M{left} {(top + foot) / 2:g}H{right}",
        DayOutcome.NOTHING: f"M{(left + right) / 2:g} {top}V{foot - 5}",
    }.get(day.brought)
    if drawn is None:
        return Markup("")
    tone = "failed" if day.brought is DayOutcome.FAILED else "aside"
    return Markup('<path class="mark {}" d="{}"/>').format(tone, drawn)


SourceId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The id of a source")]

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A source, its last polls, the newest first, and what became of its links.

    `links` of them entered, in all its polls; `passage` says where they and those that were refused
    ended. `days` are the last 90, the last of them today; `silent_since` says since when it lists
    nothing, where it listed `listed` links before. `form` is the format of its listings and what their
    links are told with; it was `form_before` until `form_changed`. `nothing_older` says why it
    can have no backfill, None where it may."""

    answer: str
    source: SourceLine
    collection: str
    folder: str
    pipeline: str
    status: int | None
    moved_from: str | None
    listed: int
    silent_since: datetime | None
    form: str | None
    form_before: str | None
    form_changed: datetime | None
    nothing_older: str | None
    links: int
    passage: LinkPassage
    days: Sequence[SourceDay]
    polls: Sequence[SourcePoll]


def build_source_page(records: Records, source_id: str, now: datetime) -> SourcePage:
    """A source. Raises HTTPException 404 where there is none of this id."""
    found = load_source(records, source_id, now)
    row = found.source
    return SourcePage(
        _build_heading(found),
        build_source_line(row, now, found.ended),
        row.collection,
        row.folder,
        row.pipeline,
        row.status,
        row.moved_from,
        row.listed,
        row.silent_since,
        row.form,
        row.form_before,
        row.form_changed,
        explain_no_older_pages(row) or None,
        found.links,
        build_passage(found),
        judge_days(row, now.astimezone(UTC).date(), CHART_DAYS),
        found.polls,
    )


def load_source(records: Records, source_id: str, now: datetime) -> SourceDetails:
    """A source with all that is known. Raises HTTPException 404 where there is none of this id."""
    found = load_source_details(records, source_id, now, [*PIPELINES])
    if found is None:
        raise HTTPException(404, "There is no source of this id.")
    return found


def _build_heading(details: SourceDetails) -> str:
    name = details.source.title or details.source.url
    whole = build_passage(details)
    if not whole.announced:
        return f"{name} is {details.health} and brought nothing yet"
    kept = f"{whole.kept:,} were kept" if whole.kept != 1 else "1 was kept"
    return f"{name} is {details.health}: of {pluralize(whole.announced, 'link')} it listed {kept}"


@add_csv_route(router, "/sources/{source_id}", lambda found: found.polls)
@router.get("/sources/{source_id}.json", include_in_schema=False)
@router.get("/api/sources/{source_id}", summary="One source")
def source_json(stores: OpenStores, source_id: SourceId) -> SourcePage:
    """What its polls saw, and what became of its links by outcome, reason and step."""
    return build_source_page(stores.records, source_id, datetime.now(UTC))


@router.get("/sources/{source_id}", include_in_schema=False)
def source_html(request: Request, stores: OpenStores, source_id: SourceId) -> HTMLResponse:
    """A source and where its links got lost."""
    found = build_source_page(stores.records, source_id, datetime.now(UTC))
    strip = draw_days(source_id, found.days)
    return render_page(request, "source.html", heading=found.answer, found=found, strip=strip)
