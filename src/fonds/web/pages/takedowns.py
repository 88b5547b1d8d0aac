"""The page of what was taken down, for curators; and what would go with a file before it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse

from fonds.audit.repair.cleanup import recover
from fonds.config import Settings
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.access import Viewer
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError
from fonds.model.restrictions import ReasonClass
from fonds.model.rows import EmbargoRow, TakedownRow
from fonds.ports import Records, Stores
from fonds.restrictions.takedown import NOTE_MAX_CHARS
from fonds.restrictions.traces import TakedownTraces, find_traces
from fonds.search.direct_hits import KEY_MAX_CHARS, explain_short_key, find_direct_hits
from fonds.stores.home_lock import HomeLock
from fonds.viewer.description import build_description, resolve
from fonds.web.access.roles import ADMINISTERS, CURATES
from fonds.web.access.viewers import LOCAL_NAME, TheViewer, describe_act
from fonds.web.html.actions import FormFields, parse_sha1hex
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
        found = {one.sha1hex: one.title for one in find_direct_hits(stores, key)}
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
    found = load_takedowns(whole, settings, viewer, key)
    return render_page(
        request,
        "takedowns.html",
        heading=found.answer,
        found=found,
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


# Admins take a file down on the page, or go on with what was broken off.


SURE = "yes"

action_router = APIRouter(include_in_schema=False, dependencies=[ADMINISTERS])


@action_router.post("/takedowns")
def take_down_html(
    request: Request,
    viewer: TheViewer,
    settings: InForce,
    fields: Annotated[
        dict[str, str],
        Depends(FormFields(frozenset({"sha1hex", "reason", "note", "everywhere", "sure"}))),
    ],
) -> RedirectResponse:
    """Take one file down, or go on with it: what it is for is then what was said first. 400 for a file that
    is not here, no reason, or who is not sure; 403 where somebody else has to hide it first; 409 while the
    home is in use."""
    sha1hex = parse_sha1hex(fields["sha1hex"])
    note, everywhere = " ".join(fields["note"].split()), fields["everywhere"] == SURE
    whole: Stores = request.app.state.whole_stores
    begun = next(iter(whole.records.get(TakedownRow, [sha1hex])), None)
    if begun is None:
        _check(whole, sha1hex, fields, note)
        refused = explain_refusal(
            find_active_embargoes(whole.records, [sha1hex]).get(sha1hex), settings, viewer
        )
        if refused is not None:
            raise RefusedError(403, refused)
    reason = begun.reason_class if begun else fields["reason"]
    describe_act(request, f"{sha1hex} {reason}")
    row = begun or TakedownRow(sha1hex, reason, note, viewer.name or LOCAL_NAME, get_utc_now())
    with open_exclusive_stores(request, settings) as stores:
        recover(stores)
        create_takedown(stores, settings, lambda told: None, everywhere=everywhere)(row)
    return RedirectResponse(f"/takedowns#t-{sha1hex}", 303)


def _check(all_stores: Stores, sha1hex: str, fields: dict[str, str], note: str) -> None:
    if not build_description(all_stores, sha1hex).is_known:
        said = (
            f"Nothing here has the SHA-1 {sha1hex}. `fonds takedown` refuses bytes that never came."
        )
        raise RefusedError(400, said, parameter="sha1hex")
    if fields["reason"] not in set(ReasonClass):
        raise RefusedError(400, f"Choose a reason: {', '.join(ReasonClass)}.", parameter="reason")
    if len(note) > NOTE_MAX_CHARS:
        raise RefusedError(400, f"A note has at most {NOTE_MAX_CHARS} characters.")
    if fields["sure"] != SURE:
        said = "Say that you are sure, by the box in the form: a takedown cannot be undone."
        raise RefusedError(400, said, parameter="sure")
