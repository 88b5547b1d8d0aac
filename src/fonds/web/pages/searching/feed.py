"""A search as an Atom feed: what came to be found by it last, for those who saved it in a reader of feeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Annotated
from xml.etree import ElementTree as Xml

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from fonds.model.document import Hit
from fonds.web.access.declared import READS
from fonds.web.pages.searching.form import SearchForm
from fonds.web.pages.searching.search import said
from fonds.web.pages.searching.themes import uncounted
from fonds.web.rendering import OpenStores, link
from fonds.web.serving.atom import MEDIA_TYPE, NEVER, add, new_feed, written

ENTRIES = 50

router = APIRouter(dependencies=[READS])


@router.get("/search.atom", response_class=Response, include_in_schema=False)
@router.get(
    "/api/search.atom",
    response_class=Response,
    summary="A search as an Atom feed: the fifty documents added last",
)
def feed(request: Request, stores: OpenStores, form: Annotated[SearchForm, Query()]) -> Response:
    """The documents that came to be found last, whatever the order and the page asked for."""
    narrowed = uncounted(form)
    asked = replace(
        narrowed, sort="added", offset=0, after=None, count_max=ENTRIES, facet_values_max=0
    )
    try:
        hits = stores.index.search(asked).hits
    except ValueError as error:
        raise HTTPException(400, str(error)) from error
    origin = str(request.base_url).rstrip("/")
    body = _atom(origin, link("/search", **said(form)), form.q.strip() or "everything", hits)
    return Response(body, media_type=MEDIA_TYPE)


def _atom(origin: str, path: str, title: str, hits: Sequence[Hit]) -> bytes:
    changed = max((hit.document.indexed_date for hit in hits), default=NEVER)
    own = path.replace("/search", "/search.atom", 1)
    top = new_feed(f"Search: {title}", f"{origin}{path}", f"{origin}{own}", changed)
    for hit in hits:
        _entry(top, origin, hit)
    return written(top)


def _entry(top: Xml.Element, origin: str, hit: Hit) -> None:
    document = hit.document
    entry = add(top, "entry")
    add(
        entry,
        "id",
        f"urn:sha1:{document.sha1hex}"
        if document.id == document.sha1hex
        else f"{origin}/{document.id}",
    )
    add(entry, "title", document.article_title or document.url)
    add(entry, "updated", document.indexed_date.astimezone(UTC).isoformat())
    if document.publication_date:
        add(entry, "published", _midnight(document.publication_date))
    for name in document.authors:
        add(add(entry, "author"), "name", name)
    if rights := [*document.holders, *document.licenses]:
        add(entry, "rights", "; ".join(rights))
    Xml.SubElement(
        entry, "link", rel="alternate", type="text/html", href=f"{origin}/file/{document.sha1hex}"
    )
    shown = hit.version.snippets[:1] if hit.version else [hit.snippet]
    add(entry, "summary", " ".join(one.shown[0] for one in shown))


def _midnight(day: date) -> str:
    return datetime.combine(day, time(), UTC).isoformat()
