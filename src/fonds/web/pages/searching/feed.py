"""A search as an Atom feed: what came to be found by it last, for those who saved it in a reader of feeds.

Source: RFC 4287.
"""

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

ENTRIES = 50
MEDIA_TYPE = "application/atom+xml"
_NAMESPACE = "http://www.w3.org/2005/Atom"
_ALLOWED = {9, 10, 13}

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
    top = Xml.Element("feed", xmlns=_NAMESPACE)
    _add(top, "id", f"{origin}{path}")
    _add(top, "title", f"Search: {title}")
    changed = max(
        (hit.document.indexed_date for hit in hits), default=datetime(1970, 1, 1, tzinfo=UTC)
    )
    _add(top, "updated", changed.astimezone(UTC).isoformat())
    _add(_add(top, "author"), "name", "Fonds")
    Xml.SubElement(top, "link", rel="alternate", type="text/html", href=_clean(f"{origin}{path}"))
    own = path.replace("/search", "/search.atom", 1)
    Xml.SubElement(top, "link", rel="self", type=MEDIA_TYPE, href=_clean(f"{origin}{own}"))
    for hit in hits:
        _entry(top, origin, hit)
    written: bytes = Xml.tostring(top, "utf-8", xml_declaration=True)
    return written


def _entry(top: Xml.Element, origin: str, hit: Hit) -> None:
    document = hit.document
    entry = _add(top, "entry")
    _add(
        entry,
        "id",
        f"urn:sha1:{document.sha1hex}"
        if document.id == document.sha1hex
        else f"{origin}/{document.id}",
    )
    _add(entry, "title", document.article_title or document.url)
    _add(entry, "updated", document.indexed_date.astimezone(UTC).isoformat())
    if document.publication_date:
        _add(entry, "published", _midnight(document.publication_date))
    for name in document.authors:
        _add(_add(entry, "author"), "name", name)
    Xml.SubElement(
        entry, "link", rel="alternate", type="text/html", href=f"{origin}/file/{document.sha1hex}"
    )
    _add(entry, "summary", hit.snippet.shown[0])


def _midnight(day: date) -> str:
    return datetime.combine(day, time(), UTC).isoformat()


def _add(parent: Xml.Element, name: str, text: str | None = None) -> Xml.Element:
    made = Xml.SubElement(parent, name)
    made.text = None if text is None else _clean(text)
    return made


def _clean(text: str) -> str:
    """Without the characters XML 1.0 does not allow."""
    return "".join(
        one
        for one in text
        if ord(one) in _ALLOWED
        or 0x20 <= ord(one) <= 0xD7FF
        or 0xE000 <= ord(one) <= 0xFFFD
        or ord(one) >= 0x10000
    )
