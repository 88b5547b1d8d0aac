"""Page that lists records by outcome, and the download of the whole ledger (all entries and their
outcomes).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse, StreamingResponse

from fonds.failures.accounting.days import DayRange, count_entered, count_uncaptured, list_entered
from fonds.failures.accounting.tallies import count_outcomes, list_outcomes
from fonds.model.disposition import Reason, Weight
from fonds.model.encoding import pluralize
from fonds.model.entry import is_unread
from fonds.model.extension import extend
from fonds.model.rows import EntryRow
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Records
from fonds.search.export_formats import EXPORT_FORMATS
from fonds.search.export_rows import TABLES
from fonds.web.access.roles import READS
from fonds.web.html.paging import TEXT_MAX_CHARS, CursorList, get_first_number
from fonds.web.html.rendering import (
    ListWindow,
    OpenStores,
    build_url,
    build_window,
    capitalize,
    format_day,
    render_page,
)
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.parameters import Day
from fonds.wiring.pipeline_names import check_names

PAGE_SIZE = 50
ENTRIES = CursorList("settled_at", EntryRow.KEY)
ENTERED = CursorList("entered_at", EntryRow.KEY)
OUTCOMES = ("done", "dropped", "quarantined", "pending")
_SHA1HEX = re.compile(r"[0-9a-f]{40}")

router = APIRouter(tags=["records"], dependencies=[READS])


AfterEntry = Annotated[str, AfterValidator(ENTRIES.validate)]


class RecordsForm(BaseModel):
    """Query parameters of the list of records: filters and a cursor. A missing filter selects all
    records.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: Literal["", "done", "dropped", "quarantined", "pending"] = Field(
        "", description="Outcome of the record"
    )
    weight: Literal["", "stored-without-text", "skipped", "rejected", "failed"] = Field(
        "", description="Reasons of this weight"
    )
    reason: Reason | Literal[""] = Field("", description="Reason why it was dropped or quarantined")
    step: str = Field("", max_length=100, description="Step that decided the outcome")
    pipeline: str = Field("", max_length=100, description="Pipeline")
    group: str = Field("", pattern="^([0-9a-f]{16})?$", description="Failure group")
    from_: Day = Field(
        None,
        alias="from",
        description="Received on or after this day, YYYY-MM-DD in UTC; empty for any",
    )
    to: Day = Field(None, description="Received on or before this day, YYYY-MM-DD; empty for any")
    after: AfterEntry = Field(
        "",
        max_length=TEXT_MAX_CHARS,
        description="Cursor of the next page: `next` of the previous response",
    )

    @property
    def reasons(self) -> list[str] | None:
        """Return the reasons by which to filter records: the requested reason, else all reasons of
        the requested severity (`weight`).

        Return None if neither a reason nor a category is requested.
        """
        if self.reason:
            return [str(self.reason)]
        if self.weight:
            return [str(r) for r in Reason if r.weight.replace(" ", "-") == self.weight]
        return None

    def build_filter(self) -> dict[str, object]:
        """Return the filter for records, on columns of the SQL table `entries`.

        Pending records have no step and no reason.
        """
        outcomes = {self.outcome} if self.outcome else set(OUTCOMES)
        where: dict[str, object] = {}
        if self.reasons is not None:
            where["reason"] = self.reasons
            outcomes -= {"pending"}
        if self.step:
            where["step"] = self.step
            outcomes -= {"pending"}
        if self.pipeline:
            where["pipeline"] = self.pipeline
        if self.group:
            where["failure_group"] = self.group
            outcomes = set(OUTCOMES) if "quarantined" in outcomes else outcomes
        return where if outcomes == set(OUTCOMES) else {"outcome": sorted(outcomes), **where}

    def build_params(self) -> dict[str, Any]:
        """Return all query parameters of the list of records except the cursor, for links to the
        list.
        """
        return self.model_dump(exclude={"after"}, mode="json", by_alias=True)

    @property
    def days(self) -> DayRange | None:
        """Return the range of days in which listed records arrived, None for all days."""
        return DayRange(self.from_, self.to) if self.from_ or self.to else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(EntryRow):
    """One record and its outcome: a row of the table `entries`, with links.

    `file_href`: address of the page of the record's file, None if the record has no file.
    `retry_href`, `accept_href`: addresses of the pages that retry or accept a failed record, None
        if the action is not available.
    """

    file_href: str | None
    retry_href: str | None
    accept_href: str | None


