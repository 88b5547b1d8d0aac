"""Page of failures: failures grouped by step, reason, cause and host, and the actions for each
group.
"""

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
from fonds.model.extension import extend
from fonds.model.rows import FailureNoteRow, InputRow, TallyRow
from fonds.ports import Records, Stores
from fonds.web.access.roles import READS
from fonds.web.access.viewers import TheViewer
from fonds.web.html.charts import draw_sparkline
from fonds.web.html.paging import TEXT_MAX_CHARS, CursorList, get_first_number
from fonds.web.html.rendering import OpenStores, build_url, build_window, capitalize, render_page
from fonds.web.pages.records import Record, build_record
from fonds.web.serving.csv_tables import add_csv_route
from fonds.wiring.pipeline_names import check_names

# New failure groups, listed before all others.


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGroupLine(FailureGroup):
    """New failure group: all its failures happened today or yesterday (UTC).

    `href`: address of the list of the failed records.
    `group_href`: address of the failures page with this group only, and the actions on it.
    """

    href: str
    group_href: str


@dataclass(frozen=True, slots=True)
class RecentFailures:
    """New failure groups: groups whose failures all happened today or yesterday, in UTC.

    `new`: the first 10 of `new_total` groups. Groups that began today come first, then the largest.
    `new_is_all`: if False, `new_total` is a lower bound. The search for new groups stops after ten
        new groups, and after a thousand groups that failed on a day.
    `last_accepted`: the failure that a user last accepted as final, if no failure is left;
        otherwise None.
    """

    new: Sequence[NewGroupLine]
    new_total: int
    new_is_all: bool
    last_accepted: Record | None

    @property
    def heading(self) -> str:
        """Return the heading of the list of new failure groups."""
        n_shown = len(self.new)
        if not self.new_is_all and self.new_total <= n_shown:
            return f"New since yesterday: {n_shown} of the {GROUPS_EXAMINED_MAX:,} largest groups"
        preposition = "of" if self.new_is_all else "of at least"
        return "New since yesterday" + (
            f": {n_shown} {preposition} {self.new_total}" if self.new_total > n_shown else ""
        )

    @property
    def has_news(self) -> bool:
        """Whether to show the list of new failure groups.

        True if there is a new group, or if not all groups were examined.
        """
        return bool(self.new) or not self.new_is_all


def build_recent(
    records: Records, query: FailureQuery, now: datetime, failures: FailureList
) -> RecentFailures:
    """Build the list of new failure groups. The list is empty if there are no failures."""
    if not failures.total:
        accepted_entry = find_last_accepted(records)
        return RecentFailures((), 0, True, build_record(accepted_entry) if accepted_entry else None)
    new = find_new_groups(records, query, now, failures.groups)
    return RecentFailures([_build_line(group) for group in new.groups], new.total, new.is_all, None)


def _build_line(group: FailureGroup) -> NewGroupLine:
    params = {"pipeline": group.pipeline, "group": group.group}
    return extend(
        NewGroupLine,
        group,
        href=build_url("/records", **params),
        group_href=build_url("/failures", **params),
    )


PAGE_SIZE = 25
GROUPS = CursorList("count", TallyRow.KEY)

router = APIRouter(tags=["failures"], dependencies=[READS])


class FailuresForm(BaseModel):
    """Query parameters of the failures page: filters, and a cursor of the list of failure groups.

    A missing filter selects all failures.
    """

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
        """Build the query for failures from the filters of the page."""
        return FailureQuery(
            self.pipeline or None, self.step or None, self.reason, group=self.group or None
        )

    def build_params(self) -> dict[str, Any]:
        """Return all query parameters of the failures page except the cursor, for links."""
        return self.model_dump(exclude={"after"}, mode="json")


