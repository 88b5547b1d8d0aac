"""The page of what is under embargo, for curators, who hide files there and show them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse

from fonds.config import Settings
from fonds.derivatives.kinds import KINDS
from fonds.model.encoding import pluralize
from fonds.model.restrictions import EXPLAINED, NOTE_MAX_CHARS, EmbargoReason
from fonds.model.rows import EmbargoRow, FileMetaRow, TakedownRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records, Stores
from fonds.restrictions.embargo import EmbargoService
from fonds.viewer.description import find_own_title
from fonds.web.access.roles import CURATES
from fonds.web.access.viewers import LOCAL_NAME, TheViewer, describe_act
from fonds.web.html.actions import FormFields, parse_day, parse_sha1hex
from fonds.web.html.rendering import InForce, render_page
from fonds.web.pages.takedowns import open_exclusive_stores
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import find_changes
from fonds.wiring.stores import get_utc_now

LISTED_MAX = 200
KEY_MAX_CHARS = 100

router = APIRouter(dependencies=[CURATES])


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """A file nobody is shown until a date; `title` is None where none is known."""

    sha1hex: str
    title: str | None
    reason_class: str
    note: str
    until: datetime
    made_by: str
    row_created: datetime


@dataclass(frozen=True, slots=True)
class EmbargoesPage:
    """The files that are shown again soonest, and how many are hidden in all."""

    files: Sequence[HiddenFile]
    total: int


def load_embargoes(records: Records) -> EmbargoesPage:
    """What is hidden now, by the date it ends."""
    where = {"lifting": None}
    order = ("until", "sha1hex")
    rows = records.find(EmbargoRow, where, order=order, count_max=LISTED_MAX)
    return EmbargoesPage(
        [_build_hidden(records, row) for row in list(rows)],
        records.count(EmbargoRow, where=where).get((), 0),
    )


def _build_hidden(records: Records, row: EmbargoRow) -> HiddenFile:
    return HiddenFile(
        row.sha1hex,
        find_own_title(_load_derivatives(records, row.sha1hex)),
        row.reason_class,
        row.note,
        row.until,
        row.made_by,
        row.row_created,
    )


def _load_derivatives(records: Records, sha1hex: str) -> dict[str, DerivativeRow]:
    return {
        kind.name: found
        for kind in KINDS
        if kind.indexed is not None
        for found in records.find(kind.row, {"sha1hex": sha1hex}, count_max=1)
    }


@router.get("/embargoes", include_in_schema=False)
def embargoes_html(
    request: Request,
    key: Annotated[
        str, Query(max_length=KEY_MAX_CHARS, description="SHA-1 the form begins with")
    ] = "",
) -> HTMLResponse:
    """What is hidden, why and until when, and the form that hides a file."""
    whole: Stores = request.app.state.whole_stores
    found = load_embargoes(whole.records)
    total = pluralize(found.total, "file is", "files are")
    return render_page(
        request,
        "embargoes.html",
        heading=f"{total} under embargo" if found.total else "Nothing is under embargo",
        found=found,
        key=key,
        reasons=EXPLAINED,
        note_max=NOTE_MAX_CHARS,
        title=find_own_title(_load_derivatives(whole.records, key)) if key else None,
    )


@router.get("/embargoes.json", include_in_schema=False)
@router.get("/api/embargoes", summary="What is under embargo")
def embargoes_json(request: Request) -> EmbargoesPage:
    """The 200 files that are shown again soonest, and how many are hidden. For curators."""
    whole: Stores = request.app.state.whole_stores
    return load_embargoes(whole.records)


# Curators put files under embargo on the page, and lift one before its date.


action_router = APIRouter(include_in_schema=False, dependencies=[CURATES])

_HIDES = FormFields(frozenset({"sha1hex", "until", "reason", "note"}))
_LIFTS = FormFields(frozenset({"sha1hex"}))


@action_router.post("/embargoes")
def hide_html(
    request: Request,
    viewer: TheViewer,
    settings: InForce,
    sent: Annotated[dict[str, str], Depends(_HIDES)],
) -> RedirectResponse:
    """Hide one file, or say anew until when. 400 for a file that is not here, no day to come, no reason."""
    sha1hex, note = _find_file(request, sent["sha1hex"]), " ".join(sent["note"].split())
    describe_act(request, sha1hex)
    until = parse_day(sent["until"].strip(), "until")
    if until is None:
        raise RefusedError(400, "Say until when, as 2027-12-31.", parameter="until")
    if until <= get_utc_now():
        raise RefusedError(400, f"{until:%Y-%m-%d} is over already.", parameter="until")
    if sent["reason"] not in set(EmbargoReason):
        raise RefusedError(400, f"Choose a reason: {', '.join(EmbargoReason)}.", parameter="reason")
    if len(note) > NOTE_MAX_CHARS:
        raise RefusedError(400, f"A note has at most {NOTE_MAX_CHARS} characters.")
    who = viewer.name or LOCAL_NAME
    with _open_hiding(request, settings) as hiding:
        hiding.hide(EmbargoRow(sha1hex, sent["reason"], note, until, who, get_utc_now()))
    return RedirectResponse("/embargoes", 303)


@action_router.post("/embargoes/lift")
def lift_html(
    request: Request, settings: InForce, sent: Annotated[dict[str, str], Depends(_LIFTS)]
) -> RedirectResponse:
    """Show a file again now. 400 where it is under no embargo."""
    sha1hex = _find_file(request, sent["sha1hex"])
    describe_act(request, sha1hex)
    with _open_hiding(request, settings) as hiding:
        if not hiding.lift(sha1hex):
            raise RefusedError(400, f"{sha1hex} is under no embargo.", parameter="sha1hex")
    return RedirectResponse("/embargoes", 303)


def _find_file(request: Request, text: str) -> str:
    """The SHA-1 of a file that is here."""
    sha1hex = parse_sha1hex(text)
    whole: Stores = request.app.state.whole_stores
    if whole.records.get(TakedownRow, [sha1hex]):
        said = f"{sha1hex} was taken down: nothing is left to be hidden."
        raise RefusedError(400, said, parameter="sha1hex")
    if not whole.records.get(FileMetaRow, [sha1hex]):
        raise RefusedError(400, f"No file here has the SHA-1 {sha1hex}.", parameter="sha1hex")
    return sha1hex


@contextmanager
def _open_hiding(request: Request, settings: Settings) -> Iterator[EmbargoService]:
    """Raises RefusedError 409 while another process works on the home alone."""
    with open_exclusive_stores(request, settings) as stores:
        yield EmbargoService(stores, find_changes(stores, settings), get_utc_now)
