"""The rows behind a number: records by what became of them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse, StreamingResponse

from fonds.failures.accounting.days import DayRange, count_entered, count_uncaptured, list_entered
from fonds.failures.accounting.tallies import count_outcomes, list_outcomes
from fonds.model.disposition import Reason
from fonds.model.encoding import pluralize
from fonds.model.entry import is_unread
from fonds.model.rows import EntryRow
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Records
from fonds.search.export_formats import FORMS
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
from fonds.wiring.pipelines import check_names

PAGE_SIZE = 50
ENTRIES = CursorList("settled_at", EntryRow.KEY)
ENTERED = CursorList("entered_at", EntryRow.KEY)
OUTCOMES = ("done", "dropped", "quarantined", "pending")
_SHA1HEX = re.compile(r"[0-9a-f]{40}")

router = APIRouter(dependencies=[READS])


AfterEntry = Annotated[str, AfterValidator(ENTRIES.validate)]


class RecordsForm(BaseModel):
    """Which records; parameters that are left out do not narrow."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: Literal["", "done", "dropped", "quarantined", "pending"] = Field(
        "", description="What became of the record"
    )
    weight: Literal["", "kept-without-text", "set-aside", "refused", "failed"] = Field(
        "", description="All reasons of one weight"
    )
    reason: Reason | Literal[""] = Field("", description="Why it was dropped or quarantined")
    step: str = Field("", max_length=100, description="The step that decided it")
    pipeline: str = Field("", max_length=100, description="The pipeline it came into")
    group: str = Field("", pattern="^([0-9a-f]{16})?$", description="Its failure group")
    from_: Day = Field(
        None, alias="from", description="First day it came in, YYYY-MM-DD in UTC; empty for any"
    )
    to: Day = Field(None, description="Last day it came in, YYYY-MM-DD; empty for any")
    after: AfterEntry = Field(
        "", max_length=TEXT_MAX_CHARS, description="The page behind another: its `next`"
    )

    @property
    def reasons(self) -> list[str] | None:
        """The reasons asked for; None when any, or none at all, will do."""
        if self.reason:
            return [str(self.reason)]
        if self.weight:
            return [str(r) for r in Reason if r.weight.replace(" ", "-") == self.weight]
        return None

    def build_filter(self) -> dict[str, object]:
        """The columns of `entries` asked for. What is waiting was decided by no step and for no reason."""
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
        """Everything but where the page begins, for links."""
        return self.model_dump(exclude={"after"}, mode="json", by_alias=True)

    @property
    def days(self) -> DayRange | None:
        """The days asked for; None for all there are."""
        return DayRange(self.from_, self.to) if self.from_ or self.to else None


@dataclass(frozen=True, slots=True)
class Record:
    """One record and what became of it: a row of `entries`, under its names.

    `file_href` opens the file it is about, None when it is about none; `retry_href` and `accept_href` lead to
    what can be done about a failure, None where there is nothing to be done.
    """

    entry_id: str
    pipeline: str
    kind: str
    input_id: str
    url: str
    seen: str | None
    place: str | None
    about: str | None
    outcome: str
    reason: str | None
    step: str | None
    detail: str | None
    settled_at: dt.datetime | None
    file_href: str | None
    retry_href: str | None = None
    accept_href: str | None = None


def build_record(row: EntryRow) -> Record:
    """The row as the pages and the API show it."""
    shown = {one.name: getattr(row, one.name) for one in fields(Record)[:-3]}
    is_file = _SHA1HEX.fullmatch(row.about or "")
    at = {"pipeline": row.pipeline, "entry": row.entry_id}
    failed = row.outcome == "quarantined"
    tried = failed and not is_unread(row.entry_id)
    helps = tried and row.reason in set(Reason) and Reason(row.reason or "").again
    return Record(
        **shown,
        file_href=f"/file/{row.about}" if is_file else None,
        retry_href=build_url("/failures/retry", **at) if helps else None,
        accept_href=build_url("/failures/accept", **at) if failed else None,
    )


@dataclass(frozen=True, slots=True)
class InputTally:
    """How many records of one input were counted and not kept one by one."""

    input_id: str
    path: str
    count: int


