"""What failed, grouped by step and reason, with what to type to try it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from fonds.library.accounting import FailureGroup
from fonds.library.failed import Asked, Failed, failed
from fonds.model.disposition import Reason
from fonds.ports import Records
from fonds.web.pages.records import Record, record
from fonds.web.rendering import OpenStores, how_many, link, page

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Failure:
    """One group; `retry` is the command that tries its messages again, `href` opens its rows."""

    pipeline: str
    step: str
    reason: str
    explanation: str
    count: int
    sample: Record | None
    retry: str
    href: str


@dataclass(frozen=True, slots=True)
class CountedFailure:
    """Records a source counted as failed and did not keep, by reason: there is no message to try again."""

    reason: str
    explanation: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class BrokenInput:
    """An input whose reading ended early, and why."""

    input_id: str
    path: str
    entries: int
    error: str
    updated: datetime


@dataclass(frozen=True, slots=True)
class Failures:
    """Everything somebody may want to look at; `total` counts records, not inputs. Of `inputs_total` inputs
    at most 50 are listed.
    """

    answer: str
    total: int
    groups: Sequence[Failure]
    counted: Sequence[CountedFailure]
    inputs: Sequence[BrokenInput]
    inputs_total: int


def failure(group: FailureGroup) -> Failure:
    """A group with its words, its command and its link."""
    chosen = f"--pipeline {shlex.quote(group.pipeline)} --step {shlex.quote(group.step)}"
    return Failure(
        pipeline=group.pipeline,
        step=group.step,
        reason=str(group.reason),
        explanation=group.reason.explanation,
        count=group.count,
        sample=record(group.sample) if group.sample else None,
        retry=f"fonds failures retry --reason {group.reason} {chosen}",
        href=link(
            "/records",
            outcome="quarantined",
            step=group.step,
            reason=str(group.reason),
            pipeline=group.pipeline,
        ),
    )


def failures_page(records: Records) -> Failures:
    """All groups, the largest first, and what only the sources know of."""
    found = failed(records, Asked())
    groups, counted = [failure(group) for group in found.groups], _counted(found)
    inputs = [
        BrokenInput(row.input_id, row.path, row.entries, row.error or "", row.updated)
        for row in found.inputs
    ]
    answer = _answer(found.total, len(groups) + len(counted), found.inputs_total)
    return Failures(answer, found.total, groups, counted, inputs, found.inputs_total)


def _counted(found: Failed) -> list[CountedFailure]:
    return [
        CountedFailure(
            name, Reason(name).explanation, count, link("/records", outcome="dropped", reason=name)
        )
        for name, count in found.counted.items()
    ]


def _answer(total: int, groups: int, inputs: int) -> str:
    if total == 0 and inputs == 0:
        return "Nothing failed"
    early = f"{how_many(inputs, 'input')} could not be read to the end"
    if total == 0:
        return early
    said = f"{how_many(total, 'record')} failed, in {how_many(groups, 'group')}"
    return f"{said}, and {early}" if inputs else said


@router.get("/failures", include_in_schema=False)
def failures_html(request: Request, stores: OpenStores) -> HTMLResponse:
    """What failed and how to try it again."""
    found = failures_page(stores.records)
    several = len({group.pipeline for group in found.groups}) > 1
    return page(request, "failures.html", heading=found.answer, found=found, several=several)


@router.get("/failures.json", include_in_schema=False)
@router.get("/api/failures", summary="What failed, by step and reason")
def failures_json(stores: OpenStores) -> Failures:
    """Quarantined records by step and reason, each group with one sample and the command to retry it."""
    return failures_page(stores.records)
