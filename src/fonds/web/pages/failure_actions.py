"""Pages that retry failures or accept failures as final: first a confirmation, then the action."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, RootModel
from starlette.responses import HTMLResponse

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
from fonds.model.access import Role
from fonds.model.encoding import pluralize
from fonds.model.rows import DecisionRow, FailureNoteRow
from fonds.model.tallies import GROUP_CHARS
from fonds.ports import Stores
from fonds.web.access.roles import CURATES
from fonds.web.access.viewers import TheViewer
from fonds.web.actions import Action, FormResult, FormRoute, JsonRoute, add_actions
from fonds.web.html.rendering import CurrentSettings, OpenStores, build_url, capitalize, render_page
from fonds.web.serving.problems import RefusedError
from fonds.wiring.flavours import get_pipeline, list_readers
from fonds.wiring.pipeline_names import has_flavour

PIPELINE_MAX_CHARS, ENTRY_MAX_CHARS = 100, 1_000
KEY_PATTERN = r"^[0-9a-f]{32}\Z"
GROUP_PATTERN = rf"^([0-9a-f]{{{GROUP_CHARS}}})?"
"""Pattern of the id of a failure group, or ''. Pydantic and msgspec need different patterns for the
end of the text, so each use appends its own end.
"""

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class FailureChoiceForm(BaseModel):
    """Query parameters that select failures of a pipeline: those of a failure group, or that of one
    entry.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    pipeline: str = Field(max_length=PIPELINE_MAX_CHARS, description="Pipeline of the failures")
    group: str = Field("", pattern=rf"{GROUP_PATTERN}$", description="Id of the failure group")
    entry: str = Field("", max_length=ENTRY_MAX_CHARS, description="Id of the entry")

    def build_decision(self, act: FailureAct, decision_id: str, note: str = "") -> DecisionRow:
        """Build the decision to retry the selected failures or accept them as final (`act`).

        `taken_by`, the name of the user who decides, is left empty.
        """
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


def _plan(
    stores: Stores, settings: Settings, choice: FailureChoiceForm
) -> tuple[FailureQuery, DecisionPlan]:
    if not has_flavour(choice.pipeline):
        raise RefusedError(400, f"There is no pipeline “{choice.pipeline}”.", parameter="pipeline")
    if bool(choice.group) == bool(choice.entry):
        raise RefusedError(400, "Name either a group or an entry.", parameter="group")
    failure_query = build_failure_query(choice.build_decision(FailureAct.RETRY, ""))
    return failure_query, build_plan(stores, failure_query, get_pipeline(choice.pipeline, settings))


@router.get("/failures/{act}")
def before_html(
    request: Request,
    stores: OpenStores,
    settings: CurrentSettings,
    act: FailureAct,
    form: Annotated[FailureChoiceForm, Query()],
) -> HTMLResponse:
    """Show what will be done, and the button that does it."""
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
        return "No such failures"
    failures = pluralize(plan.count, "failure")
    if act is FailureAct.ACCEPT:
        return f"Accept {failures} as final?"
    if plan.reads_input:
        return "Use a command to read this input again"
    return f"Retry {failures}?" if plan.precondition else "A retry fails in the same way"


@router.get("/failures/decisions/{decision_id}")
def decided_html(request: Request, stores: OpenStores, decision_id: str) -> HTMLResponse:
    """Show what was done."""
    decisions = (
        stores.records.get(DecisionRow, [decision_id]) if re.match(KEY_PATTERN, decision_id) else []
    )
    if not decisions:
        raise RefusedError(404, "There is no decision with this id.")
    row = decisions[0]
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
        return "This action has not finished"
    failures = pluralize(row.count, "failure")
    was = "was" if row.count == 1 else "were"
    outcome_text = "sent back to their step" if row.act == FailureAct.RETRY else "accepted as final"
    return f"{failures} {was} {outcome_text}" if row.count else "No failures were left"


def _link_to_rows(pipeline: str, group: str) -> str:
    params: Mapping[str, Any] = {"pipeline": pipeline, "group": group}
    return build_url("/records", **params) if group else "/failures"


class DecisionIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that retries or accepts failures of a pipeline: a failure group or one entry, and a
    note.

    `key`: id of the decision. The same id sent twice is one decision.
    """

    pipeline: Annotated[str, msgspec.Meta(max_length=PIPELINE_MAX_CHARS)]
    key: Annotated[str, msgspec.Meta(pattern=KEY_PATTERN)]
    group: Annotated[str, msgspec.Meta(pattern=rf"{GROUP_PATTERN}\Z")] = ""
    entry: Annotated[str, msgspec.Meta(max_length=ENTRY_MAX_CHARS)] = ""
    note: Annotated[str, msgspec.Meta(max_length=NOTE_MAX_CHARS)] = ""


class NoteIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that sets the note on a failure group of a pipeline, and who takes care of the group
    (owner).

    If note and owner are both empty, the note on the group is deleted.
    """

    pipeline: str
    group: str
    note: str = ""
    owner: str = ""


def decide(stores: OpenStores, settings: CurrentSettings, act: FailureAct, sent: DecisionIn) -> str:
    """Retry failures or accept them as final, only once even if the form is sent again.

    Return the decision's id.
    """
    choice = FailureChoiceForm(pipeline=sent.pipeline, group=sent.group, entry=sent.entry)
    _, plan = _plan(stores, settings, choice)
    if not stores.records.get(DecisionRow, [sent.key]):
        if act is FailureAct.RETRY and plan.count and not plan.precondition:
            raise RefusedError(409, "A retry would fail in the same way. Nothing was changed.")
        readers = list_readers(settings, sent.pipeline)
        stores.queue.declare(readers)
        decision = choice.build_decision(act, sent.key, " ".join(sent.note.split()))
        execute_decision(stores, readers, decision, lambda: datetime.now(UTC))
    return sent.key


class SavedFailureNote(RootModel[FailureNoteRow | None]):
    """Note on a failure group; null if the note was removed."""


def save_note(stores: OpenStores, viewer: TheViewer, sent: NoteIn) -> FailureNoteRow | None:
    """Set the note on a group of failures, as `fonds failures note` does.

    It replaces an existing note.

    Without note and owner, the note is deleted and the answer is null.
    """
    try:
        return set_note(
            stores.records, sent.pipeline, sent.group,
            note=sent.note, owner=sent.owner, author=viewer.name, moment=datetime.now(UTC),
        )  # fmt: skip
    except ValueError as error:
        raise RefusedError(400, f"{capitalize(str(error))}.") from error


def _link_to_group(result: FormResult[NoteIn, FailureNoteRow | None]) -> str:
    parameters = result.parameters
    return build_url("/failures", pipeline=parameters.pipeline, group=parameters.group)


action_router = APIRouter(tags=["failures"])
# The path of a note must come before the one that takes any name.
add_actions(
    action_router,
    Action(
        "set the note on a failure group",
        Role.CURATOR,
        save_note,
        NoteIn,
        FormRoute("/failures/note", _link_to_group),
        JsonRoute(
            "/api/failures/note",
            "Set the note on a failure group",
            "PUT",
            operation_id="save_failure_note",
            answer=SavedFailureNote,
            example={
                "pipeline": "library",
                "group": "0123456789abcdef",
                "note": "Asked the publisher",
                "owner": "Ann",
            },
        ),
    ),
    Action(
        "decide on failures",
        Role.CURATOR,
        decide,
        DecisionIn,
        FormRoute("/failures/{act}", lambda result: f"/failures/decisions/{result.answer}"),
    ),
)
