"""Trying failures again and accepting them as final: a page before that says what it does, then once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse, RedirectResponse

from fonds.config import Settings
from fonds.failures.decisions import (
    NOTE_MAX_CHARS,
    DecisionPlan,
    FailureAct,
    build_failure_query,
    build_plan,
    execute_decision,
    set_note,
)
from fonds.failures.entries import FailureQuery
from fonds.model.encoding import pluralize
from fonds.model.rows import DecisionRow, FailureNoteRow
from fonds.model.tallies import GROUP_CHARACTERS
from fonds.ports import Stores
from fonds.web.access.roles import CURATES
from fonds.web.access.viewers import TheViewer
from fonds.web.html.actions import FOREIGN_FORM_MESSAGE, FormFields
from fonds.web.html.rendering import InForce, OpenStores, build_url, capitalize, render_page
from fonds.web.serving.json_requests import SentJson, decode_body, takes
from fonds.web.serving.problems import RefusedError
from fonds.wiring.pipelines import has_flavour
from fonds.wiring.stores import get_pipeline, list_readers

FIELDS = frozenset({"pipeline", "group", "entry", "key", "note"})
ENTRY_MAX_CHARS = 1_000
_KEY = re.compile(r"[0-9a-f]{32}")
_GROUP = rf"^([0-9a-f]{{{GROUP_CHARACTERS}}})?$"

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class FailureChoiceForm(BaseModel):
    """Which failures are meant: a group of a pipeline, or one entry of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pipeline: str = Field(max_length=100, description="The pipeline they came into")
    group: str = Field("", pattern=_GROUP, description="Id of the group")
    entry: str = Field("", max_length=ENTRY_MAX_CHARS, description="Id of the entry")

    def build_decision(self, act: FailureAct, decision_id: str, note: str = "") -> DecisionRow:
        """The decision about them, as yet nobody's."""
        return DecisionRow(
            decision_id=decision_id,
            act=act,
            pipeline=self.pipeline,
            failure_group=self.group or None,
            entry_id=self.entry or None,
            note=note,
            taken_by="",
            begun_at=datetime.now(UTC),
            ended_at=None,
            count=None,
        )


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """What a form sent."""

    chosen: FailureChoiceForm
    decision_id: str
    note: str


def _parse_form(named: Annotated[dict[str, str], Depends(FormFields(FIELDS))]) -> SubmittedForm:
    """Raises RefusedError 400 or 413 for what none of our forms sends."""
    try:
        chosen = FailureChoiceForm(
            **{name: named.get(name, "") for name in FailureChoiceForm.model_fields}
        )
    except ValueError:
        raise RefusedError(400, FOREIGN_FORM_MESSAGE) from None
    decision_id = named["key"]
    note = " ".join(named["note"].split())
    if not _KEY.fullmatch(decision_id):
        raise RefusedError(400, FOREIGN_FORM_MESSAGE)
    if len(note) > NOTE_MAX_CHARS:
        raise RefusedError(400, f"A note has at most {NOTE_MAX_CHARS} characters.")
    return SubmittedForm(chosen, decision_id, note)


def _plan(
    stores: Stores, settings: Settings, choice: FailureChoiceForm
) -> tuple[FailureQuery, DecisionPlan]:
    if not has_flavour(choice.pipeline):
        raise RefusedError(400, f"There is no pipeline “{choice.pipeline}”.", parameter="pipeline")
    if bool(choice.group) == bool(choice.entry):
        raise RefusedError(400, "Name a group or an entry, one of the two.", parameter="group")
    asked = build_failure_query(choice.build_decision(FailureAct.RETRY, ""))
    return asked, build_plan(stores, asked, get_pipeline(choice.pipeline, settings))


@router.get("/failures/{act}")
def before_html(
    request: Request,
    stores: OpenStores,
    settings: InForce,
    act: FailureAct,
    form: Annotated[FailureChoiceForm, Query()],
) -> HTMLResponse:
    """What will be done, and the button that does it."""
    _, plan = _plan(stores, settings, form)
    return render_page(
        request,
        "decide.html",
        heading=_format_question(act, plan),
        act=act,
        plan=plan,
        chosen=form,
        key=uuid4().hex,
        note_max=NOTE_MAX_CHARS,
        rows_href=_link_to_rows(form.pipeline, form.group),
    )