def build_record(row: EntryRow) -> Record:
    """Build the record that pages and API show from a row of the table `entries`."""
    is_file = _SHA1HEX.fullmatch(row.about or "")
    params = {"pipeline": row.pipeline, "entry": row.entry_id}
    has_failed = row.outcome == "quarantined"
    is_retryable = has_failed and not is_unread(row.entry_id)
    is_retry_useful = (
        is_retryable and row.reason in set(Reason) and Reason(row.reason or "").retry_hint
    )
    return extend(
        Record,
        row,
        file_href=f"/file/{row.about}" if is_file else None,
        retry_href=build_url("/failures/retry", **params) if is_retry_useful else None,
        accept_href=build_url("/failures/accept", **params) if has_failed else None,
    )


@dataclass(frozen=True, slots=True)
class InputTally:
    """Number of records of one input that the input's source counted without storing them one by
    one.
    """

    input_id: str
    path: str
    count: int


@dataclass(frozen=True, slots=True)
class RecordsPage:
    """One page of the list of records.

    `total`: number of all matching records: `listed_total` + `counted_total`.
    `listed_total`: number of records that are stored one by one.
    `counted_total`: number of records that sources only counted.
    `first`: number of the first row on the page, from 1.
    `next`: value of the parameter `after` for the next page, None on the last page.
    `counted_inputs`: the inputs that contain the counted records, the input with the most such
        records first.
    `counted_inputs_total`: number of such inputs; a lower bound unless `counted_inputs_complete`.
    """

    answer: str
    total: int
    listed_total: int
    counted_total: int
    first: int
    next: str | None
    rows: Sequence[Record]
    counted_inputs_total: int
    counted_inputs_complete: bool
    counted_inputs: Sequence[InputTally]


def build_records_page(records: Records, form: RecordsForm) -> RecordsPage:
    """Build the requested page of records.

    The total equals the number on the overview page for the same outcome, reason and days. Raises
    HTTPException 400 for an unknown pipeline or step.
    """
    try:
        check_names(records, pipeline=form.pipeline, step=form.step)
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None
    listed_count, rows, first, following = _load_rows(records, form)
    # Sources count reasons of dropped records only, and no step was involved.
    includes_counted = form.outcome in ("", "dropped") and not form.step and not form.group
    tallies = count_uncaptured(
        records, form.reasons if includes_counted else (), form.pipeline or None, form.days
    )
    return RecordsPage(
        answer=_build_heading(form, listed_count + tallies.total),
        total=listed_count + tallies.total,
        listed_total=listed_count,
        counted_total=tallies.total,
        first=first,
        next=following,
        rows=[build_record(row) for row in rows],
        counted_inputs_total=tallies.inputs_count,
        counted_inputs_complete=tallies.complete,
        counted_inputs=[InputTally(row.input_id, row.path, n) for row, n in tallies.inputs],
    )


def _load_rows(records: Records, form: RecordsForm) -> tuple[int, list[EntryRow], int, str | None]:
    """Load one page of records. Return the number of all stored rows that match, the rows of the
    page, the number of the page's first row (from 1), and the cursor of the next page.
    """
    where, days = form.build_filter(), form.days
    order = ENTRIES if days is None else ENTERED
    cursor = order.decode(form.after)
    first, cursor_filter = get_first_number(cursor), order.build_filter(cursor)
    if days is None:
        listed_count = count_outcomes(records, where)
        rows = list_outcomes(records, where, after=cursor_filter, count_max=PAGE_SIZE)
    else:
        listed_count = count_entered(records, days, where)
        rows = list_entered(records, days, where, after=cursor_filter, count_max=PAGE_SIZE)
    return listed_count, rows, first, order.find_next(first, rows, PAGE_SIZE)


