"""The page of what was taken down, for curators; and what would go with a file before it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import HTMLResponse

from fonds.config import Settings
from fonds.kinds.embargoes import embargoed
from fonds.library.description import description, resolve
from fonds.library.searching.direct import KEY_CHARACTERS_MAX, direct, too_short
from fonds.library.tracing.own_warcs import left_of
from fonds.library.tracing.traces import Traces, traces
from fonds.model.access import Viewer
from fonds.model.numbers import how_many
from fonds.model.rows import EmbargoRow, TakedownRow
from fonds.model.takedown import ReasonClass
from fonds.ports import Records, Stores
from fonds.web.access.declared import CURATES
from fonds.web.access.viewers import HERE, TheViewer
from fonds.web.rendering import InForce, page
from fonds.web.serving.tables import tabled
from fonds.wiring.recurring.collections import tables_there

SHOWN_MAX = 200
FILES_MAX = 20
"""So many files a key leads to are looked at; each asks every store."""

router = APIRouter(dependencies=[CURATES])


@dataclass(frozen=True, slots=True)
class TakenDown:
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
class Candidate:
    """A file that may be taken down, and what would go with it. `hidden_by` put it under embargo, None where
    it is under none; `refusal` says why who asks cannot take it down, None where they can."""

    sha1hex: str
    title: str | None
    hidden_by: str | None
    hidden_note: str | None
    traces: Traces
    refusal: str | None


@dataclass(frozen=True, slots=True)
class Takedowns:
    """What was taken down, unfinished ones first, then the newest; `total` counts all. `candidates` are the
    files the key leads to, 20 at most; `complete` is False where there are more.
    """

    answer: str
    total: int
    unfinished: int
    files: Sequence[TakenDown]
    candidates: Sequence[Candidate]
    complete: bool


Key = Annotated[
    str,
    Query(
        max_length=KEY_CHARACTERS_MAX,
        description="A file to be taken down: its SHA-1, a URL, story id, DOI or file name",
    ),
]


def takedowns(stores: Stores, settings: Settings, viewer: Viewer, key: str) -> Takedowns:
    """Raises HTTPException 404 where a key leads to nothing."""
    records = stores.records
    total = records.count(TakedownRow).get((), 0)
    open_ = records.count(TakedownRow, where={"finished": None}).get((), 0)
    files, complete = _titled(stores, key.strip()) if key.strip() else ({}, True)
    tables = tables_there(stores, settings) if files else None
    hidden = embargoed(records, list(files))
    return Takedowns(
        f"{how_many(total, 'file was', 'files were')} taken down"
        if total
        else "Nothing was taken down",
        total,
        open_,
        [_told(row) for row in _rows(records)],
        [
            _candidate(title, hidden.get(one), traces(stores, tables, one), settings, viewer)
            for one, title in files.items()
        ],
        complete,
    )


def _rows(records: Records) -> list[TakedownRow]:
    order = ("-row_created", "sha1hex")
    unfinished = list(
        records.find(TakedownRow, {"finished": None}, order=order, count_max=SHOWN_MAX)
    )
    newest = records.find(TakedownRow, order=order, count_max=SHOWN_MAX)
    rest = [row for row in newest if row.finished is not None]
    return [*unfinished, *rest][:SHOWN_MAX]


def _told(row: TakedownRow) -> TakenDown:
    return TakenDown(
        row.sha1hex, row.reason_class, row.note, row.made_by, row.row_created, row.finished,
        left_of(row) if row.finished is None else (),
    )  # fmt: skip


def _titled(stores: Stores, key: str) -> tuple[dict[str, str | None], bool]:
    """The files a key leads to with their titles, and whether these are all."""
    resolved = resolve(stores, key)
    told = ((one, description(stores, one)) for one in resolved.files)
    known = ((one, file.title) for one, file in told if file.known)
    found = dict(islice(known, FILES_MAX + 1))
    if not found:
        found = {one.sha1hex: one.title for one in direct(stores, key)}
    if not found:
        hint = f": {short}" if (short := too_short(key)) else ""
        raise HTTPException(404, f"Nothing here is known as “{key[:200]}”{hint}.")
    complete = resolved.complete and len(found) <= FILES_MAX
    return dict(islice(found.items(), FILES_MAX)), complete


def _candidate(
    title: str | None,
    hidden: EmbargoRow | None,
    found: Traces,
    settings: Settings,
    viewer: Viewer,
) -> Candidate:
    return Candidate(
        found.sha1hex,
        title,
        hidden.made_by if hidden else None,
        hidden.note if hidden else None,
        found,
        refusal(hidden, settings, viewer),
    )


def refusal(hidden: EmbargoRow | None, settings: Settings, viewer: Viewer) -> str | None:
    """Why who asks may not take a file down that is, or is not, under this embargo; None where they may."""
    if not settings.web.takedown_needs_two:
        return None
    if hidden is None:
        return "Here two people take a file down: one puts it under embargo, then another takes it down."
    if hidden.made_by == (viewer.name or HERE):
        return "You put it under embargo: here somebody else takes it down then."
    return None


@router.get("/takedowns", include_in_schema=False)
def takedowns_html(
    request: Request, settings: InForce, viewer: TheViewer, key: Key = ""
) -> HTMLResponse:
    """What was taken down, and the form that takes a file down, behind what would go with it."""
    whole: Stores = request.app.state.whole_stores
    found = takedowns(whole, settings, viewer, key)
    return page(
        request,
        "takedowns.html",
        heading=found.answer,
        found=found,
        key=key,
        reasons=list(ReasonClass),
        needs_two=settings.web.takedown_needs_two,
    )


@tabled(router, "/takedowns", lambda found: found.files)
@router.get("/takedowns.json", include_in_schema=False)
@router.get("/api/takedowns", summary="What was taken down, and what would go with a file")
def takedowns_json(
    request: Request, settings: InForce, viewer: TheViewer, key: Key = ""
) -> Takedowns:
    """The newest 200, unfinished ones first; with `key` also what of its files there is in every store. For
    curators. 404 where the key leads to nothing, 410 where that was taken down."""
    whole: Stores = request.app.state.whole_stores
    return takedowns(whole, settings, viewer, key)
