"""How a file is cited, and whether its bytes are still where they were archived."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fonds.library.reading.citing import Reference, reference, verified
from fonds.ports import Stores
from fonds.web.access.declared import CURATES, READS
from fonds.web.pages.file import file_title
from fonds.web.pages.reading.pdf_page import PAGE_MAX
from fonds.web.pages.reading.read_file import known_file, other_spelling
from fonds.web.rendering import OpenStores, how_many, link, page

router = APIRouter(dependencies=[READS])

CitedPage = Annotated[
    int | None, Query(alias="page", ge=1, le=PAGE_MAX, description="Page of a PDF that is cited")
]


def cited(stores: Stores, sha1hex: str, number: int | None) -> Reference:
    """Raises HTTPException 404 for a file nobody knows."""
    found = known_file(stores, sha1hex)
    return reference(found, file_title(found)[0], number)


@router.get("/file/{sha1hex}/cite.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}/cite", summary="How a file or a page of it is cited")
def cite_json(stores: OpenStores, sha1hex: str, number: CitedPage = None) -> Reference:
    """A sentence with SHA-1, page, WARC and offset; BibTeX and CSL-JSON of the work."""
    return cited(stores, sha1hex, number)


@router.get("/file/{sha1hex}/cite", include_in_schema=False)
def cite_html(
    request: Request, stores: OpenStores, sha1hex: str, number: CitedPage = None
) -> Response:
    """The same as a page, from which the bytes are verified."""
    elsewhere = other_spelling(sha1hex, link("/cite", page=number))
    if elsewhere is not None:
        return elsewhere
    return page(
        request,
        "cite.html",
        heading=f"How page {number:,} of this file is cited"
        if number
        else "How this file is cited",
        found=cited(stores, sha1hex, number),
    )


@router.post("/file/{sha1hex}/verify", include_in_schema=False, dependencies=[CURATES])
def verify(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """Read the archived records again and hash them."""
    known = known_file(stores, sha1hex)
    found = verified(stores.archive, known)
    same = sum(one.is_same for one in found.places)
    heading = f"{how_many(same, 'place')} of {len(found.places):,} hold these bytes"
    if not found.places:
        heading = "It lies in no WARC, so there is nothing to verify"
    elif same == len(found.places):
        heading = "The bytes are as they were archived"
    return page(request, "verified.html", heading=heading, found=found, sha1hex=known.sha1hex)
