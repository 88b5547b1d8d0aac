"""Page view of a PDF: the picture of one page next to the text of that page, with search hits
marked in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from fonds.model.errors import PermanentError
from fonds.model.pdf import PageView
from fonds.ports import Stores
from fonds.text.words import compose_text
from fonds.viewer.description import FileDescription, read_body
from fonds.viewer.pdf_pages import Box, PageHits, PageViews
from fonds.web.access.roles import READS
from fonds.web.access.security import ARCHIVED_POLICY
from fonds.web.html.rendering import OpenStores, build_url, render_page
from fonds.web.pages.file import (
    Words,
    find_file_title,
    is_pdf,
    load_file,
    load_file_text,
    parse_words,
    redirect_spelling,
)
from fonds.web.serving.downloads import build_response

PAGE_SEPARATOR = "\f"
PAGE_MAX = 1_000_000
DAY_S = 24 * 3600
NOT_DRAWN = "this server does not render pages"
IMAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": ARCHIVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": f"private, max-age={DAY_S}",
}

router = APIRouter(tags=["files"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class PdfPage:
    """Content of the view of one page of a PDF.

    `number`: number of the page, from 1; the PDF has `page_count` pages.
    `text`: extracted text of the page, None if the text of the PDF ends before this page.
    `text_marks`: (start, end) of the search hits in `text`, in characters.
    `image_href`: address of the picture of the page, None if there is none.
    `width`, `height`: size of the picture in pixels.
    `boxes`: (left, top, right, bottom) of the search hits on the picture, in pixels.
    `why`: why there is no picture, None if there is one.
    `hits`: pages of the PDF that contain search hits.
    `hits_complete`: False if further pages may contain hits.
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


Number = Annotated[int, Path(ge=1, le=PAGE_MAX, description="Page number, from 1")]


def build_pdf_page(
    stores: Stores, views: PageViews | None, description: FileDescription, number: int, query: str
) -> PdfPage:
    """Build the view of page `number` of a PDF.

    Raises HTTPException 404 if the PDF has no such page, and RefusedError 400 for an invalid query.
    """
    title, language = find_file_title(description)
    words = parse_words(query, description)
    texts = _load_texts(stores, description)
    view = draw_page(stores, views, description, number)
    count = view.page_count or _get_page_count(description) or len(texts)
    if number > max(count, 1):
        raise HTTPException(404, f"There is no page {number:,}. This PDF has {count:,} pages.")
    hits, complete = words.find_by_page(texts)
    text = compose_text(texts[number - 1]) if number <= len(texts) else None
    return PdfPage(
        sha1hex=description.sha1hex,
        title=title,
        language=language,
        number=number,
        page_count=count,
        text=text,
        text_marks=words.find_in_text(text or ""),
        image_href=f"{link_to_page(description.sha1hex, number)}/image" if view.image else None,
        width=view.width,
        height=view.height,
        boxes=words.find_boxes(view.words),
        why=view.error,
        hits=hits,
        hits_complete=complete,
    )


def draw_page(
    stores: Stores, views: PageViews | None, description: FileDescription, number: int
) -> PageView:
    """Draw the picture of one page of a PDF. The result may state why there is no picture.

    Raises HTTPException 404 if the file is not a PDF.
    """
    if not is_pdf(description):
        raise HTTPException(404, f"{description.sha1hex} is not a PDF and has no pages.")
    if views is None:
        return PageView(None, error=NOT_DRAWN)
    try:
        return views.get_view(
            stores.blobs, description.sha1hex, number, lambda: read_body(stores, description)
        )
    except PermanentError as error:
        return PageView(None, error=error.detail)


def link_to_page(sha1hex: str, number: int, query: str = "") -> str:
    """Return the URL of the view of a page of a PDF, in which the hits of a search are marked."""
    return build_url(f"/file/{sha1hex}/pages/{number}", q=query)


def _load_texts(stores: Stores, description: FileDescription) -> list[str]:
    text = load_file_text(stores, description)
    return text.split(PAGE_SEPARATOR) if text else []


def _get_page_count(description: FileDescription) -> int:
    """Return the number of pages that the extractor counted in a PDF, 0 if unknown."""
    counts = (getattr(row, "page_count", None) for row in description.derivatives.values())
    return next((count for count in counts if isinstance(count, int)), 0)


def _get_page_views(request: Request) -> PageViews | None:
    views: PageViews | None = request.app.state.views
    return views


@router.get("/file/{sha1hex}/pages", include_in_schema=False)
def find_in_file(
    stores: OpenStores,
    sha1hex: str,
    n: Annotated[int | None, Query(ge=1, le=PAGE_MAX)] = None,
    q: Words = "",
) -> Response:
    """Redirect to page `n`, or without it to the first page with a hit, or to page 1."""
    description = load_file(stores, sha1hex)
    if n is None:
        hits, _ = parse_words(q, description).find_by_page(_load_texts(stores, description))
        n = hits[0].page if hits else 1
    return RedirectResponse(link_to_page(description.sha1hex, n, q), 303)


@router.get("/file/{sha1hex}/pages/{number}.json", include_in_schema=False)
@router.get(
    "/api/files/{sha1hex}/pages/{number}",
    summary="Page of a PDF: text and matches",
    operation_id="get_pdf_page",
)
def page_json(
    request: Request, stores: OpenStores, sha1hex: str, number: Number, q: Words = ""
) -> PdfPage:
    """Return the text of a page, the address of its image, and the locations of the hits in
    both."""
    return build_pdf_page(stores, _get_page_views(request), load_file(stores, sha1hex), number, q)


@router.get("/file/{sha1hex}/pages/{number}", include_in_schema=False)
def page_html(
    request: Request, stores: OpenStores, sha1hex: str, number: Number, q: Words = ""
) -> Response:
    """Show a page of a PDF. Other spellings of its SHA-1 are redirected to the hex form."""
    redirect = redirect_spelling(sha1hex, build_url(f"/pages/{number}", q=q))
    if redirect is not None:
        return redirect
    page = build_pdf_page(stores, _get_page_views(request), load_file(stores, sha1hex), number, q)
    pages_with_hits = [page_hits.page for page_hits in page.hits]
    return render_page(
        request,
        "pdf_page.html",
        heading=f"Page {number:,} of {page.page_count:,}: {page.title}",
        page=page,
        query=q,
        hits_total=sum(page_hits.count for page_hits in page.hits),
        hit_before=max((n for n in pages_with_hits if n < number), default=None),
        hit_behind=min((n for n in pages_with_hits if n > number), default=None),
        page_href=link_to_page,
    )


@router.get(
    "/file/{sha1hex}/pages/{number}/image",
    response_class=Response,
    summary="Picture of a page of a PDF",
    operation_id="download_pdf_page_image",
)
def page_image(request: Request, stores: OpenStores, sha1hex: str, number: Number) -> Response:
    """Return a WebP within 1,200 × 1,800 pixels; 404 if the page cannot be drawn, 503 if too many
    requests wait.
    """
    view = draw_page(stores, _get_page_views(request), load_file(stores, sha1hex), number)
    if view.image is None:
        raise HTTPException(404, f"Page {number:,} has no picture: {view.error}.")
    etag = sha256(view.image).hexdigest()
    return build_response(request.headers, view.image, "image/webp", etag, IMAGE_HEADERS)
