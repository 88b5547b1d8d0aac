"""What a key stands for: a SHA-1, URL or story id, on to its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fonds.library.accounting import count_outcomes, outcomes
from fonds.library.description import Resolved, resolve
from fonds.ports import Stores
from fonds.web.pages.file import KEY_MAX_CHARS
from fonds.web.pages.records import Record, record
from fonds.web.rendering import OpenStores, cut, link, page, web_url

SHOWN_MAX = 50

router = APIRouter()


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """What a key stands for: files kept, and records with this URL whether they were kept or not.

    At most 50 of each are listed, of `files_total` (more than that, unless `files_complete`) and
    `records_total`.
    """

    key: str
    answer: str
    files: Sequence[str]
    files_total: int
    files_complete: bool
    records: Sequence[Record]
    records_total: int


def shown(stores: Stores, key: str) -> KeyAnswer:
    """Look a key up; a URL that was never kept still has its records, which say why."""
    try:
        resolved = resolve(stores, key)
    except ValueError:
        resolved = Resolved([])
    files, of_url = resolved.files[:SHOWN_MAX], {"url": key}
    rows = outcomes(stores.records, of_url, count_max=SHOWN_MAX) if web_url(key) else []
    records = [record(row) for row in rows]
    full = len(rows) == SHOWN_MAX
    records_total = count_outcomes(stores.records, of_url) if full else len(rows)
    answer = f"Nothing here is known as “{cut(key, 100)}”"
    if files or records:
        answer = f"What is known as “{cut(key, 100)}”"
    complete = resolved.complete
    return KeyAnswer(key, answer, files, len(resolved.files), complete, records, records_total)


Key = Annotated[str, Query(max_length=KEY_MAX_CHARS, description="SHA-1, URL or story id")]


@router.get("/show", include_in_schema=False)
def show_html(request: Request, stores: OpenStores, key: Key = "") -> Response:
    """A SHA-1, URL or story id: on to its file, or to what it stands for, or where it was looked for."""
    key = key.strip()
    if not key:
        return _show(request, "Look up a file, a URL or a story", 200, None)
    found = shown(stores, key)
    if len(found.files) == 1 and len(found.records) < 2:
        return RedirectResponse(f"/file/{found.files[0]}", 303)
    return _show(request, found.answer, 200 if found.files or found.records else 404, found)


def _show(request: Request, heading: str, status: int, found: KeyAnswer | None) -> HTMLResponse:
    return page(request, "show.html", status, heading=heading, found=found, link=link)


@router.get("/show.json", include_in_schema=False)
@router.get("/api/show", summary="What a SHA-1, URL or story id stands for")
def show_json(stores: OpenStores, key: Key) -> KeyAnswer:
    """The files with this key, and the records with this URL whatever became of them."""
    found = shown(stores, key.strip())
    if not found.files and not found.records:
        raise HTTPException(404, f"{found.answer}: no file, capture, story or record has it.")
    return found
