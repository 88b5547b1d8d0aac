"""The rows behind a number: records by what became of them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.library.accounting import count_outcomes, outcomes
from fonds.library.tracing.days import Days, count_entered, entered
from fonds.library.tracing.uncaptured import uncaptured
from fonds.model.disposition import Reason
from fonds.model.entry import is_unread
from fonds.model.numbers import how_many
from fonds.model.rows import EntryRow
from fonds.ports import Records
from fonds.web.access.declared import READS
from fonds.web.marks import TEXT_MAX_CHARS, MarkedList, first_of
from fonds.web.parameters import Day
from fonds.web.rendering import ListWindow, OpenStores, day, link, page, sentence, shown
from fonds.web.serving.tables import tabled
from fonds.wiring.known import check_names

PAGE_SIZE = 50
ENTRIES = MarkedList("settled_at", EntryRow.KEY)
ENTERED = MarkedList("entered_at", EntryRow.KEY)
OUTCOMES = ("done", "dropped", "quarantined", "pending")
_SHA1HEX = re.compile(r"[0-9a-f]{40}")

router = APIRouter(dependencies=[READS])


AfterEntry = Annotated[str, AfterValidator(ENTRIES.checked)]


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

    def where(self) -> dict[str, object]:
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

    def params(self) -> dict[str, Any]:
        """Everything but where the page begins, for links."""
        return self.model_dump(exclude={"after"}, mode="json", by_alias=True)

    @property
    def days(self) -> Days | None:
        """The days asked for; None for all there are."""
        return Days(self.from_, self.to) if self.from_ or self.to else None


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


def record(row: EntryRow) -> Record:
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
        retry_href=link("/failures/retry", **at) if helps else None,
        accept_href=link("/failures/accept", **at) if failed else None,
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


def records_page(records: Records, form: RecordsForm) -> RecordsPage:
    """What the form asks for. The total is the number the overview shows for the same question.

    Raises HTTPException 400 for a pipeline or step there is not.
    """
    try:
        check_names(records, pipeline=form.pipeline, step=form.step)
    except ValueError as error:
        raise HTTPException(400, sentence(str(error))) from None
    listed, rows, first, following = _rows(records, form)
    # Sources count for the reasons of dropped records only, and no step took part.
    aside = form.outcome in ("", "dropped") and not form.step and not form.group
    tallies = uncaptured(records, form.reasons if aside else (), form.pipeline or None, form.days)
    return RecordsPage(
        answer=_answer(form, listed + tallies.total),
        total=listed + tallies.total,
        listed_total=listed,
        counted_total=tallies.total,
        first=first,
        next=following,
        rows=[record(row) for row in rows],
        counted_inputs_total=tallies.inputs_count,
        counted_inputs_complete=tallies.complete,
        counted_inputs=[InputTally(row.input_id, row.path, n) for row, n in tallies.inputs],
    )


def _rows(records: Records, form: RecordsForm) -> tuple[int, list[EntryRow], int, str | None]:
    """How many are listed, the rows of one page, the number of its first, and where the next begins."""
    where, days = form.where(), form.days
    order = ENTRIES if days is None else ENTERED
    begins = order.read(form.after)
    first, after = first_of(begins), order.after(begins)
    if days is None:
        listed = count_outcomes(records, where)
        rows = outcomes(records, where, after=after, count_max=PAGE_SIZE)
    else:
        listed = count_entered(records, days, where)
        rows = entered(records, days, where, after=after, count_max=PAGE_SIZE)
    return listed, rows, first, order.following(first, rows, PAGE_SIZE)


def _shown(path: str, params: dict[str, Any], total: int, found: RecordsPage) -> ListWindow:
    return shown(path, params, total, len(found.rows), found.first - 1, found.next)


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


def _answer(form: RecordsForm, total: int) -> str:
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
    came = _when(form.days)
    if came and verb[0] != "came in":
        came = f" that came in{came}"
        return f"{how_many(total, 'record')}{came} {verb[plural]}{because}{where}{within}"
    return f"{how_many(total, 'record')} {verb[plural]}{because}{where}{within}{came}"


def _when(days: Days | None) -> str:
    if days is None:
        return ""
    if days.first and days.first == days.last:
        return f" on {day(days.first)}"
    begins = f" from {day(days.first)}" if days.first else ""
    return f"{begins} until {day(days.last)}" if days.last else f"{begins} on"


@router.get("/records", include_in_schema=False)
def records_html(
    request: Request, stores: OpenStores, form: Annotated[RecordsForm, Query()]
) -> HTMLResponse:
    """The rows behind a number."""
    found = records_page(stores.records, form)
    return page(
        request,
        "records.html",
        heading=found.answer,
        found=found,
        form=form,
        explanation=form.reason.explanation if isinstance(form.reason, Reason) else None,
        chips=_chips(form),
        shown=_shown("/records", form.params(), found.listed_total, found),
    )


def _chips(form: RecordsForm) -> list[tuple[str, str, str]]:
    """(name, value, link without it) of every parameter in use."""
    params = form.params()
    return [
        (name, value, link("/records", **{**params, name: None}))
        for name, value in params.items()
        if value
    ]


@tabled(router, "/records", lambda found: found.rows)
@router.get("/records.json", include_in_schema=False)
@router.get("/api/records", summary="Records by what became of them")
def records_json(stores: OpenStores, form: Annotated[RecordsForm, Query()]) -> RecordsPage:
    """The rows behind any number of the overview, 50 a page, newest first."""
    return records_page(stores.records, form)