@dataclass(frozen=True, slots=True)
class FailureLine:
    """Number of failures of one step for one reason, with a sample.

    `retry`: the command that retries the failures, None if a retry cannot help.
    `href`: address of the list of the failed records.
    `groups_href`: address of the list of the failure groups of these failures.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroupLine(FailureGroup):
    """One failure group, with explanation, commands and links.

    `sample`: the newest failure, with links.
    `again`: under which condition a retry can help, as text. '' if a retry never helps; `retry` and
        `retry_href` are then None.
    `retry`: the command that retries the failures. For a group of unreadable inputs, the command
        that reads the input again; `retry_href` is then None.
    `href`: address of the list of the failed records.
    `accept_href`, `retry_href`: addresses of the confirmation pages.
    `is_new`: whether all failures happened today or yesterday.
    `last_days`: number of failures on each of the last 30 days until today, in UTC, oldest first.
    """

    sample: Record | None
    explanation: str
    is_new: bool
    last_days: Sequence[int]
    again: str
    href: str
    retry: str | None
    retry_href: str | None
    accept: str
    accept_href: str


@dataclass(frozen=True, slots=True)
class CountedFailure:
    """Number of failed records that a source only counted, without storing them, for one reason.

    Such records cannot be retried.
    """

    reason: str
    explanation: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class FailuresPage:
    """Content of the failures page.

    `total`: number of failed records, without unreadable inputs.
    `groups`: 25 of `groups_total` failure groups, largest first.
    `first`: number of the first group on the page, counted from 1.
    `next`: value of the parameter `after` for the next page, None on the last page.
    `recent`: the failure groups that are new since yesterday.
    `reasons`: numbers of failures for each step and reason in the library, whatever the filters.
    `accepted`: number of failures that users accepted as final. All other numbers exclude them.
    `inputs`: unreadable inputs, at most 50 of `inputs_total`.
    `since`: when the least recently read input was read, None if no input was read.
    `settled_notes`: notes on groups that have no failures any more; None for users who are not
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
    inputs: Sequence[InputRow]
    inputs_total: int
    settled_notes: Sequence[FailureNoteRow] | None


def build_failure(failures: StepFailures) -> FailureLine:
    """Build the line for the failures of one step for one reason: explanation, retry command and
    links.
    """
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
    """Build the line of a failure group: explanation, commands and links. `now` is the current
    time.
    """
    params = {"pipeline": group.pipeline, "group": group.group}
    options = f"--pipeline {shlex.quote(group.pipeline)} --group {group.group}"
    retry_advice = group.reason.retry_hint
    is_input = group.sample is not None and is_unread(group.sample.entry_id)
    return extend(
        FailureGroupLine,
        group,
        explanation=group.reason.explanation,
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
    )


def build_failures_page(
    records: Records, form: FailuresForm, now: datetime, all_records: Records | None = None
) -> FailuresPage:
    """Build one page of failure groups, largest first, with the numbers of failed records that
    sources counted without storing them.

    `now`: the current time.
    `all_records`: the records without the filter for readers; None unless the user is a curator.
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
        inputs=failures.inputs,
        inputs_total=failures.inputs_total,
        settled_notes=None if all_records is None else list_settled_notes(all_records),
    )


async def _get_all_records(request: Request, viewer: TheViewer) -> Records | None:
    stores: Stores = request.app.state.whole_stores
    return stores.records if viewer.has_role(Role.CURATOR) else None


AllRecords = Annotated[Records | None, Depends(_get_all_records)]


def describe_days(counts: Sequence[int]) -> str:
    """Describe the daily numbers of failures of a group in a sentence, even if all numbers are
    0.
    """
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
@router.get("/api/failures", summary="Failures in groups", operation_id="list_failures")
def failures_json(
    stores: OpenStores, all_records: AllRecords, form: Annotated[FailuresForm, Query()]
) -> FailuresPage:
    """List quarantined records in groups of one step, reason, cause and host.

    There are 25 groups per page, largest first, each with a sample and the available actions.
    """
    return build_failures_page(stores.records, form, datetime.now(UTC), all_records)
