"""Curators put files under embargo on the page, and lift one before its date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse

from fonds.config import Settings
from fonds.library.tracing.embargoes.hiding import Hiding
from fonds.model.embargo import NOTE_CHARACTERS_MAX, EmbargoReason
from fonds.model.rows import EmbargoRow, FileMetaRow, TakedownRow
from fonds.ports import Stores
from fonds.web.access.declared import CURATES
from fonds.web.access.forms import Fields, day_of, sha1hex_of
from fonds.web.access.hiding.alone import alone
from fonds.web.access.viewers import HERE, TheViewer, name_act
from fonds.web.problems import RefusedError
from fonds.web.rendering import InForce
from fonds.wiring.backends import now
from fonds.wiring.recurring.collections import changes_there

router = APIRouter(include_in_schema=False, dependencies=[CURATES])

_HIDES = Fields(frozenset({"sha1hex", "until", "reason", "note"}))
_LIFTS = Fields(frozenset({"sha1hex"}))


@router.post("/embargoes")
def hide_html(
    request: Request,
    viewer: TheViewer,
    settings: InForce,
    sent: Annotated[dict[str, str], Depends(_HIDES)],
) -> RedirectResponse:
    """Hide one file, or say anew until when. 400 for a file that is not here, no day to come, no reason."""
    sha1hex, note = _file(request, sent["sha1hex"]), " ".join(sent["note"].split())
    name_act(request, sha1hex)
    until = day_of(sent["until"].strip(), "until")
    if until is None:
        raise RefusedError(400, "Say until when, as 2027-12-31.", parameter="until")
    if until <= now():
        raise RefusedError(400, f"{until:%Y-%m-%d} is over already.", parameter="until")
    if sent["reason"] not in set(EmbargoReason):
        raise RefusedError(400, f"Choose a reason: {', '.join(EmbargoReason)}.", parameter="reason")
    if len(note) > NOTE_CHARACTERS_MAX:
        raise RefusedError(400, f"A note has at most {NOTE_CHARACTERS_MAX} characters.")
    who = viewer.name or HERE
    with _hiding(request, settings) as hiding:
        hiding.hide(EmbargoRow(sha1hex, sent["reason"], note, until, who, now()))
    return RedirectResponse("/embargoes", 303)


@router.post("/embargoes/lift")
def lift_html(
    request: Request, settings: InForce, sent: Annotated[dict[str, str], Depends(_LIFTS)]
) -> RedirectResponse:
    """Show a file again now. 400 where it is under no embargo."""
    sha1hex = _file(request, sent["sha1hex"])
    name_act(request, sha1hex)
    with _hiding(request, settings) as hiding:
        if not hiding.lift(sha1hex):
            raise RefusedError(400, f"{sha1hex} is under no embargo.", parameter="sha1hex")
    return RedirectResponse("/embargoes", 303)


def _file(request: Request, text: str) -> str:
    """The SHA-1 of a file that is here."""
    sha1hex = sha1hex_of(text)
    whole: Stores = request.app.state.whole_stores
    if whole.records.get(TakedownRow, [sha1hex]):
        said = f"{sha1hex} was taken down: nothing is left to be hidden."
        raise RefusedError(400, said, parameter="sha1hex")
    if not whole.records.get(FileMetaRow, [sha1hex]):
        raise RefusedError(400, f"No file here has the SHA-1 {sha1hex}.", parameter="sha1hex")
    return sha1hex


@contextmanager
def _hiding(request: Request, settings: Settings) -> Iterator[Hiding]:
    """Raises RefusedError 409 while another process works on the home alone."""
    with alone(request, settings) as stores:
        yield Hiding(stores, changes_there(stores, settings), now)