def _build_window(path: str, params: dict[str, Any], total: int, page: RecordsPage) -> ListWindow:
    return build_window(path, params, total, len(page.rows), page.first - 1, page.next)


_OUTCOME_WORDS = {
    "done": "stored",
    "dropped": "skipped or rejected",
    "quarantined": "in quarantine",
    "pending": "in progress",
}


def _build_heading(form: RecordsForm, total: int) -> str:
    verb = str(Weight.FAILED) if form.group else "received"
    if form.outcome:
        verb = _OUTCOME_WORDS[form.outcome]
    elif form.weight:
        verb = form.weight.replace("-", " ")
    elif isinstance(form.reason, Reason):
        verb = str(form.reason.weight)
    reason_clause = f" as {form.reason}" if form.reason else ""
    step_clause = f" at {form.step}" if form.step else ""
    scope = f" in {form.pipeline}" if form.pipeline else ""
    scope += " in this group" if form.group else ""
    days = _format_days(form.days)
    if days and verb != "received":
        days = f", received{days}"
    return f"{pluralize(total, 'record')} {verb}{reason_clause}{step_clause}{scope}{days}"


def _format_days(days: DayRange | None) -> str:
    if days is None:
        return ""
    if days.first and days.first == days.last:
        return f" on {format_day(days.first)}"
    begins = f" from {format_day(days.first)}" if days.first else ""
    return f"{begins} until {format_day(days.last)}" if days.last else f"{begins} on"


@router.get("/records", include_in_schema=False)
def records_html(
    request: Request, stores: OpenStores, form: Annotated[RecordsForm, Query()]
) -> HTMLResponse:
    """Show the records."""
    page = build_records_page(stores.records, form)
    return render_page(
        request,
        "records.html",
        heading=page.answer,
        page=page,
        form=form,
        explanation=form.reason.explanation if isinstance(form.reason, Reason) else None,
        chips=_build_chips(form),
        shown=_build_window("/records", form.build_params(), page.listed_total, page),
    )


def _build_chips(form: RecordsForm) -> list[tuple[str, str, str]]:
    """Return the active filters of the list of records: (name, value, URL of the list without that
    filter).
    """
    params = form.build_params()
    return [
        (name, value, build_url("/records", **{**params, name: None}))
        for name, value in params.items()
        if value
    ]


@add_csv_route(router, "/records", lambda page: page.rows)
@router.get("/records.json", include_in_schema=False)
@router.get("/api/records", summary="Records by outcome", operation_id="list_records")
def records_json(stores: OpenStores, form: Annotated[RecordsForm, Query()]) -> RecordsPage:
    """List records by outcome, reason, step, pipeline or day, 50 per page, newest first."""
    return build_records_page(stores.records, form)


# Ledger as a download: everything that ever arrived and its outcome, streamed.


ROW_FORMATS = {name: form for name, form in EXPORT_FORMATS.items() if form.rows is not None}
Name = Annotated[str, Path(max_length=40, description="jsonl, csv or parquet")]


@router.get("/ledger/{name}", include_in_schema=False, response_class=StreamingResponse)
@router.get(
    "/api/ledger/{name}",
    response_class=StreamingResponse,
    summary="Download the ledger",
    operation_id="download_ledger",
)
def ledger(stores: OpenStores, name: Name) -> StreamingResponse:
    """Return a row for each record, and one for each input and reason that was only counted.

    The sum of the column `count` is the number of received records on the overview.
    """
    form = ROW_FORMATS.get(name)
    if form is None or form.rows is None:
        raise HTTPException(
            404, f"{capitalize(format_unknown_name('format of the ledger', name, ROW_FORMATS))}."
        )
    table = TABLES["ledger"]
    headers = {"Content-Disposition": f'attachment; filename="ledger.{form.suffix}"'}
    pieces = form.rows(table.rows(stores), table.columns)
    return StreamingResponse(pieces, media_type=form.media_type, headers=headers)
