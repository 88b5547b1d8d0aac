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

from fonds.failures.accounting.tallies import StepFailures, count_step_failures, find_oldest_input
from fonds.failures.decisions import OWNER_MAX_CHARS, WORDS_MAX_CHARS, list_settled_notes
from fonds.failures.entries import FailureList, FailureQuery, list_failures
from fonds.failures.groups import FailureGroup, count_failures_by_day
from fonds.failures.recent import GROUPS_EXAMINED_MAX, find_last_accepted, find_new_groups, is_new
from fonds.model.access import Role
from fonds.model.disposition import Reason
from fonds.model.encoding import pluralize
from fonds.model.entry import is_unread
from fonds.model.rows import FailureNoteRow, TallyRow
from fonds.ports import Records, Stores
from fonds.web.access.roles import READS
from fonds.web.access.viewers import TheViewer
from fonds.web.html.charts import draw_sparkline
from fonds.web.html.paging import TEXT_MAX_CHARS, CursorList, get_first_number
from fonds.web.html.rendering import OpenStores, build_url, build_window, capitalize, render_page
from fonds.web.pages.records import Record, build_record
from fonds.web.serving.csv_tables import add_csv_route
from fonds.wiring.pipelines import check_names

# The failure groups that are new, before all others, and what is said when nothing waits.


@dataclass(frozen=True, slots=True)
class NewGroupLine:
    """A failure group all of whose failures are of today or yesterday; `href` opens its rows, `group_href`
    what is known of it and can be done."""

    group: str
    pipeline: str
    step: str
    reason: str
    cause: str
    host: str
    count: int
    first_at: datetime | None
    href: str
    group_href: str


@dataclass(frozen=True, slots=True)
class RecentFailures:
    """`new` are the first 10 of `new_total` groups all of whose failures are of today or yesterday, in
    UTC: those that began today first, then the largest. Without `new_is_all` there are at least so many:
    no more were looked at once ten were found, nor more than a thousand that failed on a day.
    `last_accepted` is the failure that was accepted as final last, where nothing waits for anyone;
    None else."""

    new: Sequence[NewGroupLine]
    new_total: int
    new_is_all: bool
    last_accepted: Record | None

    @property
    def heading(self) -> str:
        """The heading of the list."""
        shown = len(self.new)
        if not self.new_is_all and self.new_total <= shown:
            return f"New since yesterday: {shown} of the {GROUPS_EXAMINED_MAX:,} largest groups of a day"
        of = "of" if self.new_is_all else "of at least"
        return "New since yesterday" + (
            f": {shown} {of} {self.new_total}" if self.new_total > shown else ""
        )

    @property
    def has_news(self) -> bool:
        """Whether there is anything to say: also that not all were looked at."""
        return bool(self.new) or not self.new_is_all


def build_recent(
    records: Records, query: FailureQuery, now: datetime, failures: FailureList
) -> RecentFailures:
    """What stands before the groups that were `failures`: nothing new of failures that are none."""
    if not failures.total:
        accepted = find_last_accepted(records)
        return RecentFailures((), 0, True, build_record(accepted) if accepted else None)
    new = find_new_groups(records, query, now, failures.groups)
    return RecentFailures([_build_line(one) for one in new.groups], new.total, new.is_all, None)


def _build_line(group: FailureGroup) -> NewGroupLine:
    at = {"pipeline": group.pipeline, "group": group.group}
    return NewGroupLine(
        group=group.group,
        pipeline=group.pipeline,
        step=group.step,
        reason=str(group.reason),
        cause=group.cause,
        host=group.host,
        count=group.count,
        first_at=group.first_at,
        href=build_url("/records", **at),
        group_href=build_url("/failures", **at),
    )


PAGE_SIZE = 25
GROUPS = CursorList("count", TallyRow.KEY)

router = APIRouter(dependencies=[READS])


