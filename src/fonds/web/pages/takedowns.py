"""Takedowns page for curators: removed files, and a preview of what a takedown would remove."""

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
from fonds.viewer.description import build_description
from fonds.viewer.file_keys import resolve
from fonds.web.access.roles import CURATES
from fonds.web.access.viewers import LOCAL_NAME, ActorName, TheViewer
from fonds.web.actions import Action, FormRoute, InvalidParameterError, add_actions
from fonds.web.html.rendering import CurrentSettings, render_page
from fonds.web.serving.csv_tables import add_csv_route
from fonds.web.serving.problems import RefusedError
from fonds.wiring.backends import are_stores_shared
from fonds.wiring.collections import create_takedown, find_tables
from fonds.wiring.stores import close_stores, get_utc_now, open_stores

LISTED_MAX = 200
FILES_MAX = 20
"""Maximum number of files shown for a looked-up key; each file needs queries to every store."""

router = APIRouter(tags=["takedowns"], dependencies=[CURATES])


@dataclass(frozen=True, slots=True)
class TakenDownFile:
    """A file that was taken down.

    `finished`: when the takedown was completed. None while bytes of the file remain in the
        library's WARCs listed in `warcs`, in messages that were in progress, or, if `purge` is
        true, only as deleted data in the files of the stores.
    """

    sha1hex: str
    reason_class: str
    note: str
    made_by: str
    row_created: datetime
    finished: datetime | None
    warcs: Sequence[str]
    purge: bool


@dataclass(frozen=True, slots=True)
class TakedownCandidate:
    """A file that may be taken down, and what would be removed with it.

    `hidden_by`: who put the file under embargo; None without an embargo.
    `refusal`: why the user cannot take the file down; None if the user can.
    """

    sha1hex: str
    title: str | None
    hidden_by: str | None
    hidden_note: str | None
    traces: TakedownTraces
    refusal: str | None