def _format_question(act: FailureAct, plan: DecisionPlan) -> str:
    if plan.count == 0:
        return "Nothing like this is in quarantine"
    failures = pluralize(plan.count, "failure")
    if act is FailureAct.ACCEPT:
        return f"Accept {failures} as final?"
    if plan.reads_input:
        return "A command reads this input again"
    return f"Try {failures} again?" if plan.precondition else "Trying again ends the same way"


@router.post("/failures/{act}")
def decide_html(
    stores: OpenStores,
    settings: InForce,
    act: FailureAct,
    sent: Annotated[SubmittedForm, Depends(_parse_form)],
) -> RedirectResponse:
    """Do it, once however often the form is sent, and lead to what was done."""
    _, plan = _plan(stores, settings, sent.chosen)
    known = stores.records.get(DecisionRow, [sent.decision_id])
    if not known:
        if act is FailureAct.RETRY and plan.count and not plan.precondition:
            raise RefusedError(409, "Trying again ends the same way; nothing was done.")
        readers = list_readers(settings, sent.chosen.pipeline)
        stores.queue.declare(readers)
        wanted = sent.chosen.build_decision(act, sent.decision_id, sent.note)
        execute_decision(stores, readers, wanted, lambda: datetime.now(UTC))
    return RedirectResponse(f"/failures/decisions/{sent.decision_id}", 303)


@router.get("/failures/decisions/{decision_id}")
def decided_html(request: Request, stores: OpenStores, decision_id: str) -> HTMLResponse:
    """What was done."""
    found = stores.records.get(DecisionRow, [decision_id]) if _KEY.fullmatch(decision_id) else []
    if not found:
        raise RefusedError(404, "There is no decision of this key.")
    row = found[0]
    return render_page(
        request,
        "decided.html",
        heading=_format_result(row),
        row=row,
        accept=FailureAct.ACCEPT,
        rows_href=_link_to_rows(row.pipeline, row.failure_group or ""),
    )


def _format_result(row: DecisionRow) -> str:
    if row.count is None:
        return "This was begun and has not ended"
    failures = pluralize(row.count, "failure")
    was = "was" if row.count == 1 else "were"
    done = "put back to work" if row.act == FailureAct.RETRY else "accepted as final"
    return f"{failures} {was} {done}" if row.count else "Nothing was left to be done"


def _link_to_rows(pipeline: str, group: str) -> str:
    params: Mapping[str, Any] = {"pipeline": pipeline, "group": group}
    return build_url("/records", **params) if group else "/failures"


# Notes on groups of failures: a form of each group on the page, and the same for programs.


API = "/api/failures/note"
NOTE_FIELDS = frozenset({"pipeline", "group", "note", "owner"})


note_router = APIRouter(dependencies=[CURATES])


class NoteIn(msgspec.Struct, forbid_unknown_fields=True):
    """A note on a group of failures of a pipeline, and whom it is left to; both empty: no note."""

    pipeline: str
    group: str
    note: str = ""
    owner: str = ""


_TAKES = takes(
    msgspec.json.schema(NoteIn)["$defs"]["NoteIn"],
    {"pipeline": "library", "group": "0123456789abcdef", "note": "Asked them", "owner": "Ann"},
)


def _save_note(stores: OpenStores, viewer: TheViewer, note_in: NoteIn) -> FailureNoteRow | None:
    try:
        return set_note(
            stores.records, note_in.pipeline, note_in.group,
            note=note_in.note, owner=note_in.owner, columns=viewer.name, moment=datetime.now(UTC),
        )  # fmt: skip
    except ValueError as error:
        raise RefusedError(400, f"{capitalize(str(error))}.") from error


@note_router.post("/failures/note", include_in_schema=False)
def note_html(
    stores: OpenStores,
    viewer: TheViewer,
    named: Annotated[dict[str, str], Depends(FormFields(NOTE_FIELDS))],
) -> RedirectResponse:
    """Note it, and lead back to the group."""
    sent = NoteIn(**named)
    _save_note(stores, viewer, sent)
    return RedirectResponse(build_url("/failures", pipeline=sent.pipeline, group=sent.group), 303)


@note_router.put(API, summary="Note something about a group of failures", openapi_extra=_TAKES)
def note_json(stores: OpenStores, viewer: TheViewer, sent: SentJson) -> FailureNoteRow | None:
    """As `fonds failures note`: in the place of what was noted; without note and owner nothing is noted any
    more, and the answer is null."""
    return _save_note(stores, viewer, decode_body(sent, NoteIn))
