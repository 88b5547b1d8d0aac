"""Where the links of a source got lost: each stage of its pipeline, what ended there, and what was left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.model.disposition import Reason
from fonds.pipelines import stages_of
from fonds.sources.following.described import Followed
from fonds.sources.following.funnel import Ended, refused_of
from fonds.web.charts import share
from fonds.web.rendering import link

LISTED, FOUND_OUT = "listed", "before any stage"


@dataclass(frozen=True, slots=True)
class Ending:
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
    endings: Sequence[Ending]


@dataclass(frozen=True, slots=True)
class Passage:
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


def passage(found: Followed) -> Passage:
    """What became of all links of a source, stage by stage as its pipeline has them."""
    row = found.source
    refused = refused_of(row)
    by_stage: dict[str, list[Ending]] = {}
    if refused:
        by_stage[LISTED] = [
            Ending("refused", why, None, n, _why(why), "")
            for why, n in sorted(refused.items(), key=lambda one: (-one[1], one[0]))
        ]
    for stage in _in_order(row.pipeline, found.ended):
        of_stage = [_ending(row.source_id, one) for one in found.ended if _is_at(one, stage)]
        if of_stage:
            by_stage[stage or FOUND_OUT] = of_stage
    announced = sum(refused.values()) + found.links
    waiting, kept = _counts(found.ended)
    links = f"/sources/{row.source_id}/links"
    return Passage(
        announced,
        _lines(by_stage, announced),
        waiting,
        link(links, outcome="pending"),
        kept,
        link(links, outcome="done"),
        share(kept, announced) if announced else None,
    )


def _lines(by_stage: Mapping[str, list[Ending]], announced: int) -> list[StageLine]:
    lines, left = [], announced
    for stage, endings in by_stage.items():
        ended = sum(one.count for one in endings)
        left -= ended
        lines.append(StageLine(stage, ended, left, endings))
    return lines


def _in_order(pipeline: str, ended: Sequence[Ended]) -> list[str | None]:
    """The stages as the pipeline has them, behind them those it has no more."""
    known: list[str | None] = [*stages_of(pipeline)]
    others = {one.step for one in ended} - set(known)
    return [*known, *sorted(others, key=lambda step: step or "")]


def _is_at(one: Ended, stage: str | None) -> bool:
    return one.step == stage and one.is_lost


def _counts(ended: Sequence[Ended]) -> tuple[int, int]:
    waiting = sum(one.count for one in ended if one.outcome == "pending")
    return waiting, sum(one.count for one in ended if one.outcome == "done")


def _ending(source_id: str, one: Ended) -> Ending:
    href = link(
        f"/sources/{source_id}/links", outcome=one.outcome, reason=one.reason, step=one.step
    )
    why = _why(one.reason) if one.reason else ""
    return Ending(one.outcome, one.reason, one.step, one.count, why, href)


def _why(reason: str) -> str:
    return Reason(reason).explanation
