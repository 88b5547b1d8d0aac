"""Admins take a file down on the page, or go on with what was broken off."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse

from fonds.kinds.embargoes import embargoed
from fonds.library.description import description
from fonds.library.repair.recovering import recover
from fonds.library.tracing.takedown import NOTE_CHARACTERS_MAX
from fonds.model.rows import TakedownRow
from fonds.model.takedown import ReasonClass
from fonds.ports import Stores
from fonds.web.access.declared import ADMINISTERS
from fonds.web.access.forms import Fields, sha1hex_of
from fonds.web.access.hiding.alone import alone
from fonds.web.access.hiding.takedowns import refusal
from fonds.web.access.viewers import HERE, TheViewer, name_act
from fonds.web.problems import RefusedError
from fonds.web.rendering import InForce
from fonds.wiring.backends import now
from fonds.wiring.taking_down import taking_down

SURE = "yes"

router = APIRouter(include_in_schema=False, dependencies=[ADMINISTERS])


@router.post("/takedowns")
def take_down_html(
    request: Request,
    viewer: TheViewer,
    settings: InForce,
    sent: Annotated[
        dict[str, str],
        Depends(Fields(frozenset({"sha1hex", "reason", "note", "everywhere", "sure"}))),
    ],
) -> RedirectResponse:
    """Take one file down, or go on with it: what it is for is then what was said first. 400 for a file that
    is not here, no reason, or who is not sure; 403 where somebody else has to hide it first; 409 while the
    home is in use."""
    sha1hex = sha1hex_of(sent["sha1hex"])
    note, everywhere = " ".join(sent["note"].split()), sent["everywhere"] == SURE
    whole: Stores = request.app.state.whole_stores
    begun = next(iter(whole.records.get(TakedownRow, [sha1hex])), None)
    if begun is None:
        _check(whole, sha1hex, sent, note)
        refused = refusal(embargoed(whole.records, [sha1hex]).get(sha1hex), settings, viewer)
        if refused is not None:
            raise RefusedError(403, refused)
    reason = begun.reason_class if begun else sent["reason"]
    name_act(request, f"{sha1hex} {reason}")
    row = begun or TakedownRow(sha1hex, reason, note, viewer.name or HERE, now(), {})
    with alone(request, settings) as stores:
        recover(stores)
        taking_down(stores, settings, lambda told: None, everywhere=everywhere)(row)
    return RedirectResponse(f"/takedowns#t-{sha1hex}", 303)


def _check(whole: Stores, sha1hex: str, sent: dict[str, str], note: str) -> None:
    if not description(whole, sha1hex).known:
        said = (
            f"Nothing here has the SHA-1 {sha1hex}. `fonds takedown` refuses bytes that never came."
        )
        raise RefusedError(400, said, parameter="sha1hex")
    if sent["reason"] not in set(ReasonClass):
        raise RefusedError(400, f"Choose a reason: {', '.join(ReasonClass)}.", parameter="reason")
    if len(note) > NOTE_CHARACTERS_MAX:
        raise RefusedError(400, f"A note has at most {NOTE_CHARACTERS_MAX} characters.")
    if sent["sure"] != SURE:
        said = "Say that you are sure, by the box in the form: a takedown cannot be undone."
        raise RefusedError(400, said, parameter="sure")
