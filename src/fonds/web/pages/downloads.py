"""The bytes of a file and what was made of them, handed out so that nothing of it ever runs here."""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from fonds.library.description import Description, description, read_body
from fonds.model.errors import PermanentError
from fonds.model.keys import sha1_from_text, thumbnail_blob_key
from fonds.ports import Stores
from fonds.web.access.declared import READS
from fonds.web.access.security import ARCHIVED_POLICY
from fonds.web.pages.file import file_text, file_title, unknown_file
from fonds.web.pages.reading.read_file import PDF_TYPE, is_pdf, known_file
from fonds.web.rendering import OpenStores
from fonds.web.serving.naming import disposition, file_name
from fonds.web.serving.ranges import answer

YEAR_S = 365 * 24 * 3600
ARCHIVED_HEADERS = {
    "Content-Security-Policy": ARCHIVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}

router = APIRouter(dependencies=[READS])


def _known(sha1hex: str) -> str:
    raw = sha1_from_text(sha1hex)
    if raw is None:
        raise HTTPException(404, unknown_file(sha1hex))
    return raw.hex()


@router.get("/file/{sha1hex}/body", response_class=Response, summary="The archived bytes of a file")
def body(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """The bytes whose SHA-1 this is, always as a download; pages come as plain bytes, never as HTML."""
    found = known_file(stores, sha1hex)
    if is_pdf(found):
        return _handed_out(request, stores, found, "attachment", PDF_TYPE, _pdf_name(found))
    name = f"{found.sha1hex}.bin"
    return _handed_out(request, stores, found, "attachment", "application/octet-stream", name)


@router.get("/file/{sha1hex}/pdf", response_class=Response, summary="A PDF as it is")
def pdf(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """A PDF for the browser's own reader, under a policy that leaves it no rights; 404 for all else."""
    found = known_file(stores, sha1hex)
    if not is_pdf(found):
        raise HTTPException(
            404, f"{found.sha1hex} is no PDF; /file/{found.sha1hex} says what it is."
        )
    return _handed_out(request, stores, found, "inline", PDF_TYPE, _pdf_name(found))


def _pdf_name(found: Description) -> str:
    return file_name(file_title(found)[0], ".pdf", found.sha1hex)


def _handed_out(
    request: Request,
    stores: Stores,
    found: Description,
    shown: Literal["inline", "attachment"],
    media_type: str,
    name: str,
) -> Response:
    """The bytes, or the part asked for, or that the browser has them."""
    try:
        content = read_body(stores, found)
    except PermanentError as error:
        raise HTTPException(404, str(error)) from error
    headers = {**ARCHIVED_HEADERS, "Content-Disposition": disposition(shown, name)}
    return answer(request.headers, content, media_type, found.sha1hex, headers)


@router.get("/file/{sha1hex}/text", response_class=Response, summary="The whole text of a file")
def text(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """The text as extracted, pages parted by form feeds."""
    known = _known(sha1hex)
    said = file_text(stores, description(stores, known))
    if said is None:
        raise HTTPException(404, f"There is no text of {known} here; /file/{known} says why.")
    encoded = said.encode("utf-8", "replace")
    etag = sha256(encoded).hexdigest()
    media_type = "text/plain; charset=utf-8"
    return answer(request.headers, encoded, media_type, etag, ARCHIVED_HEADERS)


@router.get("/file/{sha1hex}/thumbnail", response_class=Response, summary="The first page of a PDF")
def thumbnail(request: Request, stores: OpenStores, sha1hex: str) -> Response:
    """A JPEG within 180 × 300 pixels."""
    known = _known(sha1hex)
    jpeg = stores.blobs.get(thumbnail_blob_key(known))
    if jpeg is None:
        raise HTTPException(404, f"There is no thumbnail of {known} here.")
    # Named by the hash of what it shows: it may be kept for as long as a browser likes.
    kept = {"Cache-Control": f"private, max-age={YEAR_S}, immutable"}
    etag = sha256(jpeg).hexdigest()
    return answer(request.headers, jpeg, "image/jpeg", etag, {**ARCHIVED_HEADERS, **kept})
