"""Page of failures: groups with common features, and the available actions for each."""

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
from fonds.failures.decisions import NOTE_TEXT_MAX_CHARS, OWNER_MAX_CHARS, list_settled_notes
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

# New failure groups, listed before all others.


@dataclass(frozen=True, slots=True)
class NewGroupLine:
    """A failure group whose failures are all of today or yesterday.

    `href` opens its rows, `group_href` its details and actions.
    """

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
    """New failure groups: those whose failures are all of today or yesterday, in UTC.

    `new`: the first 10 of `new_total`, those that began today first, then the largest.
    `new_is_all`: if False, `new_total` is a lower bound: the search stops after ten groups and
        after a thousand groups that failed on a day.
    `last_accepted`: the failure that was accepted last, if no failure is left; otherwise None.
    """

    new: Sequence[NewGroupLine]
    new_total: int
    new_is_all: bool
    last_accepted: Record | None

    @property
    def heading(self) -> str:
        """Return the heading of the list."""
        n_shown = len(self.new)
        if not self.new_is_all and self.new_total <= n_shown:
            return f"New since yesterday: {n_shown} of the {GROUPS_EXAMINED_MAX:,} largest groups"
        preposition = "of" if self.new_is_all else "of at least"
        return "New since yesterday" + (
            f": {n_shown} {preposition} {self.new_total}" if self.new_total > n_shown else ""
        )

    @property
    def has_news(self) -> bool:
        """True if there is something to show, including the note that not all groups were examined."""
        return bool(self.new) or not self.new_is_all


def build_recent(
    records: Records, query: FailureQuery, now: datetime, failures: FailureList
) -> RecentFailures:
    """Build the part above the failure groups. Without failures there are no new groups."""
    if not failures.total:
        accepted = find_last_accepted(records)
        return RecentFailures((), 0, True, build_record(accepted) if accepted else None)
    new = find_new_groups(records, query, now, failures.groups)
    return RecentFailures([_build_line(group) for group in new.groups], new.total, new.is_all, None)


def _build_line(group: FailureGroup) -> NewGroupLine:
    params = {"pipeline": group.pipeline, "group": group.group}
    return NewGroupLine(
        group=group.group,
        pipeline=group.pipeline,
        step=group.step,
        reason=str(group.reason),
        cause=group.cause,
        host=group.host,
        count=group.count,
        first_at=group.first_at,
        href=build_url("/records", **params),
        group_href=build_url("/failures", **params),
    )


PAGE_SIZE = 25
GROUPS = CursorList("count", TallyRow.KEY)

router = APIRouter(dependencies=[READS])


