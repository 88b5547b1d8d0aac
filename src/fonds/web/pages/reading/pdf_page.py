"""A PDF read page by page: the page as it looks beside its text, and what was looked for marked on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from fonds.library.description import Description, read_body
from fonds.library.reading.hits import Box, PageHits
from fonds.library.reading.page_views import PageViews
from fonds.model.errors import PermanentError
from fonds.model.page_view import PageView
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.access.security import ARCHIVED_POLICY
from fonds.web.pages.file import file_text, file_title
from fonds.web.pages.reading.read_file import (
    Words,
    asked_words,
    is_pdf,
    known_file,
    other_spelling,
)
from fonds.web.rendering import OpenStores, link, page
from fonds.web.serving.ranges import answer
from fonds.words import composed

PAGE_SEPARATOR = "\f"
PAGE_MAX = 1_000_000
DAY_S = 24 * 3600
NOT_DRAWN = "this server draws no pages"
IMAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": ARCHIVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": f"private, max-age={DAY_S}",
}

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class PdfPage:
    """Page `number` of `page_count` of a PDF, both counted from 1.

    `text` is what was extracted of this page, None where that ends before it; `text_marks` are (start,
    end) of the hits in it. `image_href` is its picture, of `width` x `height` pixels, on which `boxes`
    (left, top, right, bottom) are the hits; without one `why` tells the reason. `hits` are the pages with
    hits, all of them if `hits_complete`.
    """

    sha1hex: str
    title: str
    language: str | None
    number: int
    page_count: int
    text: str | None
    text_marks: Sequence[tuple[int, int]]
    image_href: str | None
    width: int
    height: int
    boxes: Sequence[Box]
    why: str | None
    hits: Sequence[PageHits]
    hits_complete: bool


Number = Annotated[int, Path(ge=1, le=PAGE_MAX, description="page of the PDF, from 1")]


def pdf_page(
    stores: Stores, views: PageViews | None, found: Description, number: int, query: str
) -> PdfPage:
    """Raises HTTPException 404 for a page the file has not, RefusedError 400 for a query that is none."""
    title, language = file_title(found)
    words = asked_words(query, found)
    texts = _texts(stores, found)
    view = page_view(stores, views, found, number)
    count = view.page_count or _noted_count(found) or len(texts)
    if number > max(count, 1):
        raise HTTPException(404, f"This PDF has {count:,} pages; there is no page {number:,}.")
    hits, complete = words.by_page(texts)
    text = composed(texts[number - 1]) if number <= len(texts) else None
    return PdfPage(
        sha1hex=found.sha1hex,
        title=title,
        language=language,
        number=number,
        page_count=count,
        text=text,
        text_marks=words.in_text(text or ""),
        image_href=f"{page_href(found.sha1hex, number)}/image" if view.image else None,
        width=view.width,
        height=view.height,
        boxes=words.boxes(view.words),
        why=view.why,
        hits=hits,
        hits_complete=complete,
    )


def page_view(stores: Stores, views: PageViews | None, found: Description, number: int) -> PageView:
    """The picture of a page, or why there is none."""
    if not is_pdf(found):
        raise HTTPException(404, f"{found.sha1hex} is no PDF, so it has no pages to look at.")
    if views is None:
        return PageView(None, why=NOT_DRAWN)
    try:
        return views.view(stores.blobs, found.sha1hex, number, lambda: read_body(stores, found))
    except PermanentError as error:
        return PageView(None, why=error.detail)


def page_href(sha1hex: str, number: int, query: str = "") -> str:
    """The address of a page, with what is marked on it."""
    return link(f"/file/{sha1hex}/pages/{number}", q=query)


def _texts(stores: Stores, found: Description) -> list[str]:
    text = file_text(stores, found)
    return text.split(PAGE_SEPARATOR) if text else []


def _noted_count(found: Description) -> int:
    """How many pages were counted when it was read; 0 where it was not."""
    counts = (getattr(row, "page_count", None) for row in found.derivatives.values())
    return next((count for count in counts if isinstance(count, int)), 0)


def _views(request: Request) -> PageViews | None:
    views: PageViews | None = request.app.state.views
    return views


@router.get("/file/{sha1hex}/pages", include_in_schema=False)
def find_in_file(
    stores: OpenStores,
    sha1hex: str,
    n: Annotated[int | None, Query(ge=1, le=PAGE_MAX)] = None,
    q: Words = "",
) -> Response:
    """On to page `n`, without it to the first that has a hit, or to the first of all."""
    found = known_file(stores, sha1hex)
    if n is None:
        hits, _ = asked_words(q, found).by_page(_texts(stores, found))
        n = hits[0].page if hits else 1
    return RedirectResponse(page_href(found.sha1hex, n, q), 303)


@router.get("/file/{sha1hex}/pages/{number}.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}/pages/{number}", summary="One page of a PDF, its text and hits")
def page_json(
    request: Request, stores: OpenStores, sha1hex: str, number: Number, q: Words = ""
) -> PdfPage:
    """The page's text and the address of its picture, with the places of what is looked for on both."""
    return pdf_page(stores, _views(request), known_file(stores, sha1hex), number, q)


@router.get("/file/{sha1hex}/pages/{number}", include_in_schema=False)
def page_html(
    request: Request, stores: OpenStores, sha1hex: str, number: Number, q: Words = ""
) -> Response:
    """A page of a PDF; other spellings of its SHA-1 are sent to this one."""
    elsewhere = other_spelling(sha1hex, link(f"/pages/{number}", q=q))
    if elsewhere is not None:
        return elsewhere
    found = pdf_page(stores, _views(request), known_file(stores, sha1hex), number, q)
    beside = [one.page for one in found.hits]
    return page(
        request,
        "pdf_page.html",
        heading=f"Page {number:,} of {found.page_count:,}: {found.title}",
        found=found,
        query=q,
        hits_total=sum(one.count for one in found.hits),
        hit_before=max((n for n in beside if n < number), default=None),
        hit_behind=min((n for n in beside if n > number), default=None),
        page_href=page_href,
    )


@router.get(
    "/file/{sha1hex}/pages/{number}/image",
    response_class=Response,
    summary="The picture of a page of a PDF",
)
def page_image(request: Request, stores: OpenStores, sha1hex: str, number: Number) -> Response:
    """A WebP within 1,200 × 1,800 pixels; 404 where the page cannot be drawn, 503 where too many wait."""
    view = page_view(stores, _views(request), known_file(stores, sha1hex), number)
    if view.image is None:
        raise HTTPException(404, f"There is no picture of page {number:,}: {view.why}.")
    etag = sha256(view.image).hexdigest()
    return answer(request.headers, view.image, "image/webp", etag, IMAGE_HEADERS)
