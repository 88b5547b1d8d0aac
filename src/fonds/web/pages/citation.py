"""Page that cites a file, and the action that verifies the archived records of the file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from fonds.model.access import Role
from fonds.model.encoding import pluralize
from fonds.ports import Stores
from fonds.viewer.citation import (
    QUOTE_MAX_CHARS,
    CitationText,
    PlaceVerification,
    Quotation,
    build_reference,
    find_quotation,
    verify_places,
)
from fonds.viewer.description import FileDescription
from fonds.web.access.roles import READS
from fonds.web.actions import Action, FormResult, FormRoute, NoParameters, add_actions
from fonds.web.html.rendering import OpenStores, build_url, render_page
from fonds.web.pages.file import (
    find_file_title,
    is_pdf,
    load_file,
    load_file_text,
    redirect_spelling,
)
from fonds.web.pages.pdf_page import PAGE_MAX
from fonds.web.serving.problems import RefusedError

router = APIRouter(tags=["files"], dependencies=[READS])

CitedPage = Annotated[
    int | None, Query(alias="page", ge=1, le=PAGE_MAX, description="Cited page of a PDF")
]


Quote = Annotated[str, Query(max_length=QUOTE_MAX_CHARS, description="Quoted words of the text")]


def build_citation(stores: Stores, sha1hex: str, number: int | None, quote: str) -> CitationText:
    """Build the citation of a whole file, of one page of the file, or of a quotation from the file.

    Raises HTTPException 404 for an unknown file, and RefusedError 404 if the text of the file does
    not contain the quotation.
    """
    file = load_file(stores, sha1hex)
    quotation = _find_quotation(stores, file, number, quote) if quote.strip() else None
    return build_reference(file, find_file_title(file)[0], number, quotation)


def _find_quotation(
    stores: Stores, description: FileDescription, number: int | None, quote: str
) -> Quotation:
    text = load_file_text(stores, description) or ""
    quotation = find_quotation(quote, text, number, has_pages=is_pdf(description))
    if quotation is None:
        where = f"on page {number:,} of this file" if number else "in the text of this file"
        raise RefusedError(404, f"This quote is not {where}.", parameter="quote")
    return quotation


@router.get("/file/{sha1hex}/cite.json", include_in_schema=False)
@router.get(
    "/api/files/{sha1hex}/cite",
    summary="Citation of a file, a page or a quote",
    operation_id="get_citation",
)
def cite_json(
    stores: OpenStores, sha1hex: str, number: CitedPage = None, quote: Quote = ""
) -> CitationText:
    """Return a citation with SHA-1, page, WARC and offset, and with the position of quoted words
    in characters; BibTeX and CSL-JSON of the work.
    """
    return build_citation(stores, sha1hex, number, quote)


@router.get("/file/{sha1hex}/cite", include_in_schema=False)
def cite_html(
    request: Request,
    stores: OpenStores,
    sha1hex: str,
    number: CitedPage = None,
    quote: Quote = "",
) -> Response:
    """Show the citation as a page with a button that verifies the bytes.

    If the file does not contain the quotation, show that with status 404.
    """
    redirect = redirect_spelling(sha1hex, build_url("/cite", page=number, quote=quote))
    if redirect is not None:
        return redirect
    error_message, status = "", 200
    try:
        citation = build_citation(stores, sha1hex, number, quote)
    except RefusedError as error:
        citation, error_message, status = (
            build_citation(stores, sha1hex, number, ""),
            str(error.detail),
            404,
        )
    subject = f"page {number:,} of this file" if number else "this file"
    return render_page(
        request,
        "cite.html",
        status=status,
        heading=error_message or f"Cite {'this quote' if citation.quotation else subject}",
        citation=citation,
        number=number,
        quote=quote,
        quote_max=QUOTE_MAX_CHARS,
        words_href=_link_to_words(citation) if citation.quotation else None,
    )


def _link_to_words(citation: CitationText) -> str:
    """Return the URL of the page of a file, or of a page of a PDF, on which the quoted words are
    highlighted.
    """
    quotation = citation.quotation
    if quotation is None:
        return build_url(f"/file/{citation.sha1hex}")
    if quotation.page is not None:
        return build_url(f"/file/{citation.sha1hex}/pages/{quotation.page}", q=quotation.search)
    return f"{build_url(f'/file/{citation.sha1hex}', find=quotation.search)}#hit-1"


def verify(stores: OpenStores, sha1hex: str) -> tuple[str, PlaceVerification]:
    """Read the archived records of a file again and compare their hashes with its SHA-1.

    Return the SHA-1 and the result.
    """
    file = load_file(stores, sha1hex)
    return file.sha1hex, verify_places(stores.archive, file)


def _show_places(result: FormResult[NoParameters, tuple[str, PlaceVerification]]) -> Response:
    sha1hex, verification = result.answer
    same_count = sum(place.is_same for place in verification.places)
    heading = f"Bytes found at {same_count:,} of {pluralize(len(verification.places), 'location')}"
    if not verification.places:
        heading = "This file is in no WARC, so it cannot be verified"
    elif same_count == len(verification.places):
        heading = "The archived bytes are unchanged"
    return render_page(
        result.request, "verified.html", heading=heading, verification=verification, sha1hex=sha1hex
    )


add_actions(
    router,
    Action(
        "verify the archived records of a file",
        Role.CURATOR,
        verify,
        NoParameters,
        FormRoute("/file/{sha1hex}/verify", _show_places),
    ),
)