class FailuresForm(BaseModel):
    """Which failures; omitted parameters do not filter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str = Field("", max_length=100, description="Step that failed")
    reason: Reason | None = Field(None, description="Reason of the failure")
    pipeline: str = Field("", max_length=100, description="Pipeline")
    group: str = Field("", pattern="^([0-9a-f]{16})?$", description="Failure group")
    after: Annotated[str, AfterValidator(GROUPS.validate)] = Field(
        "",
        max_length=TEXT_MAX_CHARS,
        description="Cursor of the next page: `next` of the previous response",
    )

    def build_query(self) -> FailureQuery:
        """Build the query of the failures package."""
        return FailureQuery(
            self.pipeline or None, self.step or None, self.reason, group=self.group or None
        )

    def build_params(self) -> dict[str, Any]:
        """Return all parameters except the cursor, for links."""
        return self.model_dump(exclude={"after"}, mode="json")


@dataclass(frozen=True, slots=True)
class FailureLine:
    """Failures of one step and reason.

    `retry`: the command that retries them, None if a retry cannot help.
    `href` opens its rows, `groups_href` its groups.
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
    """A failure group.

    `again`: when a retry can help, "" for never; then `retry` and `retry_href` are None. A group of
        unreadable inputs has only the command, which reads the input again.
    `href` opens its rows. `accept_href` and `retry_href` open a confirmation.
    `is_new`: whether all its failures are of today or yesterday.
    `last_days`: number of its failures on each of the 30 days until today, in UTC, oldest first.
    `note`: the note of a curator.
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
    """Records a source counted as failed without keeping them, by reason. They cannot be retried."""

    reason: str
    explanation: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class BrokenInput:
    """An input that could not be read to its end, and why."""

    input_id: str
    path: str
    entries: int
    error: str
    updated: datetime


@dataclass(frozen=True, slots=True)
class FailuresPage:
    """All failures. `total` counts records, not inputs.

    `groups`: 25 of `groups_total`, largest first; the first of them is number `first`. Pass `next`
        as `after` for the next page.
    `recent`: the new groups among them.
    `reasons`: all steps and reasons with their counts, whatever the filter.
    `accepted`: number of accepted failures; no other number includes them.
    `inputs`: at most 50.
    `since`: when the oldest input was read, None if nothing ever arrived.
    `settled_notes`: notes on groups without remaining failures; None for users who are not
        curators.
    """

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
    """Build the line for one step and reason, with its explanation, command and links."""
    options = f"--pipeline {shlex.quote(failures.pipeline)} --step {shlex.quote(failures.step)}"
    params = {"step": failures.step, "reason": str(failures.reason), "pipeline": failures.pipeline}
    return FailureLine(
        pipeline=failures.pipeline,
        step=failures.step,
        reason=str(failures.reason),
        explanation=failures.reason.explanation,
        count=failures.count,
        sample=build_record(failures.sample) if failures.sample else None,
        retry=f"fonds failures retry --reason {failures.reason} {options}"
        if failures.reason.retry_hint
        else None,
        href=build_url("/records", outcome="quarantined", **params),
        groups_href=build_url("/failures", **params),
    )


def build_group(group: FailureGroup, last_days: Sequence[int], now: datetime) -> FailureGroupLine:
    """Build the line of a group, with its explanation, commands and links. `now` is the current
    time.
    """
    params = {"pipeline": group.pipeline, "group": group.group}
    options = f"--pipeline {shlex.quote(group.pipeline)} --group {group.group}"
    retry_advice = group.reason.retry_hint
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
        again=retry_advice,
        href=build_url("/records", **params),
        retry=f"fonds failures retry {options}" if retry_advice else None,
        retry_href=build_url("/failures/retry", **params)
        if retry_advice and not is_input
        else None,
        accept=f"fonds failures accept {options}",
        accept_href=build_url("/failures/accept", **params),
        note=group.note,
    )


def build_failures_page(
    records: Records, form: FailuresForm, now: datetime, all_records: Records | None = None
) -> FailuresPage:
    """Build one page of groups, largest first, and the failures only sources counted.

    `now` is the current time, `all_records` the unfiltered records for curators.
    Raises HTTPException 400 for an unknown pipeline or step.
    """
    try:
        check_names(records, pipeline=form.pipeline, step=form.step)
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None
    cursor = GROUPS.decode(form.after)
    first = get_first_number(cursor)
    failures = list_failures(
        records, form.build_query(), after=GROUPS.build_filter(cursor), count_max=PAGE_SIZE
    )
    oldest = find_oldest_input(records)
    by_day = count_failures_by_day(records, failures.groups, now.astimezone(UTC).date())
    return FailuresPage(
        answer=_build_heading(failures, form, oldest),
        total=failures.total,
        accepted=failures.accepted,
        accepted_href=build_url("/records", outcome="dropped", reason=str(Reason.ACCEPTED)),
        since=oldest,
        recent=build_recent(records, form.build_query(), now, failures),
        reasons=[build_failure(item) for item in count_step_failures(records)],
        groups_total=failures.groups_total,
        first=first,
        next=GROUPS.find_next(first, failures.rows, PAGE_SIZE),
        groups=[
            build_group(item, by_day[item.pipeline, item.group], now) for item in failures.groups
        ],
        counted=_list_counted(failures),
        inputs=[
            BrokenInput(row.input_id, row.path, row.entries, row.error or "", row.updated)
            for row in failures.inputs
        ],
        inputs_total=failures.inputs_total,
        settled_notes=None if all_records is None else list_settled_notes(all_records),
    )


async def _get_all_records(request: Request, viewer: TheViewer) -> Records | None:
    stores: Stores = request.app.state.whole_stores
    return stores.records if viewer.has_role(Role.CURATOR) else None


AllRecords = Annotated[Records | None, Depends(_get_all_records)]


def describe_days(counts: Sequence[int]) -> str:
    """Describe the failures of the last days in a sentence, also if there are none."""
    if not sum(counts):
        return f"No failures in the last {len(counts)} days"
    ago = next(n for n, count in enumerate(reversed(counts)) if count)
    last = {0: "today", 1: "yesterday"}.get(ago, f"{ago} days ago")
    if sum(counts) == 1:
        return f"1 failure in the last {len(counts)} days: {last}"
    n_days = sum(count > 0 for count in counts)
    return (
        f"{sum(counts):,} failures on {n_days} of the last {len(counts)} days, last {last},"
        f" at most {max(counts):,} per day"
    )


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
    early = f"{pluralize(failures.inputs_total, 'input')} could not be read"
    if failures.total == 0 and failures.inputs_total == 0:
        if any(form.build_params().values()):
            return "No matching failures"
        if failures.accepted:
            return "Nothing needs attention"
        return f"No failures since {oldest:%-d %B %Y}" if oldest else "No failures"
    if failures.total == 0:
        return early
    groups = failures.groups_total + len(failures.counted)
    heading = f"{pluralize(failures.total, 'failed record')} in {pluralize(groups, 'group')}"
    return f"{heading}, {early}" if failures.inputs_total else heading


@router.get("/failures", include_in_schema=False)
def failures_html(
    request: Request,
    stores: OpenStores,
    all_records: AllRecords,
    form: Annotated[FailuresForm, Query()],
) -> HTMLResponse:
    """Show failures and available actions."""
    page = build_failures_page(stores.records, form, datetime.now(UTC), all_records)
    params = form.build_params()
    position = page.first - 1
    window = build_window(
        "/failures", params, page.groups_total, len(page.groups), position, page.next
    )
    chips = [
        (name, value, build_url("/failures", **{**params, name: None}))
        for name, value in params.items()
        if value
    ]
    several = len({line.pipeline for line in page.reasons}) > 1
    return render_page(
        request,
        "failures.html",
        heading=page.answer,
        page=page,
        several=several,
        days_said=describe_days,
        sparks=draw_sparkline,
        note_max=NOTE_TEXT_MAX_CHARS,
        owner_max=OWNER_MAX_CHARS,
        chips=chips,
        shown=window,
    )


@add_csv_route(router, "/failures", lambda page: page.groups)
@router.get("/failures.json", include_in_schema=False)
@router.get("/api/failures", summary="Failures in groups")
def failures_json(
    stores: OpenStores, all_records: AllRecords, form: Annotated[FailuresForm, Query()]
) -> FailuresPage:
    """List quarantined records in groups of one step, reason, cause and host.

    There are 25 groups per page, largest first, each with a sample and the available actions.
    """
    return build_failures_page(stores.records, form, datetime.now(UTC), all_records)
