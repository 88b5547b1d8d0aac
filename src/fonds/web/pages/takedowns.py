"""The page of what was taken down, for curators; and what would go with a file before it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import HTMLResponse

from fonds.audit.repair.cleanup import recover
from fonds.config import Settings
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.access import Role, Viewer
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError
from fonds.model.keys import parse_sha1
from fonds.model.restrictions import ReasonClass
from fonds.model.rows import EmbargoRow, TakedownRow
from fonds.ports import Records, Stores
from fonds.restrictions.takedown import NOTE_MAX_CHARS
from fonds.restrictions.traces import TakedownTraces, find_traces
from fonds.search.direct_hits import KEY_MAX_CHARS, explain_short_key, find_direct_hits
from fonds.stores.home_lock import HomeLock
from fonds.viewer.description import build_description, resolve
from fonds.web.access.roles import CURATES
from fonds.web.access.viewers import LOCAL_NAME, ActorName, TheViewer
from fonds.web.actions import Action, FormRoute, InvalidParameterError, add_actions
from fonds.web.html.rendering import InForce, render_page
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import create_takedown, find_tables
from fonds.wiring.stores import are_stores_shared, close_stores, get_utc_now, open_stores

LISTED_MAX = 200
FILES_MAX = 20
"""So many files a key leads to are looked at; each asks every store."""

router = APIRouter(dependencies=[CURATES])


@dataclass(frozen=True, slots=True)
class TakenDownFile:
    """A file that was taken down. `finished` is None while something of it is left: `warcs` of ours that hold
    it, or messages about it that were under way."""

    sha1hex: str
    reason_class: str
    note: str
    made_by: str
    row_created: datetime
    finished: datetime | None
    warcs: Sequence[str]


@dataclass(frozen=True, slots=True)
class TakedownCandidate:
    """A file that may be taken down, and what would go with it. `hidden_by` put it under embargo, None where
    it is under none; `refusal` says why who asks cannot take it down, None where they can."""

    sha1hex: str
    title: str | None
    hidden_by: str | None
    hidden_note: str | None
    traces: TakedownTraces
    refusal: str | None


@dataclass(frozen=True, slots=True)
class TakedownsPage:
    """What was taken down, unfinished ones first, then the newest; `total` counts all. `candidates` are the
    files the key leads to, 20 at most; `complete` is False where there are more.
    """

    answer: str
    total: int
    unfinished: int
    files: Sequence[TakenDownFile]
    candidates: Sequence[TakedownCandidate]
    complete: bool


Key = Annotated[
    str,
    Query(
        max_length=KEY_MAX_CHARS,
        description="A file to be taken down: its SHA-1, a URL, story id, DOI or file name",
    ),
]


def load_takedowns(stores: Stores, settings: Settings, viewer: Viewer, key: str) -> TakedownsPage:
    """Raises HTTPException 404 where a key leads to nothing."""
    records = stores.records
    total = records.count(TakedownRow).get((), 0)
    open_ = records.count(TakedownRow, where={"finished": None}).get((), 0)
    files, complete = _find_titles(stores, key.strip()) if key.strip() else ({}, True)
    tables = find_tables(stores, settings) if files else None
    hidden = find_active_embargoes(records, list(files))
    return TakedownsPage(
        f"{pluralize(total, 'file was', 'files were')} taken down"
        if total
        else "Nothing was taken down",
        total,
        open_,
        [_build_taken_down(row) for row in _list_rows(records)],
        [
            _build_candidate(
                title, hidden.get(one), find_traces(stores, tables, one), settings, viewer
            )
            for one, title in files.items()
        ],
        complete,
    )


def _list_rows(records: Records) -> list[TakedownRow]:
    order = ("-row_created", "sha1hex")
    unfinished = list(
        records.find(TakedownRow, {"finished": None}, order=order, count_max=LISTED_MAX)
    )
    newest = records.find(TakedownRow, order=order, count_max=LISTED_MAX)
    rest = [row for row in newest if row.finished is not None]
    return [*unfinished, *rest][:LISTED_MAX]


def _build_taken_down(row: TakedownRow) -> TakenDownFile:
    return TakenDownFile(
        row.sha1hex, row.reason_class, row.note, row.made_by, row.row_created, row.finished,
        row.rest.warcs if row.finished is None else (),
    )  # fmt: skip


def _find_titles(stores: Stores, key: str) -> tuple[dict[str, str | None], bool]:
    """The files a key leads to with their titles, and whether these are all."""
    resolved = resolve(stores, key)
    told = ((one, build_description(stores, one)) for one in resolved.files)
    known = ((one, file.title) for one, file in told if file.is_known)
    found = dict(islice(known, FILES_MAX + 1))
    if not found:
        found = {
            direct_hit.sha1hex: direct_hit.title for direct_hit in find_direct_hits(stores, key)
        }
    if not found:
        hint = f": {short}" if (short := explain_short_key(key)) else ""
        raise HTTPException(404, f"Nothing here is known as “{key[:200]}”{hint}.")
    complete = resolved.complete and len(found) <= FILES_MAX
    return dict(islice(found.items(), FILES_MAX)), complete


def _build_candidate(
    title: str | None,
    hidden: EmbargoRow | None,
    traces: TakedownTraces,
    settings: Settings,
    viewer: Viewer,
) -> TakedownCandidate:
    return TakedownCandidate(
        traces.sha1hex,
        title,
        hidden.made_by if hidden else None,
        hidden.note if hidden else None,
        traces,
        explain_refusal(hidden, settings, viewer),
    )


def explain_refusal(hidden: EmbargoRow | None, settings: Settings, viewer: Viewer) -> str | None:
    """Why who asks may not take a file down that is, or is not, under this embargo; None where they may."""
    if not settings.web.takedown_needs_two:
        return None
    if hidden is None:
        return "Here two people take a file down: one puts it under embargo, then another takes it down."
    if hidden.made_by == (viewer.name or LOCAL_NAME):
        return "You put it under embargo: here somebody else takes it down then."
    return None


@router.get("/takedowns", include_in_schema=False)
def takedowns_html(
    request: Request, settings: InForce, viewer: TheViewer, key: Key = ""
) -> HTMLResponse:
    """What was taken down, and the form that takes a file down, behind what would go with it."""
    whole: Stores = request.app.state.whole_stores
    takedowns = load_takedowns(whole, settings, viewer, key)
    return render_page(
        request,
        "takedowns.html",
        heading=takedowns.answer,
        found=takedowns,
        key=key,
        reasons=list(ReasonClass),
        needs_two=settings.web.takedown_needs_two,
    )


@add_csv_route(router, "/takedowns", lambda found: found.files)
@router.get("/takedowns.json", include_in_schema=False)
@router.get("/api/takedowns", summary="What was taken down, and what would go with a file")
def takedowns_json(
    request: Request, settings: InForce, viewer: TheViewer, key: Key = ""
) -> TakedownsPage:
    """The newest 200, unfinished ones first; with `key` also what of its files there is in every store. For
    curators. 404 where the key leads to nothing, 410 where that was taken down."""
    whole: Stores = request.app.state.whole_stores
    return load_takedowns(whole, settings, viewer, key)


# A home to work on by itself, as commands do: with stores of its own, so that none of them stays in the
# hands of the server.


@contextmanager
def open_exclusive_stores(request: Request, settings: Settings) -> Iterator[Stores]:
    """Stores to be changed. Raises RefusedError 409 while another process works on the home alone, and for
    what keeps the home from being worked on."""
    home: Path | None = request.app.state.home
    if home is None:
        whole: Stores = request.app.state.whole_stores
        yield whole
        return
    try:
        with HomeLock(home, shared=are_stores_shared(settings)):
            stores = open_stores(home, settings)
            try:
                yield stores
            finally:
                close_stores(stores)
    except ConfigurationError as error:
        raise RefusedError(409, f"Nothing was done: {error}") from error


# The action: take a file down, or continue a takedown that was interrupted.


class TakedownIn(msgspec.Struct, forbid_unknown_fields=True):
    """The SHA-1 of a file, the reason, and a note for curators. `sure` confirms a new takedown; `everywhere`
    searches the index of every WARC. A takedown that continues keeps its reason and note."""

    sha1hex: str
    reason: ReasonClass | None = None
    note: Annotated[str, msgspec.Meta(max_length=NOTE_MAX_CHARS)] = ""
    everywhere: bool = False
    sure: bool = False


def parse_sha1hex(text: str) -> str:
    """Return a SHA-1 in hex. Raises InvalidParameterError for `sha1hex`."""
    raw = parse_sha1(text.strip())
    if raw is None:
        raise InvalidParameterError(f"“{text[:60]}” is not a SHA-1 in hex or base32.", "sha1hex")
    return raw.hex()


def take_down(
    request: Request, viewer: TheViewer, actor: ActorName, settings: InForce, sent: TakedownIn
) -> str:
    """Take one file down and return its SHA-1. 400 for an unknown file, no reason, or no confirmation; 403
    where another person has to hide the file first; 409 while the home is in use."""
    sha1hex = parse_sha1hex(sent.sha1hex)
    whole: Stores = request.app.state.whole_stores
    row = next(iter(whole.records.get(TakedownRow, [sha1hex])), None)
    if row is None:
        reason = _check(whole, sha1hex, sent)
        hidden = find_active_embargoes(whole.records, [sha1hex]).get(sha1hex)
        refusal = explain_refusal(hidden, settings, viewer)
        if refusal is not None:
            raise RefusedError(403, refusal)
        note = " ".join(sent.note.split())
        row = TakedownRow(sha1hex, reason, note, actor, get_utc_now())
    with open_exclusive_stores(request, settings) as stores:
        recover(stores)
        create_takedown(stores, settings, lambda line: None, everywhere=sent.everywhere)(row)
    return sha1hex


def _check(all_stores: Stores, sha1hex: str, sent: TakedownIn) -> ReasonClass:
    """Return the reason of a new takedown. Raises InvalidParameterError."""
    if not build_description(all_stores, sha1hex).is_known:
        said = (
            f"Nothing here has the SHA-1 {sha1hex}. `fonds takedown` refuses bytes that never came."
        )
        raise InvalidParameterError(said, "sha1hex")
    if sent.reason is None:
        raise InvalidParameterError(f"Choose a reason: {', '.join(ReasonClass)}.", "reason")
    if not sent.sure:
        said = "Confirm with the box in the form: a takedown cannot be undone."
        raise InvalidParameterError(said, "sure")
    return sent.reason


action_router = APIRouter()
add_actions(
    action_router,
    Action(
        "take a file down",
        Role.ADMIN,
        take_down,
        TakedownIn,
        FormRoute("/takedowns", lambda result: f"/takedowns#t-{result.answer}"),
        describe=lambda sent: f"{parse_sha1hex(sent.sha1hex)} {sent.reason or ''}".strip(),
    ),
)
