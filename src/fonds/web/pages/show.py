"""What a key stands for: files kept, what became of the rest, and which sources should have had it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fonds.library.description import Resolved, resolve
from fonds.library.searching.direct import documents_of
from fonds.library.tracing.lineage import entries_of
from fonds.library.tracing.sources import sources_of
from fonds.model.disposition import Reason
from fonds.model.rows import CdxRow
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.pages.file import KEY_MAX_CHARS
from fonds.web.pages.following.sources import SourceLine, source_lines
from fonds.web.pages.listed.records import Record, record
from fonds.web.parameters import shorten
from fonds.web.rendering import OpenStores, page, web_url

SHOWN_MAX = 50

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file a key stands for; `title` is that of its document, `captured` the 14 digits of its newest
    capture, None for none."""

    sha1hex: str
    title: str | None
    url: str | None
    captured: str | None


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """What a key stands for: files kept, and records with this URL whether they were kept or not.

    At most 50 files are listed, the one captured last first, of `files_total` (more than that, unless
    `files_complete`), and the newest 50 of `records_total`. `sources` are followed sources of the URL's
    site, which should have listed it.
    """

    key: str
    answer: str
    files: Sequence[FoundFile]
    files_total: int
    files_complete: bool
    records: Sequence[Record]
    records_total: int
    sources: Sequence[SourceLine]


def shown(stores: Stores, key: str) -> KeyAnswer:
    """Look a key up; a URL that was never kept still has its records, which say why."""
    try:
        resolved = resolve(stores, key)
    except ValueError:
        resolved = Resolved([])
    files = _files(stores, resolved.files[:SHOWN_MAX])
    is_url = web_url(key) is not None
    entries, total = entries_of(stores.records, key, SHOWN_MAX)
    records = [record(row) for row in entries]
    now = datetime.now(UTC)
    related = sources_of(stores.records, key) if is_url else []
    answer = f"Nothing here is known as “{shorten(key, 100)}”"
    if files or records:
        answer = f"What is known as “{shorten(key, 100)}”"
    return KeyAnswer(
        key=key,
        answer=answer,
        files=files,
        files_total=len(resolved.files),
        files_complete=resolved.complete,
        records=records,
        records_total=total,
        sources=source_lines(stores.records, related, now),
    )


def _files(stores: Stores, sha1hexes: Sequence[str]) -> list[FoundFile]:
    """The files with what they are called, the one captured last first."""
    documents = documents_of(stores, sha1hexes)
    found = []
    for sha1hex in sha1hexes:
        rows = stores.records.find(CdxRow, {"sha1hex": sha1hex}, order=("-datetime",), count_max=1)
        newest = next(rows, None)
        document = documents.get(sha1hex)
        title = document.article_title if document else None
        url = newest.url if newest else None
        found.append(FoundFile(sha1hex, title, url, newest.datetime if newest else None))
    return sorted(found, key=lambda one: one.captured or "", reverse=True)


Key = Annotated[str, Query(max_length=KEY_MAX_CHARS, description="SHA-1, URL or story id")]


@router.get("/show", include_in_schema=False)
def show_html(request: Request, stores: OpenStores, key: Key = "") -> Response:
    """A SHA-1, URL or story id: on to its file, or to what it stands for, or where it was looked for."""
    key = key.strip()
    if not key:
        return _show(request, "Look up a file, a URL or a story", 200, None)
    found = shown(stores, key)
    if len(found.files) == 1 and len(found.records) < 2:
        return RedirectResponse(f"/file/{found.files[0].sha1hex}", 303)
    return _show(request, found.answer, 200 if found.files or found.records else 404, found)


def _show(request: Request, heading: str, status: int, found: KeyAnswer | None) -> HTMLResponse:
    reasons = {str(reason): reason.explanation for reason in Reason}
    return page(request, "show.html", status, heading=heading, found=found, reasons=reasons)


@router.get("/show.json", include_in_schema=False)
@router.get("/api/show", summary="What a SHA-1, URL or story id stands for")
def show_json(stores: OpenStores, key: Key) -> KeyAnswer:
    """The files with this key, and the records with this URL whatever became of them."""
    found = shown(stores, key.strip())
    if not found.files and not found.records:
        raise HTTPException(404, f"{found.answer}: no file, capture, story or record has it.")
    return found
