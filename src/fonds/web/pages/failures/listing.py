"""What failed, by what failures have in common, with what can be done about each group."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.library.accounting import StepFailures, oldest_input, step_failures
from fonds.library.failures.by_day import failed_by_day
from fonds.library.failures.failed import Asked, Failed, failed
from fonds.library.failures.groups import FailureGroup
from fonds.library.failures.notes import (
    OWNER_CHARACTERS_MAX,
    WORDS_CHARACTERS_MAX,
    settled_notes,
)
from fonds.library.failures.recent import is_new
from fonds.model.access import Role
from fonds.model.disposition import Reason
from fonds.model.entry import is_unread
from fonds.model.numbers import how_many
from fonds.model.rows import FailureNoteRow, TallyRow
from fonds.ports import Records, Stores
from fonds.web.access.declared import READS
from fonds.web.access.viewers import TheViewer
from fonds.web.charts import sparks
from fonds.web.marks import TEXT_MAX_CHARS, MarkedList, first_of
from fonds.web.pages.failures.recent import Recent, recent
from fonds.web.pages.listed.records import Record, record
from fonds.web.rendering import OpenStores, link, page, sentence, shown
from fonds.web.serving.tables import tabled
from fonds.wiring.known import check_names

PAGE_SIZE = 25
GROUPS = MarkedList("count", TallyRow.KEY)

router = APIRouter(dependencies=[READS])


class FailuresForm(BaseModel):
    """Which failures; parameters that are left out do not narrow."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str = Field("", max_length=100, description="The step it failed at")
    reason: Reason | None = Field(None, description="Why it failed")
    pipeline: str = Field("", max_length=100, description="The pipeline it came into")
    group: str = Field("", pattern="^([0-9a-f]{16})?$", description="Its failure group")
    after: Annotated[str, AfterValidator(GROUPS.checked)] = Field(
        "", max_length=TEXT_MAX_CHARS, description="The page behind another: its `next`"
    )

    def asked(self) -> Asked:
        """The same for the library."""
        return Asked(
            self.pipeline or None, self.step or None, self.reason, group=self.group or None
        )

    def params(self) -> dict[str, Any]:
        """Everything but where the page begins, for links."""
        return self.model_dump(exclude={"after"}, mode="json")


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed at one step for one reason; `retry` is the command that tries it again, None where that
    cannot help. `href` opens its rows, `groups_href` its groups.
    """

    pipeline: str
    step: str
    reason: str
    explanation: str
    count: int
    sample: Record | None
    retry: str | None
    href: str
    groups_href: str


@dataclass(frozen=True, slots=True)
class Group:
    """A failure group. `again` says when trying again can help, "" for never: there is no `retry_href` and
    no command `retry` then. An input that could not be read has the command alone, which
    reads it again. `href` opens its rows, `accept_href` and `retry_href` ask before they do.
    `is_new` says that all of its failures are of today or yesterday. `last_days` is how many of its failures
    failed on each of the 30 days until today, in UTC, the oldest day first. `note` is what a curator noted.
    """

    group: str
    pipeline: str
    step: str
    reason: str
    explanation: str
    cause: str
    host: str
    count: int
    first_at: datetime | None
    last_at: datetime | None
    is_new: bool
    last_days: Sequence[int]
    sample: Record | None
    again: str
    href: str
    retry: str | None
    retry_href: str | None
    accept: str
    accept_href: str
    note: FailureNoteRow | None


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
    """Everything somebody may want to look at; `total` counts records, not inputs.

    `groups` are 25 of `groups_total`, the largest first, the first of them number `first`; the page behind
    it is had with `after` = `next`; `recent` is what is new among them. `reasons` are all steps and reasons
    with their counts, whatever was asked for. `accepted` failures are in no other number. Of inputs at most
    50 are listed. `since` is when the oldest input was read, None when nothing ever came in. `settled_notes`
    are notes on groups of which no failure is left, told to who may curate, None to others.
    """

    answer: str
    total: int
    accepted: int
    accepted_href: str
    since: datetime | None
    recent: Recent
    reasons: Sequence[Failure]
    groups_total: int
    first: int
    next: str | None
    groups: Sequence[Group]
    counted: Sequence[CountedFailure]
    inputs: Sequence[BrokenInput]
    inputs_total: int
    settled_notes: Sequence[FailureNoteRow] | None


def failure(found: StepFailures) -> Failure:
    """What failed at one step for one reason, with its words, its command and its links."""
    chosen = f"--pipeline {shlex.quote(found.pipeline)} --step {shlex.quote(found.step)}"
    at = {"step": found.step, "reason": str(found.reason), "pipeline": found.pipeline}
    return Failure(
        pipeline=found.pipeline,
        step=found.step,
        reason=str(found.reason),
        explanation=found.reason.explanation,
        count=found.count,
        sample=record(found.sample) if found.sample else None,
        retry=f"fonds failures retry --reason {found.reason} {chosen}"
        if found.reason.again
        else None,
        href=link("/records", outcome="quarantined", **at),
        groups_href=link("/failures", **at),
    )


def group_line(found: FailureGroup, last_days: Sequence[int], now: datetime) -> Group:
    """A group with its words, its commands and its links; `now` is when."""
    at = {"pipeline": found.pipeline, "group": found.group}
    told = f"--pipeline {shlex.quote(found.pipeline)} --group {found.group}"
    again = found.reason.again
    is_input = found.sample is not None and is_unread(found.sample.entry_id)
    return Group(
        group=found.group,
        pipeline=found.pipeline,
        step=found.step,
        reason=str(found.reason),
        explanation=found.reason.explanation,
        cause=found.cause,
        host=found.host,
        count=found.count,
        first_at=found.first_at,
        last_at=found.last_at,
        is_new=is_new(found, now),
        last_days=last_days,
        sample=record(found.sample) if found.sample else None,
        again=again,
        href=link("/records", **at),
        retry=f"fonds failures retry {told}" if again else None,
        retry_href=link("/failures/retry", **at) if again and not is_input else None,
        accept=f"fonds failures accept {told}",
        accept_href=link("/failures/accept", **at),
        note=found.note,
    )


def failures_page(
    records: Records, form: FailuresForm, now: datetime, whole: Records | None = None
) -> Failures:
    """One page of groups, the largest first, and what only the sources know of; `now` is when, `whole` the
    records for who may curate.

    Raises HTTPException 400 for a pipeline or step there is not.
    """
    try:
        check_names(records, pipeline=form.pipeline, step=form.step)
    except ValueError as error:
        raise HTTPException(400, sentence(str(error))) from None
    begins = GROUPS.read(form.after)
    first = first_of(begins)
    found = failed(records, form.asked(), after=GROUPS.after(begins), count_max=PAGE_SIZE)
    oldest = oldest_input(records)
    by_day = failed_by_day(records, found.groups, now.astimezone(UTC).date())
    return Failures(
        answer=_answer(found, form, oldest),
        total=found.total,
        accepted=found.accepted,
        accepted_href=link("/records", outcome="dropped", reason=str(Reason.ACCEPTED)),
        since=oldest,
        recent=recent(records, form.asked(), now, found),
        reasons=[failure(one) for one in step_failures(records)],
        groups_total=found.groups_total,
        first=first,
        next=GROUPS.following(first, found.rows, PAGE_SIZE),
        groups=[group_line(one, by_day[one.pipeline, one.group], now) for one in found.groups],
        counted=_counted(found),
        inputs=[
            BrokenInput(row.input_id, row.path, row.entries, row.error or "", row.updated)
            for row in found.inputs
        ],
        inputs_total=found.inputs_total,
        settled_notes=None if whole is None else settled_notes(whole),
    )


async def _whole(request: Request, viewer: TheViewer) -> Records | None:
    stores: Stores = request.app.state.whole_stores
    return stores.records if viewer.may(Role.CURATOR) else None


Whole = Annotated[Records | None, Depends(_whole)]


def days_said(counts: Sequence[int]) -> str:
    """The failures of the last days as a sentence; 0 is told as such."""
    if not sum(counts):
        return f"None failed in the last {len(counts)} days"
    ago = next(n for n, count in enumerate(reversed(counts)) if count)
    last = {0: "today", 1: "yesterday"}.get(ago, f"{ago} days ago")
    days = sum(count > 0 for count in counts)
    said = f"{sum(counts):,} failed in the last {len(counts)} days, on {how_many(days, 'day')}"
    return f"{said}, last {last}; the most in a day: {max(counts):,}"


def _counted(found: Failed) -> list[CountedFailure]:
    return [
        CountedFailure(
            name, Reason(name).explanation, count, link("/records", outcome="dropped", reason=name)
        )
        for name, count in found.counted.items()
    ]


def _answer(found: Failed, form: FailuresForm, oldest: datetime | None) -> str:
    early = f"{how_many(found.inputs_total, 'input')} could not be read to the end"
    if found.total == 0 and found.inputs_total == 0:
        if any(form.params().values()):
            return "Nothing like this failed"
        if found.accepted:
            return "Nothing needs someone"
        return f"Nothing failed since {oldest:%-d %B %Y}" if oldest else "Nothing failed"
    if found.total == 0:
        return early
    groups = found.groups_total + len(found.counted)
    said = f"{how_many(found.total, 'record')} failed, in {how_many(groups, 'group')}"
    return f"{said}, and {early}" if found.inputs_total else said


@router.get("/failures", include_in_schema=False)
def failures_html(
    request: Request, stores: OpenStores, whole: Whole, form: Annotated[FailuresForm, Query()]
) -> HTMLResponse:
    """What failed and what can be done about it."""
    found = failures_page(stores.records, form, datetime.now(UTC), whole)
    params = form.params()
    behind = found.first - 1
    window = shown("/failures", params, found.groups_total, len(found.groups), behind, found.next)
    chips = [
        (name, value, link("/failures", **{**params, name: None}))
        for name, value in params.items()
        if value
    ]
    several = len({one.pipeline for one in found.reasons}) > 1
    return page(
        request,
        "failures.html",
        heading=found.answer,
        found=found,
        several=several,
        days_said=days_said,
        sparks=sparks,
        note_max=WORDS_CHARACTERS_MAX,
        owner_max=OWNER_CHARACTERS_MAX,
        chips=chips,
        shown=window,
    )


@tabled(router, "/failures", lambda found: found.groups)
@router.get("/failures.json", include_in_schema=False)
@router.get("/api/failures", summary="What failed, by what failures have in common")
def failures_json(
    stores: OpenStores, whole: Whole, form: Annotated[FailuresForm, Query()]
) -> Failures:
    """Records in quarantine in groups of one step, reason, cause and host, 25 groups a page, the largest
    first, each with a sample and what can be done about it."""
    return failures_page(stores.records, form, datetime.now(UTC), whole)