@dataclass(frozen=True, slots=True)
class TakedownsPage:
    """Up to 200 takedowns, unfinished first, then newest first. `total` is the number of all
    takedowns.

    `candidates` are the files that the looked-up key names, 20 at most. `complete` is False if the
    key names more files.
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
        description="File to take down: SHA-1, URL, story id, DOI or file name",
    ),
]


def load_takedowns(stores: Stores, settings: Settings, viewer: Viewer, key: str) -> TakedownsPage:
    """Load the takedowns, and the files that `key` names as candidates for a takedown.

    Raises HTTPException 404 if `key` names no file.
    """
    records = stores.records
    total = records.count(TakedownRow).get((), 0)
    unfinished_count = records.count(TakedownRow, where={"finished": None}).get((), 0)
    files, complete = _find_titles(stores, key.strip()) if key.strip() else ({}, True)
    tables = find_tables(stores, settings) if files else None
    embargoes = find_active_embargoes(records, list(files))
    return TakedownsPage(
        f"{pluralize(total, 'file was', 'files were')} taken down" if total else "No takedowns",
        total,
        unfinished_count,
        [_build_taken_down(row) for row in _list_rows(records)],
        [
            _build_candidate(
                title,
                embargoes.get(sha1hex),
                find_traces(stores, tables, sha1hex),
                settings,
                viewer,
            )
            for sha1hex, title in files.items()
        ],
        complete,
    )


def _list_rows(records: Records) -> list[TakedownRow]:
    order = ("-row_created", "sha1hex")
    unfinished_rows = list(
        records.find(TakedownRow, {"finished": None}, order=order, count_max=LISTED_MAX)
    )
    newest = records.find(TakedownRow, order=order, count_max=LISTED_MAX)
    finished_rows = [row for row in newest if row.finished is not None]
    return [*unfinished_rows, *finished_rows][:LISTED_MAX]


def _build_taken_down(row: TakedownRow) -> TakenDownFile:
    return TakenDownFile(
        row.sha1hex, row.reason_class, row.note, row.made_by, row.row_created, row.finished,
        row.rest.warcs if row.finished is None else (), row.rest.purge,
    )  # fmt: skip


def _find_titles(stores: Stores, key: str) -> tuple[dict[str, str | None], bool]:
    """Return the titles of up to 20 files that a key names, by SHA-1, and whether the key names no
    others.

    Raises HTTPException 404 if the key names no file.
    """
    resolved_key = resolve(stores, key)
    descriptions = ((sha1hex, build_description(stores, sha1hex)) for sha1hex in resolved_key.files)
    known_files = ((sha1hex, file.title) for sha1hex, file in descriptions if file.is_known)
    titles = dict(islice(known_files, FILES_MAX + 1))
    if not titles:
        titles = {
            direct_hit.sha1hex: direct_hit.title for direct_hit in find_direct_hits(stores, key)
        }
    if not titles:
        hint = f": {short}" if (short := explain_short_key(key)) else ""
        raise HTTPException(404, f"No file matches “{key[:200]}”{hint}.")
    complete = resolved_key.complete and len(titles) <= FILES_MAX
    return dict(islice(titles.items(), FILES_MAX)), complete


def _build_candidate(
    title: str | None,
    embargo: EmbargoRow | None,
    traces: TakedownTraces,
    settings: Settings,
    viewer: Viewer,
) -> TakedownCandidate:
    return TakedownCandidate(
        traces.sha1hex,
        title,
        embargo.made_by if embargo else None,
        embargo.note if embargo else None,
        traces,
        explain_refusal(embargo, settings, viewer),
    )


def explain_refusal(embargo: EmbargoRow | None, settings: Settings, viewer: Viewer) -> str | None:
    """Return why a user may not take down a file, None if the user may.

    `embargo`: the embargo on the file, None without an embargo.
    """
    if not settings.web.takedown_needs_two:
        return None
    if embargo is None:
        return (
            "A takedown needs two people: one puts the file under embargo, another takes it down."
        )
    if embargo.made_by == (viewer.name or LOCAL_NAME):
        return "You put this file under embargo, so someone else must take it down."
    return None


@router.get("/takedowns", include_in_schema=False)
def takedowns_html(
    request: Request, settings: CurrentSettings, viewer: TheViewer, key: Key = ""
) -> HTMLResponse:
    """Show the takedowns, and the form that takes a file down with a preview of what it removes."""
    all_stores: Stores = request.app.state.whole_stores
    takedowns = load_takedowns(all_stores, settings, viewer, key)
    return render_page(
        request,
        "takedowns.html",
        heading=takedowns.answer,
        page=takedowns,
        key=key,
        reasons=list(ReasonClass),
        needs_two=settings.web.takedown_needs_two,
    )


@add_csv_route(router, "/takedowns", lambda page: page.files)
@router.get("/takedowns.json", include_in_schema=False)
@router.get(
    "/api/takedowns",
    summary="Takedowns, and what a takedown would delete",
    operation_id="list_takedowns",
)
def takedowns_json(
    request: Request, settings: CurrentSettings, viewer: TheViewer, key: Key = ""
) -> TakedownsPage:
    """Return the newest 200 takedowns, unfinished first.

    With `key`, also return what each store contains of the matching files.

    For curators. 404 if the key is unknown, 410 if its file was taken down.
    """
    all_stores: Stores = request.app.state.whole_stores
    return load_takedowns(all_stores, settings, viewer, key)


# Commands have exclusive use of the home. Actions here work the same way, with stores of their own,
# so that the server keeps none of them open.


@contextmanager
def open_exclusive_stores(request: Request, settings: Settings) -> Iterator[Stores]:
    """Yield the stores of the library, opened for changes under the lock of the library folder
    (home).

    Raises RefusedError 409 if another process has exclusive use of the home, or if the home cannot
    be opened.
    """
    home: Path | None = request.app.state.home
    if home is None:
        all_stores: Stores = request.app.state.whole_stores
        yield all_stores
        return
    try:
        with HomeLock(home, is_shared=are_stores_shared(settings)):
            stores = open_stores(home, settings)
            try:
                yield stores
            finally:
                close_stores(stores)
    except ConfigurationError as error:
        raise RefusedError(409, f"Nothing was changed: {error}") from error


class TakedownIn(msgspec.Struct, forbid_unknown_fields=True):
    """Form that takes a file down: SHA-1 of the file, the reason, and a note for curators.

    `sure` confirms a new takedown. `everywhere` looks for the file in the index of every WARC. A
    continued takedown keeps its first reason and note.
    """

    sha1hex: str
    reason: ReasonClass | None = None
    note: Annotated[str, msgspec.Meta(max_length=NOTE_MAX_CHARS)] = ""
    everywhere: bool = False
    sure: bool = False


def parse_sha1hex(text: str) -> str:
    """Convert a SHA-1 in hex or base32 to hex. Raises InvalidParameterError for any other text."""
    raw = parse_sha1(text.strip())
    if raw is None:
        raise InvalidParameterError(f"“{text[:60]}” is not a SHA-1 in hex or base32.", "sha1hex")
    return raw.hex()


def take_down(
    request: Request,
    viewer: TheViewer,
    actor: ActorName,
    settings: CurrentSettings,
    sent: TakedownIn,
) -> str:
    """Take one file down, or continue an interrupted takedown. Return its SHA-1.

    400 for an unknown file, no reason, or no confirmation. 403 if another person must hide the
    file first. 409 while the home is in use.
    """
    sha1hex = parse_sha1hex(sent.sha1hex)
    all_stores: Stores = request.app.state.whole_stores
    row = next(iter(all_stores.records.get(TakedownRow, [sha1hex])), None)
    if row is None:
        reason = _check(all_stores, sha1hex, sent)
        embargo = find_active_embargoes(all_stores.records, [sha1hex]).get(sha1hex)
        refusal = explain_refusal(embargo, settings, viewer)
        if refusal is not None:
            raise RefusedError(403, refusal)
        note = " ".join(sent.note.split())
        row = TakedownRow(sha1hex, reason, note, actor, get_utc_now())
    with open_exclusive_stores(request, settings) as stores:
        recover(stores)
        take_down_file = create_takedown(
            stores, settings, lambda line: None, scans_all_warcs=sent.everywhere
        )
        take_down_file.finish([take_down_file(row)])
    return sha1hex


def _check(all_stores: Stores, sha1hex: str, parameters: TakedownIn) -> ReasonClass:
    """Check a new takedown and return its reason.

    Raises InvalidParameterError for an unknown file, a missing reason or a missing confirmation.
    """
    if not build_description(all_stores, sha1hex).is_known:
        message = f"There is no file with the SHA-1 {sha1hex}. To refuse it in future, run `fonds takedown`."
        raise InvalidParameterError(message, "sha1hex")
    if parameters.reason is None:
        raise InvalidParameterError(f"Choose a reason: {', '.join(ReasonClass)}.", "reason")
    if not parameters.sure:
        message = "Tick the box to confirm. A takedown cannot be undone."
        raise InvalidParameterError(message, "sure")
    return parameters.reason


action_router = APIRouter(tags=["takedowns"])
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