@dataclass(frozen=True, slots=True)
class RecordsPage:
    """One page of records: `total` = `listed_total` + `counted_total`.

    `first` numbers its first row, from 1; the page behind it is had with `after` = `next`, None at the end.
    `counted_total` are records that sources count and do not keep one by one; `counted_inputs` says in
    which inputs, the largest first, `counted_inputs_total` how many such inputs there are (or
    more, unless `counted_inputs_complete`).
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
    """What the form asks for. The total is the number the overview shows for the same question.

    Raises HTTPException 400 for a pipeline or step there is not.
    """
    try:
        check_names(records, pipeline=form.pipeline, step=form.step)
    except ValueError as error:
        raise HTTPException(400, capitalize(str(error))) from None
    listed, rows, first, following = _load_rows(records, form)
    # Sources count for the reasons of dropped records only, and no step took part.
    aside = form.outcome in ("", "dropped") and not form.step and not form.group
    tallies = count_uncaptured(
        records, form.reasons if aside else (), form.pipeline or None, form.days
    )
    return RecordsPage(
        answer=_build_heading(form, listed + tallies.total),
        total=listed + tallies.total,
        listed_total=listed,
        counted_total=tallies.total,
        first=first,
        next=following,
        rows=[build_record(row) for row in rows],
        counted_inputs_total=tallies.inputs_count,
        counted_inputs_complete=tallies.complete,
        counted_inputs=[InputTally(row.input_id, row.path, n) for row, n in tallies.inputs],
    )


def _load_rows(records: Records, form: RecordsForm) -> tuple[int, list[EntryRow], int, str | None]:
    """How many are listed, the rows of one page, the number of its first, and where the next begins."""
    where, days = form.build_filter(), form.days
    order = ENTRIES if days is None else ENTERED
    begins = order.decode(form.after)
    first, after = get_first_number(begins), order.build_filter(begins)
    if days is None:
        listed = count_outcomes(records, where)
        rows = list_outcomes(records, where, after=after, count_max=PAGE_SIZE)
    else:
        listed = count_entered(records, days, where)
        rows = list_entered(records, days, where, after=after, count_max=PAGE_SIZE)
    return listed, rows, first, order.find_next(first, rows, PAGE_SIZE)


def _build_window(path: str, params: dict[str, Any], total: int, page: RecordsPage) -> ListWindow:
    return build_window(path, params, total, len(page.rows), page.first - 1, page.next)


_OUTCOME_WORDS = {
    "done": ("was kept", "were kept"),
    "dropped": ("was set aside or refused", "were set aside or refused"),
    "quarantined": ("waits in quarantine", "wait in quarantine"),
    "pending": ("is still on its way", "are still on their way"),
}
_WEIGHT_WORDS = {
    "kept-without-text": ("was kept without text", "were kept without text"),
    "set-aside": ("was set aside", "were set aside"),
    "refused": ("was refused", "were refused"),
    "failed": ("failed", "failed"),
}


def _build_heading(form: RecordsForm, total: int) -> str:
    plural = total != 1
    verb = _WEIGHT_WORDS["failed"] if form.group else ("came in", "came in")
    if form.outcome:
        verb = _OUTCOME_WORDS[form.outcome]
    elif form.weight:
        verb = _WEIGHT_WORDS[form.weight]
    elif isinstance(form.reason, Reason):
        verb = _WEIGHT_WORDS[form.reason.weight.replace(" ", "-")]
    because = f" as {form.reason}" if form.reason else ""
    where = f" at {form.step}" if form.step else ""
    within = f" in {form.pipeline}" if form.pipeline else ""
    within += " in this group" if form.group else ""
    came = _format_days(form.days)
    if came and verb[0] != "came in":
        came = f" that came in{came}"
        return f"{pluralize(total, 'record')}{came} {verb[plural]}{because}{where}{within}"
    return f"{pluralize(total, 'record')} {verb[plural]}{because}{where}{within}{came}"


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
    """The rows behind a number."""
    found = build_records_page(stores.records, form)
    return render_page(
        request,
        "records.html",
        heading=found.answer,
        found=found,
        form=form,
        explanation=form.reason.explanation if isinstance(form.reason, Reason) else None,
        chips=_build_chips(form),
        shown=_build_window("/records", form.build_params(), found.listed_total, found),
    )


def _build_chips(form: RecordsForm) -> list[tuple[str, str, str]]:
    """(name, value, link without it) of every parameter in use."""
    params = form.build_params()
    return [
        (name, value, build_url("/records", **{**params, name: None}))
        for name, value in params.items()
        if value
    ]


@add_csv_route(router, "/records", lambda found: found.rows)
@router.get("/records.json", include_in_schema=False)
@router.get("/api/records", summary="Records by what became of them")
def records_json(stores: OpenStores, form: Annotated[RecordsForm, Query()]) -> RecordsPage:
    """The rows behind any number of the overview, 50 a page, newest first."""
    return build_records_page(stores.records, form)


# The ledger as a file: everything that ever came in and what became of it, handed out as it is written.


ROW_FORMATS = {name: form for name, form in FORMS.items() if form.rows is not None}
Name = Annotated[str, Path(max_length=40, description="jsonl, csv or parquet")]


@router.get("/ledger/{name}", include_in_schema=False, response_class=StreamingResponse)
@router.get(
    "/api/ledger/{name}",
    response_class=StreamingResponse,
    summary="Everything that came in, and what became of it",
)
def ledger(stores: OpenStores, name: Name) -> StreamingResponse:
    """A row for each record, and one for each input and reason that was counted alone; `count` adds up to
    what the overview says came in."""
    form = ROW_FORMATS.get(name)
    if form is None or form.rows is None:
        raise HTTPException(
            404, f"{capitalize(format_unknown_name('form of the ledger', name, ROW_FORMATS))}."
        )
    table = TABLES["ledger"]
    headers = {"Content-Disposition": f'attachment; filename="ledger.{form.suffix}"'}
    pieces = form.rows(table.rows(stores), table.columns)
    return StreamingResponse(pieces, media_type=form.media_type, headers=headers)
