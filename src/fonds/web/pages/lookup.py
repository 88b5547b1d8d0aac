"""Page that looks up a SHA-1, URL or story id: matching files, records with that URL, and the
sources that should have listed the URL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fonds.following.source_list import find_related_sources
from fonds.model.disposition import Reason
from fonds.model.rows import CdxRow
from fonds.ports import Stores
from fonds.search.direct_hits import load_file_documents
from fonds.viewer.file_keys import ResolvedKey, resolve
from fonds.viewer.history import find_entries
from fonds.web.access.roles import READS
from fonds.web.html.rendering import OpenStores, filter_web_url, render_page
from fonds.web.pages.file import KEY_MAX_CHARS
from fonds.web.pages.records import Record, build_record
from fonds.web.pages.sources import SourceLine, build_source_lines
from fonds.web.serving.parameters import shorten

LISTED_MAX = 50

router = APIRouter(tags=["files"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that matches the looked-up key.

    `title`: title of the file's document, None if unknown.
    `captured`: time of the newest capture, 14 digits; None if the file has no capture.
    """

    sha1hex: str
    title: str | None
    url: str | None
    captured: str | None


@dataclass(frozen=True, slots=True)
class LookupPage:
    """Result of looking up a key (SHA-1, URL or story id): matching files, and all records with the
    URL.

    `files`: at most 50 of `files_total` files, last captured first.
    `files_complete`: False if `files_total` is a lower bound.
    `records`: the newest 50 of `records_total` records, whether their file was stored or not.
    `sources`: followed sources of the URL's site, which should have listed the URL.
    """

    key: str
    answer: str
    files: Sequence[FoundFile]
    files_total: int
    files_complete: bool
    records: Sequence[Record]
    records_total: int
    sources: Sequence[SourceLine]


def look_up_key(stores: Stores, key: str) -> LookupPage:
    """Look up the files and records that match a SHA-1, URL or story id.

    A URL whose file was never stored still has records, each with the reason why it was not stored.
    """
    try:
        resolved_key = resolve(stores, key)
    except ValueError:
        resolved_key = ResolvedKey([])
    files = _build_files(stores, resolved_key.files[:LISTED_MAX])
    is_url = filter_web_url(key) is not None
    entries, total = find_entries(stores.records, key, LISTED_MAX)
    records = [build_record(row) for row in entries]
    now = datetime.now(UTC)
    related_sources = find_related_sources(stores.records, key) if is_url else []
    answer = f"No results for “{shorten(key, 100)}”"
    if files or records:
        answer = f"Results for “{shorten(key, 100)}”"
    return LookupPage(
        key=key,
        answer=answer,
        files=files,
        files_total=len(resolved_key.files),
        files_complete=resolved_key.complete,
        records=records,
        records_total=total,
        sources=build_source_lines(stores.records, related_sources, now),
    )


def _build_files(stores: Stores, sha1hexes: Sequence[str]) -> list[FoundFile]:
    """Return the files with these SHA-1s and their titles, last captured first."""
    documents = load_file_documents(stores, sha1hexes)
    files = []
    for sha1hex in sha1hexes:
        rows = stores.records.find(CdxRow, {"sha1hex": sha1hex}, order=("-datetime",), count_max=1)
        newest = next(rows, None)
        document = documents.get(sha1hex)
        title = document.article_title if document else None
        url = newest.url if newest else None
        files.append(FoundFile(sha1hex, title, url, newest.datetime if newest else None))
    return sorted(files, key=lambda file: file.captured or "", reverse=True)


Key = Annotated[str, Query(max_length=KEY_MAX_CHARS, description="SHA-1, URL or story id")]


@router.get("/show", include_in_schema=False)
def show_html(request: Request, stores: OpenStores, key: Key = "") -> Response:
    """Redirect a SHA-1, URL or story id to its file, or list its matches."""
    key = key.strip()
    if not key:
        return _render_page(request, "Look up a file", 200, None)
    page = look_up_key(stores, key)
    if len(page.files) == 1 and len(page.records) < 2:
        return RedirectResponse(f"/file/{page.files[0].sha1hex}", 303)
    return _render_page(request, page.answer, 200 if page.files or page.records else 404, page)


def _render_page(
    request: Request, heading: str, status: int, lookup_page: LookupPage | None
) -> HTMLResponse:
    reasons = {str(reason): reason.explanation for reason in Reason}
    return render_page(
        request, "show.html", status, heading=heading, page=lookup_page, reasons=reasons
    )


@router.get("/show.json", include_in_schema=False)
@router.get("/api/show", summary="Look up a SHA-1, URL or story id", operation_id="look_up_file")
def show_json(stores: OpenStores, key: Key) -> LookupPage:
    """Return the files that match this key, and all records with this URL."""
    page = look_up_key(stores, key.strip())
    if not page.files and not page.records:
        raise HTTPException(404, f"{page.answer}.")
    return page
