"""Trying failures again and accepting them as final: a page before that says what it does, then once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse, RedirectResponse

from fonds.config import Settings
from fonds.library.failures.deciding import (
    NOTE_CHARACTERS_MAX,
    Act,
    Plan,
    decide,
    decided_about,
    planned,
)
from fonds.library.failures.failed import Asked
from fonds.model.failure import GROUP_CHARACTERS
from fonds.model.numbers import how_many
from fonds.model.rows import DecisionRow
from fonds.ports import Stores
from fonds.web.access.declared import CURATES
from fonds.web.access.forms import NONE_OF_OURS, Fields
from fonds.web.problems import RefusedError
from fonds.web.rendering import InForce, OpenStores, link, page
from fonds.wiring.backends import named_pipeline, readers_of
from fonds.wiring.known import has_flavour

FIELDS = frozenset({"pipeline", "group", "entry", "key", "note"})
ENTRY_CHARACTERS_MAX = 1_000
_KEY = re.compile(r"[0-9a-f]{32}")
_GROUP = rf"^([0-9a-f]{{{GROUP_CHARACTERS}}})?$"

router = APIRouter(include_in_schema=False, dependencies=[CURATES])


class ChosenForm(BaseModel):
    """Which failures are meant: a group of a pipeline, or one entry of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pipeline: str = Field(max_length=100, description="The pipeline they came into")
    group: str = Field("", pattern=_GROUP, description="Id of the group")
    entry: str = Field("", max_length=ENTRY_CHARACTERS_MAX, description="Id of the entry")

    def decision(self, act: Act, decision_id: str, note: str = "") -> DecisionRow:
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
class Sent:
    """What a form sent."""

    chosen: ChosenForm
    decision_id: str
    note: str


def _sent(named: Annotated[dict[str, str], Depends(Fields(FIELDS))]) -> Sent:
    """Raises RefusedError 400 or 413 for what none of our forms sends."""
    try:
        chosen = ChosenForm(**{name: named.get(name, "") for name in ChosenForm.model_fields})
    except ValueError:
        raise RefusedError(400, NONE_OF_OURS) from None
    decision_id = named["key"]
    note = " ".join(named["note"].split())
    if not _KEY.fullmatch(decision_id):
        raise RefusedError(400, NONE_OF_OURS)
    if len(note) > NOTE_CHARACTERS_MAX:
        raise RefusedError(400, f"A note has at most {NOTE_CHARACTERS_MAX} characters.")
    return Sent(chosen, decision_id, note)


def _plan(stores: Stores, settings: Settings, chosen: ChosenForm) -> tuple[Asked, Plan]:
    if not has_flavour(chosen.pipeline):
        raise RefusedError(400, f"There is no pipeline “{chosen.pipeline}”.", parameter="pipeline")
    if bool(chosen.group) == bool(chosen.entry):
        raise RefusedError(400, "Name a group or an entry, one of the two.", parameter="group")
    asked = decided_about(chosen.decision(Act.RETRY, ""))
    return asked, planned(stores, asked, named_pipeline(chosen.pipeline, settings))


@router.get("/failures/{act}")
def before_html(
    request: Request,
    stores: OpenStores,
    settings: InForce,
    act: Act,
    form: Annotated[ChosenForm, Query()],
) -> HTMLResponse:
    """What will be done, and the button that does it."""
    _, plan = _plan(stores, settings, form)
    return page(
        request,
        "decide.html",
        heading=_question(act, plan),
        act=act,
        plan=plan,
        chosen=form,
        key=uuid4().hex,
        note_max=NOTE_CHARACTERS_MAX,
        rows_href=_rows_href(form.pipeline, form.group),
    )


def _question(act: Act, plan: Plan) -> str:
    if plan.count == 0:
        return "Nothing like this is in quarantine"
    failures = how_many(plan.count, "failure")
    if act is Act.ACCEPT:
        return f"Accept {failures} as final?"
    if plan.reads_input:
        return "A command reads this input again"
    return f"Try {failures} again?" if plan.again else "Trying again ends the same way"


@router.post("/failures/{act}")
def decide_html(
    stores: OpenStores, settings: InForce, act: Act, sent: Annotated[Sent, Depends(_sent)]
) -> RedirectResponse:
    """Do it, once however often the form is sent, and lead to what was done."""
    _, plan = _plan(stores, settings, sent.chosen)
    known = stores.records.get(DecisionRow, [sent.decision_id])
    if not known:
        if act is Act.RETRY and plan.count and not plan.again:
            raise RefusedError(409, "Trying again ends the same way; nothing was done.")
        readers = readers_of(settings, sent.chosen.pipeline)
        stores.queue.declare(readers)
        wanted = sent.chosen.decision(act, sent.decision_id, sent.note)
        decide(stores, readers, wanted, lambda: datetime.now(UTC))
    return RedirectResponse(f"/failures/decisions/{sent.decision_id}", 303)


@router.get("/failures/decisions/{decision_id}")
def decided_html(request: Request, stores: OpenStores, decision_id: str) -> HTMLResponse:
    """What was done."""
    found = stores.records.get(DecisionRow, [decision_id]) if _KEY.fullmatch(decision_id) else []
    if not found:
        raise RefusedError(404, "There is no decision of this key.")
    row = found[0]
    return page(
        request,
        "decided.html",
        heading=_told(row),
        row=row,
        accept=Act.ACCEPT,
        rows_href=_rows_href(row.pipeline, row.failure_group or ""),
    )


def _told(row: DecisionRow) -> str:
    if row.count is None:
        return "This was begun and has not ended"
    failures = how_many(row.count, "failure")
    was = "was" if row.count == 1 else "were"
    done = "put back to work" if row.act == Act.RETRY else "accepted as final"
    return f"{failures} {was} {done}" if row.count else "Nothing was left to be done"


def _rows_href(pipeline: str, group: str) -> str:
    params: Mapping[str, Any] = {"pipeline": pipeline, "group": group}
    return link("/records", **params) if group else "/failures"