class FailuresForm(BaseModel):
    """Which failures; parameters that are left out do not narrow."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str = Field("", max_length=100, description="The step it failed at")
    reason: Reason | None = Field(None, description="Why it failed")
    pipeline: str = Field("", max_length=100, description="The pipeline it came into")
    group: str = Field("", pattern="^([0-9a-f]{16})?$", description="Its failure group")
    after: Annotated[str, AfterValidator(GROUPS.validate)] = Field(
        "", max_length=TEXT_MAX_CHARS, description="The page behind another: its `next`"
    )

    def build_query(self) -> FailureQuery:
        """The same for the library."""
        return FailureQuery(
            self.pipeline or None, self.step or None, self.reason, group=self.group or None
        )

    def build_params(self) -> dict[str, Any]:
        """Everything but where the page begins, for links."""
        return self.model_dump(exclude={"after"}, mode="json")


@dataclass(frozen=True, slots=True)
class FailureLine:
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
class FailureGroupLine:
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
class FailuresPage:
    """Everything somebody may want to look at; `total` counts records, not inputs.

    `groups` are 25 of `groups_total`, the largest first, the first of them number `first`; the page
    behind it is had with `after` = `next`; `recent` is what is new among them. `reasons` are all
    steps and reasons with their counts, whatever was asked for. `accepted` failures are in no other
    number. Of inputs at most 50 are listed. `since` is when the oldest input was read, None when nothing
    ever came in. `settled_notes` are notes on groups of which no failure is left, told to who may
    curate, None to others."""

    answer: str
    total: int
    accepted: int
    accepted_href: str
    since: datetime | None
    recent: RecentFailures
    reasons: Sequence[FailureLine]
    groups_total: int
    first: int
    next: str | None
    groups: Sequence[FailureGroupLine]
    counted: Sequence[CountedFailure]
    inputs: Sequence[BrokenInput]
    inputs_total: int
    settled_notes: Sequence[FailureNoteRow] | None


def build_failure(failures: StepFailures) -> FailureLine:
    """What failed at one step for one reason, with its words, its command and its links."""
    chosen = f"--pipeline {shlex.quote(failures.pipeline)} --step {shlex.quote(failures.step)}"
    at = {"step": failures.step, "reason": str(failures.reason), "pipeline": failures.pipeline}
    return FailureLine(
        pipeline=failures.pipeline,
        step=failures.step,
        reason=str(failures.reason),
        explanation=failures.reason.explanation,
        count=failures.count,
        sample=build_record(failures.sample) if failures.sample else None,
        retry=f"fonds failures retry --reason {failures.reason} {chosen}"
        if failures.reason.again
        else None,
        href=build_url("/records", outcome="quarantined", **at),
        groups_href=build_url("/failures", **at),
    )


def build_group(group: FailureGroup, last_days: Sequence[int], now: datetime) -> FailureGroupLine:
    """A group with its words, its commands and its links; `now` is when."""
    at = {"pipeline": group.pipeline, "group": group.group}
    told = f"--pipeline {shlex.quote(group.pipeline)} --group {group.group}"
    again = group.reason.again
    is_input = group.sample is not None and is_unread(group.sample.entry_id)
    return FailureGroupLine(
        group=group.group,
        pipeline=group.pipeline,
        step=group.step,
        reason=str(group.reason),
        explanation=group.reason.explanation,
        cause=group.cause,
        host=group.host,
        count=group.count,
        first_at=group.first_at,
        last_at=group.last_at,
        is_new=is_new(group, now),
        last_days=last_days,
        sample=build_record(group.sample) if group.sample else None,
        again=again,
        href=build_url("/records", **at),
        retry=f"fonds failures retry {told}" if again else None,
        retry_href=build_url("/failures/retry", **at) if again and not is_input else None,
        accept=f"fonds failures accept {told}",
        accept_href=build_url("/failures/accept", **at),
        note=group.note,
    )


def build_failures_page(
    records: Records, form: FailuresForm, now: datetime, all_records: Records | None = None
) -> FailuresPage:
    """One page of groups, the largest first, and what only the sources know of; `now` is when,
    `all_records` the records for who may curate.

    Raises HTTPException 400 for a pipeline or step there is not.
    """
    try:
        check_names(records, pipeline=form.pipeline, step=form.step)
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None
    begins = GROUPS.decode(form.after)
    first = get_first_number(begins)
    found = list_failures(
        records, form.build_query(), after=GROUPS.build_filter(begins), count_max=PAGE_SIZE
    )
    oldest = find_oldest_input(records)
    by_day = count_failures_by_day(records, found.groups, now.astimezone(UTC).date())
    return FailuresPage(
        answer=_build_heading(found, form, oldest),
        total=found.total,
        accepted=found.accepted,
        accepted_href=build_url("/records", outcome="dropped", reason=str(Reason.ACCEPTED)),
        since=oldest,
        recent=build_recent(records, form.build_query(), now, found),
        reasons=[build_failure(one) for one in count_step_failures(records)],
        groups_total=found.groups_total,
        first=first,
        next=GROUPS.find_next(first, found.rows, PAGE_SIZE),
        groups=[build_group(one, by_day[one.pipeline, one.group], now) for one in found.groups],
        counted=_list_counted(found),
        inputs=[
            BrokenInput(row.input_id, row.path, row.entries, row.error or "", row.updated)
            for row in found.inputs
        ],
        inputs_total=found.inputs_total,
        settled_notes=None if all_records is None else list_settled_notes(all_records),
    )


async def _get_all_records(request: Request, viewer: TheViewer) -> Records | None:
    stores: Stores = request.app.state.whole_stores
    return stores.records if viewer.has_role(Role.CURATOR) else None


AllRecords = Annotated[Records | None, Depends(_get_all_records)]


def describe_days(counts: Sequence[int]) -> str:
    """The failures of the last days as a sentence; 0 is told as such."""
    if not sum(counts):
        return f"None failed in the last {len(counts)} days"
    ago = next(n for n, count in enumerate(reversed(counts)) if count)
    last = {0: "today", 1: "yesterday"}.get(ago, f"{ago} days ago")
    days = sum(count > 0 for count in counts)
    said = f"{sum(counts):,} failed in the last {len(counts)} days, on {pluralize(days, 'day')}"
    return f"{said}, last {last}; the most in a day: {max(counts):,}"


def _list_counted(failures: FailureList) -> list[CountedFailure]:
    return [
        CountedFailure(
            name,
            Reason(name).explanation,
            count,
            build_url("/records", outcome="dropped", reason=name),
        )
        for name, count in failures.counted.items()
    ]


def _build_heading(failures: FailureList, form: FailuresForm, oldest: datetime | None) -> str:
    early = f"{pluralize(failures.inputs_total, 'input')} could not be read to the end"
    if failures.total == 0 and failures.inputs_total == 0:
        if any(form.build_params().values()):
            return "Nothing like this failed"
        if failures.accepted:
            return "Nothing needs someone"
        return f"Nothing failed since {oldest:%-d %B %Y}" if oldest else "Nothing failed"
    if failures.total == 0:
        return early
    groups = failures.groups_total + len(failures.counted)
    said = f"{pluralize(failures.total, 'record')} failed, in {pluralize(groups, 'group')}"
    return f"{said}, and {early}" if failures.inputs_total else said


@router.get("/failures", include_in_schema=False)
def failures_html(
    request: Request, stores: OpenStores, whole: AllRecords, form: Annotated[FailuresForm, Query()]
) -> HTMLResponse:
    """What failed and what can be done about it."""
    found = build_failures_page(stores.records, form, datetime.now(UTC), whole)
    params = form.build_params()
    behind = found.first - 1
    window = build_window(
        "/failures", params, found.groups_total, len(found.groups), behind, found.next
    )
    chips = [
        (name, value, build_url("/failures", **{**params, name: None}))
        for name, value in params.items()
        if value
    ]
    several = len({one.pipeline for one in found.reasons}) > 1
    return render_page(
        request,
        "failures.html",
        heading=found.answer,
        found=found,
        several=several,
        days_said=describe_days,
        sparks=draw_sparkline,
        note_max=WORDS_MAX_CHARS,
        owner_max=OWNER_MAX_CHARS,
        chips=chips,
        shown=window,
    )


@add_csv_route(router, "/failures", lambda found: found.groups)
@router.get("/failures.json", include_in_schema=False)
@router.get("/api/failures", summary="What failed, by what failures have in common")
def failures_json(
    stores: OpenStores, whole: AllRecords, form: Annotated[FailuresForm, Query()]
) -> FailuresPage:
    """Records in quarantine in groups of one step, reason, cause and host, 25 groups a page, the largest
    first, each with a sample and what can be done about it."""
    return build_failures_page(stores.records, form, datetime.now(UTC), whole)
