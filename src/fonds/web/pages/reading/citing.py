"""How a file is cited, and whether its bytes are still where they were archived."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fonds.library.description import Description
from fonds.library.reading.citing import Reference, reference, verified
from fonds.library.reading.quoting import QUOTE_MAX_CHARS, Quotation, quoted
from fonds.model.numbers import how_many
from fonds.ports import Stores
from fonds.web.access.declared import CURATES, READS
from fonds.web.pages.file import file_text, file_title
from fonds.web.pages.reading.pdf_page import PAGE_MAX
from fonds.web.pages.reading.read_file import is_pdf, known_file, other_spelling
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, link, page

router = APIRouter(dependencies=[READS])

CitedPage = Annotated[
    int | None, Query(alias="page", ge=1, le=PAGE_MAX, description="Page of a PDF that is cited")
]


Quote = Annotated[
    str, Query(max_length=QUOTE_MAX_CHARS, description="Words of its text that are quoted")
]


def cited(stores: Stores, sha1hex: str, number: int | None, quote: str) -> Reference:
    """Raises HTTPException 404 for a file nobody knows, RefusedError 404 for words it does not say."""
    found = known_file(stores, sha1hex)
    quotation = _quotation(stores, found, number, quote) if quote.strip() else None
    return reference(found, file_title(found)[0], number, quotation)


def _quotation(stores: Stores, found: Description, number: int | None, quote: str) -> Quotation:
    text = file_text(stores, found) or ""
    there = quoted(quote, text, number, has_pages=is_pdf(found))
    if there is None:
        where = f"on page {number:,} of this file" if number else "in the text of this file"
        raise RefusedError(404, f"These words do not stand {where}.", parameter="quote")
    return there


@router.get("/file/{sha1hex}/cite.json", include_in_schema=False)
@router.get("/api/files/{sha1hex}/cite", summary="How a file, a page or words of it are cited")
def cite_json(
    stores: OpenStores, sha1hex: str, number: CitedPage = None, quote: Quote = ""
) -> Reference:
    """A sentence with SHA-1, page, WARC and offset, and the characters where quoted words stand; BibTeX and
    CSL-JSON of the work."""
    return cited(stores, sha1hex, number, quote)


@router.get("/file/{sha1hex}/cite", include_in_schema=False)
def cite_html(
    request: Request,
    stores: OpenStores,
    sha1hex: str,
    number: CitedPage = None,
    quote: Quote = "",
) -> Response:
    """The same as a page, from which the bytes are verified. Words the file does not say are told in their
    place, with status 404."""
    elsewhere = other_spelling(sha1hex, link("/cite", page=number, quote=quote))
    if elsewhere is not None:
        return elsewhere
    refused, status = "", 200
    try:
        found = cited(stores, sha1hex, number, quote)
    except RefusedError as error:
        found, refused, status = cited(stores, sha1hex, number, ""), str(error.detail), 404
    of = f"page {number:,} of this file" if number else "this file"
    return page(
        request,
        "cite.html",
        status=status,
        heading=refused or f"How {'these words are' if found.quotation else f'{of} is'} cited",
        found=found,
        number=number,
        quote=quote,
        quote_max=QUOTE_MAX_CHARS,
        words_href=_words_href(found) if found.quotation else None,
    )


def _words_href(found: Reference) -> str:
    """The words in their place, marked."""
    quotation = found.quotation
    if quotation is None:
        return link(f"/file/{found.sha1hex}")
    if quotation.page is not None:
        return link(f"/file/{found.sha1hex}/pages/{quotation.page}", q=quotation.search)
    return f"{link(f'/file/{found.sha1hex}', find=quotation.search)}#hit-1"


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
