"""Embargoes page for curators: list files under embargo, put files under embargo and lift
embargoes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from fonds.config import Settings
from fonds.derivatives.kinds import KINDS
from fonds.model.access import Role
from fonds.model.encoding import pluralize
from fonds.model.restrictions import EMBARGO_EXPLANATIONS, NOTE_MAX_CHARS, EmbargoReason
from fonds.model.rows import EmbargoRow, FileMetaRow, TakedownRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Records, Stores
from fonds.restrictions.embargo import EmbargoService
from fonds.viewer.description import find_own_title
from fonds.web.access.roles import CURATES
from fonds.web.access.viewers import ActorName
from fonds.web.actions import Action, FormRoute, InvalidParameterError, add_actions
from fonds.web.html.rendering import CurrentSettings, render_page
from fonds.web.pages.takedowns import open_exclusive_stores, parse_sha1hex
from fonds.wiring.collections import find_collection_writer
from fonds.wiring.stores import get_utc_now

LISTED_MAX = 200
KEY_MAX_CHARS = 100

router = APIRouter(tags=["embargoes"], dependencies=[CURATES])


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """A file under embargo, hidden from readers until the time `until`. `title`: title of the file,
    None if unknown.
    """

    sha1hex: str
    title: str | None
    reason_class: str
    note: str
    until: datetime
    made_by: str
    row_created: datetime


@dataclass(frozen=True, slots=True)
class EmbargoesPage:
    """Content of the embargoes page: the 200 files whose embargo ends first, and the number of all
    files under embargo.
    """

    files: Sequence[HiddenFile]
    total: int


def load_embargoes(records: Records) -> EmbargoesPage:
    """Load the files under embargo, at most 200, the file whose embargo ends first at the front."""
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
        kind.name: row
        for kind in KINDS
        if kind.indexed is not None
        for row in records.find(kind.row, {"sha1hex": sha1hex}, count_max=1)
    }


@router.get("/embargoes", include_in_schema=False)
def embargoes_html(
    request: Request,
    key: Annotated[
        str, Query(max_length=KEY_MAX_CHARS, description="SHA-1 to enter in the form")
    ] = "",
) -> HTMLResponse:
    """Show the hidden files with reasons and dates, and the form that hides a file."""
    all_stores: Stores = request.app.state.whole_stores
    embargoes = load_embargoes(all_stores.records)
    total = pluralize(embargoes.total, "file is", "files are")
    return render_page(
        request,
        "embargoes.html",
        heading=f"{total} under embargo" if embargoes.total else "No embargoes",
        page=embargoes,
        key=key,
        reasons=EMBARGO_EXPLANATIONS,
        note_max=NOTE_MAX_CHARS,
        title=find_own_title(_load_derivatives(all_stores.records, key)) if key else None,
    )


@router.get("/embargoes.json", include_in_schema=False)
@router.get("/api/embargoes", summary="Files under embargo", operation_id="list_embargoes")
def embargoes_json(request: Request) -> EmbargoesPage:
    """Return the 200 files whose embargoes end first, and the number of hidden files.

    For curators.
    """
    all_stores: Stores = request.app.state.whole_stores
    return load_embargoes(all_stores.records)


class HideIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that puts a file under embargo: the file's SHA-1, the day at whose start (UTC) the
    embargo ends, the reason, and a note for curators.
    """

    sha1hex: str
    until: date
    reason: EmbargoReason
    note: Annotated[str, msgspec.Meta(max_length=NOTE_MAX_CHARS)] = ""


class LiftIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that lifts an embargo: the SHA-1 of the file."""

    sha1hex: str


def hide(request: Request, settings: CurrentSettings, actor: ActorName, sent: HideIn) -> None:
    """Put a file under embargo, or change when its embargo ends."""
    sha1hex = _find_file(request, sent.sha1hex)
    until = datetime.combine(sent.until, time.min, UTC)
    if until <= get_utc_now():
        raise InvalidParameterError(f"{until:%Y-%m-%d} is in the past.", "until")
    note = " ".join(sent.note.split())
    with _open_hiding(request, settings) as hiding:
        hiding.hide(EmbargoRow(sha1hex, sent.reason, note, until, actor, get_utc_now()))


def lift(request: Request, settings: CurrentSettings, sent: LiftIn) -> None:
    """Lift the embargo of a file now."""
    sha1hex = _find_file(request, sent.sha1hex)
    with _open_hiding(request, settings) as hiding:
        if not hiding.lift(sha1hex):
            raise InvalidParameterError(f"{sha1hex} is not under embargo.", "sha1hex")


def _find_file(request: Request, text: str) -> str:
    """Return the SHA-1 in `text`. Raises InvalidParameterError if `text` is no SHA-1 of a stored
    file.
    """
    sha1hex = parse_sha1hex(text)
    all_stores: Stores = request.app.state.whole_stores
    if all_stores.records.get(TakedownRow, [sha1hex]):
        message = f"{sha1hex} was taken down, so it cannot be hidden."
        raise InvalidParameterError(message, "sha1hex")
    if not all_stores.records.get(FileMetaRow, [sha1hex]):
        raise InvalidParameterError(f"There is no file with the SHA-1 {sha1hex}.", "sha1hex")
    return sha1hex


@contextmanager
def _open_hiding(request: Request, settings: Settings) -> Iterator[EmbargoService]:
    """Open the service that puts files under embargo and lifts embargoes.

    Raises RefusedError 409 while another process has exclusive use of the library folder (home).
    """
    with open_exclusive_stores(request, settings) as stores:
        yield EmbargoService(stores, find_collection_writer(stores, settings), get_utc_now)


action_router = APIRouter(tags=["embargoes"])
add_actions(
    action_router,
    Action(
        "put a file under embargo",
        Role.CURATOR,
        hide,
        HideIn,
        FormRoute("/embargoes", lambda result: "/embargoes"),
        describe=lambda sent: parse_sha1hex(sent.sha1hex),
    ),
    Action(
        "lift an embargo",
        Role.CURATOR,
        lift,
        LiftIn,
        FormRoute("/embargoes/lift", lambda result: "/embargoes"),
        describe=lambda sent: parse_sha1hex(sent.sha1hex),
    ),
)
